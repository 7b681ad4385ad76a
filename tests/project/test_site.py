"""The documentation site is whole: `make docs` builds it, these tests need no Sphinx."""

import os
import pkgutil
import re
import subprocess
import sys
from pathlib import Path

import matplotlib
import pytest
from docs import make_commands
from matplotlib import pyplot

import shoal

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = sorted(path for path in DOCS.rglob("*.md") if "_build" not in path.parts)
CELLS = re.compile(r"^```\{code-cell\}\n(.*?)^```$", re.MULTILINE | re.DOTALL)
NOTEBOOKS = [page for page in PAGES if CELLS.search(page.read_text())]


def toctree():
    text = (DOCS / "index.md").read_text()
    blocks = re.findall(r"^```\{toctree\}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    return [line for block in blocks for line in block.splitlines() if line and not line.startswith(":")]


def test_every_page_stands_in_the_table_of_contents_once():
    there = {page.relative_to(DOCS).with_suffix("").as_posix() for page in PAGES} - {"index"}
    assert sorted(toctree()) == sorted(there | {"commands"})  # which `make docs` makes from the commands


def test_five_tutorials_are_notebooks():
    assert len([page for page in NOTEBOOKS if page.parent.name == "tutorials"]) == 5


@pytest.mark.parametrize("page", NOTEBOOKS, ids=lambda page: page.stem)
def test_the_cells_of_a_notebook_run(page, tmp_path, monkeypatch):
    """In this process, which has loaded and compiled what they need."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setenv("SHOAL_TUTORIAL_ROWS", "6000")
    matplotlib.use("agg")
    exec(compile("\n".join(CELLS.findall(page.read_text())), page.name, "exec"), {"__name__": "__main__"})
    pyplot.close("all")


def test_the_reference_has_every_public_name_and_none_that_is_gone():
    text = (DOCS / "api.md").read_text()
    named = re.findall(r"^\.\. auto(?:function|class|exception|module):: (\S+)$", text, re.MULTILINE)
    named = [name if name.startswith("shoal.") else f"shoal.{name}" for name in named]
    for name in named:
        assert pkgutil.resolve_name(name).__doc__
    told = {name.split(".")[1] for name in named}
    assert set(shoal.__all__) - told == {"__version__"}


def test_included_files_are_there():
    for page in PAGES:
        for target in re.findall(r"^```\{(?:literal)?include\} (\S+)$", page.read_text(), re.MULTILINE):
            assert (page.parent / target).is_file(), f"{page.name} shows {target}"


def test_the_command_reference_and_the_man_page_tell_every_command():
    names = make_commands.commands()
    assert names[:4] == ["demo", "inspect", "protect", "check"]  # as one would use them
    page, man = make_commands.page(), make_commands.man()
    for name in names:
        assert f"\n## shoal {name}\n\n```text\nUsage: shoal {name} " in page
        assert f"\n.SS shoal {name}\n" in man
    assert not re.search(r"^[.'](?!TH|SH|SS|TP|B |nf|fi)", man, re.MULTILINE)  # no text steers roff


@pytest.mark.parametrize("table", [make_commands.CODES, make_commands.VARIABLES], ids=["codes", "variables"])
def test_exit_codes_and_variables_stand_in_the_docs_as_in_the_man_page(table):
    text = (DOCS / "running.md").read_text().replace("`", "")
    for name, words in table.items():
        assert f"| {name} | {words.replace('`', '')} |" in text


def test_every_variable_that_the_code_reads_is_told():
    read = set()
    for path in (ROOT / "src").rglob("*.py"):
        read |= set(re.findall(r"environ(?:\.get\(|\[)\"(\w+)\"", path.read_text()))
    told = {name for names in make_commands.VARIABLES for name in names.split(", ")}
    inner = {"NICEGUI_STORAGE_PATH", "PYTHONPATH", "SPARK_LOCAL_DIRS"}  # handed on to our own processes
    assert read - inner <= told


def test_completion_is_offered_for_the_shell():
    asked = {**os.environ, "_SHOAL_COMPLETE": "complete_bash", "COMP_WORDS": "shoal pro", "COMP_CWORD": "1"}
    code = "import sys; sys.argv[0] = 'shoal'; from shoal.cli import main; main()"
    done = subprocess.run([sys.executable, "-c", code], env=asked, capture_output=True, text=True)
    assert "protect" in done.stdout.split()
