"""Pictures of a release on matplotlib's Axes."""

import subprocess
import sys

import matplotlib
import numpy as np
import pytest

import shoal
from shoal.datasets import survey
from shoal.errors import InputError

matplotlib.use("agg")


@pytest.fixture(scope="module")
def release():
    return shoal.microaggregate(survey(60), 4, columns=["turnover", "wages", "profit"], method="mdav")


PICTURES = [("loss", ()), ("sizes", ()), ("before_after", ("wages",)), ("correlations", ()), ("map", ())]


@pytest.mark.parametrize(("name", "given"), PICTURES)
def test_each_is_drawn_on_the_axes_given_or_on_new_ones(release, name, given):
    from matplotlib import pyplot

    mine = pyplot.subplots()[1]
    assert getattr(release.plot, name)(*given, ax=mine) is mine
    new = getattr(release.plot, name)(*given)
    assert new is not mine
    for axes in (mine, new):
        assert axes.has_data()
        axes.figure.savefig(__import__("io").BytesIO(), format="svg")
        pyplot.close(axes.figure)


def test_what_cannot_be_drawn_is_one_sentence(release):
    with pytest.raises(InputError, match="did you mean 'wages'"):
        release.plot.before_after("wage")
    alone = shoal.microaggregate(np.arange(12.0)[:, None], 3)
    with pytest.raises(InputError, match="two numeric columns"):
        alone.plot.map()
    with pytest.raises(InputError, match="no correlation to draw"):
        alone.plot.correlations()
    texts = shoal.microaggregate(survey(30), 3, columns=["sector"], types={"sector": "nominal"})
    assert texts.plot.loss().has_data()  # a category loses too


def test_matplotlib_is_imported_only_when_used():
    words = "import shoal, sys, shoal.report.plot; shoal.Release; assert 'matplotlib' not in sys.modules"
    subprocess.run([sys.executable, "-c", words], check=True)
