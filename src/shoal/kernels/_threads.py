"""Kernels on several cores: they run without the interpreter lock, so ordinary threads are enough.

Callers split the work at fixed places, never by the number of cores: the outcome is the same everywhere.
"""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any


def cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def together(*tasks: Callable[[], Any]) -> list[Any]:
    """Do all tasks, at the same time where there are cores for it; their results in order."""
    if len(tasks) == 1 or cores() == 1:
        return [task() for task in tasks]
    with ThreadPoolExecutor(min(len(tasks), cores())) as pool:
        return [future.result() for future in [pool.submit(task) for task in tasks]]
