"""docs/report.md names every key of the JSON report, and no other."""

import re
from pathlib import Path

import pytest

import shoal
from shoal.datasets import survey
from shoal.report import build

PAGE = (Path(__file__).parents[2] / "docs" / "report.md").read_text()


@pytest.mark.parametrize("edition", ["internal", "public"])
def test_the_documented_keys_are_the_keys(edition):
    rows = re.findall(r"^\| (`\w+`[^|]*) \| (both|internal) \|", PAGE, re.MULTILINE)
    told = {key for names, who in rows if who in ("both", edition) for key in re.findall(r"`(\w+)`", names)}
    model = build(shoal.microaggregate(survey(40), 4, method="mdav"), edition, bound_time=None)
    assert set(model) == told
    assert f"`version` is `{model['version']}`" in PAGE
    outcome = next(line for line in PAGE.splitlines() if line.startswith("| `outcome`"))
    public = set(re.findall(r"`(\w+)`", outcome.split("internal also")[0])) - {"outcome"}
    assert public <= set(model["outcome"])
    if edition == "public":
        assert public == set(model["outcome"])
