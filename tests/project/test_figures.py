"""A figure in README or docs is the one that was measured."""

import json

import pytest
from tools import figures

KNOWN = json.loads(figures.STORE.read_text())


def test_the_page_is_what_the_command_writes():
    assert figures.PAGE.read_text() == figures.page(KNOWN), "run `make figures`"


@pytest.mark.parametrize(("page", "text"), figures.quoted(KNOWN))
def test_a_quoted_figure_is_the_measured_one(page, text):
    words = " ".join((figures.ROOT / page).read_text().split())
    assert text in words, "run `make figures`: it says what should stand there"


def test_every_figure_names_a_command_that_is_there():
    for facts in KNOWN.values():
        name = facts["command"].removeprefix("python -m benchmarks.")
        assert (figures.ROOT / "benchmarks" / f"{name}.py").is_file()


def test_what_is_measured_anew_replaces_what_is_stored_and_the_rest_stays(tmp_path):
    store = tmp_path / "figures.json"
    store.write_text(json.dumps({"a": {"outcome": 1}, "b": {"outcome": 2}}))
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "b.json").write_text(json.dumps({"machine": "m", "outcome": 3}))
    known = figures.collected(tmp_path / "out", store)
    assert known["a"] == {"outcome": 1}
    assert known["b"] == {"command": "python -m benchmarks.b", "machine": "m", "outcome": 3}


@pytest.mark.parametrize(("figure", "page"), figures.SAME)
def test_what_readme_quotes_stands_on_the_page_that_has_its_command(figure, page):
    assert figure in (figures.ROOT / page).read_text()
    number = figure.strip("| ").split(" | ")[-1]
    assert number in (figures.ROOT / "README.md").read_text()
