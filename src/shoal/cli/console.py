"""What a person sees: messages and tables on stderr, a progress bar for what takes long."""

from __future__ import annotations

import contextlib
import functools
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import typer

from shoal.errors import ShoalError

PATIENCE = 2.0  # seconds before a progress bar appears
_NO_MEMORY = "the memory does not suffice: close other programs, or protect fewer columns at a time"


def guarded(command: Callable) -> Callable:
    """Turn what can go wrong into one sentence on stderr and the right exit status."""

    @functools.wraps(command)
    def run(*args: Any, **options: Any) -> None:
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, _terminate)
        try:
            command(*args, **options)
        except ShoalError as error:
            _fail(str(error), error.exit_code)
        except KeyboardInterrupt:
            _stop("stopped; no file is left half-written", 130)
        except Terminated:
            _stop("ended; no file is left half-written", 143)
        except MemoryError:
            _fail(_NO_MEMORY, 3)
        except BrokenPipeError:  # whoever read our output has seen enough
            os._exit(0)
        except OSError as error:
            _fail(str(error), 3)
        except Exception as error:
            if os.environ.get("SHOAL_TRACEBACK") or _is_typers(error):
                raise
            if "can't start new thread" in str(error):
                _fail(_NO_MEMORY, 3)
            said = f"{type(error).__name__}: {error}".splitlines()[0]
            hint = "set SHOAL_TRACEBACK=1 to see where, and please report it"
            _fail(f"this should not happen, and nothing was released ({said}): {hint}", 3)

    return run


def _is_typers(error: Exception) -> bool:
    """Whether typer raised this itself, to end the command."""
    return isinstance(error, typer.Exit) or type(error).__module__.startswith(("click", "typer"))


def _terminate(number: int, frame: Any) -> None:
    raise Terminated


class Terminated(BaseException):
    """The process was asked to end (SIGTERM)."""


def interruptible(function: Callable[[], Any]) -> Any:
    """Call the function in a thread of its own, so that Ctrl-C is heard while a kernel computes."""
    outcome: dict[str, Any] = {}

    def work() -> None:
        try:
            outcome["value"] = function()
        except BaseException as error:
            outcome["error"] = error

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    while thread.is_alive():
        thread.join(0.1)
    if "error" in outcome:
        raise outcome["error"]
    return outcome["value"]


def _stop(message: str, status: int) -> None:
    """End at once: a kernel may still be computing in its thread, and nobody waits for it."""
    print(f"shoal: {message}", file=sys.stderr, flush=True)
    sys.stdout.flush()
    os._exit(status)


def _fail(message: str, status: int) -> None:
    print(f"shoal: {message}", file=sys.stderr)
    raise typer.Exit(status)


@contextlib.contextmanager
def watching() -> Iterator[Callable[[float], None]]:
    """A progress callback for what may take long: after two seconds a bar appears, with an estimate.

    Work that has reported nothing yet shows that it goes on, and for how long it has.
    """
    share: float | None = None
    bar: Any = None
    lock = threading.Lock()

    def draw() -> None:
        nonlocal bar
        with lock:
            bar = _bar(began)
            bar.update(bar.task_ids[0], total=None if share is None else 1.0, completed=share or 0.0)

    def progress(fraction: float) -> None:
        nonlocal share
        share = min(max(fraction, 0.0), 1.0)
        if bar is not None:
            with lock:
                bar.update(bar.task_ids[0], total=1.0, completed=share)

    began = time.monotonic()
    timer = threading.Timer(PATIENCE, draw)
    timer.daemon = True
    timer.start()
    try:
        yield progress
    finally:
        timer.cancel()
        with lock:
            if bar is not None:
                bar.stop()


def _bar(began: float) -> Any:
    """A bar that has been running since then, drawn only on a terminal: a file would get an empty line."""
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        Progress,
        TaskProgressColumn,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    parts = (
        TextColumn("grouping"),
        BarColumn(),
        TaskProgressColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    console = Console(stderr=True)
    bar = Progress(*parts, console=console, transient=True, disable=not console.is_terminal)
    bar.add_task("grouping", total=None)
    bar.tasks[0].start_time = bar.get_time() - (time.monotonic() - began)
    bar.start()
    return bar


def show_outcome(outcome: dict[str, Any]) -> None:
    """The outcome in plain words."""
    sizes = f"{outcome['smallest_group']} to {outcome['largest_group']} records"
    method, used = outcome["method"], ", ".join(outcome["used"])
    method = method if method == used else f"{method}: {used}"
    rows = [
        ("records", f"{outcome['records']:,}"),
        ("columns protected", ", ".join(outcome["columns"])),
        ("groups", f"{outcome['groups']:,} of {sizes}"),
        ("information lost", percent(outcome["information_loss"])),
    ]
    if "bound" in outcome:
        rows.append(("proven", bound_in_words(outcome)))
    if outcome["rounding_loss"]:
        rows.append(("lost by rounding", "another " + percent(outcome["rounding_loss"])))
    rows += [
        ("method", f"{method} (k={outcome['k']}, seed {outcome['seed']})"),
        ("time", f"{outcome['seconds']:.2f} s"),
        ("promise", outcome["promise"]),
        ("written to", outcome["output"]),
    ]
    print_table(None, rows, stderr=True)
    for note in outcome["notes"]:
        print(f"note: {note}", file=sys.stderr)


def bound_in_words(outcome: dict[str, Any]) -> str:
    """What the bound says, and how far above it the release lies."""
    words = f"no release with k={outcome['k']} can lose less than {percent(outcome['bound'])}"
    if 0 < outcome["gap"] < float("inf"):
        words += f"; this one lies {percent(100 * outcome['gap'])} above"
    return words


def percent(value: float) -> str:
    """Four digits that mean something, however small."""
    return f"{value:.4g} %"


def print_table(head: Sequence[str] | None, rows: Sequence[Sequence[str]], stderr: bool = False) -> None:
    """Rows under their heads, wrapped to the terminal; text from data is never taken as markup."""
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE, show_header=head is not None, pad_edge=False)
    for name in head or rows[0]:
        table.add_column(name if head else "")
    for row in rows:
        table.add_row(*[Text(cell) for cell in row])
    Console(stderr=stderr).print(table)
