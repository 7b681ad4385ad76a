"""A release that is read batch by batch, and its original."""

import numpy as np
import pyarrow as pa
import pytest

from shoal.errors import CheckFailed
from shoal.verify import policy
from shoal.verify.stream import compare_batches

ORIGINAL = pa.table({"x": [1.0, 3.0, 5.0, 7.0, 9.0], "name": ["a", "b", "c", "d", "e"]})
RELEASED = ORIGINAL.set_column(0, "x", pa.array([2.0, 2.0, 7.0, 7.0, 7.0]))


def with_cells(place, cells):
    return RELEASED.set_column(place, RELEASED.column_names[place], pa.array(cells))


def evidence(released, cuts=(2, 3), k=2):
    """Both tables in batches, the released one cut elsewhere."""
    done = []
    first = ORIGINAL.select(["name"]).slice(0, cuts[0]), ORIGINAL.select(["name"]).slice(cuts[0])
    batches = [(0, first[0]), (cuts[0], first[1])]
    parts = [released.slice(0, cuts[1]), released.slice(cuts[1])]
    found = compare_batches(
        batches,
        (batch for part in parts for batch in part.to_batches()),
        ["name"],
        lambda name, begin, count: RELEASED[name].slice(begin, count),
        [["x"]],
        k,
        len(ORIGINAL),
        done.append,
    )
    return *found, done


def test_what_is_as_it_should_be_passes():
    findings, agreement, done = evidence(RELEASED)
    assert agreement.passed
    assert agreement.untouched == ("name",)
    assert [(f.records, f.groups, f.smallest_group) for f in findings] == [(5, 2, 2)]
    assert done == [3, 5]
    policy.require(2, [["x"]], findings, agreement)


@pytest.mark.parametrize(
    ("released", "sentence"),
    [
        (RELEASED.slice(0, 4), "5 records went in, 4 came out"),
        (pa.concat_tables([RELEASED, RELEASED.slice(0, 1)]), "5 records went in, more than 5 came out"),
        (with_cells(1, ["a", "b", "c", "e", "d"]), "column 'name' is not what it should be"),
        (with_cells(0, [2.0, 2.0, 7.0, 7.0, 7.5]), "column 'x' is not what it should be"),
        (with_cells(0, [None, 2.0, 7.0, 7.0, 7.0]), "column 'x' is not what it should be"),
    ],
)
def test_what_is_not_is_told(released, sentence):
    findings, agreement, _ = evidence(released)
    with pytest.raises(CheckFailed, match=sentence):
        policy.require(2, [["x"]], findings, agreement)


def test_a_short_combination_is_counted_in_what_was_written():
    findings, agreement, _ = evidence(RELEASED, k=3)
    with pytest.raises(CheckFailed, match="1 of 2 combinations of x are shared by fewer than k=3"):
        policy.require(3, [["x"]], findings, agreement)


def test_rows_may_stand_elsewhere_and_units_go_with_them():
    """The release turned round: each row is found at its place, and k counts the units of its rows."""
    places = np.arange(5)[::-1]
    turned = RELEASED.take(places)
    units = np.array([0, 0, 1, 1, 2])

    def found(released, places, units=None):
        return compare_batches(
            [(0, ORIGINAL.select(["name"]).slice(0, 3)), (3, ORIGINAL.select(["name"]).slice(3))],
            released.to_batches(max_chunksize=2),
            ["name"],
            lambda name, begin, count: RELEASED[name].slice(begin, count),
            [["x"]],
            2,
            len(ORIGINAL),
            lambda done: None,
            places,
            units,
        )

    (finding,), agreement = found(turned, places)
    assert agreement.passed
    assert (finding.smallest_group, finding.counted) == (2, "records")
    assert found(turned, None)[1].faults == (
        "column 'x' is not what it should be",
        "column 'name' is not what it should be",
    )
    (finding,), agreement = found(turned, places, units)
    assert agreement.passed
    assert (finding.groups, finding.smallest_group, finding.short_groups) == (
        2,
        1,
        1,
    )  # unit 0 is alone at 2.0
    assert str(finding).endswith("fewer than k=2 units, the rarest by 1")
    with pytest.raises(CheckFailed, match="fewer than k=2 units"):
        policy.require(2, [["x"]], [finding], agreement, "units")
    (finding,), agreement = found(turned, places, np.array([0, 1, 0, 1, 2]))
    assert "shared by at least 2 units, in 5 records" in str(finding)
    policy.require(2, [["x"]], [finding], agreement, "units")
    with pytest.raises(CheckFailed, match="x were not counted"):
        policy.require(2, [["x"]], [finding], agreement)
