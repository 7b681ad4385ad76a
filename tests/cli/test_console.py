"""Progress appears for whatever takes long, and Ctrl-C is heard meanwhile."""

import signal
import subprocess
import sys
import threading

import numpy as np
import pyarrow as pa
import pytest

import shoal
from shoal import progress as progress_bar
from shoal.cli import console


class Bar:
    """What `shoal.progress._bar` draws, remembered."""

    task_ids = (0,)

    def __init__(self):
        self.updates, self.stopped = [], False

    def update(self, task, total, completed):
        self.updates.append((total, completed))

    def stop(self):
        self.stopped = True


@pytest.fixture
def bar(monkeypatch):
    bar, bar.drawn = Bar(), threading.Event()
    update = bar.update
    bar.update = lambda *given, **named: (update(*given, **named), bar.drawn.set())
    monkeypatch.setattr(progress_bar, "_bar", lambda began, doing: bar)
    return bar


def test_a_bar_appears_without_any_report_and_fills_with_the_first(bar):
    with console.watching(patience=0.0) as progress:
        assert bar.drawn.wait(60)
        progress(0.25)
        progress(1.5)
        assert not bar.stopped
    assert bar.updates == [(None, 0.0), (1.0, 0.25), (1.0, 1.0)]
    assert bar.stopped


def test_what_is_done_sooner_draws_nothing(bar):
    with console.watching(patience=1e6) as progress:
        progress(0.5)
    assert bar.updates == []


@pytest.mark.parametrize("terminal", [True, False])
def test_the_real_bar_draws_a_share_on_a_terminal_only(terminal, capsys, monkeypatch):
    if terminal:
        monkeypatch.setenv("FORCE_COLOR", "1")  # as on a terminal
    bar = progress_bar._bar(0.0)
    bar.update(bar.task_ids[0], total=1.0, completed=0.5)
    assert bar.tasks[0].percentage == 50
    assert bar.tasks[0].elapsed > 0
    bar.refresh()
    bar.stop()
    drawn = capsys.readouterr().err
    assert ("50%" in drawn) if terminal else (drawn == "")


LONG = """
from shoal.kernels.neighbours import pool

peel = pool.peel

def told(*given):
    print("grouping", flush=True)
    return peel(*given)

pool.peel = told
from shoal.cli import main
main()
"""


def test_ctrl_c_stops_a_long_mdav_and_nothing_is_written(tmp_path, tmp_path_factory):
    script = tmp_path_factory.mktemp("long") / "long.py"
    script.write_text(LONG)
    X = np.random.default_rng(0).normal(size=(60_000, 10))
    shoal.write(pa.table({f"c{j}": column for j, column in enumerate(X.T)}), tmp_path / "large.parquet")
    words = [sys.executable, str(script), "protect", str(tmp_path / "large.parquet"), "-k", "3", "-m", "mdav"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as run:
        assert run.stdout.readline() == "grouping\n"
        run.send_signal(signal.SIGINT)
        _, errors = run.communicate()
    assert run.returncode == 130, errors
    assert "no file is left half-written" in errors
    assert [path.name for path in tmp_path.iterdir()] == ["large.parquet"]


EVIL = "\x1b]0;owned\x07\x1b[2J\x9b31m\u202eSECRET\r\n"


@pytest.mark.parametrize(
    "words",
    [
        ("inspect", "t.parquet"),
        ("protect", "t.parquet", "-k", "2", "-o", "out.parquet"),
        ("protect", "t.parquet", "-k", "2", "-c", "no", "-o", "out.parquet"),
        ("protect", "t.parquet", "-k", "2", "-o", "out.csv", "--report", "-"),
        ("plan", "t.parquet"),
        ("check", "t.parquet", "-k", "3"),
        ("protect", "gone\x1b[2J.csv", "-k", "2"),
        ("compare", "t.parquet", "-k", "2", "-m", "mdav,kmeans\x1b[2J"),
    ],
)
def test_nothing_from_data_steers_the_terminal(tmp_path, words):
    """Names of columns, of files, levels: whatever is shown has its control characters escaped."""
    table = {f"n{EVIL}": [1.0, 2, 3, 4], f"id{EVIL}": [1, 2, 3, 4], "t": [f"{EVIL}{j}" for j in range(4)]}
    shoal.write(pa.table(table), tmp_path / "t.parquet")
    run = subprocess.run(
        [sys.executable, "-m", "shoal", *words], capture_output=True, cwd=tmp_path, timeout=120
    )
    for stream in (run.stdout.decode(), run.stderr.decode()):
        assert all(sign.isprintable() or sign == "\n" for sign in stream), stream
    assert "Traceback" not in run.stderr.decode()


def test_what_is_printed_is_still_readable():
    assert console.plain("Ärger\xa0 'x'\x1b[0m\n") == "Ärger\xa0 'x'\\x1b[0m\\n"


def test_tables_fit_the_terminal_whatever_the_letters(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    console.print_table(
        ("name", "what it says"), [("収入額", "word " * 20), ("e\u0301", "short"), ("", "x" * 90)]
    )
    lines = capsys.readouterr().out.splitlines()
    assert max(console._width(line) for line in lines) <= 40
    starts = {
        console._width(line[: line.index(word)])
        for line in lines
        for word in ("what", "word", "short")
        if word in line
    }
    assert len(starts) == 1
    assert "".join(lines).count("word") == 20
    assert "".join(lines).count("x") == 90
