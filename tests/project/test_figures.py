"""A figure in README or docs is one that a command printed."""

import json
import tomllib

import pytest
from tools import figures

KNOWN, BY_HAND = json.loads(figures.STORE.read_text()), tomllib.loads(figures.BY_HAND.read_text())


def test_the_page_is_what_the_command_writes():
    assert figures.PAGE.read_text() == figures.page(KNOWN, BY_HAND), "run `make figures`"


def test_every_figure_was_printed_by_a_command_that_the_section_names():
    stale = {page.name: found for page in figures.pages() if (found := figures.stale(page, KNOWN, BY_HAND))}
    assert not stale, "run the benchmark and `make figures`, or enter what it printed into docs/figures.toml"


def test_every_command_is_there_and_has_a_day():
    for command, facts in [*KNOWN.items(), *((facts["command"], facts) for facts in BY_HAND["taken"])]:
        assert (figures.ROOT / "benchmarks" / f"{figures.benchmark(command)}.py").is_file()
        assert facts["date"]


def test_what_is_measured_anew_replaces_what_the_same_command_stored_and_the_rest_stays(tmp_path):
    store = tmp_path / "figures.json"
    store.write_text(
        json.dumps({"python -m benchmarks.b": {"outcome": 2}, "python -m benchmarks.b -k 3": {"outcome": 1}})
    )
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "b.json").write_text(json.dumps({"command": "python -m benchmarks.b", "outcome": 3}))
    assert figures.collected(tmp_path / "out", store) == {
        "python -m benchmarks.b": {"outcome": 3},
        "python -m benchmarks.b -k 3": {"outcome": 1},
    }


PAGE = """# Page

Not printed: version 3.11, option `0.25`, k = 5, arXiv 12.

## Lost

`python -m benchmarks.lost` prints it: {prose} % lost, 1,369 s.

| k | lost |
|---|---|
| 3 | {cell} |

### Below

Still {below} GiB.
"""


def found(tmp_path, monkeypatch, **said):
    monkeypatch.setattr(figures, "ROOT", tmp_path)
    page = tmp_path / "page.md"
    page.write_text(PAGE.format(**{"prose": "0.5551", "cell": "14.5", "below": "0.60"} | said))
    outcome = [{"k": 3, "lost": 0.55512}, {"text": "1369.2 s, 14.4601 %"}, 0.601]
    return figures.stale(
        page,
        {"python -m benchmarks.lost": {"outcome": outcome}},
        {"taken": [], "said": {"page.md": ["3.11"]}},
    )


def test_a_figure_is_right_to_the_digits_that_are_shown(tmp_path, monkeypatch):
    assert found(tmp_path, monkeypatch) == []


@pytest.mark.parametrize("wrong", [{"prose": "0.5552"}, {"cell": "4"}, {"cell": "14.4"}, {"below": "0.61"}])
def test_a_figure_that_was_not_printed_is_named_with_its_section(tmp_path, monkeypatch, wrong):
    (figure,) = wrong.values()
    (told,) = found(tmp_path, monkeypatch, **wrong)
    assert f": {figure} was not printed by ['lost']" in told


def test_a_figure_without_a_command_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(figures, "ROOT", tmp_path)
    (tmp_path / "page.md").write_text("# Page\n\nIt takes 2 s.\n")
    assert figures.stale(tmp_path / "page.md", {}, {"taken": [], "said": {}}) == [
        "page.md, # Page: 2 was not printed by []"
    ]
