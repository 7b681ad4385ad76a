"""Report, notebook and page draw the same numbers, in the same colours."""

import json

import matplotlib
import numpy as np
import pyarrow as pa
import pytest
from matplotlib.colors import to_hex

import shoal
from shoal.datasets import survey
from shoal.measures.measure import plain
from shoal.report import drawing, model, pictures

matplotlib.use("agg")
charts = pytest.importorskip("shoal.app.charts")


@pytest.fixture(scope="module")
def release():
    return shoal.microaggregate(survey(90), 4, columns=["turnover", "wages", "profit"], method="vmdav")


def test_sizes_have_the_same_classes_and_counts(release):
    sizes, counts = np.unique(release.group_sizes, return_counts=True)
    options = charts.group_sizes(dict(zip(map(str, sizes), counts.tolist())), "records")
    axes = release.plot.sizes()
    assert [bar.get_height() for bar in axes.patches] == options["series"][0]["data"]
    assert [text.get_text() for text in axes.get_xticklabels()] == options["xAxis"]["data"]
    assert to_hex(axes.patches[0].get_edgecolor()) == options["series"][0]["itemStyle"]["color"]


def test_sizes_count_units_where_k_does():
    firms = pa.table({"firm": np.arange(60) // 3, "sales": np.arange(60.0)})
    made = shoal.microaggregate(firms, 4, columns=["sales"], unit="firm", method="mdav")
    axes = made.plot.sizes()
    sizes = model.build(made, bound_time=None)["outcome"]["sizes"]
    drawn = {text.get_text(): bar.get_height() for text, bar in zip(axes.get_xticklabels(), axes.patches)}
    assert {size: count for size, count in drawn.items() if count} == {str(s): c for s, c in sizes.items()}
    assert axes.get_xlabel() == "units in the group"
    assert f"{made.outcome.groups} of 4 to {made.outcome.largest_group} units" in repr(made)


def test_correlations_have_the_same_cells_and_scale(release):
    detail = plain(release.utility()["correlations"].detail)
    options = charts.correlations(detail)
    (mesh,) = release.plot.correlations().collections
    drawn = np.asarray(mesh.get_array()).reshape(3, 3)
    for cell in options["series"][0]["data"]:
        j, i, change = cell["value"]
        assert round(float(drawn[i, j]), 3) == change
    assert (options["visualMap"]["min"], options["visualMap"]["max"]) == pytest.approx(
        mesh.get_clim(), abs=5e-4
    )
    assert tuple(options["visualMap"]["inRange"]["color"]) == drawing.CHANGE


def test_the_map_has_the_same_points_and_centres(release):
    facts = plain(pictures.record_map(release.measured.pair(), release.labels))
    options = charts.group_map(facts)
    records, centres = release.plot.map().lines[:2]
    assert np.allclose(records.get_xydata(), options["series"][1]["data"], atol=1e-4)
    assert np.allclose(centres.get_xydata(), options["series"][2]["data"], atol=1e-4)


def test_the_front_is_that_of_a_comparison():
    tried = shoal.compare(
        survey(60), [3, 5], ["mdav", "mst_d"], columns=["turnover", "wages"], bound_time=None
    )
    points = [
        {"number": i, "title": run.method, "k": run.k, "loss": run.information_loss, "risk": run.risk}
        for i, run in enumerate(tried.runs)
    ]
    drawn = charts.risk_utility(points, None)["series"][1]["data"]
    assert drawn == [[run.information_loss, run.risk] for run in tried.front]


def test_colours_of_the_page_come_from_the_drawing():
    text = json.dumps(charts.LOOKS)
    assert "$" not in text
    for colour in drawing.COLOURS.values():
        assert colour in text
