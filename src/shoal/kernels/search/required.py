"""Requirements as kernels ask them: `holds(members, count, codes, values, parameters)`, the same for all."""

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numba
import numpy as np
from numba import types
from numba.extending import typeof_impl

from shoal.arrays import Floats, Ints
from shoal.kernels.runtime.jit import kernel

#: Kinds of requirements that one search can ask: few or many, so that it compiles at most twice.
SLOTS = (2, 8)
_FLOATS = types.float64[::1]
_SIGNATURE = types.boolean(types.int64[::1], types.int64, types.int64[::1], _FLOATS, _FLOATS)
#: Made once: to make such a type takes longer than a small search.
_TYPES = {slots: types.UniTuple(types.FunctionType(_SIGNATURE), slots) for slots in SLOTS}


class Kernels(tuple):
    """Kernels of requirements. Of an ordinary tuple of functions, numba warns that it is experimental."""


@typeof_impl.register(Kernels)
def _type_of_kernels(value, context):
    return _TYPES[len(value)]


class Asked(NamedTuple):
    """The requirements, one row each: which of the kernels answers, and what it is asked about."""

    which: Ints
    codes: Ints
    values: Floats
    parameters: Floats
    kinds: Ints  # records of the same kind are the same to every requirement; one more, for no record


@lru_cache
def _compiled(function: Callable[..., bool]) -> Any:
    return function if numba.config.DISABLE_JIT else numba.cfunc(_SIGNATURE, cache=True)(function)


def _always(members, count, codes, values, parameters):
    return True


def compiled(functions: Sequence[Callable[..., bool]]) -> Kernels:
    """These functions as a search takes them, compiled on first use."""
    slots = next(slots for slots in SLOTS if slots >= len(functions))
    return Kernels(map(_compiled, [*functions, *[_always] * (slots - len(functions))]))


_NONE = np.empty((0, 0))
NOTHING = Asked(np.empty(0, np.int64), _NONE.astype(np.int64), _NONE, _NONE, np.empty(0, np.int64))


@kernel
def _hold(holds, asked, members, count):
    for j in range(len(asked.which)):
        answer = holds[asked.which[j]](members, count, asked.codes[j], asked.values[j], asked.parameters[j])
        if not answer:
            return False
    return True


@kernel
def first_cut(holds, asked, members, order, cuts):
    """The first of the cuts of an order that leaves two groups which hold; 0 if none does."""
    n = len(order)
    for cut in cuts:
        for i in range(cut):
            members[i] = order[i]
        if not _hold(holds, asked, members, cut):
            continue
        for i in range(cut, n):
            members[i - cut] = order[i]
        if _hold(holds, asked, members, n - cut):
            return cut
    return 0


@kernel
def failing(holds, asked, members, order, starts, fails):
    """Which of the groups order[starts[g] : starts[g + 1]] fail."""
    for g in range(len(fails)):
        for i in range(starts[g], starts[g + 1]):
            members[i - starts[g]] = order[i]
        fails[g] = not _hold(holds, asked, members, starts[g + 1] - starts[g])


@kernel
def holds_after(holds, asked, members, after, begin, out, into):
    """Whether the group whose ring has `begin` holds when `out` has left it and `into` has come.

    Nobody comes or leaves if they are len(after).
    """
    if len(asked.which) == 0:
        return True
    count, x = 0, begin
    while True:
        if x != out:
            members[count] = x
            count += 1
        x = after[x]
        if x == begin:
            break
    if into < len(after):
        members[count] = into
        count += 1
    return _hold(holds, asked, members, count)
