"""The command reference and the man page, both made from the commands: `python -m docs.make_commands FILE`.

FILE ends in `.md` (the site's page, which `make docs` writes anew) or in `.1` (the man page; `make man`).
"""

from __future__ import annotations

import functools
import os
import re
import subprocess
import sys
from pathlib import Path

import shoal

CODES = {
    0: "done",
    1: "the answer is no: a check has failed, or no k is good enough",
    2: "the request is wrong; nothing was written, and the message says what to do",
    3: "the machine failed: memory, disk, a server; trying again may help",
    130: "interrupted (Ctrl-C); no file is left half-written",
    143: "asked to end (SIGTERM); no file is left half-written",
}
VARIABLES = {
    "SHOAL_THREADS": "how many threads to use; without it, all processors that the process may run on",
    "SHOAL_TRACEBACK": "set to 1, an unforeseen error shows where it happened",
    "SHOAL_BENCHMARK_DATA": "the folder of the papers' tables, for `make published` and the benchmarks",
    "NUMBA_CACHE_DIR": "where compiled kernels are kept; the first run fills it",
    "PGUSER, PGPASSWORD": "user and password of PostgreSQL, if its address names none",
    "AZURE_STORAGE_KEY": "the key of the account, for addresses that begin with abfs://",
    "JAVA_HOME": "which Java runs Spark",
    "XDG_STATE_HOME": "where the page keeps saved sessions, in its folder shoal",
    "NO_COLOR": "set to anything, the terminal shows no colours",
}


@functools.cache  # page and man page tell the same
def told(*words: str) -> str:
    """What a command prints as its help, 80 columns wide."""
    plain = {**os.environ, "COLUMNS": "80", "NO_COLOR": "1", "TERM": "dumb", "PYTHONSAFEPATH": "1"}
    command = [sys.executable, "-m", "shoal", *words, "--help"]
    shown = subprocess.run(command, check=True, capture_output=True, text=True, env=plain).stdout.rstrip()
    return shown.replace("Usage: python -m shoal", "Usage: shoal", 1)


def commands() -> list[str]:
    """The names of all commands, as `shoal --help` lists them."""
    listed = told().split("Commands:\n", 1)[1]
    return re.findall(r"^  (\w+)  ", listed, re.MULTILINE)


def page() -> str:
    """The reference as Markdown."""
    parts = [
        "# Commands\n\nMade from the commands themselves (`python -m docs.make_commands docs/commands.md`).",
        f"```text\n{told()}\n```",
    ]
    parts += [f"## shoal {name}\n\n```text\n{told(name)}\n```" for name in commands()]
    return "\n\n".join(parts) + "\n"


def man() -> str:
    """The man page, in roff."""
    lines = [f'.TH SHOAL 1 "" "shoal {shoal.__version__}" "User Commands"', ".SH NAME"]
    lines += ["shoal \\- publish microdata in groups of at least k", ".SH SYNOPSIS", ".B shoal"]
    lines += ["\\fICOMMAND\\fR [\\fIOPTIONS\\fR] [\\fIARGUMENTS\\fR]", ".SH DESCRIPTION"]
    lines += [
        "In the columns you choose, each record shows the mean of a group of at least k similar records."
    ]
    lines += [".SH COMMANDS"]
    for name in commands():
        lines += [f".SS shoal {name}", ".nf", _roff(told(name)), ".fi"]
    lines += [".SH EXIT STATUS"]
    for code, words in CODES.items():
        lines += [".TP", f".B {code}", _roff(words)]
    lines += [".SH ENVIRONMENT"]
    for name, words in VARIABLES.items():
        lines += [".TP", f".B {name}", _roff(words)]
    return "\n".join(lines) + "\n"


def _roff(text: str) -> str:
    """Text in which no character steers roff."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return re.sub(r"^([.'])", r"\\&\1", text, flags=re.MULTILINE)


if __name__ == "__main__":
    target = Path(sys.argv[1])
    target.parent.mkdir(exist_ok=True)
    target.write_text(man() if target.suffix == ".1" else page(), encoding="utf-8")
