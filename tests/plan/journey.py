"""The way of a file through the command line: inspect, plan, protect, check."""

import json
from dataclasses import replace

from typer.testing import CliRunner

import shoal
from shoal.cli.commands import app


def call(*words, status=0):
    outcome = CliRunner().invoke(app, [str(word) for word in words])
    assert outcome.exit_code == status, outcome.output
    return outcome


def write_plan(path, *words):
    plan = path.with_name("plan.toml")
    plan.write_text(call("plan", path, *words).stdout, encoding="utf-8")
    return plan


def from_inspect_to_release(path, folder):
    """Take the plan that the guesses make for a file of 1500 records, release by it, check everything."""
    plan = write_plan(path)
    plan.write_text(replace(shoal.Plan.read(plan), order="keep").toml(), encoding="utf-8")
    found = json.loads(call("protect", path, "--plan", plan, "-o", folder / "out.csv", "--json").stdout)
    assert found["records"] == 1500
    assert found["smallest_group"] >= 5
    call("check", folder / "out.csv", "--plan", plan)
    before, after = shoal.read(path), shoal.read(folder / "out.csv")
    assert after.column_names == [c for c in before.column_names if c in after.column_names]
    kept = [c for c in after.column_names if c not in found["columns"]]
    assert after.select(kept).equals(before.select(kept))
    assert [after[c].type for c in after.column_names] == [before[c].type for c in after.column_names]
