"""The page of dependencies is what is pinned and what the packages themselves say."""

import importlib.util
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
spec = importlib.util.spec_from_file_location("make_dependencies", ROOT / "docs" / "make_dependencies.py")
made = importlib.util.module_from_spec(spec)
spec.loader.exec_module(made)

PERMISSIVE = (
    "BSD",
    "MIT",
    "Apache",
    "PSF",
    "Python Software Foundation",
    "ISC",
    "Zlib",
    "CC0",
    "0BSD",
    "HPND",
)


def table():
    lines = made.PAGE.read_text().splitlines()
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("| ")]
    return rows[1:]


def test_every_pinned_package_is_listed_once_with_its_version():
    listed = sorted((made.key(row[0]), row[1]) for row in table())
    assert listed == sorted((short, version) for short, (_, version) in made.pinned().items())


def test_every_package_that_the_project_names_is_pinned_and_has_its_reason():
    reasons = {made.key(name) for name in made.REASONS}
    for names in made.wanted().values():
        for name in names:
            assert name in reasons
            assert name in made.pinned()


@pytest.mark.parametrize("row", table(), ids=lambda row: row[0])
def test_licence_is_what_the_package_says(row):
    if row[3] == "benchmarks":
        pytest.skip("installed by `make bench` only")
    assert made.licence(row[0]) == row[2], "run `python docs/make_dependencies.py`"


def test_the_core_is_permissive_and_so_is_the_rest_but_for_what_the_page_names():
    text = made.PAGE.read_text()
    for name, _, licence, group, _ in table():
        if any(word in licence for word in made.WEAK) or name == "docutils":
            assert group != "core"
            assert f"{name} ({group})" in text
        else:
            assert any(word in licence for word in PERMISSIVE), (name, licence)
            assert "GPL" not in licence
