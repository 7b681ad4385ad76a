"""A release is measured once, whoever asks: counted in calls, not in seconds."""

import json
from collections import Counter

import pytest

import shoal
from shoal.app import facts as page
from shoal.comparison import neighbours
from shoal.datasets import survey
from shoal.measures import measured, risk
from shoal.report import build


@pytest.fixture
def calls(monkeypatch):
    """How often columns are read, records are linked, and propensity models are fitted."""
    counter = Counter()

    def count(module, name):
        function = getattr(module, name)

        def counted(*given, **options):
            counter[name] += 1
            return function(*given, **options)

        monkeypatch.setattr(module, name, counted)

    for module, name in ((measured, "pair"), (risk, "linkage"), (measured, "utility_of")):
        count(module, name)
    return counter


@pytest.fixture
def release():
    return shoal.microaggregate(survey(60), 4, columns=["turnover", "wages"], method="mdav")


def test_a_second_question_costs_nothing(release, calls):
    assert release.risk() is release.risk()
    assert release.utility() is release.utility()
    assert calls["linkage"] == 1
    assert calls["utility_of"] == 1
    assert release.risk(sample=10)["linkage"].detail["records"] == 10
    assert release.utility(models=False).keys() < release.utility().keys()
    assert release.utility(formula="turnover ~ wages")["regression"].overall >= 0
    assert calls["utility_of"] == 2  # without the models


def test_a_report_reads_and_measures_once(release, calls):
    for edition in ("internal", "public"):
        build(release, edition, bound_time=None, formula="turnover ~ wages", confidential=["sector"])
    assert calls == {"pair": 2, "linkage": 2, "utility_of": 1}  # linkage: the release and the original


def test_a_comparison_takes_the_release_that_is_there(release, calls):
    comparison = neighbours(release)
    assert sorted(run.k for run in comparison.runs) == [2, 4, 8, 16]
    assert calls["linkage"] == 4
    build(release, comparison=comparison, bound_time=None)
    assert calls["linkage"] == 5  # only the original is new
    same = next(run for run in comparison.runs if run.k == 4)
    assert (same.information_loss, same.seconds) == (release.information_loss, release.seconds)


def test_the_page_reads_once(release, calls, monkeypatch):
    facts = page.release_facts(release)
    assert calls == {"pair": 1, "linkage": 2, "utility_of": 1}
    assert json.dumps(facts, allow_nan=False)


def test_measures_travel_to_another_process(release, calls):
    import pickle

    build(release, bound_time=None)
    before = dict(calls)
    again, results = pickle.loads(pickle.dumps((release, release.measured.results)))
    again.measured.results.update(results)
    assert build(again, bound_time=None)["risk"] == build(release, bound_time=None)["risk"]
    assert calls["linkage"] == before["linkage"]


def test_the_same_as_the_functions(release):
    tables = survey(60), release.table, release.columns
    lost, found = release.utility().facts(), shoal.utility(*tables).facts()
    cells = found.pop("information_loss")["overall"]  # of what is published; a release sets rounding apart
    assert cells == pytest.approx(release.information_loss + release.rounding_loss)
    assert lost.pop("information_loss")["overall"] == release.information_loss
    assert lost == found
    assert release.risk().facts() == shoal.risk(*tables).facts()
    untouched = shoal.risk(tables[0], tables[0], release.columns)
    assert release.risk(before=True).facts() == untouched.facts()
    assert release.risk(before=True, seed=0).facts() == untouched.facts()


def test_measures_have_a_short_repr(release):
    assert repr(release.risk()).startswith("Measures(60 records: k 4, unique_rows")
    assert "Smallest group (achieved k): 4." in str(release.risk())
