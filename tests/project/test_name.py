"""No text tells a user to install a package that is not ours: `shoal` alone is somebody else's name."""

import re
import tomllib
from pathlib import Path

import pytest

from shoal.errors import InputError, needs_extra

ROOT = Path(__file__).parents[2]
KINDS = {".cff", ".css", ".html", ".js", ".md", ".py", ".toml"}
TEXTS = [
    *[path for path in ROOT.iterdir() if path.suffix in KINDS],
    *[
        path
        for folder in ("src", "docs", "examples", "benchmarks", "tools")
        for path in sorted((ROOT / folder).rglob("*"))
        if path.suffix in KINDS
    ],
]
OPTIONS = r"(?:--?[\w-]+\s+)*"
TOOLS = r"\b(?:pip3?|pipx|uv|uv pip|uv tool|conda|mamba|poetry|pdm)\s+(?:install|add|run)\s+"
INSTALL = re.compile(rf"{TOOLS}{OPTIONS}['\"]?([A-Za-z][\w.-]*)(?![\w./-])")
EXTRA = re.compile(r"(?<![\w-])shoal\[[\w{]")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def foreign(text):
    """What a text tells people to install that is not ours. microagg1d is a peer that one benchmark names."""
    names = [name for name in INSTALL.findall(text) if name not in ("shoal-sdc", "microagg1d")]
    return names + EXTRA.findall(text)


def test_no_text_tells_to_install_what_is_not_ours():
    found = {path: foreign(path.read_text()) for path in TEXTS}
    assert not {path: names for path, names in found.items() if names}


@pytest.mark.parametrize(
    "text",
    [
        "pip install shoal",
        "python -m pip install --upgrade shoal==0.2.0",
        "pip install 'shoal[app]'",
        'pip install "shoal[{extra}]"',
        "pipx install shoal",
        "uv pip install  shoal",
        "uv add shoal",
        "the extra app (shoal[app])",
    ],
)
def test_such_a_text_is_found(text):
    assert foreign(text)


@pytest.mark.parametrize(
    "text",
    [
        "pip install shoal-sdc",
        "pip install 'shoal-sdc[app]'",
        "pip install --no-deps dist/shoal_sdc-0.2.0.whl",
    ],
)
def test_our_own_name_passes(text):
    assert not foreign(text)


def test_the_distribution_and_its_extras_have_our_name():
    assert PROJECT["name"] == "shoal-sdc"
    assert PROJECT["scripts"] == {"shoal": "shoal.cli:main"}
    extras = PROJECT["optional-dependencies"]
    users = sorted(extras.keys() - {"all", "dev", "docs"})  # the last two serve development
    (everything,) = extras["all"]
    assert re.fullmatch(r"shoal-sdc\[([\w,]+)\]", everything)
    assert sorted(everything[10:-1].split(",")) == users


def test_a_message_about_an_extra_names_one_that_exists():
    source = "".join(path.read_text() for path in (ROOT / "src").rglob("*.py"))
    named = set(re.findall(r"\bneeds_extra\([^()]*?\"(\w+)\"\)", source))
    named |= set(re.findall(r"shoal-sdc\[(\w+)\]", source))
    assert {"app", "spark", "stats", "sql"} <= named <= PROJECT["optional-dependencies"].keys()
    said = re.escape("X needs the extra 'app': pip install 'shoal-sdc[app]'")
    with pytest.raises(InputError, match=f"^{said}$"), needs_extra("X needs", "app"):
        raise ImportError
