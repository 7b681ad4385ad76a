"""The tests stand where the code stands, and only tests/published asks for data from outside."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TESTS = ROOT / "tests"
APART = {"golden", "project", "published"}  # recorded releases, the project itself, the papers' figures


def test_each_folder_of_tests_is_a_folder_of_the_package():
    folders = {path.name for path in TESTS.iterdir() if list(path.glob("test_*.py"))}
    assert folders - APART <= {path.name for path in (ROOT / "src" / "shoal").iterdir() if path.is_dir()}


def test_only_published_tests_know_where_the_papers_data_lie():
    outside = "/".join(["..", "shared"]), "SHOAL_" + "BENCHMARK_DATA", "published" + ".data"
    for path in TESTS.rglob("*.py"):
        if TESTS / "published" not in path.parents:
            assert not [word for word in outside if word in path.read_text()], path


PACKAGE = ROOT / "src" / "shoal"
HOUSE = (ROOT / "docs" / "architecture.md").read_text()
#: The row of the table that tells of each room, folder or file.
ROWS = {
    name: row
    for row in re.findall(r"^\| `.*", HOUSE, re.MULTILINE)
    for name in re.findall(r"`(\w+/|\w+\.py)`", row)
}
ROOMS = sorted(f"{path.parent.name}/" for path in PACKAGE.glob("*/__init__.py"))
#: Rooms of one file a method, command, kernel or engine: the table need not list these.
ALIKE = {"algorithms/", "app/", "cli/", "engines/", "kernels/"}


def test_every_room_stands_in_the_architecture_and_no_other():
    files = {path.name for path in PACKAGE.glob("*.py") if not path.name.startswith("__")}
    inner = {f"{path.parent.name}/" for path in PACKAGE.glob("*/*/__init__.py")}
    assert ROWS.keys() - inner == {*ROOMS, *files}


@pytest.mark.parametrize("room", [room for room in ROOMS if room not in ALIKE])
def test_the_architecture_names_the_files_of_a_room(room):
    told = set(re.findall(r"`(\w+)`", ROWS[room].split(" | ")[1]))
    assert told == {path.stem for path in (PACKAGE / room).glob("*.py")} - {"__init__"}


def test_paths_in_the_architecture_lead_somewhere():
    for path in re.findall(r"`([a-z_]+/[a-z_/]+\.\w+)`", HOUSE):
        assert (PACKAGE / path).exists() or (ROOT / path).exists(), path
