"""Values that stand for a gap: given by the user, or suspected."""

import json
from datetime import date
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import shoal
from shoal.errors import InputError
from shoal.frame.column import Column
from shoal.frame.frame import Frame
from shoal.frame.guess import notes_on_codes, suspected_codes
from shoal.frame.types import read_column
from shoal.stages.strata import read_strata
from tests.cli.test_commands import call

GAPS = [True, False, False, True]


DAYS = pa.array([date(1900, 1, 1), date(2000, 1, 1), date(2001, 1, 1), None])
EURO = pa.array([Decimal("9.99"), Decimal("1.00"), Decimal("2.00"), None])


@pytest.mark.parametrize(
    ("cells", "kind", "codes"),
    [
        (pa.array([-9, 1, 2, -9]), None, [-9]),
        (pa.array([-9, 1, 2, -9]), None, ["-9.0"]),
        (pa.array([-9, 1, 2, None]), None, [-9, 9.5, 10**30, "no"]),
        (pa.array([99.9, 1, 2, 99.9]), None, ["99.9", "nan"]),
        (pa.array([99.9, 1, 2, 99.9], pa.float32()), None, [99.9]),
        (EURO, None, [9.99, "0.001"]),
        (DAYS, None, ["1900-01-01", 99]),
        (DAYS.cast(pa.timestamp("us")), None, [date(1900, 1, 1)]),
        (pa.array(["99/99", "2000-01-01", "2001-01-01", ""]), "date", ["99/99"]),
        (pa.array(["refused", "a", "b", "9"]), "nominal", ["refused", 9]),
        (pa.array([9, 1, 2, None]), "nominal", ["9"]),
        (pa.array(["9", "no", "yes", "9"]), "boolean", [9]),
    ],
)
def test_codes_are_gaps(cells, kind, codes):
    column = read_column(Frame(pa.table({"x": cells})), "x", kind, codes=codes)
    assert column.gaps.tolist() == GAPS


def test_no_value_is_a_gap_where_no_code_equals_it():
    for cells, codes in ([1, 2], [9, "x", 1.5]), (["1", "2"], ["3"]), ([True, False], [7]):
        kind = "nominal" if isinstance(cells[0], str) else None
        assert read_column(Frame(pa.table({"x": cells})), "x", kind, codes=codes).gaps is None


def test_a_level_that_is_a_code_needs_no_place_among_the_levels():
    frame = Frame(pa.table({"x": ["low", "high", "?", "low"]}))
    column = read_column(frame, "x", "ordinal", ["low", "high"], codes=["?"])
    assert column.values[[0, 1, 3]].tolist() == [0, 1, 0]
    assert column.gaps.tolist() == [False, False, True, False]


def ages(n=40):
    rng = np.random.default_rng(5)
    values = rng.integers(18, 80, n)
    values[:6] = -9
    return values, rng.normal(size=n)


@pytest.mark.parametrize("kind", ["arrow", "polars", "pandas", "numpy", "csv"])
def test_a_code_is_not_averaged_in_any_kind_of_table(kind, tmp_path):
    age, x = ages()
    columns = {"age": age, "x": x}
    table = {
        "arrow": lambda: pa.table(columns),
        "polars": lambda: pl.DataFrame(columns),
        "pandas": lambda: pd.DataFrame(columns),
        "numpy": lambda: np.stack([age, np.arange(40) * 7], axis=1),
        "csv": lambda: tmp_path / "in.csv",
    }[kind]()
    if kind == "csv":
        shoal.write(pa.table(columns), table)
    name = 0 if kind == "numpy" else "age"
    release = shoal.microaggregate(table, 3, method="mdav", missing_codes={name: [-9]})
    cells = release.table[:, 0].tolist() if kind == "numpy" else Frame(release.table).arrow("age").to_pylist()
    gap = -9 if kind in ("numpy", "pandas") else None  # their whole numbers have no gaps
    assert cells[:6] == [gap] * 6
    assert min(cells[6:]) >= 18
    assert sum(cells[6:]) == pytest.approx(age[6:].sum(), abs=20)
    assert type(release.table) is (pa.Table if kind == "csv" else type(table))


def test_a_category_keeps_its_code_and_gaps_rather_than_codes_where_both_are():
    x = np.arange(12.0)
    for words, gap in ((["?"] * 4 + ["a"] * 8, "?"), ([None, "?", "?", None] + ["a"] * 8, None)):
        table = pa.table({"t": words, "x": x})
        release = shoal.microaggregate(
            table, 4, columns=["t", "x"], types={"t": "nominal"}, missing_codes=["?"]
        )
        assert release.table["t"].to_pylist()[:4] == [gap] * 4


def test_arrays_publish_cells_of_categories_and_not_their_places():
    table = np.array([[10.0, 1.5], [20, 2], [10, 3], [30, 4], [10, 2], [30, 9]])
    release = shoal.microaggregate(table, 2, columns=[0, 1], types={0: "nominal"})
    assert set(release.table[:, 0]) <= {10.0, 20.0, 30.0}


def test_codes_make_the_stated_loss_true():
    rng = np.random.default_rng(0)
    wage = np.rint(rng.lognormal(7, 0.5, 300)).astype(np.int64)
    educ = rng.integers(8, 18, 300)
    coded = np.where(np.arange(300) % 20 == 0, 999_999, wage)
    table = pa.table({"wage": coded, "educ": educ})
    blind = shoal.microaggregate(table, 5, columns="wage", method="mdav")
    seen = shoal.microaggregate(table, 5, columns="wage", method="mdav", missing_codes={"wage": 999_999})
    true = shoal.microaggregate(wage[coded < 999_999].astype(float), 5, method="mdav")
    assert seen.information_loss == pytest.approx(true.information_loss)
    assert blind.information_loss < true.information_loss / 100
    said = "column 'wage' has 999999 in 15 records, far outside the rest: if it stands for a gap, name it"
    assert any(note == f"{said} (--missing-code wage=999999)" for note in blind.notes)
    assert not any("999999" in note for note in seen.notes)


def test_bad_codes_in_one_sentence():
    table = pa.table({"a": [-9, -9, -9, 1, 2], "s": ["x"] * 5, "w": [1.0, 2.0, 3.0, 4.0, 9.0]})
    for options, sentence in (
        ({"missing_codes": {"b": [1]}}, "there is no column 'b'"),
        (
            {"missing_codes": [-9]},
            r"hit 3 of 5 records in column 'a', more than half: name the codes of each",
        ),
        ({"missing_codes": {"s": "x"}, "strata": "s"}, "hit 5 of 5 records in column 's'"),
        ({"missing_codes": {"w": 9}, "weight": "w"}, "column 'w' has no weight in row 5"),
        ({"known": ["q"]}, "there is no column 'q'"),
    ):
        with pytest.raises(InputError, match=sentence):
            shoal.microaggregate(table, 2, columns=["a"], **options)


def test_strata_of_codes_are_one_and_publish_one_cell():
    table = pa.table({"s": [None, -9, -8, 1, 1, 1], "x": np.arange(6.0)})
    strata = read_strata(Frame(table), ["s"], lambda name: (-9, -8))
    assert len(set(strata.ids[:3])) == 1
    release = shoal.microaggregate(table, 3, columns="x", strata="s", missing_codes={"s": [-9, -8]})
    assert release.table["s"].to_pylist() == [None] * 3 + [1] * 3


# --- suspected --------------------------------------------------------------------------------------------


def suspects(values):
    values = np.asarray(values)
    return suspected_codes(Column("x", "integer" if values.dtype.kind == "i" else "continuous", values))


def coded(values, code, times=12):
    values = np.array(values)
    values[:times] = code
    return values


def test_repeated_extremes_far_outside_are_suspected():
    rng = np.random.default_rng(1)
    n = 1000
    wages = np.rint(rng.lognormal(7.5, 0.6, n)).astype(np.int64)
    assert suspects(coded(wages, 999_999)) == [(999_999, 12)]
    assert suspects(coded(wages, 999_999, 3)) == [(999_999, 3)]
    assert suspects(coded(wages, -1)) == [(-1, 12)]
    assert suspects(coded(rng.integers(18, 90, n), -9)) == [(-9, 12)]
    assert suspects(coded(rng.integers(0, 96, n), 99)) == [(99, 12)]
    assert suspects(coded(rng.integers(1, 6, n), 9)) == [(9, 12)]
    assert suspects(coded(rng.normal(170, 10, n), 0)) == [(0, 12)]
    assert suspects(coded(rng.lognormal(1.6, 0.5, n).round(2), 99.99)) == [(99.99, 12)]
    assert suspects(coded(coded(rng.integers(18, 80, n), -9), -8, 5)) == [(-9, 7), (-8, 5)]


def test_whole_numbers_that_go_on_one_by_one_are_told_without_sorting():
    """As are the same numbers as fractions, which are always sorted."""
    rng, found = np.random.default_rng(2), 0
    for _ in range(400):
        low, high = np.sort(rng.integers(-12, 110, 2))
        values = rng.integers(low, high + 1, rng.integers(3, 80))
        for code in rng.choice([-9, -8, -2, -1, 0, 7, 8, 9, 97, 98, 99], rng.integers(0, 3)):
            values[rng.random(len(values)) < 0.1] = code
        assert suspects(values) == suspects(values.astype(float))
        found += len(suspects(values))
    assert found > 20


def test_inspect_says_so(tmp_path):
    values = coded(np.random.default_rng(1).integers(18, 90, 400), -9)
    shoal.write(pa.table({"age": values, "sex": ["f", "m"] * 200}), tmp_path / "in.csv")
    said = "column 'age' has -9 in 12 records, far outside the rest: if it stands for a gap, name it "
    said += "(--missing-code age=-9)"
    assert said in call("inspect", tmp_path / "in.csv").stdout.splitlines()
    assert json.loads(call("inspect", tmp_path / "in.csv", "--json").stdout)["notes"] == [said]


@pytest.mark.parametrize("seed", range(3))
def test_honest_tables_raise_no_suspicion(seed):
    rng = np.random.default_rng(seed)
    survey = shoal.datasets.survey(1000, seed)
    assert not notes_on_codes(read_column(Frame(survey), name) for name in survey.column_names[2:])
    for n in (30, 1000):
        for values in (
            np.rint(rng.lognormal(3, 2, n)).astype(np.int64),
            np.rint(rng.pareto(1, n) * 10).astype(np.int64),
            rng.standard_t(2, n),
            rng.poisson(1, n),
            rng.geometric(0.3, n),
            rng.integers(0, 100, n),
            rng.integers(-1, 2, n),
            np.where(rng.random(n) < 0.9, 0, rng.lognormal(8, 1, n)),
            np.zeros(n),
        ):
            assert suspects(values) == []
    assert suspected_codes(Column("x", "nominal", np.array([9] * 9 + [0, 1]))) == []
