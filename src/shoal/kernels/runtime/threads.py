"""The one place that starts threads: kernels run without the interpreter lock, so threads fill the cores."""

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from threading import Lock
from typing import Any, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")

#: Threads that stay ready, at most. SHOAL_THREADS and the number of processors ask for fewer as a rule.
MOST = 64


def _start_threads() -> None:
    """Threads stay ready for the next call. A forked process has none of them and starts its own."""
    global _ready
    _ready = ThreadPoolExecutor(MOST, thread_name_prefix="shoal")


_ready: ThreadPoolExecutor
_start_threads()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_start_threads)


def thread_count() -> int:
    """Threads to use: the environment's SHOAL_THREADS, else the processors this process may run on."""
    given = os.environ.get("SHOAL_THREADS", "")
    if given.isdigit() and int(given) > 0:
        return int(given)
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def map_threads(
    function: Callable[[Item], Result],
    items: Iterable[Item],
    threads: int | None = None,
    progress: Callable[[float], None] | None = None,
) -> list[Result]:
    """[function(item) for item in items], several at a time; the order of the results is the items' order.

    How items are cut must not depend on the number of threads: then neither does the outcome. The caller's
    own thread works too, and waits only for helpers that have begun: where all are busy (with the work that
    this is a part of, say) it does everything itself. `progress` gets the share of items that are done, one
    call at a time.
    """
    items = list(items)
    results: list[Any] = [None] * len(items)
    errors: dict[int, BaseException] = {}
    waiting = iter(range(len(items)))  # one thread at a time takes from it, for the interpreter lock
    lock, done = Lock(), 0

    def work() -> None:
        nonlocal done
        for i in waiting:
            if errors:  # also Ctrl-C: start nothing more
                return
            try:
                results[i] = function(items[i])
                if progress:
                    with lock:
                        done += 1
                        progress(done / len(items))
            except BaseException as error:
                errors[i] = error

    helpers = [_ready.submit(work) for _ in range(min(threads or thread_count(), len(items)) - 1)]
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
