"""Recoding before grouping: what is published of tails, of joined levels, and of units."""

import datetime
import stat
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import shoal
from shoal.check import check_original
from shoal.errors import CheckFailed, InputError
from shoal.report import build, render
from shoal.stages.recode import NUMBERS


def people(n=60):
    rng = np.random.default_rng(5)
    return pd.DataFrame(
        {
            "wage": np.arange(1.0, n + 1),
            "age": rng.integers(20, 60, n),
            "job": rng.permutation(np.resize(["miner", "farmer", "clerk", "clerk", "nurse", "clerk"], n)),
            "bonus": np.arange(n, 0.0, -1),
        }
    )


def protected(table, **fields):
    fields = {"columns": ["age"], "keep": ["wage", "job", "bonus"], "k": 3} | fields
    return shoal.microaggregate(table, **fields)


def test_a_tail_is_published_as_its_mean():
    release = protected(people(), top={"wage": 50}, bottom={"bonus": "q0.1"})
    wage, bonus = release.table["wage"], release.table["bonus"]
    assert wage[:50].tolist() == list(np.arange(1.0, 51))
    assert set(wage[50:]) == {55.5}  # of 51 .. 60
    assert sorted(set(bonus)) == [3.0, *np.arange(6.0, 61)]  # q0.1 is 6; 1 .. 5 lie below it
    assert "10 values of 'wage' above 50 are published as their mean" in release.notes
    assert release.outcome.recoded == ("wage", "bonus")
    assert release.outcome.kept == ("job",)
    assert release.outcome.steps[0] == "wage: values above 50 are capped"
    assert "1 column is published as before: job; recoded only: wage, bonus" in release.promise
    assert "published as they are: job" in release.notes


def test_a_tail_of_few_or_of_one_is_published_as_its_threshold():
    table = people()
    few = protected(table, top={"wage": 58})
    assert few.table["wage"].max() == 58
    assert "2 values of 'wage' above 58 are published as the threshold: 2 are fewer than k=3" in few.notes
    table.loc[59, "wage"] = 1e6
    one = protected(table, top={"wage": 50})
    assert one.table["wage"].max() == 50
    assert any(note.endswith("one unit holds more than 50% of what lies beyond it") for note in one.notes)
    none = protected(table, top={"wage": 2e6})
    assert "no value of 'wage' above 2000000: nothing was capped" in none.notes


def test_a_tail_counts_units_and_weights():
    table = people()
    table["house"] = np.r_[np.arange(50), np.repeat([50, 51], 5)]
    fields = {"top": {"wage": 50}, "unit": "house", "columns": ["age"]}
    assert protected(table, **fields).table["wage"].max() == 50  # ten records of two units
    table["w"] = np.where(table["wage"] > 59, 3.0, 1.0)
    weighted = protected(table, top={"wage": 50}, weight="w", roles={"house": "other"})
    assert weighted.table["wage"].max() == np.average(np.arange(51, 61), weights=[1] * 9 + [3])


@pytest.mark.parametrize("library", [pa.Table.from_pandas, pl.from_pandas, lambda table: table])
def test_whole_numbers_dates_and_decimals_stay_what_they_are(library):
    days = pd.Series(pd.date_range("1930-01-01", periods=60, freq="365D")).dt.date
    table = people().assign(born=days, money=[Decimal(n) / 4 for n in range(60)], count=np.arange(60))
    kept = ["wage", "job", "bonus", "born", "money", "count"]
    fields = {"bottom": {"born": "1940-01-01"}, "top": {"money": 10, "count": "q0.9"}, "keep": kept}
    release = protected(library(table), **fields)
    made = pd.DataFrame(release.table.to_pydict() if hasattr(release.table, "to_pydict") else release.table)
    made = made if list(made.columns) == list(table.columns) else release.table.to_pandas()
    assert int(made["count"].max()) == 57  # 54 .. 59 is beyond q0.9 = 53: mean 56.5, away from zero
    assert Decimal(str(made["money"].max())) == Decimal("12.5")  # of 10.25 .. 14.75, in hundredths
    assert pd.Timestamp(made["born"].min()).year == 1934
    check = check_original(release.table, library(table), ["age"], plan=release.plan)
    assert check.passed, check


def test_protected_columns_are_grouped_by_what_recoding_left():
    table = people()
    release = shoal.microaggregate(table, 3, columns=["wage"], top={"wage": 50}, keep=["job", "bonus", "age"])
    assert release.table["wage"].max() == 55.5
    plain = shoal.microaggregate(table, 3, columns=["wage"], keep=["job", "bonus", "age"])
    lost = ((table["wage"] - release.table["wage"]) ** 2).sum() / ((table["wage"] - 30.5) ** 2).sum()
    assert release.information_loss + release.rounding_loss == pytest.approx(100 * lost)
    assert release.rounding_loss > 0 == plain.rounding_loss


def test_levels_are_joined_and_rare_ones_too():
    table = people()
    table.loc[0, "job"] = "king"
    release = protected(table, regroup={"job": {"Manual": ["miner", "farmer"], "rare": 11}})
    counts = release.table["job"].value_counts()
    assert set(counts.index) == {"Manual", "clerk", "other"}
    assert counts.min() >= 11
    assert "'job': miner, farmer became Manual" in release.notes


def test_rare_levels_are_joined_until_they_are_enough():
    table = people().assign(job=["king"] + ["clerk"] * 40 + ["nurse"] * 19)
    release = protected(table, regroup={"job": "rare:5"})
    assert release.table["job"].value_counts().to_dict() == {"clerk": 40, "other": 20}
    codes = people().assign(job=["?"] * 2 + ["king"] * 8 + ["clerk"] * 50)
    release = protected(codes, regroup={"job": ["rare:9"]}, missing_codes={"job": ["?"]})
    assert release.table["job"].value_counts().to_dict() == {"other": 58, "?": 2}


@pytest.mark.parametrize("kind", ["text", "pandas", "ordered", "polars", "enum", "arrow", "numbers"])
def test_levels_keep_the_kind_of_their_column(kind):
    table = people()
    levels = ["nurse", "clerk", "farmer", "miner"]
    made = {
        "text": lambda: table,
        "pandas": lambda: table.astype({"job": "category"}),
        "ordered": lambda: table.astype({"job": pd.CategoricalDtype(levels, ordered=True)}),
        "polars": lambda: pl.from_pandas(table),
        "enum": lambda: pl.from_pandas(table).with_columns(pl.col("job").cast(pl.Enum(levels))),
        "arrow": lambda: pa.table(table).set_column(2, "job", pa.array(table["job"]).dictionary_encode()),
        "numbers": lambda: table.assign(
            job=table["job"].map({"nurse": 1, "clerk": 2, "farmer": 3, "miner": 4})
        ),
    }[kind]()
    join = {"9": ["3", "4"]} if kind == "numbers" else {"Manual": ["farmer", "miner"]}
    fields = {} if kind == "numbers" else {"types": {"job": "nominal"}}
    for columns in (["age"], ["age", "job"]):
        if "job" in columns:
            fields = {"types": {"job": "nominal"}}
        keep = [name for name in ("wage", "job", "bonus") if name not in columns]
        release = protected(made, regroup={"job": join}, columns=columns, keep=keep, **fields)
        cells = set(map(str, shoal.write and pa.table(release.table)["job"].to_pylist()))
        assert cells <= {"1", "2", "9", "nurse", "clerk", "Manual"}
        assert cells & {"9", "Manual"}
        assert check_original(release.table, made, columns, plan=release.plan).passed
        if columns == ["age", "job"]:
            assert release.rounding_loss > 0
            assert release.utility()["means"].overall >= 0
    if kind == "ordered":
        assert release.table["job"].cat.ordered


def test_an_ordinal_column_has_the_levels_that_were_joined():
    levels = ["nurse", "clerk", "Manual"]
    fields = {"columns": ["age", "job"], "keep": ["wage", "bonus"], "types": {"job": "ordinal"}}
    join = {"job": {"Manual": ["farmer", "miner"]}}
    release = protected(people(), regroup=join, levels={"job": levels}, **fields)
    assert set(release.table["job"]) <= set(levels)
    with pytest.raises(InputError, match="what is not among its 2 levels: add it to them, or mend it"):
        protected(people(), regroup=join, levels={"job": levels[:2]}, **fields)


def test_units_are_published_as_new_numbers(tmp_path):
    table = people().assign(house=np.repeat([f"h{n}" for n in range(20)], 3))
    table.to_csv(tmp_path / "in.csv", index=False)
    key = tmp_path / "house.key"
    fields = {"unit": "house", "pseudonyms": key, "columns": ["age"], "keep": ["wage", "job", "bonus"]}
    release = shoal.microaggregate(tmp_path / "in.csv", 3, **fields)
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    numbers = release.table["house"].to_numpy().reshape(20, 3)
    assert (numbers[:, :1] == numbers).all()
    assert len(np.unique(numbers)) == 20
    assert numbers.min() >= 0
    assert numbers.max() < NUMBERS
    again = shoal.microaggregate(table, 3, **fields)
    assert again.table["house"].tolist() == numbers.ravel().tolist()  # the same key, the same numbers
    other = shoal.microaggregate(table, 3, **fields | {"pseudonyms": tmp_path / "other.key"})
    assert not set(other.table["house"]) & set(numbers.ravel())
    release.write(tmp_path / "out.csv")
    agreement = check_original(tmp_path / "out.csv", tmp_path / "in.csv", ["age"], plan=release.plan)
    assert agreement.passed
    assert agreement.units >= 3
    assert any("rows of a unit can be linked" in note for note in release.notes)
    assert "rows of a unit can be linked, and together they may be its own" in release.promise
    groups = [tuple(sorted(rows)) for rows in release.labels.reshape(20, 3).tolist()]
    unique = sum(groups.count(some) == 1 for some in groups)
    assert any(f"{unique} of 20 units lie in groups that, all rows taken" in note for note in release.notes)
    kept_order = shoal.microaggregate(table, 3, **fields, order="keep")  # adjacency tells nothing more
    kept_order.write(tmp_path / "kept.csv")
    assert (pd.read_csv(tmp_path / "kept.csv")["house"].to_numpy() == numbers.ravel()).all()
    written = pd.read_csv(tmp_path / "out.csv")
    written["house"] = written["house"].sample(frac=1, random_state=0).to_numpy()
    agreement = check_original(written, tmp_path / "in.csv", ["age"], plan=release.plan)
    assert not agreement.passed


def test_numbers_of_units_in_an_array(tmp_path):
    array = np.random.default_rng(0).normal(size=(30, 3))
    array[:, 2] = np.repeat(np.arange(10), 3)
    release = shoal.microaggregate(array, 3, columns=[0, 1], unit=2, pseudonyms=tmp_path / "key")
    assert len(np.unique(release.table[:, 2])) == 10
    assert shoal.microaggregate(array, 3, columns=[0], keep=[1, 2], top={1: 0.5}).table[:, 1].max() > 0.5


def test_a_key_file_is_private_and_ours(tmp_path):
    key = tmp_path / "key"
    table = people().assign(house=np.repeat(np.arange(20), 3))
    fields = {"unit": "house", "pseudonyms": str(key), "columns": ["age"]}
    key.write_text("ab" * 32)
    key.chmod(0o644)
    with pytest.raises(InputError, match="others can read the key file"):
        protected(table, **fields)
    key.chmod(0o600)
    protected(table, **fields)
    for text in (b"hello", b"\xff\xfe" * 50):
        key.write_bytes(text)
        with pytest.raises(InputError, match=r"no key file of shoal|cannot be used"):
            protected(table, **fields)
    with pytest.raises(InputError, match="cannot be used: No such file"):
        protected(table, **fields | {"pseudonyms": tmp_path / "none" / "key"})


def test_two_units_with_one_number_are_refused(tmp_path):
    """Of the units 0 to 40,000,000 these two have one number under this key: all were tried."""
    key = tmp_path / "key"
    key.write_text("ab" * 32)
    key.chmod(0o600)
    fields = {"unit": "house", "pseudonyms": key}
    houses = np.repeat([7151502, 36054232, *range(18)], 3)
    with pytest.raises(InputError, match="two units have one number under the key"):
        protected(people().assign(house=houses), **fields)
    assert protected(people().assign(house=houses + 1), **fields).table["house"].nunique() == 20


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"top": {"wages": 5}}, "there is no column 'wages': did you mean 'wage'"),
        ({"top": {"wage": 5}, "bottom": {"wage": 50}}, "bottom and top of column 'wage' cross"),
        ({"top": {"job": 5}, "types": {"job": "nominal"}}, "column 'job' is nominal and has no tails"),
        ({"top": {"age": 30.5}}, "30.5 is no value that column 'age' .integer. can have"),
        (
            {"top": {"wage": 5}, "roles": {"wage": "identifier"}, "keep": []},
            "'wage' is the identifier, which is not",
        ),
        (
            {"round": {"wage": 1}, "weight": "wage", "keep": []},
            "'wage' is the weight, which would change what",
        ),
        (
            {"regroup": {"job": "Manual:minr"}},
            "column 'job' has no level 'minr' to join: did you mean 'miner'",
        ),
        ({"regroup": {"day": {"x": ["y"]}}}, "column 'day' holds .*: only levels of texts and numbers"),
        (
            {"regroup": {"age": {"1": [56, 52]}}},
            "column 'age' is integer, whose values are averaged: to join",
        ),
        ({"regroup": {"age": "rare:500"}}, "column 'age' holds numbers: 'other' cannot be a level of it"),
        ({"top": {"empty": "q0.5"}}, "column 'empty' holds no value"),
    ],
)
def test_what_cannot_be_recoded_is_said(fields, said):
    day = datetime.date(2020, 1, 1)
    table = people().assign(day=day, empty=np.nan)
    with pytest.raises(InputError, match=said):
        protected(table, **{"keep": ["wage", "job", "bonus"]} | fields)


def test_a_file_that_shows_a_tail_is_not_published(tmp_path, monkeypatch):
    monkeypatch.setattr("shoal.stages.recode._capped", lambda column, ends: column)
    with pytest.raises(CheckFailed, match="column 'wage' is not what its steps make of row"):
        protected(people(), top={"wage": 50}).write(tmp_path / "out.csv")
    assert not (tmp_path / "out.csv").exists()


def test_what_recoded_columns_lose_is_told_by_the_same_definition():
    """100 * SSE / SST of each column; a joined level lies amid the records that have it."""
    pay = np.arange(60.0) ** 2
    table = pa.table({"x": np.arange(60.0), "pay": pay, "job": ["a", "b", "c"] * 20})
    release = shoal.microaggregate(
        table, 3, columns=["x"], top={"pay": 900}, regroup={"job": {"AB": ["a", "b"]}}, keep=["pay", "job"]
    )
    lost = release.outcome.recoding_loss
    squares = np.square(pay - release.table["pay"].to_numpy()).sum()
    assert lost["pay"] == pytest.approx(100 * squares / np.square(pay - pay.mean()).sum())
    assert lost["job"] == pytest.approx(50)  # of a, b and c, one distinction of two is gone
    assert ("lost by recoding", f"pay {lost['pay']:.4g} %, job 50 %") in release.outcome.rows()
    assert release.outcome.public()["recoding_loss"]["job"] == 50.0
    assert "lost by recoding" in render(build(release, "public"), "text")
    assert not shoal.microaggregate(table, 3, columns=["x"], keep=["pay", "job"]).outcome.recoding_loss


def test_one_value_is_told_as_one():
    release = shoal.microaggregate(np.arange(40), 3, top={0: 38})
    assert "1 value of 0 above 38 is published as the threshold: 1 is fewer than k=3" in release.notes
