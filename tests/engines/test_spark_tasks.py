"""What Spark's workers do, called here on Arrow batches: no cluster, no Java, the same outcome as on disk."""

import json
import pickle
from collections import Counter
from functools import partial

import numpy as np
import pyarrow as pa
import pytest

from shoal.engines.blocks.limits import columns_to_protect
from shoal.engines.blocks.plan import make_plan
from shoal.engines.blocks.statistics import gathered
from shoal.engines.blocks.steps import find
from shoal.engines.disk import engine as disk
from shoal.engines.spark import tasks as tasks
from shoal.errors import CheckFailed, InputError
from shoal.plan import Plan
from shoal.verify.files import check
from tests.engines.test_disk import KEPT, QUASI, folder_of, people, read
from tests.engines.test_parity import many, panel_with_shops, stepped


@pytest.fixture(scope="module")
def original():
    table = people(900).drop_columns(["odd"])  # NaN is unequal to itself
    income = table["income"].to_pylist()
    income[10:20] = [None] * 10
    table = table.set_column(1, "income", pa.array(income))
    ties = np.random.default_rng(1).integers(-(2**63), 2**63, 900)
    return table.append_column(tasks.TIE, pa.array(ties))


@pytest.fixture(scope="module")
def chosen(original):
    own = original.drop_columns([tasks.TIE])
    return columns_to_protect(Plan.of(4, columns=QUASI, keep=KEPT), own.schema)


def partitions(table, count=2):
    """What a driver gathers from the tasks of so many partitions."""

    def gather(names, find):
        rows = table.select(names).to_batches(max_chunksize=30)
        tasked = [tasks.gather(find)(rows[j::count]) for j in range(count)]
        found = [pickle.loads(batch["found"][0].as_py()) for task in tasked for batch in task]
        for one in found:
            if isinstance(one, InputError):
                raise one
        return found

    return gather


@pytest.fixture(scope="module")
def plan(original, chosen):
    """The plan as the driver makes it: moments and counts come from tasks, one for each partition."""
    quasi = original.select(QUASI)
    moments = gathered(chosen, partitions(quasi)).facts(chosen)
    wanted = Plan.of(4, columns=QUASI, keep=KEPT, method="mdav", missing="group")
    made = make_plan(wanted, chosen.chosen, moments, quasi, 200)
    found = partitions(quasi)(QUASI, partial(tasks.count_leaves, [(made, chosen)]))
    counts = sum((counter for (counter,) in found), Counter())
    assert counts.total() == 900
    return made.placed({leaf: (count, count) for leaf, count in counts.items()})


def test_steps_are_found_in_partitions_as_in_the_whole(tmp_path):
    table, plan = panel_with_shops(), Plan(**stepped(tmp_path / "key") | {"columns": ["wage"]})
    asked = columns_to_protect(plan, table.schema)

    whole, some = (find(plan, asked, partitions(table, count), len(table)) for count in (1, 4))
    assert whole[2] == some[2]
    assert whole[0].steps.levels == some[0].steps.levels
    for ours, theirs in zip(whole[0].steps.ends["wage"], some[0].steps.ends["wage"]):
        assert tuple(ours) == pytest.approx(tuple(theirs), rel=1e-14)
    (batch,) = tasks.each(whole[0].apply)(table.combine_chunks().to_batches())
    assert batch.column("wage").to_pylist() != batch.column("__shoal_was_wage").to_pylist()


@pytest.fixture(scope="module")
def blocks(original, plan, chosen):
    """The records of each block, as Spark's shuffle brings them together."""
    assigned = pa.Table.from_batches(
        tasks.each(partial(tasks.assign_blocks, plan, chosen))(original.to_batches(max_chunksize=250))
    )
    assert assigned.drop_columns([tasks.BLOCK]).equals(original)
    return {
        number: assigned.filter(pa.compute.equal(assigned[tasks.BLOCK], number))
        for number in range(len(plan.counts))
    }


def test_the_blocks_are_those_that_were_counted(blocks, plan):
    assert len(blocks) > 2
    assert [len(table) for table in blocks.values()] == list(plan.counts)


def test_blocks_are_released_as_the_disk_engine_would(blocks, plan, chosen, original, tmp_path):
    task = tasks.release_block(plan, chosen)
    made = [task((pa.scalar(number),), table) for number, table in blocks.items()]
    released = pa.concat_tables(made).sort_by("id")
    assert check(released, 4, QUASI)[0].passed
    assert released["name"].equals(original["name"])
    assert tasks.BLOCK not in released.column_names
    folder_of(original.drop_columns([tasks.TIE]), tmp_path / "in")
    asked = Plan.of(4, columns=QUASI, keep=KEPT, method="mdav", missing="group")
    outcome = disk.run(asked, tmp_path / "in", tmp_path / "out.parquet", blocks=plan)
    local = read(tmp_path / "out.parquet").sort_by("id")
    for name in QUASI:
        assert released[name].combine_chunks().equals(local[name].combine_chunks())
    facts = [json.loads(told) for told in released[f"{tasks.FACTS}0"].drop_null().to_pylist()]
    assert sorted(fact["block"] for fact in facts) == list(blocks)  # once for each block
    assert sum(fact["groups"] for fact in facts) == outcome.groups
    assert min(fact["sizes"][0] for fact in facts) == outcome.smallest_group
    assert max(fact["sizes"][1] for fact in facts) == outcome.largest_group
    total, within, _ = np.sum([fact["loss"] for fact in facts], axis=0)
    assert 100 * within / total == pytest.approx(outcome.information_loss)


def test_a_block_with_other_records_than_were_counted_is_refused(blocks, plan, chosen):
    with pytest.raises(CheckFailed, match="the data change from one reading to the next"):
        tasks.release_block(plan, chosen)((pa.scalar(0),), blocks[0].slice(1))


@pytest.mark.parametrize(
    ("cells", "fields", "said"),
    [
        ({"v": [1.0, float("inf")]}, {}, "column 'v' has the value inf"),
        ({"v": [1.0, 2.0], "w": [1.0, -1.0]}, {"weight": "w"}, "column 'w' has a negative weight: a"),
    ],
)
def test_what_is_wrong_with_a_column_is_told_by_its_partition(cells, fields, said):
    table = pa.table(cells)
    asked = columns_to_protect(Plan(2, columns=["v"], **fields), table.schema)
    with pytest.raises(InputError, match=said):
        gathered(asked, partitions(table))


def test_statistics_of_partitions_are_those_of_the_whole():
    table = many()
    fields = {"weight": "grossing", "closeness": {"age": 0.4}, "spread": {"row": 0.05}, "missing": "group"}
    asked = columns_to_protect(Plan(4, columns=["wage", "work"], strata=["town"], **fields), table.schema)
    whole, parts = (gathered(asked, partitions(table, count)) for count in (1, 3))
    assert whole.records == parts.records == len(table)
    assert whole.listed == parts.listed
    assert np.array_equal(whole.distinct["age"].counts, parts.distinct["age"].counts)
    assert np.array_equal(whole.distinct["age"].values, np.unique(table["age"]))
    for name, moments in whole.moments.items():
        assert moments == parts.moments[name]  # to the last digit, however the table is divided
    nothing = table.set_column(table.column_names.index("grossing"), "grossing", pa.array([0.0] * len(table)))
    with pytest.raises(InputError, match="all weights in column 'grossing' are 0"):
        gathered(asked, partitions(nothing)).listing({})
