"""The one decorator of all kernels: compiled on first use, cached on disk, without the interpreter lock.

Work is spread over cores by calling such kernels from ordinary threads on fixed chunks (see
`shoal.kernels.runtime.threads`), never by numba's own parallel layer: the outcome cannot depend on the number
of threads, and worker processes can be forked safely.
"""

import functools
import hashlib
import os
import stat
import warnings
from collections.abc import Callable
from pathlib import Path
from threading import Lock
from types import CodeType
from typing import Any

import numba
import numpy as np
from numba.core.caching import _CacheLocator
from numba.core.runtime import rtsys
from numba.core.sigutils import normalize_signature


def _once_a_folder(tried: Callable[[Any], None]) -> Callable[[Any], None]:
    """numba writes a trial file for each kernel, to see whether it can; one for each folder will do."""
    folders = set()

    def ensure(locator: Any) -> None:
        if (folder := locator.get_cache_path()) not in folders or not os.path.isdir(folder):
            tried(locator)
            folders.add(folder)

    return ensure


_CacheLocator.ensure_cache_path = _once_a_folder(_CacheLocator.ensure_cache_path)


def kernel(function: Any) -> Any:
    """Compile a function when it is first called. What was compiled is kept where nobody else can write."""
    try:
        made = numba.njit(cache=True, nogil=True)(function)
    except RuntimeError:  # no folder can be written to
        return numba.njit(nogil=True)(function)
    if not hasattr(made, "stats"):  # the compiler is switched off
        return made
    if not _is_private(made.stats.cache_path):
        return numba.njit(nogil=True)(function)
    made._cache.load_overload = functools.partial(_load, made)
    return made


def _load(made: Any, signature: Any, context: Any) -> Any:
    """Load what was compiled, without all the rules for compiling, which numba would load first.

    numba looks whether a kernel's own file has changed. But what it calls is compiled into it, and may have
    changed too; and a file that changes while a process runs does not change what that compiles. So the code
    itself decides. Of two processes that compile at once, one may have left its code under the other's name.
    """
    cache = made._cache
    made_from = "\n".join(_sources(made.py_func, set()))
    cache._cache_file._source_stamp = hashlib.sha256(made_from.encode()).hexdigest()
    rtsys.initialize(context)
    with cache._guard_against_spurious_io_errors():
        found = cache._load_overload(signature, context)
    if found is not None and found.signature.args == normalize_signature(signature)[0]:
        return found
    return None


def _sources(function: Any, seen: set[Any]) -> list[str]:
    """What a kernel is made from: the code of it and of all that it calls, and the values that they name."""
    seen.add(function)
    codes, made_from = [function.__code__], []
    for code in codes:
        inner = [part for part in code.co_consts if isinstance(part, CodeType)]
        plain = [part for part in code.co_consts if part not in inner]
        made_from.append(repr((code.co_code, code.co_names, plain)))
        codes += inner
        for name in code.co_names:
            value = function.__globals__.get(name)
            value = getattr(value, "_fields", value)  # of a tuple with names
            if isinstance(value, int | float | tuple | np.generic):
                made_from.append(f"{name} = {value!r}")
            elif hasattr(value, "py_func") and value.py_func not in seen:
                made_from += _sources(value.py_func, seen)
    return made_from


@functools.lru_cache
def _is_private(folder: str) -> bool:
    """Whether nobody else can put code there, which would be loaded and run."""
    if not hasattr(os, "geteuid"):  # Windows
        return True
    first = Path(folder).resolve()
    for place in (first, *first.parents):
        facts = place.stat()
        shared = facts.st_mode & (stat.S_IWOTH | (0 if _is_own_group(facts.st_gid) else stat.S_IWGRP))
        if place != first and facts.st_mode & stat.S_ISVTX:  # as /tmp: only owners rename what is in it
            shared = 0
        if shared or facts.st_uid not in (0, os.geteuid()):
            warnings.warn(
                f"others can write to {str(place)!r}, so compiled kernels are not kept there: set "
                "NUMBA_CACHE_DIR to a folder of your own, and later runs need not compile them again",
                stacklevel=2,
            )
            return False
    return True


def _is_own_group(number: int) -> bool:
    """Whether a group is root's, or has this user as its only member and is called after them."""
    import grp
    import pwd

    try:
        name, group = pwd.getpwuid(os.geteuid()).pw_name, grp.getgrgid(number)
    except KeyError:
        return False
    return number == 0 or (group.gr_name == name and set(group.gr_mem) <= {name})


#: Records up to which numpy is quicker than to load or compile the kernels of the k-d tree.
WORTH_COMPILING = 500

_one_at_a_time = Lock()


def packed(function: Any, *arguments: Any) -> Any:
    """A kernel that does the same to several numbers side by side, ready to be called with such arguments.

    It is compiled to do them in one instruction each. The compiler's default is not to look for that.
    """
    if hasattr(function, "compile"):  # not where the compiler is switched off
        types = tuple(numba.typeof(argument) for argument in arguments)
        with _one_at_a_time:
            if types not in function.signatures:
                usual, numba.config.SLP_VECTORIZE = numba.config.SLP_VECTORIZE, 1
                try:
                    function.compile(types)
                finally:
                    numba.config.SLP_VECTORIZE = usual
    return function
