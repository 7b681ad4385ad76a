"""The check's own parts: counting, comparing, and what it says of it. Quick: every flip is tried on them."""

import datetime as dt
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import shoal
from shoal.errors import CheckFailed, InputError
from shoal.frame.column import Column
from shoal.verify.compare import Agreement, compare, first_difference, outside
from shoal.verify.count import Counter, Finding, count
from shoal.verify.files import check, check_original
from shoal.verify.groups import check_groups
from shoal.verify.policy import require


def test_first_difference_by_value_and_by_gap():
    def row(one, other, **options):
        return first_difference(pa.array(one), pa.array(other), **options)

    assert row([1, 2, 3], [1, 2, 3]) is None
    assert row([1, 2, 3], [1, 2, 4]) == 2
    assert row([1, None, 3], [1, 2, 3]) == 1
    assert row([1, 2, 3], [1, 2, None]) == 2
    assert row([1, 2], [1.0, 2.0]) is None
    assert row([1, 2**53 + 1], [1.0, float(2**53)]) == 1
    assert row([1.5], ["1.5"]) is None
    assert row([1.5, 2.5], ["1.5", "x"]) == 1
    assert row([float("nan"), 1.0], [None, 1.0]) is None
    assert row(["a ", ""], ["a", None]) == 0
    assert row(["a ", "", "b\r\nc\rd"], ["a", None, "b\nc\nd"], loose=True) is None
    assert row([" a"], ["a"], loose=True) == 0
    assert row([b"ab"], ["b'ab'"]) == 0
    assert row([[1, 2], [3]], ["x", "y"]) == 0
    assert row([1e300, 1.0], [1e300, 1.0 + 1e-12], loose=True) == 1
    assert row([1e300, 1.0], [1e300, 1.0 + 2e-16], loose=True) is None


def test_first_difference_of_odd_types():
    times = pa.array([dt.time(1, 2, 3), None])
    assert first_difference(times, pa.array(["01:02:03", None])) is None
    assert first_difference(times, pa.array(["01:02:03.000000", ""])) is None
    assert first_difference(times, pa.array(["01:02:03", "x"])) == 1
    moments = pa.array([dt.datetime(2020, 1, 1, 0, 0, 0, 400)])
    assert first_difference(moments, pa.array([dt.datetime(2020, 1, 1)]), loose=True) is None
    assert first_difference(moments, pa.array([dt.datetime(2020, 1, 1)])) == 0
    words = pa.array(["a", None, "b"])
    assert first_difference(words.dictionary_encode(), words) is None
    halves = pa.array(np.array([1.5, 2.5], np.float16))
    assert first_difference(halves, pa.array(["1.5", "2.5"])) is None
    assert first_difference(pa.nulls(2), pa.array([None, None], pa.string())) is None
    assert first_difference(pa.array(["a"], pa.string_view()), pa.array(["b"])) == 0


def test_compare_names_each_fault():
    table = pa.table({"a": [1, 2], "b": ["x", "y"]})
    assert str(compare(table, table, ["a", "b"])) == "yes: 2 records, each found again, all protected"
    assert str(compare(table, table, ["a"])).endswith("1 untouched column the same")
    assert str(compare(table, table, [])).endswith("2 untouched columns the same")
    other = pa.table({"a": [1, 3], "c": [0, 0]})
    faults = compare(table, other, []).faults
    assert faults == (
        "column 'c' should not be there",
        "column 'b' is missing",
        "column 'a' is not what it was in row 2",
    )


def test_outside_looks_at_numbers_dates_and_decimals_only():
    days = [dt.date(2020, 1, d) for d in (1, 3, 20, 22)]
    original = pa.table(
        {
            "d": days,
            "n": [1, 3, 20, 22],
            "m": [Decimal("1.0"), Decimal("3.0"), Decimal("20.0"), Decimal("22.0")],
        }
        | {"u": pa.array([1, 3, 20, 22], pa.uint64()), "t": ["a", "b", "c", "d"], "f": [1.0, 3.0, None, None]}
    )
    good = pa.table(
        {
            "d": [days[1]] * 2 + [days[2]] * 2,
            "n": [2, 2, 21, 21],
            "m": [Decimal("2.0")] * 2 + [Decimal("21.0")] * 2,
        }
        | {"u": pa.array([2, 2, 21, 21], pa.uint64()), "t": ["a", "a", "c", "c"], "f": [3.0, 3.0, None, None]}
    )
    assert outside(original, good, original.column_names) == []
    for name in ("d", "n", "m", "u", "f"):
        turned = good.set_column(good.column_names.index(name), name, good[name].take([2, 3, 0, 1]))
        wrong = outside(original, turned, [name])
        assert wrong == (
            []
            if name == "f"
            else [f"2 published values of column {name!r} lie outside the values of their records"]
        )
    turned = good.take([2, 3, 0, 1])
    assert [
        fault.split("'")[1] for fault in outside(original, turned, original.column_names, whole=False)
    ] == ["m"]


def test_counting_at_the_border_of_k():
    table = pa.table({"a": [1, 1, 1, 2, 2], "t": ["x", "x", "y", "y", "y"]})
    (found,) = check(table, 2, ["a"])
    assert (found.records, found.groups, found.smallest_group, found.short_groups) == (5, 2, 2, 0)
    assert found.passed
    assert str(found) == "yes: each of the 2 combinations of a is shared by at least 2 of 5 records (k=2)"
    (found,) = check(table, 3, "a")
    assert (found.short_groups, found.passed) == (1, False)
    assert str(found).startswith(
        "no: 1 of 2 combinations of a are shared by fewer than k=3 records, the rarest by 2"
    )
    assert [f.columns for f in check(table, 2)] == [("a",)]
    both = check(table, 2, ["a", "t"], per_column=True)
    assert [(f.groups, f.smallest_group) for f in both] == [(2, 2), (2, 2)]
    assert [f.groups for f in check(table, 2, blocks=[["a", "t"], ["t"]])] == [3, 2]
    (found,) = check(table, 1, ["a"], strata=["t"])
    assert (found.groups, found.smallest_group) == (3, 1)
    (found,) = check(table, 1, ["a"], strata=np.array([0, 1, 0, 0, 0]))
    assert (found.groups, found.smallest_group) == (3, 1)
    words = pa.table({"w": pa.array(["p", "p", "q"]).dictionary_encode()})
    assert [f.groups for f in check(words, 1, ["w"])] == [2]
    with pytest.raises(InputError, match="there is no column 'b'"):
        check(table, 2, ["b"])
    with pytest.raises(InputError, match="there is no column 's'"):
        check(table, 2, ["a"], strata=["s"])
    for nothing in ({}, {"blocks": []}, {"blocks": [[]]}):
        with pytest.raises(InputError, match="no numeric column"):
            check(words, 2, **nothing)


def test_counting_batches_is_counting_the_table():
    rng = np.random.default_rng(0)
    n = 400
    words = pa.array(rng.choice(["a", "b", ""], n)).dictionary_encode()
    table = pa.table(
        {
            "f": rng.choice([0.5, np.nan, -1.0], n),
            "i": pa.array(rng.integers(0, 3, n), mask=rng.random(n) < 0.2),
            "u": pa.array(rng.choice(np.array([2**64 - 1, 3], np.uint64), n)),
            "w": words,
            "d": [dt.date(2020, 1, int(day)) for day in rng.integers(1, 3, n)],
            "m": [Decimal(int(value)) / 4 for value in rng.integers(0, 2, n)],
            "l": [[int(value)] for value in rng.integers(0, 2, n)],
            "b": rng.random(n) < 0.5,
        }
    )
    for columns in (["f"], ["i", "w"], ["u", "d", "m"], ["f", "i", "u", "w", "d", "m", "b"]):
        counter = Counter(columns, 3)
        for begin in range(0, n, 70):
            counter.add(table.slice(begin, 70))
        whole = table.set_column(0, "f", pa.array(table["f"].to_numpy(), from_pandas=True))
        assert counter.finding() == count(whole, columns, 3)
    lists = Counter(["l"], 3)
    lists.add(table)
    assert lists.finding().groups == 2
    assert Counter(["f"], 3).finding().records == 0


def test_every_part_must_be_counted_and_nothing_short():
    good, all_there = Finding(2, ("a",), 4, 2, 2, 0), Agreement(4, (), ())
    require(2, [["a"]], [good], all_there)
    with pytest.raises(CheckFailed, match="nothing is released: the check says no: 1 of 3"):
        require(2, [["a"]], [Finding(2, ("a",), 4, 3, 1, 1)], all_there)
    with pytest.raises(CheckFailed, match="nothing is released: the check says no: a row is gone"):
        require(2, [["a"]], [good], Agreement(4, (), ("a row is gone",)))
    for parts, findings in (
        ([["a"], ["b"]], [good]),  # one part was not counted
        ([["a"]], [Finding(1, ("a",), 4, 2, 2, 0)]),  # or by another k
        ([["a"]], [Finding(2, ("a",), 3, 2, 2, 0)]),  # or not all of its records
    ):
        with pytest.raises(CheckFailed, match="were not counted"):
            require(2, parts, findings, all_there)


def test_groups_are_checked_before_they_are_published():
    labels = np.array([0, 0, 1, 1, 1])
    values = np.array([1.0, 1.0, 2.0, 2.0, 2.0])

    def verify(values, labels=labels, k=2, strata=None, gaps=None):
        check_groups({"a": Column("a", "continuous", np.asarray(values), gaps)}, labels, k, strata)

    verify(values)
    verify(values, strata=np.array([0, 0, 5, 5, 5]))
    with pytest.raises(CheckFailed, match="short of k=3"):
        verify(values, k=3)
    with pytest.raises(CheckFailed, match="short of k=1"):
        verify(np.ones(3), np.array([0, -2, 0]), 1)
    with pytest.raises(CheckFailed, match="5 values but 4 labels"):
        verify(values, labels[:4])
    with pytest.raises(CheckFailed, match="different values"):
        verify([1.0, 1.0, 2.0, 2.0, 3.0])
    with pytest.raises(CheckFailed, match="crosses strata"):
        verify(values, strata=np.array([0, 1, 5, 5, 5]))
    verify(values, gaps=np.array([False, False, True, True, True]))
    with pytest.raises(CheckFailed, match="different values"):
        verify(values, gaps=np.arange(5) < 1)


def test_tables_and_files_are_compared_alike(tmp_path):
    before = pa.table({"x": [1.0, 3.0, 5.0, None], "t": ["1.50", "2", "3", "4"]})
    after = before.set_column(0, "x", pa.array([2.0, 2.0, 5.0, None]))
    for ending in ("csv", "parquet"):
        shoal.write(before, tmp_path / f"before.{ending}")
        shoal.write(after, tmp_path / f"after.{ending}")
    for one in (before, tmp_path / "before.csv", tmp_path / "before.parquet"):
        for other in (after, tmp_path / "after.csv", tmp_path / "after.parquet"):
            if isinstance(one, pa.Table) or one.suffix == ".parquet" or not isinstance(other, pa.Table):
                agreement = check_original(other, one, ["x"])
                assert agreement.passed, (one, other, agreement)
    (tmp_path / "after.csv").write_text("x,t\n2.0,1.5\n2.0,2\n5.0,3\n,4\n")
    assert not check_original(tmp_path / "after.csv", tmp_path / "before.csv", ["x"]).passed
    assert not check_original(tmp_path / "after.csv", before, ["x"]).passed
    rest = after.slice(0, 3)
    assert check_original(rest, before, ["x"], without_gaps=True).passed
    assert check_original(rest, before, ["x"]).faults == ("4 records went in, 3 came out",)
    assert check_original(after.drop_columns(["t"]), before, ["x"], dropped=["t"]).passed
    assert not check_original(after, before, ["x"], dropped=["t"]).passed
    whole = pa.table({"n": [1, 2, 3, 4]})
    keep = shoal.Plan(2, order="keep")
    assert not check_original(pa.table({"n": [5, 5, 1, 1]}), whole, plan=keep).passed
    assert check_original(pa.table({"n": [5, 5, 1, 1]}), whole, plan=keep, totals_kept=True).passed


def test_whole_numbers_beyond_sixty_three_bits_have_a_range_too():
    before = pa.table({"u": pa.array([2**64 - 1, 2**64 - 3, 5, 7], pa.uint64())})
    after = pa.table({"u": pa.array([2**64 - 2, 2**64 - 2, 6, 6], pa.uint64())})
    assert outside(before, after, ["u"]) == []
    assert len(outside(before, after.take([2, 3, 0, 1]), ["u"])) == 1


def test_nested_columns_are_compared_too(tmp_path):
    nan = float("nan")
    before = pa.table(
        {"x": [1, 2, 3, 4], "l": [[1.0, nan], [], None, [2.0]], "r": [{"a": i} for i in range(4)]}
    )
    after = before.set_column(0, "x", pa.array([1, 1, 3, 3]))
    assert check_original(after, before, ["x"]).passed
    assert check_original(after.set_column(1, "l", before["l"].take([0, 1, 2, 3])), before, ["x"]).passed
    for name, place in (("l", 1), ("r", 2)):
        turned = after.set_column(place, name, before[name].take([0, 2, 1, 3]))
        (fault,) = check_original(turned, before, ["x"]).faults
        assert fault.startswith(f"column {name!r} is not what it was in row 2")
    pq.write_table(before, tmp_path / "in.parquet")
    shoal.microaggregate(tmp_path / "in.parquet", 2, columns=["x"]).write(tmp_path / "out.parquet")
    assert check_original(tmp_path / "out.parquet", tmp_path / "in.parquet", ["x"]).passed


def test_distinct_units_are_counted_where_they_are_told():
    table = pa.table({"x": [1, 1, 1, 2, 2, 2]})
    owners = [pa.array(["a", "a", "b", "c", "c", "c"])]
    finding = count(table, ["x"], 2, units=owners)
    assert (finding.smallest_group, finding.short_groups, finding.counted) == (1, 1, "units")
    assert count(table, ["x"], 2).passed
    counter = Counter(["x"], 2)
    assert counter.finding().records == 0
    counter.add(table.slice(0, 2), np.array([0, 0]))
    counter.add(table.slice(2), np.array([1, 2, 2, 2]))
    streamed = counter.finding()
    assert (streamed.groups, streamed.smallest_group, streamed.short_groups) == (2, 1, 1)
    empty = Counter(["x"], 2)
    empty.add(table.slice(0, 0), np.empty(0, np.int64))
    assert (empty.finding().groups, empty.finding().records) == (0, 0)
