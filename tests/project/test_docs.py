"""Every code block in the documents runs, and so does every example."""

import re
import runpy
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

import shoal
from shoal.cli.commands import app
from shoal.datasets import survey

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```(python|sh)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
WITH_CODE = [page for page in PAGES if BLOCK.search(page.read_text())]


@pytest.mark.parametrize("page", WITH_CODE, ids=lambda page: page.name)
def test_code_blocks_run(page, tmp_path, monkeypatch):
    """Python blocks of one page share their names; of shell blocks the lines that call `shoal` are run."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("shoal.grouping.registry._registry", dict(shoal.methods()))
    shoal.write(survey(120), "firms.csv")
    names = {}
    for language, code in BLOCK.findall(page.read_text()):
        if language == "python":
            exec(compile(code, page.name, "exec"), names)
            continue
        for line in code.splitlines():
            words = shlex.split(line, comments=True)
            if words[:1] == ["shoal"]:
                done = CliRunner().invoke(app, words[1:])  # a process for each would take twice as long
                assert done.exit_code == 0, (line, done.output)


@pytest.mark.parametrize("example", sorted((ROOT / "examples").glob("*.py")), ids=lambda path: path.name)
def test_examples_run(example, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", [str(example)])
    try:
        runpy.run_path(str(example), run_name="__main__")
    except SystemExit as end:
        if end.code:
            raise


def test_links_between_pages_lead_somewhere():
    for page in [*PAGES, *(ROOT / "docs").glob("[!_]*/*.md")]:
        for target in re.findall(r"\]\(([^)#:]+)[^)]*\)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name} points to {target}"


def test_every_method_is_on_the_methods_page():
    text = (ROOT / "docs" / "methods.md").read_text()
    missing = [key for key in shoal.methods() if f"`{key}`" not in text]
    assert not missing, "run `python docs/make_methods.py`"
