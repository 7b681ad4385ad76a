"""What results show in a notebook, and the tables that they become."""

import logging
import re
from html.parser import HTMLParser

import matplotlib
import narwhals as nw
import pytest

import shoal
from shoal.datasets import survey
from shoal.display import Tabular

matplotlib.use("agg")
EVIL = "<script>alert(1)</script>"


@pytest.fixture(scope="module")
def release():
    table = survey(60).select(["turnover", "wages", "sector"]).rename_columns([EVIL, "wages", "sector"])
    return shoal.microaggregate(table, 4, columns=[EVIL, "wages"], method="mdav")


@pytest.fixture(scope="module")
def comparison():
    return shoal.compare(survey(60), [3, 5], "mdav", columns=["turnover", "wages"], bound_time=None)


class Tags(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.tags, self.alts, self.words = [], [], ""
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.alts += [value for name, value in attrs if name == "alt"]

    def handle_data(self, data):
        self.words += data + " "


def test_every_result_shows_as_a_table_and_text_from_data_is_escaped(release, comparison):
    results = [release, release.outcome, release.plan, release.utility(), release.risk(), comparison]
    for result in [*results, release.bound(1), shoal.methods()]:
        seen = Tags(result._repr_html_())
        assert "table" in seen.tags
        assert set(seen.tags) <= {"div", "strong", "table", "tr", "td", "img"}
        assert len(repr(result).splitlines()) <= 5
    assert EVIL in Tags(release._repr_html_()).words


def test_a_release_shows_its_promise_and_small_pictures(release):
    seen = Tags(release._repr_html_())
    assert release.promise in seen.words
    assert len(seen.alts) == 3  # sizes, and two columns before and after
    assert seen.alts[0].startswith("Bar chart of group sizes: 15 groups of 4")
    without = Tags(shoal.Release(**{**release.__getstate__(), "original": None})._repr_html_())
    assert len(without.alts) == 1  # only the sizes are known without the original


def test_a_comparison_is_drawn_on_the_axes_given_or_on_new_ones(comparison):
    from matplotlib import pyplot

    mine = pyplot.subplots()[1]
    assert comparison.plot(mine) is mine
    new = comparison.plot()
    assert new is not mine
    assert new.get_xlabel() == "information lost, %"
    pyplot.close("all")


@pytest.mark.parametrize("backend", ["pandas", "polars", "pyarrow"])
def test_measures_comparisons_and_methods_become_tables_of_any_library(release, comparison, backend):
    lost = release.utility()
    made = lost.to_frame(backend)
    assert type(made).__module__.split(".")[0] == backend
    columns = nw.from_native(made, eager_only=True).to_dict(as_series=False)
    whole = {
        key: value
        for key, name, value in zip(columns["measure"], columns["column"], columns["value"])
        if not isinstance(name, str)
    }
    assert whole == {key: measure.overall for key, measure in lost.items()}
    runs = nw.from_native(comparison.to_frame(backend), eager_only=True)
    assert runs["k"].to_list() == [run.k for run in comparison.runs]
    assert len(shoal.methods().to_frame(backend)) == len(shoal.methods())


def test_the_base_has_no_rows_of_its_own():
    with pytest.raises(NotImplementedError):
        Tabular().to_frame()


def test_a_bound_says_in_one_line_what_is_proven(release):
    assert re.fullmatch(r"Bound\(k=4: at least [\d.]+ % is lost, '.+'\)", repr(release.bound(1)))


def test_what_is_made_is_logged_under_shoal_without_any_name_or_value(release, caplog):
    with caplog.at_level(logging.INFO, "shoal"):
        shoal.microaggregate(release.original, 4, columns=[EVIL, "wages"], method="mdav")
    (record,) = [one for one in caplog.records if one.name == "shoal"]
    assert "60 records, 15 groups" in record.getMessage()
    assert EVIL not in record.getMessage()
