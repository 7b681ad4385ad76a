"""What can go wrong, in one sentence each: what was expected, what came, how to mend it."""

import difflib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager


class ShoalError(Exception):
    """Any error that shoal raises on purpose.

    Attributes
    ----------
    exit_code : int
        What the command line ends with: 1 if the answer is no, 2 if the request is wrong, 3 if the machine
        failed.

    Examples
    --------
    >>> import shoal
    >>> try:
    ...     shoal.microaggregate("nowhere.csv", k=5)
    ... except shoal.ShoalError as error:
    ...     print(error.exit_code)
    2
    """

    exit_code = 2


class InputError(ShoalError, ValueError):
    """The request is wrong: a file, a column, a value or a parameter. The message says what to do.

    It is a ValueError too.

    Examples
    --------
    >>> import shoal
    >>> shoal.Plan(0)
    Traceback (most recent call last):
    ...
    shoal.errors.InputError: k must be a whole number of at least 1, not 0
    """


class CheckFailed(ShoalError):
    """The answer is no: a release does not keep its promise. Nothing is published.

    Examples
    --------
    >>> import shoal
    >>> issubclass(shoal.CheckFailed, shoal.ShoalError), shoal.CheckFailed.exit_code
    (True, 1)
    """

    exit_code = 1


class MachineError(ShoalError):
    """The machine failed: disk, memory, a missing program.

    Examples
    --------
    >>> import shoal
    >>> issubclass(shoal.MachineError, shoal.ShoalError), shoal.MachineError.exit_code
    (True, 3)
    """

    exit_code = 3


@contextmanager
def needs_extra(what: str, extra: str) -> Iterator[None]:
    """Say of what is imported within that an extra of the package brings it."""
    try:
        yield
    except ImportError:
        raise InputError(f"{what} the extra {extra!r}: pip install 'shoal-sdc[{extra}]'") from None


def too_few(k: int, there: int, whom: str = "records") -> InputError:
    """The error for fewer records, or units, than k."""
    remedy = ": lower k" if there else ""
    return InputError(f"k={k} needs at least {k} {whom}, but the table has {there}{remedy}")


def never_overwritten(what: str) -> InputError:
    """The error for an output that is the input."""
    return InputError(f"{what} is the input, which is never overwritten: name another output")


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """A hint that names the nearest known words, to end an error message with.

    >>> did_you_mean("colums", ["columns", "method"])
    "did you mean 'columns'?"
    """
    known = list(known)
    few = len(known) <= 1000 and len(word) <= 1000  # comparing more takes seconds
    folded = {name.lower(): name for name in reversed(known)} if few else {}
    near = [folded[name] for name in difflib.get_close_matches(word.lower(), folded, n=3, cutoff=0.5)]
    if near:
        return "did you mean " + " or ".join(repr(name) for name in near) + "?"
    shown = ", ".join(repr(name) for name in known[:10])
    return f"there are {shown}{', ...' if len(known) > 10 else ''}" if shown else "there are none"
