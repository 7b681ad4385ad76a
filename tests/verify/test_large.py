"""The check of tables that are read column by column says what the check in memory says."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import shoal
from shoal.datasets import survey
from shoal.frame.large import PIECE
from shoal.frame.order import file_order
from shoal.io.large import large_table
from shoal.pipeline import run
from shoal.plan import Plan
from shoal.verify.compare import first_difference
from shoal.verify.files import check, check_original
from shoal.verify.requirements import groups_of
from tests.long_texts import COLUMNS as COLUMNS_OF_TEXT
from tests.long_texts import WAYS, content_of, packed, read, texts
from tests.verify.test_files import SABOTAGE, unprotect

COLUMNS = ["turnover", "wages", "profit"]


def stored(folder, name, table):
    path = folder / f"{name}.parquet"
    pq.write_table(table, path, row_group_size=37)
    return large_table(path, most=0)


def told(release, original, plan):
    findings = check(release, plan.k, plan.columns, strata=plan.strata, plan=None if plan.unit else plan)
    return [str(f) for f in findings], str(check_original(release, original, plan.columns, plan=plan))


def same_words(folder, release, original, plan):
    """What is said of both tables in memory, after it was said of them column by column."""
    large = told(stored(folder, "safe", release), stored(folder, "was", original), plan)
    assert large == told(release, original, plan)
    return large


def shuffled(plan, original):
    release = run(plan, original)
    order = file_order(original, plan, release.columns)
    return release.table if order is None else release.table.take(order)


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"strata": ["region"]},
        {"order": "keep"},
        {"diversity": {"sector": 2}},
        {"round": {"wages": "base:10"}, "top": {"profit": "q0.9"}},
        {"preserve": "totals"},
    ],
)
def test_what_is_right_is_right_in_both(tmp_path, fields):
    original, plan = survey(200), Plan(4, columns=COLUMNS, **fields)
    findings, agreement = same_words(tmp_path, shuffled(plan, original), original, plan)
    assert all(finding.startswith("yes") for finding in findings)
    assert agreement.startswith("yes: 200 records, each found again")


def test_units_are_counted_in_both(tmp_path):
    original = survey(200).append_column("firm", pa.array(np.arange(200) // 2))
    plan = Plan(4, columns=COLUMNS, unit="firm")
    _, agreement = same_words(tmp_path, shuffled(plan, original), original, plan)
    assert "each combination shared by at least 4 units" in agreement
    large = stored(tmp_path, "was", original)
    assert [str(f) for f in check(large, 1, COLUMNS, unit="firm")] == [
        str(f) for f in check(original, 1, COLUMNS, unit="firm")
    ]


@pytest.mark.parametrize("spoil", [*SABOTAGE, unprotect])
@pytest.mark.parametrize("known", [True, False])
def test_what_is_wrong_is_told_in_the_same_words(tmp_path, spoil, known):
    original, plan = survey(60), Plan(4, columns=COLUMNS)
    release = spoil(shuffled(plan, original))
    if not known:
        large = stored(tmp_path, "safe", release), stored(tmp_path, "was", original)
        found = [str(check_original(*both, COLUMNS)) for both in (large, (release, original))]
        assert found[0] == found[1]
        return
    findings, agreement = same_words(tmp_path, release, original, plan)
    assert not (findings[0].startswith("yes") and agreement.startswith("yes"))


def test_a_difference_is_found_in_a_later_piece():
    cells = np.zeros(PIECE + 3)
    other = cells.copy()
    other[PIECE + 1] = 1
    assert first_difference(pa.chunked_array([cells]), pa.chunked_array([other])) == PIECE + 1
    groups = groups_of([pa.array(other)])
    assert np.bincount(groups).tolist() in ([PIECE + 2, 1], [1, PIECE + 2])
    assert groups[PIECE + 1] != groups[0]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("known", [True, False])
def test_texts_are_checked_as_in_memory(tmp_path, way, known):
    """Cells are counted and compared as they are written, whatever comes late in a column."""
    was, safe, plan = texts(tmp_path, way)
    plan = plan if known else None

    def said(release, original):
        counted = check(release, 4, COLUMNS_OF_TEXT, plan=plan)
        return [*map(str, counted), str(check_original(release, original, COLUMNS_OF_TEXT, plan=plan))]

    found = said(read(safe), read(was))
    assert found == said(safe, was)
    assert all(sentence.startswith("yes") for sentence in found)
    assert ("each found again" in found[1]) == known
    ending = safe.name.partition(".")[2]
    shoal.write(shoal.read(safe), other := tmp_path / "other.parquet")
    assert str(check_original(other, read(was), COLUMNS_OF_TEXT, plan=plan)) == found[1]
    lines = content_of(safe).splitlines(keepends=True)
    turned = {  # another spelling of the same number, another text, a published value that stands alone
        "spelling": [line.replace(b"1e0", b"1.0") for line in lines],
        "text": [line.replace(b"plain", b"plan") for line in lines],
        "value": [*lines[:-1], b"9" + lines[-1]],
    }
    for name, spoilt in turned.items():
        path = tmp_path / f"{name}.{ending}"
        path.write_bytes(packed(b"".join(spoilt), path))
        found = said(read(path), read(was))
        assert found == said(path, was)
        assert not all(sentence.startswith("yes") for sentence in found), name


def test_how_far_a_large_check_is_is_told(tmp_path):
    original, plan, shares = survey(200), Plan(4, columns=COLUMNS), []
    for name, table in (("safe", shuffled(plan, original)), ("was", original)):
        (tmp_path / name).mkdir()
        pq.write_table(table, tmp_path / name / "part.parquet")
    assert check(tmp_path / "safe", 4, COLUMNS, progress=shares.append)[0].passed
    assert shares == pytest.approx([1 / 3, 2 / 3, 1])
    shares.clear()
    kept = check_original(tmp_path / "safe", tmp_path / "was", COLUMNS, plan=plan, progress=shares.append)
    assert kept.passed
    assert shares == sorted(shares)
    assert 0.8 < shares[-1] <= 1
