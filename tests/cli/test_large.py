"""Each command with a text larger than memory: it says what it says of a small one, or refuses."""

import json
import subprocess
import sys

import numpy as np
import pytest
from typer.testing import CliRunner

from shoal.cli.commands import app
from shoal.pipeline import run
from shoal.plan import Plan

NOTES = [f"note{j}" for j in range(10)]
ASKED = ("-c", "income,age", "-k", "5")
#: Bytes that a command may use here: six times fewer than the text and what is made of it would take.
LIMIT = 1_600_000_000
LIMITED = f"""import resource
resource.setrlimit(resource.RLIMIT_DATA, ({LIMIT}, {LIMIT}))
from shoal.cli import main
main()"""


@pytest.fixture(scope="module")
def texts(tmp_path_factory):
    """A small text and its release; and both with long notes, 300 MB each."""
    folder, rng = tmp_path_factory.mktemp("texts"), np.random.default_rng(2)
    rows = [f"{x:.2f},{y}" for x, y in zip(rng.lognormal(3, 1, 1500), rng.integers(0, 90, 1500))]
    plan = Plan(5, columns=["income", "age"], method="mdav", order="keep")
    small, safe = folder / "small.csv", folder / "small.safe.csv"
    small.write_text("\n".join([",".join(["income", "age", *NOTES])] + [row + ",n" * 10 for row in rows]))
    run(plan, small).write(safe)
    for path in (small, safe):
        long = path.read_text().replace(",n" * 10, f",{'n' * 20_000}" * 10)
        (folder / path.name.replace("small", "large")).write_text(long)
    return folder


def told(folder, size, *words):
    """What a command says of texts of this size, with little memory for the large one."""
    words = [str(folder / f"{size}{word}") if word.endswith(".csv") else word for word in words]
    if size == "large":
        code = [sys.executable, "-c", LIMITED, *words]
        done = subprocess.run(code, capture_output=True, text=True)
        return done.returncode, done.stdout, " ".join(done.stderr.split())
    done = CliRunner().invoke(app, words)
    return done.exit_code, done.stdout, " ".join(done.stderr.split())


@pytest.mark.no_cover
@pytest.mark.parametrize(
    "words",
    [
        ("check", ".safe.csv", *ASKED, "--original", ".csv", "--order", "keep", "--json"),
        ("measure", ".csv", ".safe.csv", "-c", "income,age", "--order", "keep", "--json"),
        ("compare", ".csv", *ASKED, "-m", "mdav", "--bound-time", "0", "--json"),
        ("suggest", ".csv", *ASKED, "-m", "mdav", "--max-risk", "1", "--json"),
        ("inspect", ".csv", "--json"),
        ("bound", ".csv", *ASKED, "--time-limit", "0.001", "--json"),
    ],
)
def test_a_text_larger_than_memory_is_read_piece_by_piece(texts, words):
    large, small = (told(texts, size, *words) for size in ("large", "small"))
    assert large[0] == small[0] == 0, large[2]
    close(json.loads(large[1]), json.loads(small[1]))


def close(one, other):
    if isinstance(one, dict):
        assert one.keys() == other.keys()
        for key in one.keys() - {"seconds", "bound_seconds"}:
            close(one[key], other[key])
    elif isinstance(one, list):
        assert len(one) == len(other)
        for ours, theirs in zip(one, other):
            close(ours, theirs)
    else:
        assert one == (pytest.approx(other, rel=1e-9, abs=1e-12) if isinstance(other, float) else other)


def test_a_plan_is_guessed_from_the_first_records_of_such_a_text(texts):
    large, small = (told(texts, size, "plan", ".csv", "-k", "5") for size in ("large", "small"))
    assert large[0] == small[0] == 0, large[2]
    lines = small[1].splitlines()
    assert large[1].splitlines() == [line for line in lines if not line.startswith("sha256")]


@pytest.mark.no_cover
@pytest.mark.parametrize(
    "words",
    [
        ("optimum", ".csv", *ASKED),
        ("protect", ".csv", *ASKED, "--engine", "memory"),
    ],
)
def test_what_holds_its_table_in_memory_refuses_such_a_text(texts, words):
    status, _, said = told(texts, "large", *words)
    assert status == 2
    assert "takes 0.9 GB, more than half of the memory there is: take a larger machine, or protect it" in said
    assert not list(texts.glob("*protected*"))
