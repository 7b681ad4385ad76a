"""Microaggregator keeps scikit-learn's contract."""

import numpy as np
import pytest
from sklearn.utils.estimator_checks import check_estimator

import shoal


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("k", [10, 5])
def test_scikit_learns_own_checks(k):
    expected = {"check_clustering": "wants three big clusters"} if k == 5 else {}
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
    assert not hasattr(model, "transform")
    assert not hasattr(model, "predict")


def test_random_state_may_be_a_generator():
    X = np.random.default_rng(0).normal(size=(50, 3))
    labels = [
        shoal.Microaggregator(4, random_state=np.random.RandomState(5)).fit(X).labels_ for _ in range(2)
    ]
    assert np.array_equal(*labels)
