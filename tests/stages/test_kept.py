"""What is published as it is: identifiers, columns that tell others, and who stands behind records."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import shoal
from shoal.engines.disk import engine as disk
from shoal.errors import InputError
from shoal.frame.column import Column
from shoal.frame.frame import Frame
from shoal.frame.guess import identifier_reason
from shoal.pipeline import run
from shoal.stages.kept import few_units, given_back, refuse
from tests.cli.test_commands import call

N = 120


def people(**more):
    rng = np.random.default_rng(0)
    columns = {"wage": rng.lognormal(1.6, 0.5, N).round(2), "sex": rng.choice(["f", "m"], N)}
    return pa.table(columns | more)


PHONES = [f"+49 {j:05d}" for j in range(N)]


# --- identifiers ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "cells", "reason"),
    [
        ("phone", ["1", "2"] * 60, "its name says so"),
        ("hid", np.arange(N) // 2, "its name says so"),
        ("passport", [None, *map(float, range(1, N))], "its name says so"),
        ("contact", PHONES, "each record has a value of its own"),
        ("contact", [*PHONES[:-3], *PHONES[:3]], "nearly each record has a value of its own"),
        ("serial", np.arange(N)[::-1] * 3, "each record has a value of its own"),
        ("serial", [*range(N - 1), 0], None),
        ("region", ["a", "b"] * 60, None),
        ("score", np.linspace(0, 1, N), None),
        ("key", np.linspace(0, 1, N), None),
        ("is_no", [True, False] * 60, None),
        ("note", ["a", "b", "c"] * 3 + [None] * (N - 9), None),
        ("trips", [[j] for j in range(N)], None),
    ],
)  # fmt: skip
def test_texts_and_whole_numbers_that_look_like_identifiers(name, cells, reason):
    assert identifier_reason(Frame(pa.table({name: cells})), name) == reason


def test_cells_of_many_kinds_are_no_identifier():
    mixed = pd.DataFrame({"odd": [1, "a", 2.5] * 40})
    assert identifier_reason(Frame(mixed), "odd") is None


@pytest.mark.parametrize("make", [pa.table, pd.DataFrame, pl.DataFrame], ids=["arrow", "pandas", "polars"])
def test_a_kept_identifier_is_noted_and_written_only_if_somebody_says_so(make, tmp_path):
    table = make(people(phone=PHONES).to_pydict())
    release = shoal.microaggregate(table, 3, columns="wage", method="mdav")
    assert (
        "column 'phone' looks like an identifier (its name says so), and is published as it is"
        in release.notes
    )
    assert "published as they are: sex, phone" in release.notes
    sentence = (
        r"^column 'phone' looks like an identifier \(its name says so\): drop such a column \(--role "
        r"phone=identifier, roles=\{'phone': 'identifier'\}\) or decide to publish it as it is "
        r"\(--keep phone, keep=\['phone'\], on the page the role 'other' in step 1\)$"
    )
    with pytest.raises(InputError, match=sentence):
        release.write(tmp_path / "out.csv")
    with pytest.raises(InputError, match=sentence):
        run(release.plan, table, strict=True)
    assert not list(tmp_path.iterdir())
    release.write(tmp_path / "out.csv", keep="phone")
    for options in (
        {"keep": "phone"},
        {"roles": {"phone": "confidential"}},
        {"roles": {"phone": "identifier"}},
    ):
        decided = run(shoal.Plan(3, columns="wage", method="mdav", **options), table, strict=True)
        assert decided.suspects == ()
        decided.write(tmp_path / "out.csv")
    assert "phone" not in (tmp_path / "out.csv").read_text()


def test_arrays_and_tables_without_kept_columns_have_none(tmp_path):
    release = shoal.microaggregate(np.arange(40.0).reshape(20, 2), 3)
    assert release.suspects == ()
    assert not any("as they are" in note for note in release.notes)
    table = pa.table({"phone": np.arange(20)})
    assert shoal.microaggregate(table, 3).suspects == ()


def test_the_command_line_refuses_before_the_work(tmp_path):
    shoal.write(people(phone=PHONES), tmp_path / "in.csv")
    words = ["protect", tmp_path / "in.csv", "-k", 3, "-c", "wage", "-m", "mdav", "-o", tmp_path / "out.csv"]
    said = call(*words, status=2).stderr
    assert said.startswith("shoal: column 'phone' looks like an identifier (its name says so)")
    assert "--role phone=identifier" in said
    assert "--keep phone" in said
    assert said.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["in.csv"]
    call(*words, "--keep", "phone")
    assert "+49 00007" in (tmp_path / "out.csv").read_text()
    call(*words, "--role", "phone=identifier")
    assert "+49 00007" not in (tmp_path / "out.csv").read_text()


def test_files_larger_than_memory_are_refused_before_the_work(tmp_path):
    pq.write_table(people(phone=PHONES), tmp_path / "in.parquet")
    with pytest.raises(InputError, match="column 'phone' looks like an identifier"):
        shoal.protect_files(tmp_path / "in.parquet", tmp_path / "out.parquet", 3, columns="wage")
    codes = {"wage": sorted(set(people()["wage"].to_pylist()))}
    plan = shoal.Plan(3, columns="wage", keep="phone", missing_codes=codes)
    with pytest.raises(InputError, match="hit 120 of 120 records in column 'wage', more than half"):
        disk.run(plan, tmp_path / "in.parquet", tmp_path / "out.parquet")
    for options in ({"missing_codes": {"rent": [1]}}, {"known": "rent"}):
        with pytest.raises(InputError, match="there is no column 'rent'"):
            shoal.protect_files(tmp_path / "in.parquet", tmp_path / "o", 3, columns="wage", **options)
    assert [path.name for path in tmp_path.iterdir()] == ["in.parquet"]
    outcome = shoal.protect_files(
        tmp_path / "in.parquet", tmp_path / "out.parquet", 3, columns="wage", keep="phone", method="mdav"
    )
    assert "published as they are: sex, phone" in outcome.notes


def test_nothing_to_refuse():
    refuse(())


# --- columns that tell protected ones ---------------------------------------------------------------------


def numbers(values):
    return Column("x", "continuous", np.asarray(values, float))


def test_the_logarithm_gives_back_what_it_was_made_of(tmp_path):
    rng = np.random.default_rng(2)
    wage = rng.lognormal(1.6, 0.5, 526).round(2)
    for told in (np.log(wage), -np.log(wage), 1 / wage, wage + rng.normal(0, 0.005 * wage.std(), 526)):
        assert given_back(numbers(told), numbers(wage), 5) > 0.8
    table = pa.table({"wage": wage, "educ": rng.integers(8, 18, 526), "lwage": np.log(wage)})
    release = shoal.microaggregate(table, 5, columns=["wage", "educ"], method="mdav")
    with pytest.raises(InputError, match=r"^column 'lwage' gives back 'wage' in 99 % of the records: drop"):
        release.write(tmp_path / "out.csv")
    kept = shoal.microaggregate(table, 5, columns=["wage", "educ"], method="mdav", keep="lwage")
    kept.write(tmp_path / "out.csv")
    assert "column 'lwage' gives back 'wage' in 99 % of the records, and is published as it is" in kept.notes


def test_a_category_that_determines_a_number_is_named():
    rng = np.random.default_rng(3)
    years = rng.integers(1, 17, 600)
    words = [f"grade {j}" for j in years]
    table = pa.table({"years": years, "age": rng.integers(20, 60, 600), "school": words})
    (suspect,) = shoal.microaggregate(table, 5, columns=["years", "age"], method="mdav").suspects
    assert suspect == ("school", "gives back 'years' in 100 % of the records")
    with_gaps = table.set_column(2, "school", pa.array([None if j % 4 else w for j, w in enumerate(words)]))
    assert shoal.microaggregate(with_gaps, 5, columns=["years", "age"], method="mdav").suspects == ()


def brute_by_level(x, y, k):
    """For each record the single most frequent value among the others of its level, of at least k records."""
    hits = 0
    for i in range(len(x)):
        others = [y[j] for j in range(len(x)) if j != i and x[j] == x[i]]
        counts = sorted((others.count(value), value) for value in set(others))
        sure = counts and (len(counts) == 1 or counts[-1][0] > counts[-2][0])
        hits += len(others) + 1 >= k and bool(sure) and counts[-1][1] == y[i]
    return hits


@pytest.mark.parametrize("seed", range(6))
def test_guesses_are_made_from_the_others_alone(seed):
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 12, 60)
    y = np.where(rng.random(60) < 0.8, x, rng.integers(0, 12, 60))
    level, value = (Column("c", "nominal", np.unique(v, return_inverse=True)[1]) for v in (x, y))
    plain = np.bincount(y).max()
    hits = brute_by_level(x.tolist(), y.tolist(), 3)
    telling = hits - plain >= 0.5 * (60 - plain)
    assert given_back(level, value, 3) == (hits / 60 if telling else 0)


def test_what_one_guess_for_all_meets_is_not_given_away():
    rng = np.random.default_rng(4)
    mostly = np.where(rng.random(500) < 0.95, 0, rng.integers(1, 9, 500))
    kinds = Column("c", "nominal", rng.integers(0, 5, 500))
    heavy = rng.lognormal(0, 4, 500)  # nearly all lie within a hundredth of the standard deviation
    assert given_back(kinds, Column("y", "integer", mostly), 3) == 0
    assert given_back(numbers(rng.normal(size=500)), numbers(heavy), 3) == 0
    assert given_back(numbers(heavy), numbers(np.zeros(500)), 3) == 0
    assert given_back(numbers(range(9)), numbers(range(9)), 2) == 0  # too few to tell
    assert given_back(numbers(range(10)), numbers(range(10)), 2) > 0
    assert given_back(numbers([3] * 11 + [4]), numbers(range(12)), 2) == 0
    assert given_back(numbers([3] * 500), numbers(range(500)), 2) == 0
    assert given_back(numbers([3, 4] * 250), numbers(np.sort(heavy)), 2) == 0


def test_a_survey_gives_nothing_away():
    survey = shoal.datasets.survey(400)
    columns = ["turnover", "wages", "profit"]
    assert shoal.microaggregate(survey, 5, columns=columns, method="mdav").suspects == ()


def test_large_tables_are_judged_by_a_sample():
    rng = np.random.default_rng(0)
    x = rng.normal(size=21_000)
    release = shoal.microaggregate(pa.table({"x": x, "cube": x**3}), 5, columns="x")
    assert [suspect.name for suspect in release.suspects] == ["cube"]


# --- units ------------------------------------------------------------------------------------------------


def test_groups_that_hold_few_units_are_counted():
    ids, labels = np.array([1, 1, 2, 3, 3, 3]), np.array([0, 0, 0, 1, 1, 1])
    assert few_units(ids, labels, 2) == 1
    assert few_units(ids, labels, 3) == 2
    assert few_units(ids, labels, 1) == 0


def test_an_identifier_that_repeats_is_pointed_out():
    rng = np.random.default_rng(1)
    income = np.repeat(rng.lognormal(3, 1, 30), 3)
    table = pa.table({"hid": np.repeat(np.arange(30), 3), "income": income, "lists": [[1]] * 90})
    for options in ({"roles": {"hid": "identifier"}}, {"keep": ["hid"]}):
        release = shoal.microaggregate(table, 3, columns="income", method="mdav", **options)
        few = few_units(np.repeat(np.arange(30), 3), release.labels, 3)
        (note,) = [note for note in release.notes if "repeats" in note]
        assert note == (
            f"column 'hid' repeats, and {few} of {len(release.group_sizes)} groups hold fewer than k=3 of "
            "its values: if it tells whom you protect, say so (--unit hid, unit='hid')"
        )
        assert few > 0
    once = table.set_column(0, "hid", pa.array(range(90)))
    other = shoal.microaggregate(once, 3, columns="income", method="mdav", roles={"hid": "identifier"})
    assert not any("repeats" in note for note in other.notes)
    far = table.set_column(0, "hid", pa.array(list(range(30)) * 3)).sort_by("income")
    nested = far.rename_columns(["nr", "income", "hid"])
    for given in (nested, far.slice(0, 2)):
        notes = shoal.microaggregate(given, 2, columns="income", method="mdav").notes
        assert not any("'hid' repeats" in note for note in notes)
