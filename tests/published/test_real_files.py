"""Real files, from a first look to the release."""

import pytest

from tests.plan.journey import from_inspect_to_release
from tests.published.data import table


@pytest.mark.figures(0)
@pytest.mark.parametrize("name", ["household", "labour_force", "adult"])
def test_real_files_from_inspect_to_release(name, tmp_path):
    lines = table(f"{name}.csv").read_bytes().splitlines(keepends=True)
    path = tmp_path / f"{name}.csv"
    path.write_bytes(b"".join(lines[:1501]))
    from_inspect_to_release(path, tmp_path)
