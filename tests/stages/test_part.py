"""Columns that are grouped together are grouped apart from the others."""

from collections import Counter

import numpy as np
import pyarrow as pa

import shoal


def combos(table, names):
    return Counter(zip(*[table[name].to_pylist() for name in names]))


def test_blocks_are_grouped_on_their_own_and_say_so(tmp_path):
    rng = np.random.default_rng(0)
    table = pa.table({name: rng.normal(size=40) for name in "abcd"})
    release = shoal.microaggregate(table, 4, blocks=[["a", "b"], ["d", "c"]], method="mdav")
    assert release.labels.shape == (40, 2)
    assert "k holds for each block, not for the record" in release.notes[0]
    assert "(a, b / d, c)" in release.promise
    for j, block in enumerate((["a", "b"], ["d", "c"])):
        alone = shoal.microaggregate(table, 4, columns=block, method="mdav")
        assert np.array_equal(alone.labels, release.labels[:, j])
        assert min(combos(release.table, block).values()) >= 4
    release.write(tmp_path / "out.csv")
    assert min(combos(release.table, "abcd").values()) < 4
