"""What a person sees: messages and tables on stderr."""

from __future__ import annotations

import functools
import os
import shutil
import signal
import sys
import textwrap
import threading
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

import typer

from shoal.errors import ShoalError
from shoal.io.databases.address import shown
from shoal.progress import watching as watching

if TYPE_CHECKING:
    from shoal.outcome import Outcome

_NO_MEMORY = "the memory does not suffice: close other programs, or protect fewer columns at a time"


def guarded(command: Callable) -> Callable:
    """Turn what can go wrong into one sentence on stderr and the right exit status."""

    @functools.wraps(command)
    def run(*args: Any, **options: Any) -> None:
        if threading.current_thread() is threading.main_thread():
            for name in ("SIGTERM", "SIGHUP"):  # Windows has no terminal that hangs up
                number = getattr(signal, name, None)
                if number and signal.getsignal(number) != signal.SIG_IGN:  # as `nohup` asks
                    signal.signal(number, _terminate)
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
            typers = isinstance(error, typer.Exit) or type(error).__module__.startswith(("click", "typer"))
            if os.environ.get("SHOAL_TRACEBACK") or typers:  # who raised it to end the command
                raise
            if "can't start new thread" in str(error):
                _fail(_NO_MEMORY, 3)
            said = f"{type(error).__name__}: {error}".splitlines()[0]
            hint = "set SHOAL_TRACEBACK=1 to see where, and please report it"
            _fail(f"this should not happen, and nothing was released ({said}): {hint}", 3)

    return run


def _terminate(number: int, frame: Any) -> None:
    raise Terminated


class Terminated(BaseException):
    """The process was asked to end (SIGTERM), or its terminal was closed (SIGHUP)."""


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


def plain(text: object) -> str:
    """A text, which may come from data, with all that could steer a terminal written as an escape."""
    return "".join(c if c.isprintable() or c == "\xa0" else ascii(c)[1:-1] for c in str(text))


def say(text: object) -> None:
    """One line on stderr."""
    print(plain(text), file=sys.stderr, flush=True)


def _stop(message: str, status: int) -> None:
    """End at once: a kernel may still be computing in its thread, and nobody waits for it."""
    say(f"shoal: {message}")
    sys.stdout.flush()
    os._exit(status)


def _fail(message: str, status: int) -> None:
    say(f"shoal: {shown(message)}")
    raise typer.Exit(status)


def show_outcome(
    outcome: Outcome, target: str, proof: Mapping[str, Any] | None = None, notes: Sequence[str] = ()
) -> None:
    """The outcome in plain words; `notes` are those on the file, beside those on the release."""
    from shoal.outcome import SAME, percent

    rows = outcome.rows()
    if proof:
        lost = next(place for place, (name, _) in enumerate(rows) if name == "information lost")
        words = f"no release with k={outcome.k} can lose less than {percent(proof['bound'])}"
        if proof["gap"] is not None and proof["gap"] > SAME:
            words += f"; this one lies {percent(100 * proof['gap'])} above"
        rows.insert(lost + 1, ("proven", words))
    print_table(None, [*rows, ("written to", shown(target))], stderr=True)
    for note in (*outcome.notes, *notes):
        say(f"note: {note}")


def print_table(head: Sequence[str] | None, rows: Sequence[Sequence[str]], stderr: bool = False) -> None:
    """Rows under their heads, wrapped to the terminal."""
    cells = [[plain(cell) for cell in row] for row in ([head, *rows] if head else rows)]
    widths = [max(map(_width, column)) for column in zip(*cells)]
    room = shutil.get_terminal_size().columns - 3 * len(widths) + 1
    while sum(widths) > max(room, 8 * len(widths)):
        widths[widths.index(max(widths))] -= 1
    lines = [line for row in cells for line in _lines(row, widths)]
    if head:
        lines.insert(len(_lines(cells[0], widths)), " " + "─" * (sum(widths) + 3 * len(widths) - 3))
    print("", *lines, "", sep="\n", file=sys.stderr if stderr else sys.stdout, flush=True)


def _lines(row: Sequence[str], widths: Sequence[int]) -> list[str]:
    """The lines of one row; a cell that is too wide goes on below."""
    parts = [
        textwrap.wrap(cell, max(1, width * len(cell) // max(1, _width(cell))), break_on_hyphens=False)
        for cell, width in zip(row, widths)
    ]
    return [
        " " + "   ".join(t + " " * (w - _width(t)) for t, w in zip(line, widths)).rstrip()
        for line in zip_longest(*parts, fillvalue="")
    ]


def _width(text: str) -> int:
    """The places that a text takes on a terminal: Chinese letters take two, accents none."""
    wide = sum(unicodedata.east_asian_width(letter) in "WF" for letter in text)
    return len(text) + wide - sum(map(bool, map(unicodedata.combining, text)))
