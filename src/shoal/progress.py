"""A progress bar for what takes long: in a terminal, and in a notebook."""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress as Bar

PATIENCE = 2.0  # seconds before a progress bar appears: what is done sooner needs none


def in_notebook() -> bool:
    """Whether this is a notebook in which rich can draw a bar that moves: that needs ipywidgets."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return type(shell).__name__ == "ZMQInteractiveShell" and find_spec("ipywidgets") is not None


@contextlib.contextmanager
def watching(patience: float = PATIENCE, doing: str = "grouping") -> Iterator[Callable[[float], None]]:
    """A progress callback for what may take long: after some seconds a bar appears, with an estimate.

    Before the first report the bar shows only how long the work has gone on.
    """
    share: float | None = None
    bar: Bar | None = None
    lock = threading.Lock()

    def draw() -> None:
        nonlocal bar
        with lock:
            bar = _bar(began, doing)
            bar.update(bar.task_ids[0], total=None if share is None else 1.0, completed=share or 0.0)

    def progress(fraction: float) -> None:
        nonlocal share
        share = min(max(fraction, 0.0), 1.0)
        if bar is not None:
            with lock:
                bar.update(bar.task_ids[0], total=1.0, completed=share)

    began = time.monotonic()
    timer = threading.Timer(patience, draw)
    timer.daemon = True
    timer.start()
    try:
        yield progress
    finally:
        timer.cancel()
        with lock:
            if bar is not None:
                bar.stop()


def _bar(began: float, doing: str = "grouping") -> Bar:
    """A bar that has run since then, drawn on a terminal or in a notebook, not into a file."""
    from rich import progress as rich
    from rich.console import Console

    parts = (rich.TextColumn(doing), rich.BarColumn(), rich.TaskProgressColumn())
    times = (rich.TimeElapsedColumn(), rich.TextColumn("left"), rich.TimeRemainingColumn())
    console = Console(stderr=True)
    silent = not (console.is_terminal or in_notebook())
    bar = rich.Progress(*parts, *times, console=console, transient=True, disable=silent)
    bar.add_task(doing, total=None)
    bar.tasks[0].start_time = bar.get_time() - (time.monotonic() - began)
    bar.start()
    return bar
