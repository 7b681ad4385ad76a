"""What was lost: hand-computed cases, and independent formulas of numpy, scipy and scikit-learn."""

import re

import numpy as np
import pyarrow as pa
import pytest
from scipy import stats

import shoal
from shoal.datasets import survey
from shoal.errors import InputError
from shoal.measures.measure import digits, shown
from shoal.measures.models import DEPTH, _tree_pmse, fit_logistic, least_squares

SMALL = np.array([[0.0, 1.0], [2.0, 1.0], [4.0, 5.0], [6.0, 5.0]])
MEANS = np.array([[1.0, 1.0], [1.0, 1.0], [5.0, 5.0], [5.0, 5.0]])


@pytest.fixture(scope="module")
def skewed():
    X = np.exp(
        np.random.default_rng(3).normal(size=(400, 3)) @ np.array([[1, 0.5, 0], [0, 1, 0.3], [0, 0, 1]])
    )
    return X, shoal.microaggregate(X, 5, method="mdav").table


def test_information_loss_by_hand():
    # column 0: mean 3, SST 9+1+1+9 = 20, SSE 4; column 1: SSE 0. Each column weighs the same: (4/20 + 0) / 2
    found = shoal.utility(SMALL, MEANS, models=False)["information_loss"]
    assert found.overall == pytest.approx(10.0)
    assert found.columns == pytest.approx({0: 20.0, 1: 0.0})


def test_il1s_by_hand():
    # |change| is 1 in four cells; sd of 0, 2, 4, 6 is sqrt(20/3)
    found = shoal.utility(SMALL, MEANS, models=False)["il1s"]
    assert found.overall == pytest.approx(4 / np.sqrt(20 / 3) / np.sqrt(2))
    assert found.detail["mean_per_cell"] == pytest.approx(found.overall / 8)


def test_moments_by_hand():
    found = shoal.utility(SMALL, MEANS, models=False)
    assert found["means"].columns == pytest.approx({0: 0.0, 1: 0.0})
    # variance of column 0: 20/3 before, 16/3 after
    assert found["variances"].columns == pytest.approx({0: -20.0, 1: 0.0})
    assert found["variances"].overall == pytest.approx(10.0)
    # sum of products (0-3)(1-3) + (2-3)(1-3) + .. = 6 + 2 + 2 + 6 = 16, also after: covariance unchanged
    assert found["covariances"].overall == pytest.approx(0.0)
    # correlation 16 / sqrt(20 * 16) before, 1 after
    assert found["correlations"].overall == pytest.approx(1 - 16 / np.sqrt(320))


def test_quantiles_and_hellinger_by_hand():
    before, after = np.arange(100.0), np.arange(100.0) + 5
    found = shoal.utility(before, after, models=False)
    assert found["quantiles"].overall == pytest.approx(5 / before.std(ddof=1))
    # 20 classes of 5: the lowest loses its 5 records, the highest gains them (10 instead of 5)
    by_hand = np.sqrt((0.05 + (np.sqrt(0.10) - np.sqrt(0.05)) ** 2) / 2)
    assert found["hellinger"].overall == pytest.approx(by_hand)
    assert shoal.utility(before, before, models=False)["hellinger"].overall == 0.0


def test_against_numpy_and_scipy(skewed):
    X, Y = skewed
    found = shoal.utility(X, Y, models=False)
    for j in range(3):
        assert found["variances"].columns[j] == pytest.approx(
            100 * (stats.tvar(Y[:, j]) / stats.tvar(X[:, j]) - 1)
        )
        r = [
            stats.pearsonr(X[:, j], X[:, i])[0] - stats.pearsonr(Y[:, j], Y[:, i])[0]
            for i in range(3)
            if i != j
        ]
        assert found["correlations"].columns[j] == pytest.approx(np.mean(np.abs(r)))
        z = stats.zscore(X[:, j], ddof=1)
        p = stats.mstats.mquantiles(z, found["quantiles"].detail["quantiles"], alphap=1, betap=1)
        z_after = (Y[:, j] - X[:, j].mean()) / X[:, j].std(ddof=1)
        q = stats.mstats.mquantiles(z_after, found["quantiles"].detail["quantiles"], alphap=1, betap=1)
        assert found["quantiles"].columns[j] == pytest.approx(np.abs(p - q).mean())
    scaled = X / X.std(0, ddof=1), Y / X.std(0, ddof=1)
    before, after = (np.sort(np.linalg.eigvals(np.cov(Z.T)).real) for Z in scaled)
    assert found["eigenvalues"].overall == pytest.approx(np.mean(np.abs(after - before) / before))


def test_information_loss_is_that_of_the_release(skewed):
    X, Y = skewed
    release = shoal.microaggregate(X, 5, method="mdav")
    assert shoal.utility(X, Y, models=False)["information_loss"].overall == pytest.approx(
        release.information_loss
    )


def test_nothing_changed_is_nothing_lost(skewed):
    X, _ = skewed
    found = shoal.utility(X, X, formula="0 ~ 1 + 2")
    for key, measure in found.items():
        if key != "pmse_tree":
            assert measure.overall == pytest.approx(0.0, abs=1e-9), key
    # a tree cannot tell identical rows apart: what it finds is at most what chance gives
    assert found["pmse_tree"].overall <= found["pmse_tree"].detail["expected"]


def test_logistic_fit_against_scikit_learn():
    from sklearn.linear_model import LogisticRegression

    rng = np.random.default_rng(0)
    Z = rng.normal(size=(300, 2))
    y = (rng.random(300) < 1 / (1 + np.exp(-Z[:, 0]))).astype(float)
    ours = fit_logistic(np.column_stack((np.ones(300), Z)), y)
    theirs = LogisticRegression(C=1e10, tol=1e-10, max_iter=1000).fit(Z, y).predict_proba(Z)[:, 1]
    assert ours == pytest.approx(theirs, abs=1e-5)


def test_logistic_fit_of_separated_tables_ends():
    Z = np.column_stack((np.ones(40), np.r_[np.zeros(20), np.ones(20)]))
    y = np.r_[np.zeros(20), np.ones(20)]
    assert np.abs(fit_logistic(Z, y) - y).max() < 0.01


@pytest.mark.parametrize(("columns", "digits"), [(1, 9), (3, 9), (2, 1)])
def test_the_tree_is_that_of_scikit_learn(columns, digits):
    from sklearn.tree import DecisionTreeClassifier

    rng = np.random.default_rng(columns)
    X = rng.lognormal(size=(300, columns))
    Z = np.vstack((X, X + 0.2 * rng.normal(size=X.shape))).round(digits)
    released = np.repeat([0.0, 1.0], 300)
    tree = DecisionTreeClassifier(min_samples_leaf=5, max_depth=DEPTH, random_state=0).fit(Z, released)
    theirs = np.square(tree.predict_proba(Z)[:, 1] - 0.5).mean()
    assert _tree_pmse(Z, released, rng, 1)[0] == pytest.approx(theirs, rel=1e-9)


def test_propensity_knows_chance_from_difference():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(1000, 2))
    for kind in ("pmse_logistic", "pmse_tree"):
        # a second independent sample: pMSE as expected by chance, within a factor of two
        assert 0.4 < shoal.utility(X, rng.normal(size=(1000, 2)))[kind].detail["ratio"] < 2
        apart = shoal.utility(X, X + 10)[kind]
        assert apart.overall == pytest.approx(0.25, abs=0.01)
        assert apart.columns[0] == pytest.approx(0.25, abs=0.01)
    # main effects and squares of 2 columns and their product: 5 parameters beside the constant, 2000 rows
    expected = shoal.utility(X, X + 10)["pmse_logistic"].detail["expected"]
    assert expected == pytest.approx(5 * 0.125 / 2000)


def test_regression_against_numpy():
    table = survey(300, seed=2)
    after = shoal.microaggregate(table, 5, method="mdav").table
    found = shoal.utility(table, after, formula="turnover ~ employees + log(assets) + region", models=False)
    detail = found["regression"].detail
    for frame, side in ((table, "before"), (after, "after")):
        region = np.array(frame["region"].to_pylist())
        D = np.column_stack(
            [
                np.ones(300),
                frame["employees"].to_numpy(),
                np.log(frame["assets"].to_numpy()),
                *[(region == name).astype(float) for name in ("Hills", "Islands", "Plain")],
            ]
        )
        beta = np.linalg.lstsq(D, frame["turnover"].to_numpy().astype(float), rcond=None)[0]
        assert list(detail[side].values()) == pytest.approx(beta, rel=1e-6)
    names = ["(constant)", "employees", "log(assets)", "region=Hills", "region=Islands", "region=Plain"]
    assert list(detail["before"]) == names
    assert 0 <= detail["mean_interval_overlap"] <= 1
    moved = (detail["after"]["employees"] - detail["before"]["employees"]) / detail["standard_error_before"][
        "employees"
    ]
    assert found["regression"].columns["employees"] == pytest.approx(moved)


def test_standard_errors_against_scipy():
    rng = np.random.default_rng(1)
    x = rng.normal(size=50) + 1e6
    y = 3 * x + rng.normal(size=50)
    beta, error = least_squares(np.column_stack((np.ones(50), x - 1e6)), y)
    theirs = stats.linregress(x - 1e6, y)
    assert (beta[1], error[1]) == pytest.approx((theirs.slope, theirs.stderr))
    assert (beta[0], error[0]) == pytest.approx((theirs.intercept, theirs.intercept_stderr))


@pytest.mark.parametrize(
    ("formula", "sentence"),
    [
        ("turnover", "reads 'y ~ a + b'"),
        ("turnover ~ wags", "did you mean 'wages'"),
        ("turnover ~ log(profit)", "not defined for all its values"),
        ("turnover ~ log(wages", "is not a term"),
        ("turnover ~ exp(wages)", "is not a term"),
        ("region ~ wages", "must be one numeric column"),
        ("turnover ~ wages + wages:employees + `wages`:employees:region + employees:wages", "can tell apart"),
    ],
)
def test_formulas_that_cannot_be(formula, sentence):
    table = survey(30)
    with pytest.raises(InputError, match=re.escape(sentence)):
        shoal.utility(table, table, formula=formula, models=False)


def test_formula_with_odd_names():
    table = pa.table({"a + b": [1.0, 2, 3, 4.5], "y:z": [2.0, 1, 5, 7]})
    found = shoal.utility(table, table, formula="`y:z` ~ `a + b`", models=False)
    assert list(found["regression"].columns) == ["(constant)", "a + b"]


def test_subgroup_means_by_hand():
    before = pa.table({"x": [0.0, 2, 4, 6], "s": ["a", "b", "b", "a"]})
    after = pa.table({"x": [1.0, 1, 5, 5], "s": ["a", "b", "b", "a"]})
    # a: mean 3 before and after; b: 3 before and after: nothing moves. By itself: every record moves by 1
    sd = np.sqrt(20 / 3)
    assert shoal.utility(before, after, "x", subgroups="s", models=False)[
        "subgroups"
    ].overall == pytest.approx(0)
    found = shoal.utility(before, after, "x", subgroups="x", models=False)["subgroups"]
    assert found.overall == pytest.approx(1 / sd)
    assert found.detail["largest"][0]["records"] == 1


def test_categories_gaps_and_constant_columns():
    before = pa.table({"x": [1.0, None, 3, 4], "c": [2.0, 2, 2, 2], "s": ["a", "a", "b", None]})
    after = pa.table({"x": [2.0, 2, 2, 4], "c": [2.0, 2, 2, 2], "s": ["a", "a", "a", None]})
    found = shoal.utility(before, after, ["x", "c", "s"], models=False)
    assert found.records == 4
    assert found.notes == ("2 records have a gap: in the measures a gap is a value of its own",)
    assert found["changed"].columns == pytest.approx({"s": 1 / 3})  # of three that have a category
    # x: 1, 3, 4 published as 2, 2, 4: (1 + 1) of 2.33 * 2; s: one of three changed, 2 of 3 * (1 - 5/9)
    assert found["information_loss"].columns == pytest.approx({"x": 100 * 2 / (14 / 3), "c": 0, "s": 150})
    assert found["information_loss"].columns["c"] == 0.0
    assert all(np.isfinite(measure.overall) for measure in found.values())


def test_tables_that_do_not_match():
    with pytest.raises(InputError, match="4 records and the release 3"):
        shoal.utility(SMALL, MEANS[:3])
    with pytest.raises(InputError, match="no column 'y' in the original"):
        shoal.utility(pa.table({"x": [1]}), pa.table({"y": [1]}), "y")
    with pytest.raises(InputError, match="share no numeric column"):
        shoal.utility(pa.table({"x": [1]}), pa.table({"y": [1]}))
    with pytest.raises(InputError, match="numbers in one table and text in the other"):
        shoal.utility(pa.table({"x": [1]}), pa.table({"x": ["1"]}), "x")
    with pytest.raises(InputError, match="no records"):
        shoal.utility(SMALL[:0], SMALL[:0])


def test_propensity_models_see_a_sample():
    X = np.random.default_rng(0).normal(size=(300, 1))
    found = shoal.utility(X, X + 1, sample=100)
    assert found["pmse_tree"].detail["records"] == 100
    assert found["pmse_tree"].overall == shoal.utility(X, X + 1, sample=100)["pmse_tree"].overall


def test_values_as_people_read_them():
    assert shown(None) == "not defined"
    assert shown(0.12345, "share") == "12.3 %"
    assert [digits(v) for v in (0, 1e-12, 5e-5, -5e-5, 12345.6, 0.1239)] == [
        "0",
        "0",
        "0.0000",
        "−0.0000",
        "12,346",
        "0.124",
    ]


def test_measures_read_well():
    found = shoal.utility(SMALL, MEANS, models=False)
    assert "Information lost (IL): 10 %." in str(found)
    for measure in found.values():
        assert measure.meaning.endswith(".")
        assert measure.facts()["title"] == measure.title
    with pytest.raises(KeyError, match="did you mean 'il1s'"):
        found["il1"]
