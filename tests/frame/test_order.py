"""Rows of a written file stand in an order that only who has the original can undo."""

import json
from collections import Counter
from dataclasses import replace
from datetime import date, datetime
from decimal import Decimal
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

import shoal
from shoal.cli.commands import app
from shoal.datasets import survey
from shoal.engines.disk import engine as disk
from shoal.engines.disk.shuffle import Shuffle
from shoal.frame.order import Key, cells, file_order
from shoal.pipeline import run
from shoal.verify.compare import Agreement, in_place
from shoal.verify.files import check_original

PLAN = shoal.Plan(3, columns=["wage", "age"], method="mdav")
ENDINGS = ["csv", "tsv.gz", "parquet", "arrow", "sav", "dta", "xlsx"]


def people(n=40):
    """Every kind of cell that all formats can hold; gaps in each column, and one with nothing else."""
    rng = np.random.default_rng(3)
    gappy = lambda cells, step: [None if i % step == 1 else cell for i, cell in enumerate(cells)]  # noqa: E731
    return pa.table(
        {
            "wage": gappy(rng.lognormal(7, 1, n).tolist(), 9),
            "age": gappy(rng.integers(18, 90, n).tolist(), 7),
            "debt": pa.array(gappy([-0.0 if i % 4 else -i / 8 for i in range(n)], 6), pa.float64()),
            "name": gappy([f"Zoë, {i % 11}" for i in range(n)], 8),
            "member": gappy([i % 3 == 0 for i in range(n)], 5),
            "born": gappy([date(1950 + i, 1 + i % 12, 1 + i % 28) for i in range(n)], 10),
            "seen": gappy([datetime(2020, 1, 1 + i % 28, i % 24, i) for i in range(n)], 10),
            "nothing": pa.array([None] * n, pa.string()),
        }
    )


def rows(table):
    """How often each row stands in the table."""
    return Counter(map(repr, zip(*(table[name].to_pylist() for name in table.column_names))))


def same(one, other):
    return np.array_equal(one, other)


# --- the key ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ending", ENDINGS)
def test_the_order_is_the_same_for_every_format(ending, tmp_path):
    table = people()
    shoal.write(table, tmp_path / f"in.{ending}")
    again = shoal.read(tmp_path / f"in.{ending}")
    assert again.column_names == table.column_names
    for name in table.column_names:
        assert same(cells(again[name]), cells(table[name])), name
    assert same(file_order(again, PLAN), file_order(table, PLAN))


def test_a_cell_has_one_number_in_whatever_type_it_is_stored():
    wholes = [3, None, 0, 250]
    kinds = [pa.uint8(), pa.int16(), pa.int64(), pa.float32(), pa.float64(), pa.decimal128(9, 2)]
    numbers = [cells(pa.array(wholes, kind)) for kind in kinds]
    numbers += [cells(pa.array([np.float16(3), None, np.float16(0), np.float16(250)], pa.float16()))]
    numbers += [cells(pa.array([3.0, np.nan, -0.0, 250.0]))]
    assert all(same(numbers[0], other) for other in numbers)
    assert len(set(numbers[0].tolist())) == 4
    texts = ["b", None, "a", "b"]
    kinds = [pa.string(), pa.large_string(), pa.dictionary(pa.int8(), pa.string())]
    written = [cells(pa.array(texts, pa.string()).cast(kind)) for kind in kinds]
    written += [cells(pa.array(["b ", "", "a  ", "b"]))]
    assert all(same(written[0], other) for other in written)
    assert same(cells(pa.array([True, None, False])), cells(pa.array(["true", None, "False"])))
    assert same(cells(pa.array([True, None, False])), cells(pa.array([1, None, 0])))
    moments = [datetime(2020, 5, 1), None, datetime(2021, 6, 2, 3, 4, 5, 670000), datetime(2022, 7, 3, 1)]
    times = [
        cells(pa.array(moments, pa.timestamp(unit, zone))) for unit in ("ms", "us") for zone in (None, "UTC")
    ]
    spelled = ["2020-05-01", None, "2021-06-02T03:04:05.67", "2022-07-03 01:00:00Z"]
    times += [cells(pa.array(spelled)), cells(pa.array(["2020-05-01 00:00:00.000", *spelled[1:]]))]
    assert all(same(times[0], other) for other in times)
    assert same(cells(pa.nulls(2)), cells(pa.array(["", ""])))


def test_what_only_some_formats_hold_has_numbers_too():
    odd = [
        pa.array([b"a", None, b"b"]),
        pa.array([b"a", None, b"b"], pa.large_binary()),
        pa.array([[1, 2], None, [2]]),
        pa.array([{"x": 1}, None, {"x": 2}]),
        pa.array([Decimal("0.1"), None, Decimal("0.2")]),
        pa.array([1, None, 2], pa.timestamp("ns")),
        pa.array([1, None, 2**62], pa.timestamp("s")),
        pa.array([1, None, 2], pa.duration("s")),
        pa.array([(1, 2, 3), None, (1, 2, 4)], pa.month_day_nano_interval()),
        pa.array([b"\xff", None, b"\xfe"], pa.binary_view()),
    ]
    for column in odd:
        first, gap, last = cells(column)
        assert len({first, gap, last, cells(pa.nulls(1))[0]}) == 3, column.type


@given(st.lists(st.integers(0, 40), max_size=6))
def test_the_order_does_not_depend_on_how_the_table_is_cut(cuts):
    table = people()
    key = Key(table.column_names, PLAN.canonical())
    ends = sorted({0, *cuts, len(table)})
    for begin, end in pairwise(ends):
        key.add(table.slice(begin, end - begin))
    assert same(key.order(len(table)), file_order(table, PLAN))
    batches = pa.Table.from_batches([b for c in ends for b in table.slice(c, 5).to_batches()], table.schema)
    assert same(file_order(batches, PLAN), file_order(batches.combine_chunks(), PLAN))


def changed(table, name, row, cell):
    column = table[name].to_pylist()
    column[row] = cell
    place = table.column_names.index(name)
    return table.set_column(place, name, pa.array(column, table[name].type))


def test_anything_else_gives_another_order():
    """A permutation of forty rows is met by chance once in 8e47 trials."""
    table = people()
    orders = [
        file_order(table, PLAN),
        file_order(table, replace(PLAN, k=4)),
        file_order(table, replace(PLAN, seed=1)),
        file_order(table, replace(PLAN, method="auto")),
        file_order(changed(table, "age", 11, 17), PLAN),
        file_order(changed(table, "name", 11, "x"), PLAN),
        file_order(changed(table, "member", 12, None), PLAN),
        file_order(table.take(np.r_[1, 0, 2 : len(table)]), PLAN),
        file_order(table.rename_columns(["pay", *table.column_names[1:]]), PLAN),
        file_order(table.select(table.column_names[::-1]), PLAN),
        np.arange(len(table)),
    ]
    assert all(same(np.sort(order), np.arange(len(table))) for order in orders)
    assert len({order.tobytes() for order in orders}) == len(orders)
    assert file_order(table, replace(PLAN, order="keep")) is None


@pytest.mark.no_cover
def test_every_place_is_as_likely():
    """Where the first row goes, over 3000 plans: no place more often than chance gives it."""
    table = pa.table({"x": np.arange(10.0)})
    first = [np.argmin(file_order(table, shoal.Plan(2, seed=seed))) for seed in range(3000)]
    counts = np.bincount(first, minlength=10)
    assert np.square(counts - 300).sum() / 300 < 27.9  # chi-square with 9 degrees of freedom: 1 in 1000


# --- the file ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ending", ["csv", "parquet", "sav"])
def test_a_file_has_the_rows_of_the_table_in_the_order_of_its_key(ending, tmp_path):
    table = survey(60)
    release = shoal.microaggregate(table, 4, columns=["wages", "profit"], method="mdav")
    for name in ("one", "two"):
        release.write(tmp_path / f"{name}.{ending}")
    one, two = (shoal.read(tmp_path / f"{name}.{ending}") for name in ("one", "two"))
    assert one.equals(two)
    if ending != "sav":  # which holds the time of writing
        assert (tmp_path / f"one.{ending}").read_bytes() == (tmp_path / f"two.{ending}").read_bytes()
    order = file_order(table, release.plan)
    for name in table.column_names:
        assert same(cells(one[name]), cells(release.table[name].take(order))), name
    assert not one.equals(release.table)
    assert release.table.drop_columns(["wages", "profit"]).equals(table.drop_columns(["wages", "profit"]))
    if ending == "parquet":
        assert rows(one) == rows(release.table)


def test_strata_go_with_their_rows(tmp_path):
    """k is counted in the file within each stratum, wherever its rows were put."""
    table = survey(120)
    release = shoal.microaggregate(table, 3, columns=["wages"], strata=["sector"], method="mdav")
    release.write(tmp_path / "out.parquet")
    assert all(f.passed for f in shoal.check(tmp_path / "out.parquet", 3, ["wages"], strata=["sector"]))


def test_the_disk_gives_the_file_that_memory_gives(tmp_path):
    table = survey(500)
    pq.write_table(table, tmp_path / "in.parquet", row_group_size=77)
    plan = shoal.Plan(4, columns=["wages", "profit"], method="mdav", roles={"region": "identifier"})
    run(plan, tmp_path / "in.parquet").write(tmp_path / "memory.parquet")
    disk.run(plan, tmp_path / "in.parquet", tmp_path / "disk.parquet", batch_records=64)
    memory, ours = (pq.read_table(tmp_path / f"{name}.parquet") for name in ("memory", "disk"))
    assert ours.equals(memory)
    blocks = disk.run(plan, tmp_path / "in.parquet", tmp_path / "blocks.parquet", block_records=100)
    assert blocks.blocks > 1
    kept = ["sector", "employees"]
    assert pq.read_table(tmp_path / "blocks.parquet").select(kept).equals(memory.select(kept))


@given(st.integers(0, 60), st.integers(1, 70), st.integers(1, 25), st.integers(0, 2**32))
def test_stretches_on_disk_put_every_row_in_its_place(tmp_path_factory, n, stretch, batch, seed):
    places = np.random.default_rng(seed).permutation(n)
    table = pa.table({"x": np.arange(n), "text": [f"row {i}" for i in range(n)]})
    folder = tmp_path_factory.mktemp("stretches") / "shuffle"
    shuffle = Shuffle(folder, table.schema, places, stretch)
    begin = 0
    for part in table.to_batches(max_chunksize=batch):
        shuffle.add(part, begin)
        begin += len(part)
    came = pa.Table.from_batches(shuffle.batches(), table.schema)
    assert came.equals(table.take(np.argsort(places)))
    assert list(folder.iterdir()) == []


# --- rows found again -------------------------------------------------------------------------------------

WORDS = ("-k", 4, "-c", "profit", "-c", "wages")


def check(target, source, *words, status=0):
    """What `shoal check --original` says of the rows, as JSON and in words."""
    call = ["check", target, *WORDS, *words, "--original", source, "--json"]
    outcome = CliRunner().invoke(app, [str(word) for word in call])
    assert outcome.exit_code == status, outcome.output
    return json.loads(outcome.stdout)["original"], outcome.stderr


@pytest.fixture
def release(tmp_path):
    """A file, its release by `--method mdav --seed 2`, and the plan of that."""
    source, target = tmp_path / "in.csv", tmp_path / "out.csv"
    shoal.write(survey(50), source)
    words = ["protect", source, *WORDS, "-m", "mdav", "--seed", 2, "-o", target]
    outcome = CliRunner().invoke(app, [str(word) for word in words])
    assert outcome.exit_code == 0, outcome.output
    return source, target, shoal.Plan(4, columns=["profit", "wages"], method="mdav", seed=2)


def test_check_finds_every_row_with_the_options_or_the_plan_of_the_release(release, tmp_path):
    source, target, plan = release
    found, said = check(target, source, "-m", "mdav", "--seed", 2)
    assert found["by_row"]
    assert "yes: 50 records, each found again, 6 untouched columns the same" in said
    (tmp_path / "plan.toml").write_text(plan.toml())
    call = ["check", target, "--plan", tmp_path / "plan.toml", "--original", source]
    assert "each found again" in CliRunner().invoke(app, [str(word) for word in call]).stderr
    shoal.write(shoal.read(source), tmp_path / "in.parquet")  # another format has the same key
    assert check(target, tmp_path / "in.parquet", "-m", "mdav", "--seed", 2)[0]["by_row"]


def test_check_with_other_options_compares_the_set_of_rows(release):
    source, target, _ = release
    found, said = check(target, source, "-m", "mdav", "--seed", 3)
    assert not found["by_row"]
    assert "yes: 50 records in another order, 6 untouched columns the same as a set of rows" in said
    assert "with the plan or the options of the release, each row is found again" in said
    assert check(target, source, "--order", "keep", status=1)[0]["faults"]  # which says that none was moved


def exchange(table, columns, one, other):
    """The cells of two rows change places in these columns."""
    order = np.arange(len(table))
    order[[one, other]] = other, one
    for name in columns:
        table = table.set_column(table.column_names.index(name), name, table[name].take(order))
    return table


def test_cells_of_two_rows_exchanged_are_seen_with_the_plan(release):
    source, target, plan = release
    table = shoal.read(target)
    kept = [name for name in table.column_names if name not in ("profit", "wages")]
    other = next(i for i in range(1, 50) if table["profit"][i] != table["profit"][0])
    wrong = exchange(table, kept, 0, other)
    shoal.write(wrong, target)
    found, said = check(target, source, "-m", "mdav", "--seed", 2, status=1)
    assert any("is not what it was in row 1" in fault for fault in found["faults"])
    assert said.count("no: ") == 1
    assert not check(target, source)[0]["by_row"]  # without the plan nobody can tell
    assert not check_original(wrong, shoal.read(source), ["profit", "wages"], plan=plan).passed
    touched = exchange(table, kept[:1], 0, other)
    if not touched.equals(table):
        assert not check_original(touched, shoal.read(source), ["profit", "wages"]).passed


def test_published_cells_exchanged_are_seen_with_the_plan(release):
    source, target, plan = release
    table, original = shoal.read(target), shoal.read(source)
    turned = table.take(np.r_[25:50, 0:25])
    wrong = turned.select(["profit", "wages"])
    for name in ("profit", "wages"):
        wrong = table.set_column(table.column_names.index(name), name, turned[name])
    agreement = check_original(wrong, original, ["profit", "wages"], plan=plan)
    assert "lie outside the values of their records" in str(agreement)


def test_a_release_in_the_order_of_the_original_passes_by_row_with_any_plan():
    table = survey(50)
    release = shoal.microaggregate(table, 4, columns=["profit", "wages"], method="mdav")
    for plan in (None, release.plan, replace(release.plan, order="keep"), replace(release.plan, seed=9)):
        agreement = check_original(release.table, table, ["profit", "wages"], plan=plan)
        assert agreement.passed, plan
        assert agreement.by_row
    shuffled = release.table.take(file_order(table, release.plan))
    keep = replace(release.plan, order="keep")
    assert not check_original(shuffled, table, ["profit", "wages"], plan=keep).passed


def test_where_every_column_is_protected_only_the_plan_finds_rows():
    table = survey(200).select(["profit", "wages"])
    release = shoal.microaggregate(table, 4, method="mdav")
    shuffled = release.table.take(file_order(table, release.plan))
    assert check_original(shuffled, table, plan=release.plan).by_row
    assert not check_original(shuffled, table).by_row
    moved = check_original(shuffled.take(np.r_[100:200, 0:100]), table, plan=release.plan)
    assert "lie outside the values of their records" in str(moved)


def test_what_an_agreement_says():
    assert str(Agreement(5, ("a",), ())) == "yes: 5 records, each found again, 1 untouched column the same"
    assert str(Agreement(5, (), ())) == "yes: 5 records, each found again, all protected"
    assert str(Agreement(5, ("a", "b"), (), by_row=False)).startswith(
        "yes: 5 records in another order, 2 untouched columns the same as a set of rows, protected "
        "columns not compared (with the plan"
    )
    assert str(Agreement(5, (), (), by_row=False)).startswith(
        "yes: 5 records in another order, the same columns; no cell was compared, for all are protected (with"
    )
    assert str(Agreement(5, (), ("one", "two"))) == "no: one; two"


def test_an_order_that_lies_halfway_between_chance_and_all_is_not_the_right_one():
    """Of eight rows with two values each half as often, chance explains four and halfway lies at six."""
    table = pa.table({"a": [0, 0, 0, 0, 1, 1, 1, 1]})
    assert not in_place(pa.table({"a": [0, 0, 0, 0, 1, 1, 0, 0]}), table, ["a"])
    assert in_place(pa.table({"a": [0, 0, 0, 0, 1, 1, 1, 0]}), table, ["a"])


def test_an_order_is_right_if_it_explains_more_than_chance():
    table = pa.table({"a": np.arange(40) % 5, "b": ["x"] * 40})
    wrong = table.take(np.r_[1, 0, 2:40])
    assert in_place(table, wrong, ["a"])
    assert not in_place(table, table.take(np.r_[1:40, 0]), ["a"])
    assert not in_place(table, wrong, ["b"])  # a column of one value says nothing
    assert not in_place(table.slice(0, 0), table.slice(0, 0), ["a"])


# --- the attack -------------------------------------------------------------------------------------------


def found_by_rank(income, groups, who):
    """The share of people whom an intruder finds who knows each one's income and group.

    He says of each group that its first row is its poorest member, and so on. `groups` and `who` have the
    group and the person of each row of the file.
    """
    hits = 0
    for group in np.unique(groups):
        lines = np.flatnonzero(groups == group)
        members = np.sort(who[lines])
        hits += (who[lines] == members[np.argsort(income[members], kind="stable")]).sum()
    return hits / len(who)


def test_the_place_of_a_row_tells_nothing_in_a_shuffled_file(tmp_path):
    rng = np.random.default_rng(5)
    income = np.sort(rng.lognormal(10, 0.8, 2000))
    columns = {"income": income, "age": rng.normal(45, 12, 2000), "rent": rng.gamma(2, 5, 2000)}
    table = pa.table({**columns, "who": np.arange(2000)})

    def attack(name, **options):
        release = shoal.microaggregate(
            table, 5, columns=list(columns), method="mdav", keep=["who"], **options
        )
        release.write(tmp_path / name)
        file = pq.read_table(tmp_path / name)
        groups = np.unique(file["income"].to_numpy(), return_inverse=True)[1]
        assert len(np.unique(groups)) == release.outcome.groups
        return found_by_rank(income, groups, file["who"].to_numpy())

    assert attack("keep.parquet", order="keep") == 1
    shuffled = [attack("shuffled.parquet", seed=seed) for seed in range(5)]
    assert max(shuffled) <= 1 / 5 + 0.03
    assert np.mean(shuffled) <= 1 / 5 + 0.01
