"""The tests stand where the code stands, and only tests/published asks for data from outside."""

from pathlib import Path

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
