"""The process that computes, order by order and without a page: its answers, and what it leaves behind."""

import io
import json
import sqlite3
import time

import pyarrow as pa
import pytest

pytest.importorskip("nicegui")

import shoal
from shoal.app import worker
from shoal.datasets import survey
from shoal.verify.files import check

NAMES = ["turnover", "wages", "assets"]


def ask(task, **order):
    """All that the worker answers to one order, as (event, value)."""
    answers = io.StringIO()
    worker.answer(json.dumps({"number": 7, "task": task, **order}), answers)
    said = [json.loads(line) for line in answers.getvalue().splitlines()]
    assert all(told["number"] == 7 for told in said)
    return [(told["event"], told["value"]) for told in said]


@pytest.fixture
def firms(tmp_path):
    shoal.write(survey(120), tmp_path / "firms.csv")
    return tmp_path / "firms.csv"


def run(firms, folder, bound=False, method="mdav", order=(), **options):
    """Carry out a plan on the file, as the page orders it; what was said."""
    folder.mkdir()
    (folder / "plan.toml").write_text(shoal.Plan.of(4, columns=NAMES, method=method, **options).toml())
    plan = str(folder / "plan.toml")
    return ask("run", path=str(firms), plan=plan, folder=str(folder), bound=bound, **dict(order))


def test_a_table_is_looked_at(firms):
    ((event, facts),) = ask("inspect", path=str(firms))
    assert event == "done"
    assert facts["records"] == 120
    assert [column["name"] for column in facts["columns"]] == survey(1).column_names


WRONG = {
    "stratum": ({"strata": ["region"]}, "needs at least 60 records, but stratum"),
    "units": ({"unit": "sector"}, "k=60 needs at least 60 units"),
    "closeness": ({"closeness": {"profit": 0.001}}, "only one group of all 120 records"),
    "diversity": ({"diversity": {"region": 99}}, "the table of 120 records"),
    "one column": ({"method": "univariate"}, "groups by one column"),
    "category": ({"columns": ["wages", "sector"], "method": "mdav"}, "is for numbers only"),
}


@pytest.mark.parametrize("why", WRONG)
def test_what_a_run_would_refuse_is_said_without_it(firms, why):
    options, words = WRONG[why]
    given = {"columns": NAMES, **options}
    fine, wrong = (shoal.Plan.of(k, **plan).toml() for k, plan in ((4, {"columns": NAMES}), (60, given)))
    assert ask("foresee", path=str(firms), plans=[fine]) == [("done", None)]
    ((event, said),) = ask("foresee", path=str(firms), plans=[fine, wrong])
    assert event == "failed"
    assert words in said
    with pytest.raises(shoal.ShoalError) as caught:
        shoal.microaggregate(firms, 60, **given)
    assert str(caught.value) == said


def test_the_demo_is_made_and_looked_at(tmp_path):
    ((event, facts),) = ask("demo", path=str(tmp_path / "demo.csv"))
    assert (event, facts["records"]) == ("done", shoal.read(tmp_path / "demo.csv").num_rows)


def test_tables_of_a_database(tmp_path):
    path = tmp_path / "some.db"
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE people (a INTEGER PRIMARY KEY AUTOINCREMENT)")
        database.execute('CREATE TABLE "two words" (a)')
        database.execute("CREATE VIEW seen AS SELECT * FROM people")
    assert ask("tables", path=str(path)) == [("done", ["people", "seen"])]
    sqlite3.connect(tmp_path / "empty.db").executescript("CREATE TABLE t (a); DROP TABLE t;")
    ((event, sentence),) = ask("tables", path=str(tmp_path / "empty.db"))
    assert (event, sentence) == ("failed", f"{str(tmp_path / 'empty.db')!r} has no tables")
    (tmp_path / "no.db").write_text("no database " * 100)
    ((event, sentence),) = ask("tables", path=str(tmp_path / "no.db"))
    assert event == "failed"
    assert "cannot be read as SQLite" in sentence


def test_a_run_tells_its_stages_and_keeps_its_release(firms, tmp_path):
    said = run(firms, tmp_path / "run", bound=True)
    events = [event for event, _ in said if event != "progress"]
    assert events == ["stage", "stage", "look", "stage", "bound", "done"]
    facts, bound = dict(said)["look"], dict(said)["bound"]
    assert 0 < bound["information_loss"] <= facts["outcome"]["information_loss"]
    assert bound["gap"] >= 0

    folder, out = str(tmp_path / "run"), tmp_path / "out.csv"
    assert ask("write", folder=folder, target=str(out)) == [("done", None)]
    assert check(out, 4, NAMES)[0].passed
    assert shoal.read(out).num_rows == 120
    other = dict.fromkeys(("information_loss", "risk", "risk_high", "interval_disclosure", "seconds"), 9.75)
    other |= {"method": "another", "k": 4, "groups": 30, "smallest_group": 4, "largest_group": 4}
    for edition, runs in (("public", []), ("internal", [other])):
        target = tmp_path / f"{edition}.json"
        order = {"folder": folder, "target": str(target), "edition": edition, "runs": runs}
        assert ask("report", **order) == [("done", None)]
        written = json.loads(target.read_text())
        assert written["edition"] == edition
    assert written["bound"]["information_loss"] == bound["information_loss"]
    assert [tried["method"] for tried in written["why_k"]["comparison"]["runs"]] == ["another"]


def test_progress_is_told_now_and_then(firms, tmp_path):
    for seconds, heard in ((0.0, True), (time.monotonic() + 1e6, False)):
        order = {"tell_every": seconds}
        events = run(firms, tmp_path / str(heard), method="repordmic", order=order)
        assert any(event == "progress" for event, _ in events) == heard


def test_records_that_were_left_out_are_kept_with_the_release(tmp_path):
    holes = survey(60).to_pydict()
    holes["wages"][3] = None
    shoal.write(pa.table(holes), tmp_path / "holes.csv")
    said = run(tmp_path / "holes.csv", tmp_path / "run", bound=True, missing="drop")
    assert said[-1] == ("done", None)
    assert dict(said)["look"]["outcome"]["records"] == 59
    out = tmp_path / "out.csv"
    assert ask("write", folder=str(tmp_path / "run"), target=str(out)) == [("done", None)]
    assert shoal.read(out).num_rows == 59


def test_where_no_bound_can_be_proven_the_reason_is_told(firms, tmp_path):
    said = dict(run(firms, tmp_path / "run", bound=True, per_column=True))
    assert said["bound"]["why"].startswith("a bound holds for groups of whole records")
    assert not (tmp_path / "run" / "bound.pickle").exists()


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (shoal.errors.InputError("k is wrong"), "k is wrong"),
        (MemoryError(), "the memory does not suffice"),
        (ZeroDivisionError("by nothing\nand more"), "this did not work (ZeroDivisionError: ['by nothing'])"),
    ],
)
def test_whatever_fails_is_a_sentence(error, sentence, monkeypatch):
    def fail(tell):
        raise error

    monkeypatch.setitem(worker.TASKS, "fail", fail)
    ((event, told),) = ask("fail")
    assert event == "failed"
    assert told.startswith(sentence)


def test_a_worker_warms_up():
    assert ask("warm") == [("done", None)]


def test_a_kept_column_that_gives_a_protected_one_away_stops_the_run(tmp_path):
    wages = [1000 + 37 * i for i in range(60)]
    table = pa.table({"turnover": wages, "wages": wages, "assets": wages, "tax": [w / 4 for w in wages]})
    shoal.write(table, tmp_path / "in.csv")
    (event, sentence) = run(tmp_path / "in.csv", tmp_path / "refused")[-1]
    assert event == "failed"
    assert "'tax' gives back" in sentence
    assert "on the page the role 'other' in step 1" in sentence
    assert not list((tmp_path / "refused").glob("*.pickle"))
    assert "look" in dict(run(tmp_path / "in.csv", tmp_path / "decided", keep=["tax"]))
