"""Reports and bounds of what the disk engine makes: the same figures as in memory."""

import json
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import shoal
from shoal.bounds import measured
from shoal.cli.commands import app
from shoal.cli.large import no_large_bound
from shoal.datasets import survey
from shoal.engines.disk.engine import run as run_on_disk
from shoal.errors import InputError
from shoal.measures.measure import shown
from shoal.pipeline import release_of
from shoal.plan import Plan
from shoal.report import build
from tests.measures.test_large import close

COLUMNS = ["turnover", "wages", "profit"]


@pytest.fixture
def source(tmp_path):
    table = survey(200).append_column("w", pa.array(np.random.default_rng(0).uniform(1, 9, 200)))
    pq.write_table(table, tmp_path / "in.parquet")
    return tmp_path / "in.parquet"


def call(*words, status=0):
    outcome = CliRunner().invoke(app, [str(word) for word in words])
    assert outcome.exit_code == status, outcome.output
    return outcome


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"order": "keep", "strata": ["region"]},
        {"weight": "w"},
        {"unit": "employees"},
        {"columns": [*COLUMNS, "sector"], "roles": {"employees": "confidential"}},
        {
            "top": {"wages": "q0.9", "w": 8},
            "regroup": {"region": {"rare": 60}},
            "round": {"profit": "base:10"},
        },
    ],
)
def test_the_report_of_one_block_is_that_of_memory(source, fields):
    plan = Plan(4, **{"columns": COLUMNS, **fields})
    made = []
    run_on_disk(plan, source, source.with_name("out"), then=lambda *done: made.append(done))
    large = build(release_of(plan, source, *made[0]), bound_time=None)
    small = build(shoal.pipeline.run(plan, source), bound_time=None)
    for part in ("utility", "risk", "distributions", "map", "audit"):
        close(large[part], small[part], part)
    assert large["provenance"]["sha256"] == small["provenance"]["sha256"]
    assert large["provenance"]["replay"] == small["provenance"]["replay"] + " --engine disk"
    assert large["outcome"]["headline"] == small["outcome"]["headline"]


@pytest.mark.parametrize("fields", [{"unit": "employees", "weight": "w"}, {"per_column": True}])
def test_the_report_of_several_blocks_is_that_of_its_tables_in_memory(source, fields):
    """Read column by column, in pieces of files and of blocks, or all at once: the same figures."""
    plan, made = Plan(4, columns=COLUMNS, method="mdav", **fields), []
    outcome = run_on_disk(
        plan,
        source,
        source.with_name("out"),
        block_records=50,
        batch_records=30,
        part_records=40,
        then=lambda *done: made.append(done),
    )
    assert outcome.blocks > 2
    large = release_of(plan, source, *made[0])
    tables = ({name: table[name] for name in table.column_names} for table in (large.table, large.original))
    released, original = map(pa.table, tables)
    small = replace(large, table=released, original=original)
    told, wanted = build(large, bound_time=None), build(small, bound_time=None)
    for part in ("utility", "risk", "distributions", "map", "audit", "outcome"):
        close(told[part], wanted[part], part)


def test_incomplete_records_are_left_out_of_the_report_too(source):
    table = pq.read_table(source)
    gaps = pa.array([None if row % 9 == 0 else row + 0.5 for row in range(200)])
    pq.write_table(table.set_column(table.column_names.index("wages"), "wages", gaps), source)
    report = source.with_name("report.json")
    shoal.protect_files(
        source, source.with_name("out"), 4, columns=COLUMNS, missing="drop", report=report, order="keep"
    )
    told = json.loads(report.read_text())
    assert told["outcome"]["records"] == sum(row % 9 != 0 for row in range(200)) == told["map"]["of"]


def test_protect_files_writes_both_reports(source):
    internal, public = source.with_name("report.html"), source.with_name("public.json")
    outcome = shoal.protect_files(
        source, source.with_name("out"), 4, columns=COLUMNS, report=internal, public_report=public
    )
    assert outcome.engine == "disk"
    assert "<html" in internal.read_text()
    told = json.loads(public.read_text())
    assert "risk" not in told
    assert told["outcome"]["records"] == 200


def test_every_surface_compares_the_same_sizes(source):
    """The command line, a call for files and a release in memory."""
    plan = {"columns": COLUMNS, "order": "keep", "method": "mdav"}
    words = ("protect", source, "-k", 4, "-c", ",".join(COLUMNS), "-m", "mdav", "--order", "keep")
    reports = [source.with_name(f"{j}.json") for j in range(3)]
    call(*words, "--engine", "disk", "-o", source.with_name("typed"), "--report", reports[0])
    shoal.protect_files(source, source.with_name("called"), 4, report=reports[1], **plan)
    shoal.microaggregate(source, 4, **plan).report(reports[2])
    found = [json.loads(path.read_text())["why_k"]["comparison"] for path in reports]
    for comparison in found:
        for run in comparison["runs"]:
            run.pop("seconds")
        comparison.pop("bounds")
    assert sorted(run["k"] for run in found[0]["runs"]) == [2, 4, 8, 16]
    close(found[1], found[0])
    close(found[2], found[0])
    shoal.microaggregate(source, 4, **plan).report(reports[2], comparison=None)
    assert json.loads(reports[2].read_text())["why_k"]["comparison"] is None


def test_a_report_that_cannot_be_written_is_refused_before_the_work(source):
    for report in ("report.pdf", "nowhere/report.html"):
        with pytest.raises(InputError):
            shoal.protect_files(source, source.with_name("out"), 4, report=source.parent / report)
    assert not source.with_name("out").exists()


def test_the_command_line_reports_and_bounds_on_disk(source):
    out, report = source.with_name("out"), source.with_name("report.json")
    words = ("protect", source, "-k", 4, "-c", ",".join(COLUMNS), "--engine", "disk", "-o", out)
    done = call(
        *words, "--report", report, "--bound", "--bound-time", 1, "--json", "--formula", "wages ~ profit"
    )
    assert f"internal report: {report}" in done.output
    facts = json.loads(done.stdout[done.stdout.index("{") :])
    assert 0 < facts["bound"] <= facts["information_loss"]
    told = json.loads(report.read_text())
    assert told["utility"]["regression"]["detail"]["formula"] == "wages ~ profit"
    assert told["bound"]["information_loss"] == facts["bound"]
    compared = told["why_k"]["comparison"]
    assert sorted(run["k"] for run in compared["runs"]) == [2, 4, 8, 16]
    assert compared["notes"] == []


def test_other_sizes_and_prices_of_a_large_table_come_from_a_sample(tmp_path):
    """Figures of the sample stand beside one another, not beside those of all records."""
    rng = np.random.default_rng(0)
    table = pa.table({"x": rng.normal(size=20_600), "y": rng.normal(size=20_600)})
    (tmp_path / "in").mkdir()
    pq.write_table(table, tmp_path / "in" / "0.parquet")
    words = ("protect", tmp_path / "in", "-k", 5, "-c", "x,y", "-m", "mdav", "--engine", "disk")
    asked = ("--contributors", 3, "-o", tmp_path / "out", "--price", "--json", "--bound", "--bound-time", 1)
    done = call(*words, *asked, "--report", tmp_path / "report.json")
    facts, said = json.loads(done.stdout), "tried with a sample of 20,000 of 20,600 records, drawn by chance"
    assert facts["price"]["notes"][0].startswith(said)
    assert f"note: {said}" in " ".join(done.stderr.split())
    lost = {run["requirements"]: run["information_loss"] for run in facts["price"]["runs"]}
    assert set(lost) == {"contributors=1", "contributors=3"}
    assert lost["contributors=3"] != facts["information_loss"]
    why = json.loads((tmp_path / "report.json").read_text())["why_k"]
    assert any(reason.startswith(f"Other plans were {said}") for reason in why["reasons"])
    own = shown(lost["contributors=3"], "%")
    assert sum(f"instead of {own}" in reason for reason in why["reasons"]) == 4
    assert {run["k"] for run in why["comparison"]["runs"]} == {2, 5, 10, 20}
    assert why["comparison"]["bounds"] == {}  # that of the release is of all records
    plan, made = Plan(7, columns=["x"], method="mdav"), []
    run_on_disk(plan, tmp_path / "in", tmp_path / "seven", then=lambda *done: made.append(done))
    others = shoal.compare(tmp_path / "in", k=5, columns=["x"], method="mdav", bound_time=None)
    model = build(release_of(plan, tmp_path / "in", *made[0]), comparison=others, bound_time=None)
    assert not any("would lose" in reason for reason in model["why_k"]["reasons"])


def test_what_cannot_be_tried_with_a_sample_leaves_the_report(tmp_path):
    """A stratum of few records has fewer in the sample than k."""
    table = pa.table({"x": np.arange(30_000.0), "s": np.arange(30_000) // 5})
    pq.write_table(table, tmp_path / "in.parquet")
    words = ("protect", tmp_path / "in.parquet", "-k", 5, "-c", "x", "--stratum", "s", "--engine", "disk")
    done = call(*words, "-o", tmp_path / "out", "--price", "--report", tmp_path / "report.json", "--json")
    assert any(note.startswith("no price can be told: ") for note in json.loads(done.stdout)["notes"])
    assert json.loads((tmp_path / "report.json").read_text())["why_k"]["comparison"] is None


def test_what_cannot_be_bounded_is_a_note_on_disk(source):
    out = source.with_name("out")
    words = ("protect", source, "-k", 4, "-c", ",".join(COLUMNS), "--engine", "disk", "-o", out)
    done = call(*words, "--bound", "--per-column")
    assert "no bound can be proven: a bound holds for groups of whole records" in done.output
    assert out.exists()


def test_a_report_that_fails_leaves_the_release(source, monkeypatch):
    def fail(*_, **__):
        raise OSError("the disk is full")

    monkeypatch.setattr("shoal.report.write", fail)
    out = source.with_name("out")
    words = ("protect", source, "-k", 4, "-c", ",".join(COLUMNS), "--engine", "disk", "-o", out)
    done = call(*words, "--report", source.with_name("r.txt"), status=3)
    assert "the release is finished and checked" in done.output
    assert (out / "_manifest.json").exists()


def test_why_there_is_no_bound_of_a_large_table(source):
    plan = Plan(4, columns=["wages"])
    assert no_large_bound("disk", str(source), plan) is None
    assert no_large_bound("spark", str(source), plan) is None
    assert "of this machine" in no_large_bound("disk", "s3://bucket/t.parquet", plan)


def test_a_large_table_with_gaps_or_weights_has_no_bound(tmp_path):
    numbers = pa.array(np.arange(1_000_001) % 7)
    table = pa.table({"x": pc.if_else(pc.equal(numbers, 3), None, numbers), "y": numbers, "w": numbers})
    for rows, some in ((len(table), "up to 1,000,000 records, and here are 1,000,001"), (90, None)):
        pq.write_table(table.slice(0, rows), tmp_path / "t.parquet")

        def why(**fields):
            return no_large_bound("disk", str(tmp_path / "t.parquet"), Plan(2, **fields))

        assert why(columns=["y"]) is why(columns=["x"], missing="drop") is None
        for fields in ({"columns": ["x"], "missing": "impute"}, {"columns": ["y"], "weight": "w"}):
            assert why(**fields) is None if some is None else some in why(**fields)
            if some is not None:
                with pytest.raises(InputError, match=some):
                    shoal.lower_bound(table, 2, **fields)


@pytest.mark.parametrize("missing", ["drop", "group"])
def test_a_folder_has_the_bound_of_its_table(tmp_path, missing):
    table = survey(90)
    gaps = pa.array(np.arange(90) % 9 == 0)
    table = table.set_column(3, "turnover", pc.if_else(gaps, None, table["turnover"]))
    (tmp_path / "in").mkdir()
    for part in range(3):
        pq.write_table(table.slice(30 * part, 30), tmp_path / "in" / f"{part}.parquet")
    fields = {"columns": ["turnover", "wages", "sector"], "missing": missing, "time_limit": 1e-6}
    there = measured(tmp_path / "in", plan=Plan(3, **fields))
    held = measured(table, plan=Plan(3, **fields))
    np.testing.assert_array_equal(there[0], held[0])
    assert (there[1] is None) == (held[1] is None) == (missing == "drop")
    weighted = Plan(3, **fields, weight="employees")
    np.testing.assert_array_equal(
        measured(tmp_path / "in", plan=weighted)[1], measured(table, plan=weighted)[1]
    )
    bound = shoal.lower_bound(tmp_path / "in", 3, **fields)
    assert bound.verify()
    assert bound.verify(table, plan=Plan(3, **fields))
    assert bound.sse == pytest.approx(shoal.lower_bound(table, 3, **fields).sse)


def test_what_another_engine_does_is_said_before_the_work(source):
    words = ("protect", source, "-k", 4, "-c", ",".join(COLUMNS), "-o", source.with_name("out"))
    done = call(*words, "--engine", "disk", "--safe-cells", status=2)
    assert "--safe-cells is not for --engine disk: leave it out, or use --engine memory" in done.output
    done = call(*words, "--engine", "spark", "--safe-cells", status=2)
    assert "--safe-cells is not for --engine spark" in done.output
