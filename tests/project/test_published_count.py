"""The line that counts the printed figures."""

from types import SimpleNamespace

from benchmarks._common import DATA

from tests.conftest import published_figures


def reports(*figures):
    return [SimpleNamespace(user_properties=[("figures", n), ("other", 9)]) for n in figures]


def test_figures_are_counted_by_what_became_of_their_tests():
    assert published_figures({"passed": reports(1, 2, 0)}) == "published figures: 3 held, 0 skipped"
    line = published_figures({"passed": reports(1), "failed": reports(2), "error": reports(1)})
    assert line == "published figures: 1 held, 0 skipped, 3 NOT HELD"


def test_what_was_skipped_says_where_the_data_were_looked_for():
    line = published_figures({"passed": reports(1), "skipped": reports(4)})
    assert line.startswith("published figures: 1 held, 4 skipped: no")
    assert line.endswith(f" benchmark data at {DATA}")


def test_a_run_without_published_tests_says_nothing():
    assert published_figures({"passed": [SimpleNamespace(user_properties=[])], "failed": [object()]}) == ""
