"""Every golden case gives the release that was recorded: the same groups, the same values to 12 digits."""

import json
import math

import pytest

import shoal
from tests.golden.plans import CASES, METHODS
from tests.golden.record import GOLDEN, carry_out, golden

#: The package that a kind of table needs, where shoal itself does not.
NEEDS = {
    "pandas": "pandas",
    "pandas nullable": "pandas",
    "polars": "polars",
    "xlsx": "xlsxwriter",
    "sav": "pyreadstat",
    "dta": "pyreadstat",
}
HINT = (
    "The release differs from the one recorded in tests/golden/golden.json. If it is meant to, record it "
    "anew with `python -m tests.golden.record --write`, and say in CHANGELOG.md why releases change."
)
RECORDED = json.loads(GOLDEN.read_text(encoding="utf-8"))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name.replace(" ", "_"))
def test_the_release_is_as_recorded(case, tmp_path):
    if case.given in NEEDS:
        pytest.importorskip(NEEDS[case.given])
    old, new = RECORDED[case.name], golden(case, carry_out(case, tmp_path, write=False))
    assert new["labels"] == old["labels"], HINT
    assert list(new["columns"]) == list(old["columns"]), HINT
    for name in old["columns"]:
        wanted, found = _spread(*old["columns"][name]), _spread(*new["columns"][name])
        assert len(found) == len(wanted), HINT
        numbers = [abs(cell) for cell in wanted if isinstance(cell, float)]
        tiny = 1e-12 * max(numbers, default=0.0)  # what is left of a sum that cancels out
        wrong = [row for row, pair in enumerate(zip(wanted, found)) if not _same(*pair, tiny)]
        assert not wrong, f"column {name!r}, record {wrong[0]}. {HINT}"
    lost, loses = old.get("information_loss"), new.get("information_loss")
    assert loses == lost or math.isclose(loses, lost, rel_tol=1e-9, abs_tol=1e-9), HINT


def test_every_case_is_recorded_once_and_every_method_has_one():
    names = [case.name for case in CASES]
    assert sorted(names) == sorted(RECORDED), HINT
    assert set(METHODS) == set(shoal.methods()), "give each new method a line in tests/golden/plans.py"


def _spread(cells, codes):
    """The cell of each record."""
    return [cells[int(code)] for code in codes.split()]


def _same(wanted, found, tiny):
    if isinstance(wanted, float) and isinstance(found, float):
        return math.isclose(found, wanted, rel_tol=1e-11, abs_tol=tiny)
    return found == wanted and type(found) is type(wanted)
