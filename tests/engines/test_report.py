"""Reports and bounds of what the disk engine makes: the same figures as in memory."""

import json
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import shoal
from shoal.cli.commands import app
from shoal.cli.large import no_large_bound
from shoal.datasets import survey
from shoal.engines.disk.engine import run as run_on_disk
from shoal.errors import InputError
from shoal.pipeline import release_on_disk
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
    ],
)
def test_the_report_of_one_block_is_that_of_memory(source, fields):
    plan = Plan(4, **{"columns": COLUMNS, **fields})
    made = []
    run_on_disk(plan, source, source.with_name("out"), then=lambda *done: made.append(done))
    large = build(release_on_disk(plan, source, *made[0]), bound_time=None)
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
    large = release_on_disk(plan, source, *made[0])
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
    assert no_large_bound("disk", str(source)) is None
    assert "with --engine disk, in Parquet files" in no_large_bound("spark", str(source))
    assert "of this machine" in no_large_bound("disk", "s3://bucket/t.parquet")


def test_what_another_engine_does_is_said_before_the_work(source):
    words = ("protect", source, "-k", 4, "-c", ",".join(COLUMNS), "-o", source.with_name("out"))
    done = call(*words, "--engine", "disk", "--price", status=2)
    assert "--price is not for --engine disk: leave it out, or use --engine memory" in done.output
    done = call(*words, "--engine", "spark", "--report", source.with_name("r.txt"), status=2)
    assert "--report is not for --engine spark" in done.output
