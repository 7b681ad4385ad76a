"""Charts as options of ECharts."""

import json

import pytest

pytest.importorskip("nicegui")

import shoal
from shoal.app import charts
from shoal.app.facts import release_facts
from shoal.datasets import survey
from shoal.pipeline import run

EVIL = "<b onclick='x'>\"&"


def test_charts_hold_text_from_data_only_as_values():
    names = [EVIL, ":formatter", "c"]
    original = survey(60).select(["turnover", "wages", "assets"]).rename_columns(names)
    release = run(shoal.Plan(4, method="mdav"), original)
    facts = json.loads(json.dumps(release_facts(release), allow_nan=False))
    linked = [facts["risk"][side]["linkage"]["detail"]["by_known_columns"] for side in ("before", "after")]
    point = {"number": 1, "title": EVIL, "k": 4, "loss": 3.0, "risk": 20.0, "bound": 2.0}
    drawn = [
        *map(charts.distribution, facts["distributions"]),
        charts.correlations(facts["utility"]["correlations"]["detail"]),
        charts.group_map(facts["map"]),
        charts.group_sizes(facts["risk"]["after"]["k"]["detail"]["sizes"], "records"),
        charts.linkage(*linked, 4),
        charts.risk_utility([point], 1),
    ]
    json.dumps(drawn, allow_nan=False)

    def keys(value):
        if isinstance(value, dict):
            yield from value
        for item in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
            yield from keys(item)

    assert not {key for key in keys(drawn) if key in names or key.startswith(":")}
    assert facts["changes"]
    assert abs(facts["changes"][0]["sd"]) >= abs(facts["changes"][-1]["sd"])


def test_group_sizes_far_apart_share_bars():
    options = charts.group_sizes({"3": 10, "4": 2, "5000": 1}, "records")
    assert len(options["series"][0]["data"]) <= 20
    assert sum(options["series"][0]["data"]) == 13
