"""A plan as a command line and as Python: both make the same release again."""

import shlex

import pytest
from typer.testing import CliRunner

import shoal
from shoal.cli.commands import app
from shoal.datasets import survey
from shoal.plan import Plan
from shoal.plan.text import as_command, as_python


@pytest.mark.parametrize(
    ("fields", "by_options"),
    [
        ({}, True),
        ({"seed": 3, "scaling": "rank", "missing": "impute"}, True),
        ({"method": "vmdav", "parameters": {"gamma": 0.3}}, True),
        ({"strata": ["sector"], "merge_small_strata": True, "roles": {"region": "identifier"}}, True),
        ({"types": {"wages": "integer"}, "weight": "assets"}, True),
        ({"preserve": "totals"}, True),
        ({"per_column": True, "method": "univariate"}, True),
        ({"scaling": {"wages": "rank"}}, True),
        ({"centroids": "median", "log": ["wages"], "column_weights": {"wages": 2.0}}, True),
        ({"blocks": [["wages"], ["profit"]]}, True),
    ],
)
def test_the_same_release_again(fields, by_options, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shoal.write(survey(60), "-firms.csv")
    plan = Plan(k=3, columns=["wages", "profit"], **fields)
    release = shoal.pipeline.run(plan, "./-firms.csv")
    release.write("expected.csv")
    (tmp_path / "plan.toml").write_text(plan.toml())
    command = as_command(plan, "-firms.csv", "out.csv")
    assert ("--plan" not in command) == by_options
    outcome = CliRunner().invoke(app, shlex.split(command)[1:])
    assert outcome.exit_code == 0, outcome.output
    assert (tmp_path / "out.csv").read_bytes() == (tmp_path / "expected.csv").read_bytes()
    call = eval(as_python(plan), {"shoal": shoal, "data": "./-firms.csv"})
    assert call.table.equals(release.table)
    exec(as_python(plan, "./-firms.csv", "python.csv"))
    assert (tmp_path / "python.csv").read_bytes() == (tmp_path / "expected.csv").read_bytes()


def test_what_cannot_be_typed_goes_into_the_plan():
    plan = Plan(k=3, columns=["a"], method="vmdav", parameters={"gamma": "0.3"})
    assert (
        as_command(plan, "in.csv") == "shoal protect in.csv --plan plan.toml"
    )  # a text that reads as a number


PLANS = [
    {"columns": ["a,b", 'say "a"', " c", "d=e"], "types": {"d=e": "integer"}, "keep": ["x,y"]},
    {"levels": {"size": ["small", "1,5", "large"]}, "unit": ["h", "i"], "known": ["sex"]},
    {"columns": ["a", "b c"], "unit": "h", "by_record": ["b c"]},
    {"missing_codes": [-9, 99.5, "n/a"], "zeros": "group", "thin": "gap", "contributors": 3},
    {"missing_codes": {"wage": [999999], "educ": [-9, "x,y"]}, "contributor_share": 0.5, "order": "keep"},
    {"diversity": {"ill": 3, "x=y": "recursive:3,2"}, "closeness": {"ill": 0.2, "job": "beta:1.5"}},
    {"dominance": {"sales": "1:80", "wage": "pq:10,50"}, "spread": {"wage": "rel:0.1"}},
]


@pytest.mark.parametrize("fields", PLANS)
def test_what_is_typed_reads_back_as_the_same_plan(fields):
    from shoal.cli.options import plan_of
    from shoal.plan.options import OPTIONS, SHAPES

    plan = Plan(k=3, **fields)
    words = shlex.split(as_command(plan, "in.csv"))[3:]
    assert words[:2] == ["-k", "3"]
    typed = {option.field: [] if SHAPES[option.shape].kind is list else None for option in OPTIONS}
    for word in words[2:]:
        flag, _, text = word.partition("=")
        option = next(option for option in OPTIONS if flag in option.flags)
        kind = SHAPES[option.shape].kind
        typed[option.field] = [*typed[option.field], text] if kind is list else kind(text)
    assert plan_of("3", None, typed) == plan


def test_every_field_has_an_option():
    from dataclasses import fields

    from shoal.plan.options import OPTIONS

    listed = [option.field for option in OPTIONS]
    assert len(set(listed)) == len(listed)
    assert {field.name for field in fields(Plan)} == {*listed, "k", "version", "sha256"}
