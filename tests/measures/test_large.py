"""What is measured of tables that are read column by column is what is measured of them in memory."""

import math

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import shoal
from shoal.datasets import survey
from shoal.errors import MachineError
from shoal.frame.order import file_order
from shoal.measurement import measure_plan
from shoal.measures import columns
from shoal.measures.groups import Groups, same
from shoal.measures.linkage import chances, linkage
from shoal.measures.pair import pair
from shoal.pipeline import run
from shoal.plan import Plan
from tests.long_texts import WAYS, read, texts

COLUMNS = ["turnover", "wages", "profit", "sector"]


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    """A table with gaps, weights and units, its release in another order, and both as folders of Parquet."""
    folder, rng = tmp_path_factory.mktemp("tables"), np.random.default_rng(3)
    original = survey(400)
    wages = original["wages"].to_numpy().astype(float)
    wages[rng.choice(400, 20, replace=False)] = np.nan
    original = original.set_column(
        original.column_names.index("wages"), "wages", pa.array(wages, mask=np.isnan(wages))
    )
    original = original.append_column("w", pa.array(rng.uniform(1, 9, 400)))
    original = original.append_column("nr", pa.array(range(400)))
    plan = Plan(4, columns=COLUMNS, missing="group")
    release = run(plan, original).table.take(file_order(original, plan, COLUMNS))
    for name, table in (("was", original), ("safe", release)):
        (folder / name).mkdir()
        pq.write_table(table.slice(0, 150), folder / name / "a.parquet")
        pq.write_table(table.slice(150), folder / name / "b.parquet")
    return plan, original, release, folder


def close(one, other, where=""):
    if isinstance(one, dict):
        assert one.keys() == other.keys(), where
        for key in one:
            close(one[key], other[key], f"{where}.{key}")
    elif isinstance(one, list):
        assert len(one) == len(other), where
        for place, pair in enumerate(zip(one, other)):
            close(*pair, f"{where}[{place}]")
    elif isinstance(one, float) and isinstance(other, float):
        assert math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-12), (where, one, other)
    else:
        assert one == other, where


def test_stored_columns_leave_nothing_in_memory():
    cells = np.arange(1000.0)
    stored = columns.Columns.stored(iter([columns.Column("x", cells, cells[::-1], True)]))
    assert stored.heads[0].before.base is stored.heads[0].after.base is None  # no view of the cells
    assert np.array_equal(stored[0].before, cells)
    assert np.array_equal(stored[0].after, cells[::-1])


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"weight": "w"},
        {"unit": "employees"},
        {"confidential": ["employees", "region"]},
        {"known": ["region"], "formula": "turnover ~ wages + region"},
    ],
)
def test_large_tables_are_measured_like_small_ones(tables, fields):
    _, original, release, folder = tables
    asked = {"columns": COLUMNS, "key": "nr", **fields}
    large = shoal.measure(folder / "was", folder / "safe", **asked)
    small = shoal.measure(original, release, **asked)
    close(large.facts(), small.facts())
    close(large.model()["distributions"], small.model()["distributions"])
    close(large.model()["map"], small.model()["map"])
    close(large.model()["audit"], small.model()["audit"])


def test_rows_are_matched_by_the_plan_and_by_a_key(tables):
    plan, original, release, folder = tables
    found = measure_plan(plan, folder / "was", folder / "safe")
    close(found.facts(), measure_plan(plan, original, release).facts())
    by_key = shoal.measure(folder / "was", folder / "safe", columns=COLUMNS, key="nr")
    assert np.array_equal(by_key.rows, found.rows)


@pytest.mark.parametrize("way", WAYS)
def test_texts_are_measured_as_in_memory(tmp_path, way):
    """Columns are what all of their cells are, though the first ones could be less."""
    was, safe, plan = texts(tmp_path, way)
    large, small = (
        measure_plan(plan, *tables, confidential=["said"], formula="late ~ nr + code")
        for tables in ((read(was).table, read(safe).table), (was, safe))
    )
    close(large.facts(), small.facts())
    assert "gap" in str(large.notes)
    close(large.model()["distributions"], small.model()["distributions"])


def test_what_is_sampled_is_named(tables):
    folder = tables[-1]
    risk = shoal.risk(folder / "safe" / "a.parquet", folder / "safe" / "a.parquet", COLUMNS, sample=50)
    assert "linkage was tried by 50 of 150 records, drawn by chance" in risk.notes
    lost = shoal.utility(folder / "safe" / "a.parquet", folder / "safe" / "a.parquet", COLUMNS, sample=60)
    assert "the models that tell the tables apart saw 60 of 150 records" in lost.notes


def test_records_at_risk_are_those_of_memory_or_of_a_sample(tables):
    _, original, release, folder = tables
    asked = {"columns": COLUMNS, "key": "nr"}
    large, small = (
        shoal.measure(folder / "was", folder / "safe", **asked),
        shoal.measure(original, release, **asked),
    )
    assert large.at_risk(20) == small.at_risk(20)
    assert small.at_risk(1)[0]["sought_among"] == 400
    whole = {entry["row"]: entry for entry in small.at_risk(400)}
    some = large.at_risk(400, sample=60)
    assert len(some) == 60
    for entry in some:
        assert entry == whole[entry["row"]] | {"sought_among": 60}


def test_a_chance_among_some_is_not_lower_than_among_all(tables):
    _, original, release, _ = tables
    both = pair(original.take(release["nr"]), release, COLUMNS)
    every = chances(both)[1]
    rows, some = chances(both, 60, among=100)
    assert len(rows) == 60
    assert (some >= every[rows]).all()


def test_columns_that_come_one_by_one_make_the_same_groups():
    rng = np.random.default_rng(0)
    some = [rng.integers(0, 3, 50) for _ in range(3)]
    some[1] = np.where(some[1] == 2, np.nan, some[1])
    assert np.array_equal(same(iter(some)), same(some))


def test_closeness_and_proximity_do_not_depend_on_how_groups_are_cut():
    rng = np.random.default_rng(0)
    groups = Groups(np.repeat(np.arange(30), 4), rng.normal(size=120).round(1))
    whole = groups.distances_ordered()
    assert np.array_equal(groups.distances_ordered(piece=13), whole)
    assert np.array_equal(groups.near(0.3, piece=13), groups.near(0.3))


@pytest.mark.parametrize("units", [None, np.arange(400) // 3])
def test_linkage_among_some_is_not_lower_than_among_all(tables, units):
    _, original, release, _ = tables
    both = pair(original.take(release["nr"]), release, COLUMNS, units=units, known=["region"])
    notes = []
    some, every = (linkage(both, 60, 0, notes, among)[0] for among in (100, 400))
    assert some.overall >= every.overall
    assert some.detail["without_known"] >= every.detail["without_known"]
    assert notes[0].endswith("among what 100 of them publish: among all it is not higher")
    whole = linkage(both, 60, 0, [], 399)[0]
    assert whole.overall <= some.overall


def test_a_full_disk_is_one_sentence(monkeypatch):
    class Full:
        def seek(self, *_):
            return 0

        def write(self, _):
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(columns.tempfile, "TemporaryFile", Full)
    with pytest.raises(MachineError, match="No space left on device; name another folder"):
        columns.Columns.stored(iter([columns.Column("x", np.zeros(3), np.zeros(3), True)]))


def test_how_far_measures_are_is_told(tables):
    plan, _, _, folder = tables
    shares = []
    measure_plan(plan, folder / "was", folder / "safe", progress=shares.append)
    assert shares == sorted(shares)
    assert 0 < shares[0] < shares[-1] < 1
