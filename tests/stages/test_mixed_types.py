"""Tables with every type, gaps and odd names: released k-anonymous over all columns, as what they were."""

import datetime as dt
from collections import Counter
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.errors import InputError

NAMES = [
    "",
    "ünïcode 象",
    'a "quoted" name',
    "=cmd|' /C calc'!A0",
    "comma, semicolon; tab\t",
    "new\nline",
    "x.y",
]
CELLS = {
    "continuous": st.floats(-1e6, 1e6),
    "integer": st.integers(-50, 10**6),
    "ordinal": st.sampled_from(["low", "middle", "high"]),
    "nominal": st.sampled_from(["", "a", "b'c", 'd"e', "=f", "ß, g", "NA"]),
    "date": st.dates(dt.date(1900, 1, 1), dt.date(2100, 1, 1)),
    "boolean": st.booleans(),
}
ARROW = {
    "continuous": pa.float64(),
    "integer": pa.int64(),
    "ordinal": pa.string(),
    "nominal": pa.string(),
    "date": pa.date32(),
    "boolean": pa.bool_(),
}
NULLABLE = {
    pa.float64(): pd.Float64Dtype(),
    pa.int64(): pd.Int64Dtype(),
    pa.bool_(): pd.BooleanDtype(),
    pa.string(): pd.StringDtype(),
}
LIBRARIES = {
    "pyarrow": lambda table: table,
    "pandas": lambda table: table.to_pandas(),
    "pandas nullable": lambda table: table.to_pandas(types_mapper=NULLABLE.get),
    "pandas pyarrow": lambda table: table.to_pandas(types_mapper=pd.ArrowDtype),
    "polars": lambda table: as_polars(table),
}


def as_polars(table):
    frame = pl.from_arrow(table)
    frame.columns = table.column_names  # polars renames what has no name
    return frame


@st.composite
def tables(draw):
    """A table with a column of each chosen type, some cells missing; and k."""
    k = draw(st.integers(2, 4))
    n = draw(st.integers(k, 24))
    kinds = draw(st.lists(st.sampled_from(list(CELLS)), min_size=1, max_size=4))
    names = draw(st.permutations(NAMES))[: len(kinds)]
    columns = {}
    for name, kind in zip(names, kinds):
        cell = CELLS[kind]
        if draw(st.booleans()):
            cell = st.none() | cell
        columns[name] = pa.array(draw(st.lists(cell, min_size=n, max_size=n)), ARROW[kind])
    return pa.table(columns), dict(zip(names, kinds)), k


def settle(table, kinds):
    """Keywords that say what the columns are."""
    order = {name: ["low", "middle", "high"] for name, kind in kinds.items() if kind == "ordinal"}
    return {"columns": list(kinds), "types": kinds, "levels": order, "method": "mdav_generic"}


def combinations(table):
    """How often each row of published cells occurs; a gap is a cell like any other."""
    arrow = table if isinstance(table, pa.Table) else shoal.io.files.as_arrow(table)
    return Counter(tuple(row.values()) for row in arrow.to_pylist())


@settings(deadline=None, max_examples=60)
@given(tables(), st.sampled_from(["group", "impute"]))
def test_every_combination_is_shared_by_k_whatever_the_types_and_gaps(case, missing):
    table, kinds, k = case
    release = shoal.microaggregate(table, k, missing=missing, **settle(table, kinds))
    assert release.table.schema == table.schema
    assert len(release.table) == len(table)
    assert min(combinations(release.table).values()) >= k
    for name, kind in kinds.items():
        before, after = table[name].to_pylist(), release.table[name].to_pylist()
        there = {value for value in before if value is not None}
        if kind in ("nominal", "ordinal", "boolean"):
            assert {value for value in after if value is not None} <= there
        elif there:
            assert all(min(there) <= value <= max(there) for value in after if value is not None)
        for g in range(release.labels.max() + 1):
            rows = np.flatnonzero(release.labels == g)
            contributors = sum(before[row] is not None for row in rows)
            assert (after[rows[0]] is None) == (contributors < min(2, k))
            assert contributors != 1 or k == 1 or sum(value is not None for value in before) == 1
    assert 0 <= release.information_loss <= 100 + 1e-9


@settings(deadline=None, max_examples=40)
@given(tables(), st.sampled_from(list(LIBRARIES)))
def test_every_library_gives_the_same_release_in_its_own_kind(case, library):
    table, kinds, k = case
    native = LIBRARIES[library](table)
    expected = shoal.microaggregate(table, k, **settle(table, kinds))
    release = shoal.microaggregate(native, k, **settle(table, kinds))
    assert type(release.table) is type(native)
    assert np.array_equal(release.labels, expected.labels)
    if isinstance(native, pd.DataFrame):
        assert release.table.dtypes.to_dict() == native.dtypes.to_dict()
    elif isinstance(native, pl.DataFrame):
        assert release.table.schema == native.schema
    plain = [tuple(None if pd.isna(v) else v for v in row) for row in rows_of(release.table)]
    assert plain == [tuple(row.values()) for row in expected.table.to_pylist()]


def rows_of(table):
    if isinstance(table, pd.DataFrame):
        columns = [
            [v.date() if isinstance(v, pd.Timestamp) and v is not pd.NaT else v for v in table[name].tolist()]
            for name in table.columns
        ]
        return list(zip(*columns))
    return table.rows() if isinstance(table, pl.DataFrame) else [tuple(r.values()) for r in table.to_pylist()]


@settings(deadline=None, max_examples=40)
@given(tables(), st.sampled_from(["csv", "tsv", "csv.gz", "csv.zst", "parquet", "arrow", "feather"]))
def test_files_hold_the_release_and_pass_the_check(case, ending):
    import tempfile
    from pathlib import Path

    table, kinds, k = case
    release = shoal.microaggregate(table, k, **settle(table, kinds), order="keep")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"out.{ending}"
        release.write(path)
        again = shoal.read(path)
    assert again.column_names == table.column_names
    if ending in ("parquet", "arrow", "feather"):
        assert again.equals(release.table)
    assert min(combinations(again).values()) >= k


def test_types_declared_by_the_column_itself_need_no_word():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "sector": pd.Categorical(rng.choice(["a", "b", "c"], 40)),
            "size": pd.Categorical(rng.choice(["s", "m", "l"], 40), categories=["s", "m", "l"], ordered=True),
            "open": rng.integers(0, 2, 40).astype(bool),
            "since": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 999, 40), "D"),
            "pay": rng.lognormal(size=40),
        }
    )
    release = shoal.microaggregate(frame, 4, columns=list(frame), method="mdav_generic")
    assert release.table.dtypes.to_dict() == frame.dtypes.to_dict()
    assert release.table.groupby(list(frame), observed=True).size().min() >= 4


def test_a_plurality_a_median_and_a_mean_by_hand():
    table = pa.table(
        {
            "town": ["a", "a", "b", "b", "b", "a"],
            "size": ["s", "m", "l", "l", "m", "l"],
            "born": [dt.date(2000, 1, d) for d in (1, 2, 4, 10, 20, 31)],
            "n": [1, 2, 2, 5, 6, 6],
        }
    )
    release = shoal.microaggregate(
        table,
        6,
        columns=["town", "size", "born", "n"],
        types={"town": "nominal"},
        levels={"size": ["s", "m", "l"]},
        method="mdav_generic",
    )
    assert release.table.to_pylist()[0] == {
        "town": "a",  # three each, and both as common in the table: the first
        "size": "m",  # of s m m l l l the lower middle
        "born": dt.date(2000, 1, 11),  # 68 / 6 = 11.33
        "n": 4,  # 22 / 6
    }
    mean = shoal.microaggregate(
        table, 6, columns=["size", "n"], levels={"size": ["s", "m", "l"]}, centroids={"size": "mean"}
    )
    assert mean.table["size"][0].as_py() == "m"  # ranks 0 1 1 2 2 2, mean 1.33


@pytest.mark.parametrize(
    ("how", "expected"), [("mean", 19), ("median", 3), ("trimmed", 3), ("mode", 2), (None, 19)]
)
def test_centroids_of_numbers(how, expected):
    X = np.array([2, 2, 3, 4, 84])
    assert shoal.microaggregate(X, 5, centroids=how or {}).table.tolist() == [expected] * 5


def test_weights_enter_centroids_and_loss():
    table = pa.table({"x": [0.0, 1.0, 10.0, 14.0], "w": [3.0, 1.0, 1.0, 1.0]})
    release = shoal.microaggregate(table, 2, columns="x", weight="w")
    assert release.table["x"].to_pylist() == [0.25, 0.25, 12.0, 12.0]
    centre = 25 / 6
    total = 3 * centre**2 + (1 - centre) ** 2 + (10 - centre) ** 2 + (14 - centre) ** 2
    within = 3 * 0.25**2 + 0.75**2 + 2 * 2**2
    assert release.information_loss == pytest.approx(100 * within / total)
    assert release.table["w"].to_pylist() == [3, 1, 1, 1]
    median = shoal.microaggregate(table, 4, columns="x", weight="w", centroids="median")
    assert median.table["x"].to_pylist() == [0.5] * 4  # half the weight is reached exactly at 0


def test_loss_of_categories_is_that_of_scaled_indicators():
    rng = np.random.default_rng(1)
    table = pa.table({"c": rng.choice(list("abc"), 60), "x": rng.normal(size=60)})
    release = shoal.microaggregate(
        table, 4, columns=["c", "x"], types={"c": "nominal"}, method="mdav_generic"
    )
    dummies = np.stack([np.array(table["c"]) == level for level in "abc"], 1).astype(float)
    dummies /= np.sqrt(dummies.var(axis=0, ddof=1).sum())
    x = np.array(table["x"])
    Z = np.column_stack([dummies, (x - x.mean()) / x.std(ddof=1)])
    sse = sum(np.square(Z[g] - Z[g].mean(0)).sum() for g in groups(release.labels))
    assert release.information_loss == pytest.approx(100 * sse / np.square(Z - Z.mean(0)).sum())
    after = np.stack([np.array(release.table["c"]) == level for level in "abc"], 1).astype(float)
    scale = np.sqrt(np.stack([np.array(table["c"]) == v for v in "abc"], 1).var(axis=0, ddof=1).sum())
    lost = (
        np.square(dummies - after / scale).sum()
        + np.square(Z[:, 3] - (released_x(release) - x.mean()) / x.std(ddof=1)).sum()
    )
    total = release.information_loss + release.rounding_loss
    assert total == pytest.approx(100 * lost / np.square(Z - Z.mean(0)).sum())


def released_x(release):
    return np.array(release.table["x"])


def groups(labels):
    return [np.flatnonzero(labels == g) for g in range(labels.max() + 1)]


def test_scaling_log_and_column_weights_change_the_groups_only():
    rng = np.random.default_rng(2)
    X = np.column_stack([rng.lognormal(3, 2, 80), rng.normal(size=80)])
    plain = shoal.microaggregate(X, 4, method="mdav")
    for options in (
        {"scaling": "robust"},
        {"scaling": "rank"},
        {"scaling": {0: "none"}},
        {"log": [0]},
        {"column_weights": {0: 9}},
    ):
        other = shoal.microaggregate(X, 4, method="mdav", **options)
        assert not np.array_equal(other.labels, plain.labels), options
        assert np.allclose(other.table.mean(0), X.mean(0)), options
    ignored = shoal.microaggregate(X, 4, method="mdav", column_weights={0: 0})
    alone = shoal.microaggregate(X[:, 1:], 4, method="mdav")
    assert np.array_equal(ignored.labels, alone.labels)
    ranged = shoal.microaggregate(X, 4, method="mdav", scaling="range")
    by_hand = shoal.microaggregate(X / np.ptp(X, axis=0), 4, method="mdav", scaling="none")
    assert np.array_equal(ranged.labels, by_hand.labels)


def test_methods_for_numbers_only_say_so():
    table = pa.table({"c": list("abab") * 3, "x": range(12)})
    with pytest.raises(
        InputError, match=r"'mdav' is for numbers only, but column 'c' is nominal: use one of"
    ):
        shoal.microaggregate(table, 3, columns=["c", "x"], types={"c": "nominal"}, method="mdav")


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"columns": "t", "types": {"t": "integer"}}, "column 't' holds text, first in row 1: .*nominal"),
        ({"types": {"t": "nominale"}}, "unknown type 'nominale': did you mean 'nominal'"),
        ({"types": {"nn": "nominal"}}, "there is no column 'nn'"),
        ({"columns": "t", "types": {"t": "ordinal"}}, "give its levels, lowest first"),
        ({"columns": "t", "levels": {"t": ["b"]}}, "has in row 2 what is not among its 1 levels"),
        ({"columns": "t", "types": {"t": "date"}}, "row 1 has none: dates are written like"),
        ({"columns": "d", "types": {"d": "date"}}, "row 2 has none"),
        ({"columns": "x", "types": {"x": "integer"}}, "has a fraction in row 2"),
        ({"columns": "n", "types": {"n": "continuous"}}, "cannot publish fractions"),
        ({"columns": "n", "types": {"n": "boolean"}}, "has 3 values: call it"),
        ({"columns": "n", "types": {"n": "date"}}, "is stored as int64, not as dates"),
        ({"columns": "n", "levels": {"n": [1]}, "types": {"n": "nominal"}}, "so its type is 'ordinal'"),
        ({"scaling": "maximum"}, "unknown scaling 'maximum'"),
        ({"centroids": {"x": "meen"}}, "unknown centroid 'meen': did you mean 'mean'"),
        ({"missing": "zero"}, "unknown missing 'zero'"),
        ({"preserve": "sums"}, "unknown preserve 'sums'"),
        ({"roles": {"x": "key"}}, "unknown role 'key'"),
        ({"roles": {"x": "weight", "n": "weight"}}, "2 columns are weights"),
        ({"columns": ["x"], "weight": "x"}, "'x' cannot be both quasi and weight"),
        ({"columns": ["x"], "roles": {"x": "identifier"}}, "cannot be both identifier and quasi"),
        ({"column_weights": {"x": -1}}, "weight of column 'x' must be a number from 0 up"),
        ({"columns": "x", "weight": "neg"}, "'neg' has a negative weight in row 2"),
        ({"columns": "x", "weight": "hole"}, "'hole' has no weight in row 1"),
        ({"columns": "x", "weight": "zero"}, "all weights in column 'zero' are 0"),
        ({"columns": ["t", "x"], "types": {"t": "nominal"}, "centroids": "median"}, "it has no median"),
        ({"blocks": [["x"], ["x", "n"]]}, "'x' is in two blocks"),
        ({"blocks": [["x"], []]}, "a block has no column"),
        ({"blocks": [["x"]], "per_column": True}, "give one of them"),
        ({"blocks": [["x"]], "columns": ["n"]}, "name different columns"),
        ({"columns": "n", "preserve": "totals", "centroids": "median"}, "only if its centroid is"),
        ({"columns": "hole", "missing": "error"}, "column 'hole' has a gap in row 1"),
        ({"columns": "hole", "missing": "drop"}, "only 2 records have no gap"),
    ],
)  # fmt: skip
def test_wrong_requests_in_one_sentence(options, sentence):
    table = pa.table(
        {
            "t": ["b", "a", "b"],
            "d": ["2020-01-01", "2020-02-30", ""],
            "x": [1.0, 1.5, 2.0],
            "n": [1, 2, 3],
            "neg": [1.0, -1.0, 1.0],
            "hole": [None, 1.0, 1.0],
            "zero": [0, 0, 0],
        }
    )
    with pytest.raises(InputError, match=sentence):
        shoal.microaggregate(table, 3, **options)


def test_identifiers_are_dropped_and_other_roles_left_alone():
    table = pa.table({"name": list("abcdef"), "x": [1.0, 2, 3, 4, 5, 6], "illness": [1, 2, 1, 2, 1, 2]})
    release = shoal.microaggregate(table, 3, roles={"name": "identifier", "illness": "confidential"})
    assert release.table.column_names == ["x", "illness"]
    assert release.columns == ("x",)
    assert release.table["illness"].to_pylist() == [1, 2, 1, 2, 1, 2]


def test_whole_floats_stay_whole_and_nothing_turns_negative():
    X = np.array([0.0, 1.0, 1.0, 0.0, 0.0, 5.0])
    release = shoal.microaggregate(X, 3, types={0: "integer"})
    assert release.table.dtype == np.float64
    assert np.array_equal(release.table, np.rint(release.table))
    assert release.table.min() >= 0


def test_totals_are_kept_exactly_when_asked():
    rng = np.random.default_rng(4)
    X = np.column_stack([rng.integers(0, 6, 103), rng.integers(-(10**6), 10**6, 103)])
    plain = shoal.microaggregate(X, 5, method="mdav").table
    kept = shoal.microaggregate(X, 5, method="mdav", preserve="totals").table
    assert (plain.sum(0) != X.sum(0)).all()
    assert (kept.sum(0) == X.sum(0)).all()
    assert np.abs(kept - plain).max() <= 2
    assert (kept.min(0) >= X.min(0)).all()
    with pytest.raises(InputError, match="every group has a multiple of 5 records"):
        shoal.microaggregate(np.r_[np.arange(9), 10], 5, preserve="totals")


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("how", ["mean", "median", "trimmed"])
def test_decimals_are_numbers_and_stay_decimals(library, how):
    cells = [Decimal("1.50"), Decimal("2.25"), None, None, Decimal("-7.01"), Decimal("-7.00")]
    table = pa.table({"d": pa.array(cells, pa.decimal128(9, 2)), "w": [1.0] * 6})
    native = LIBRARIES[library](table)
    release = shoal.microaggregate(native, 2, columns="d", weight="w", centroids=how)
    column = release.table["d"].to_pylist() if library == "pyarrow" else list(release.table["d"])
    found = [None if v is None or pd.isna(v) else v for v in column]
    assert found == [Decimal("1.88")] * 2 + [None] * 2 + [Decimal("-7.01")] * 2
    if library == "polars":
        assert shoal.microaggregate(native.drop("w"), 2).columns == ("d",)


def least_whole_loss(x, k):
    """The least squared error of any groups of k or more that publish whole numbers, by trying all cuts."""
    x = sorted(x)
    best = [0, *[float("inf")] * len(x)]
    for end in range(k, len(x) + 1):
        for start in range(max(0, end - 2 * k + 1), end - k + 1):
            part = x[start:end]
            middle = sum(part) // len(part)
            cost = min(sum((v - c) ** 2 for v in part) for c in (middle, middle + 1))
            best[end] = min(best[end], best[start] + cost)
    return best[-1]


@settings(deadline=None, max_examples=60)
@given(st.integers(2, 4), st.lists(st.integers(-20, 20), min_size=4, max_size=40))
def test_auto_publishes_the_best_whole_numbers_of_one_column(k, values):
    x = np.array(values)
    release = shoal.microaggregate(x, k)
    assert release.used == ("univariate_integer",)
    assert np.square(release.table - x).sum() == least_whole_loss(values, k)


def test_auto_says_which_exact_method_it_took():
    rng = np.random.default_rng(0)
    table = pa.table({"n": rng.integers(0, 50, 90), "x": rng.normal(size=90), "s": ["a", "b", "c"] * 30})

    def used(**options):
        release = shoal.microaggregate(table, 4, **options)
        assert release.summary()["used"] == list(release.used)
        return release.used

    assert used(columns="n") == ("univariate_integer",)
    assert used(columns="n", strata="s") == ("univariate_integer",)
    assert used(columns="n", preserve="totals") == ("univariate_integer",)
    assert used(columns="n", centroids="median") == ("univariate",)
    assert used(columns="x") == ("univariate",)
    assert used(columns="n", scaling="rank") == ("auto",)
    assert used(columns="n", log="n") == ("auto",)
    assert used(columns=["n", "x"], per_column=True) == ("univariate_integer", "univariate")
    assert used(columns=["n", "x"]) == ("auto",)
    assert used(columns="n", method="mdav") == ("mdav",)
    notes = shoal.microaggregate(table, 4, columns="n", time_limit=9).notes
    assert notes[-1].startswith("method 'univariate_integer' does not work against the clock")


@pytest.mark.parametrize("method", ["auto", "univariate", "univariate_integer"])
def test_whole_numbers_without_sign_of_any_size(method):
    x = np.array([2**64 - 1, 2**64 - 3, 0, 2, 2**63, 2**63 + 2], np.uint64)
    release = shoal.microaggregate(x, 2, method=method)
    assert release.table.tolist() == [2**64 - 2] * 2 + [1] * 2 + [2**63 + 1] * 2
    table = pa.table({"n": pa.array([2**64 - 1, 2**64 - 1, None, 2**64 - 1], pa.uint64())})
    assert set(shoal.microaggregate(table, 2, method=method).table["n"].to_pylist()) == {2**64 - 1}
