"""The one place that starts threads: kernels run without the interpreter lock, so threads fill the cores."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


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

    How items are cut must not depend on the number of threads: then neither does the outcome.
    """
    items = list(items)
    threads = min(threads or thread_count(), len(items))
    if threads <= 1:
        return [function(item) for item in items]
    with ThreadPoolExecutor(threads) as pool:
        try:
            return list(pool.map(function, items))
        except BaseException:  # also Ctrl-C: what has not begun shall not begin
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def together(*tasks: Callable[[], Result]) -> list[Result]:
    """Do different tasks at the same time where there are cores for it; their results in order."""
    return map_threads(lambda task: task(), tasks)
