"""What a release says of itself, and what it writes."""

from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.datasets import survey
from shoal.errors import InputError
from shoal.grouping.partition import Partition
from shoal.stages.encode import standardise
from shoal.stages.publish import centroids
from shoal.verify.files import check
from tests.loss import information_loss


def test_information_loss_is_sse_over_sst_of_the_exact_means():
    X = np.random.default_rng(0).lognormal(size=(50, 3))
    release = shoal.microaggregate(X, 4, method="mdav")
    Z = (X - X.mean(0)) / X.std(0, ddof=1)
    assert release.information_loss == pytest.approx(information_loss(Z, release.labels), rel=1e-12)
    assert release.rounding_loss == pytest.approx(0, abs=1e-12)


def test_rounding_is_reported_beside_the_loss():
    X = np.random.default_rng(0).integers(0, 5, (50, 3))
    release = shoal.microaggregate(X, 4, method="mdav")
    Z, Y = ((A - X.mean(0)) / X.std(0, ddof=1) for A in (X, release.table))
    total = 100 * np.square(Z - Y).sum() / np.square(Z).sum()
    assert release.rounding_loss > 0
    assert release.information_loss + release.rounding_loss == pytest.approx(total, rel=1e-12)


def test_constant_columns_count_nothing():
    X = np.random.default_rng(0).normal(size=(40, 2))
    wide = np.column_stack([np.full(40, 1e300), X, np.zeros(40)])
    release, plain = shoal.microaggregate(wide, 3, method="mdav"), shoal.microaggregate(X, 3, method="mdav")
    assert np.array_equal(release.labels, plain.labels)
    assert release.information_loss == pytest.approx(plain.information_loss, rel=1e-12)
    assert np.array_equal(release.table[:, 0], wide[:, 0])
    assert shoal.microaggregate(np.ones((9, 2)), 3).information_loss == 0


def test_five_hundred_columns():
    release = shoal.microaggregate(np.random.default_rng(0).normal(size=(60, 500)), 3, method="mdav")
    assert release.group_sizes.min() == 3


@settings(deadline=None)
@given(
    st.lists(st.integers(-(2**63), 2**63 - 1), min_size=2, max_size=9),
    st.sampled_from([1, 10**6, 2**40, 2**62]),
)
def test_whole_means_are_exact_and_rounded_half_away_from_zero(numbers, divisor):
    numbers = [int(Fraction(number, divisor)) for number in numbers]
    expected = Fraction(sum(numbers), len(numbers))
    rounded = int(abs(expected) + Fraction(1, 2)) * (1 if expected >= 0 else -1)
    column = np.array(numbers, np.int64)
    assert centroids(column, Partition(np.zeros(len(numbers), int))).tolist() == [rounded]
    if min(numbers) >= 0:
        column = column.astype(np.uint64)
        assert centroids(column, Partition(np.zeros(len(numbers), int))).tolist() == [rounded]


def test_means_of_huge_floats_do_not_overflow():
    column = np.array([1.7e308, -1.7e308, 1.7e308, 1.7e308])
    assert centroids(column, Partition([0, 0, 1, 1])).tolist() == [0.0, 1.7e308]


@pytest.mark.parametrize("shift", [0, 10**9, -(2**62)])
def test_whole_numbers_standardise_alike_wherever_they_lie(shift):
    column = np.random.default_rng(0).integers(0, 1000, 50)
    expected = (column - column.mean()) / column.std(ddof=1)
    Z, (scale,) = standardise([column + shift])
    assert np.allclose(Z[:, 0], expected, rtol=0, atol=1e-12)
    assert np.array_equal(Z, standardise([column])[0])
    assert np.array_equal(scale.apply(column + shift), Z[:, 0])


@pytest.mark.parametrize("factor", [1e-320, 1e-9, 1.0, 1e300])
def test_any_scale_standardises(factor):
    column = np.array([1.0, 2.0, 4.0, 8.0])
    Z, _ = standardise([column * factor])
    assert np.allclose(Z[:, 0], (column - 3.75) / column.std(ddof=1), rtol=1e-3)


@pytest.mark.parametrize("ending", ["csv", "tsv", "parquet"])
def test_files_hold_the_released_values_bit_for_bit(tmp_path, ending):
    rng = np.random.default_rng(0)
    table = pa.table(
        {"x": rng.normal(size=50) * 1e-7, "y": rng.lognormal(size=50), "z": rng.integers(-5, 5, 50)}
    )
    release = shoal.microaggregate(table, 3, method="mdav", order="keep")
    path = tmp_path / f"out.{ending}"
    release.write(path)
    assert shoal.read(path).equals(release.table)
    (finding,) = check(path, 3, ["x", "y", "z"])
    assert finding.passed
    assert finding.smallest_group >= 3


def test_write_refuses_its_own_input(tmp_path):
    path = tmp_path / "firms.parquet"
    shoal.write(survey(40), path)
    before = path.read_bytes()
    with pytest.raises(InputError, match="never overwritten"):
        shoal.microaggregate(path, 4, method="mdav").write(path)
    assert path.read_bytes() == before


def test_an_array_is_written_with_numbered_columns(tmp_path):
    release = shoal.microaggregate(np.random.default_rng(0).normal(size=(20, 2)), 3, method="mdav")
    release.write(tmp_path / "out.csv")
    assert shoal.read(tmp_path / "out.csv").column_names == ["0", "1"]


def test_csv_keeps_what_is_not_a_number_as_it_is(tmp_path):
    path = tmp_path / "odd.csv"
    path.write_text('code,name,when,flag,big,x\n007,"a ""b"", c",2020-01-01,true,123456789012345678901,+1\n')
    assert shoal.read(path).to_pylist()[0] == {
        "code": "007",
        "name": 'a "b", c',
        "when": "2020-01-01",
        "flag": "true",
        "big": "123456789012345678901",
        "x": 1,
    }


def test_per_column_groups_each_column_and_says_so():
    X = np.random.default_rng(0).normal(size=(30, 3))
    release = shoal.microaggregate(X, 4, method="univariate", per_column=True)
    assert release.labels.shape == (30, 3)
    assert len(release.group_sizes) == sum(len(np.unique(column)) for column in release.labels.T)
    for j in range(3):
        alone = shoal.microaggregate(X[:, j], 4, method="univariate")
        assert np.array_equal(release.labels[:, j], alone.labels)
        assert np.array_equal(release.table[:, j], alone.table)
    assert "taken alone" in release.promise
    assert "may still be its own" in release.promise
    with pytest.raises(InputError, match="groups by one column"):
        shoal.microaggregate(X, 4, method="univariate")


def test_summary_names_what_a_time_limit_does():
    X = np.random.default_rng(0).normal(size=(30, 3))
    assert "no effect" in shoal.microaggregate(X, 3, method="mdav", time_limit=5).notes[0]


def test_a_column_that_one_text_keeps_from_being_numeric_is_pointed_out(tmp_path):
    path = tmp_path / "wages.csv"
    path.write_text("age,wage\n30,100\n31,unknown\n32,120\n")
    assert "published as they are: wage" in shoal.microaggregate(path, 3).notes


@pytest.mark.parametrize("method", ["univariate", "auto", "mdav"])
@pytest.mark.parametrize("exponent", [-1000, -530, 0, 530, 1000])
def test_one_column_of_any_magnitude(method, exponent):
    x = np.random.default_rng(0).normal(size=40)
    release = shoal.microaggregate(np.ldexp(x, exponent), 3, method=method)
    plain = shoal.microaggregate(x, 3, method=method)
    assert np.array_equal(release.labels, plain.labels)
    assert release.information_loss == pytest.approx(plain.information_loss, rel=1e-9)
    assert np.array_equal(release.table, np.ldexp(plain.table, exponent))


def test_a_bound_is_for_groups_of_whole_records():
    X = np.random.default_rng(0).normal(size=(20, 2))
    release = shoal.microaggregate(X, 3, method="mdav", blocks=[[0], [1]])
    with pytest.raises(InputError, match="groups of whole records"):
        release.lower_bound(1)
    limited = shoal.microaggregate(X, 3, time_limit=5)
    assert any("bounded by time" in note for note in limited.notes)


def test_a_release_shows_itself_in_five_lines():
    table = survey(60)
    text = repr(shoal.microaggregate(table, 5, columns=["turnover", "wages"], method="mdav"))
    lines = text.splitlines()
    assert len(lines) == 5
    assert lines[0] == "Release of 60 records, k=5, method 'mdav'"
    assert lines[4] == "  as before  region, sector, employees, assets, energy_use, profit"
    alone = shoal.microaggregate(np.arange(20.0), 5)
    assert repr(alone).endswith("no column")


def test_an_outcome_shows_itself_and_answers_like_the_dict_it_replaces():
    outcome = shoal.microaggregate(survey(60), 5, columns=["profit"], method="mdav").outcome
    assert repr(outcome).startswith("Outcome(60 records, 12 groups of 5 to 5, ")
    shown = outcome._repr_html_()
    assert ">records</td>" in shown
    assert ">60</td>" in shown
    with pytest.warns(DeprecationWarning, match="write outcome.k"):
        assert outcome["k"] == 5
    with pytest.warns(DeprecationWarning, match="until shoal 0.3"), pytest.raises(KeyError):
        outcome["nothing"]


def test_names_from_the_data_are_escaped_in_notebooks():
    table = pa.table({"<b>x</b>": np.arange(20.0)})
    outcome = shoal.microaggregate(table, 5).outcome
    assert "<b>" not in outcome._repr_html_()
