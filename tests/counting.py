"""Lines are counted where those of shoal run: not in the compiler, nor while other packages are imported.

Python is several times slower where a tracer looks on, whoever's lines it runs.
"""

import sys
from functools import wraps
from importlib.machinery import SourceFileLoader


def uncounted(function):
    """The same function, which no tracer sees, nor what it calls."""

    @wraps(function)
    def quickly(*given, **named):
        if (tracer := sys.gettrace()) is None:
            return function(*given, **named)
        sys.settrace(None)
        try:
            return function(*given, **named)
        finally:
            sys.settrace(tracer)
            _call()

    return quickly


def _call():
    """At a call the tracer of coverage takes hold of every frame again: so it misses the end of none."""


def count_own_lines_only():
    """For the rest of this process."""
    from _pytest.assertion import rewrite
    from numba.core.dispatcher import Dispatcher

    Dispatcher.compile = uncounted(Dispatcher.compile)
    rewrite.rewrite_asserts = uncounted(rewrite.rewrite_asserts)
    usual = SourceFileLoader.exec_module
    quick = uncounted(usual)

    def exec_module(loader, module):
        own = module.__name__.partition(".")[0] in ("shoal", "tests", "benchmarks")  # who import shoal
        return (usual if own else quick)(loader, module)

    SourceFileLoader.exec_module = exec_module
