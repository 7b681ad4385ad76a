"""Microaggregator keeps scikit-learn's contract."""

import numpy as np
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

import shoal
from shoal.datasets import survey
from shoal.errors import InputError


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("k", [10, 5])
def test_scikit_learns_own_checks(k):
    expected = {"check_clustering": "wants three big clusters"} if k == 5 else {}
    other_rows = ("check_methods_sample_order_invariance", "check_methods_subset_invariance")
    for name in (*other_rows, "check_fit_idempotent"):
        expected[name] = "transductive: it transforms the rows that were fitted, and refuses others"
    outcomes = check_estimator(shoal.Microaggregator(k, method="mdav"), expected_failed_checks=expected)
    failed = [outcome["check_name"] for outcome in outcomes if outcome["status"] == "failed"]
    assert failed == []


def test_it_gives_what_microaggregate_gives():
    X = np.random.default_rng(0).normal(size=(50, 3))
    model = shoal.Microaggregator(4, method="mdav").fit(X)
    release = shoal.microaggregate(X, 4, method="mdav")
    assert np.array_equal(model.labels_, release.labels)
    assert model.information_loss_ == release.information_loss
    assert np.array_equal(shoal.Microaggregator(4, method="mdav").fit_predict(X), release.labels)
    assert np.array_equal(model.transform(X), release.table)
    assert not hasattr(model, "predict")


def test_random_state_may_be_a_generator():
    X = np.random.default_rng(0).normal(size=(50, 3))
    labels = [
        shoal.Microaggregator(4, random_state=np.random.RandomState(5)).fit(X).labels_ for _ in range(2)
    ]
    assert np.array_equal(*labels)


def test_rows_that_were_not_fitted_are_refused():
    X = np.random.default_rng(0).normal(size=(50, 3))
    model = shoal.Microaggregator(4, method="mdav").fit(X)
    for other in (X[::-1], X[:20], X + 1e-9):
        with pytest.raises(InputError, match="only the rows that were fitted"):
            model.transform(other)
    with pytest.raises(NotFittedError):
        shoal.Microaggregator(4).transform(X)


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_it_ends_a_pipeline_and_stands_in_a_column_transformer(kind):
    table = survey(60).to_pandas()[["turnover", "wages", "employees"]]
    group = shoal.Microaggregator(4, method="mdav")
    last = Pipeline([("scale", StandardScaler()), ("protect", group)]).set_output(transform=kind)
    made = last.fit_transform(table)
    assert type(made).__module__.startswith(kind)
    assert list(made.columns) == list(table.columns)
    counts = np.unique(np.asarray(made), axis=0, return_counts=True)[1]
    assert counts.min() >= 4

    some = ColumnTransformer(
        [("protect", shoal.Microaggregator(4, method="mdav"), ["turnover", "wages"])],
        remainder="passthrough",
        verbose_feature_names_out=False,
    )
    made = some.set_output(transform=kind).fit_transform(table)
    assert np.array_equal(made["employees"], table["employees"])
    pairs = np.unique(np.asarray(made)[:, :2], axis=0, return_counts=True)[1]
    assert pairs.min() >= 4
