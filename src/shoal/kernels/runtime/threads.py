"""The one place that starts threads: kernels run without the interpreter lock, so threads fill the cores."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")

MOST = 64  # threads that are ever kept


def _keep_threads() -> None:
    """Threads are kept for the next call, and begun anew in a forked process, which has none of them."""
    global _kept
    _kept = ThreadPoolExecutor(MOST, thread_name_prefix="shoal")


_kept: ThreadPoolExecutor
_keep_threads()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_keep_threads)


def thread_count() -> int:
    """Threads to use: the environment's SHOAL_THREADS, else the processors this process may run on."""
    given = os.environ.get("SHOAL_THREADS", "")
    if given.isdigit() and int(given) > 0:
        return int(given)
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def map_threads(
    function: Callable[[Item], Result], items: Iterable[Item], threads: int | None = None
) -> list[Result]:
    """[function(item) for item in items], several at a time; the order of the results is the items' order.

    How items are cut must not depend on the number of threads: then neither does the outcome. The caller's
    own thread works too, and waits only for helpers that have begun: where all are busy (with the work that
    this is a part of, say) it does everything itself.
    """
    items = list(items)
    threads = min(threads or thread_count(), len(items))
    if threads <= 1:
        return [function(item) for item in items]
    results: list[Any] = [None] * len(items)
    errors: dict[int, BaseException] = {}
    waiting = iter(range(len(items)))  # one thread at a time takes from it, for the interpreter lock

    def work() -> None:
        for i in waiting:
            if errors:  # also Ctrl-C: what has not begun shall not begin
                return
            try:
                results[i] = function(items[i])
            except BaseException as error:
                errors[i] = error

    helpers = [_kept.submit(work) for _ in range(threads - 1)]
    work()
    for helper in helpers:
        if not helper.cancel():
            helper.result()
    if errors:
        raise errors[min(errors)]
    return results


def together(*tasks: Callable[[], Result]) -> list[Result]:
    """Do different tasks at the same time where there are cores for it; their results in order."""
    return map_threads(lambda task: task(), tasks)
