"""The container file and the conda recipe say what pyproject.toml says; neither is built by a test."""

import re
import tomllib
from pathlib import Path

import jinja2
import pytest
import yaml
from benchmarks import container
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


@pytest.fixture
def recipe():
    folder = ROOT / "packaging" / "conda"

    def load_file_data(name, from_recipe_dir=False):
        assert from_recipe_dir
        return tomllib.loads((folder / name).read_text())

    made = jinja2.Environment(undefined=jinja2.StrictUndefined).from_string(
        (folder / "meta.yaml").read_text()
    )
    return yaml.safe_load(made.render(load_file_data=load_file_data, PYTHON="python"))


def test_the_recipe_asks_for_what_the_project_asks_for(recipe):
    assert recipe["package"] == {"name": PROJECT["name"], "version": PROJECT["version"]}
    python, *others = recipe["requirements"]["run"]
    assert python == f"python {PROJECT['requires-python']}"
    asked = [Requirement(text.lower()) for text in PROJECT["dependencies"]]
    assert [Requirement(text) for text in others] == asked
    assert all(re.fullmatch(r"[a-z0-9_.-]+( [<>=!]=?[\w.*]+(,[<>=!]=?[\w.*]+)*)?", need) for need in others)
    build = tomllib.loads((ROOT / "pyproject.toml").read_text())["build-system"]["requires"]
    assert {Requirement(text).name for text in build} <= set(recipe["requirements"]["host"])


def test_the_recipe_starts_the_same_program_from_local_source(recipe):
    assert recipe["build"]["entry_points"] == [
        f"{name} = {place}" for name, place in PROJECT["scripts"].items()
    ]
    folder = ROOT / "packaging" / "conda"
    assert (folder / recipe["source"]["path"]).resolve() == ROOT
    assert (ROOT / recipe["about"]["license_file"]).is_file()


def test_every_file_that_a_step_of_the_container_names_is_there(tmp_path):
    runs, variables = container.steps(tmp_path, "python3.13")
    assert len(runs) == 4
    for name in re.findall(r"(?:-r|sh) (\S+)", " ".join(runs)):
        assert (ROOT / name).is_file()
    assert runs[0].startswith(f"python3.13 -m venv {tmp_path}/opt")
    assert "--require-hashes" in runs[0]
    assert variables == {"NUMBA_CACHE_DIR": f"{tmp_path}/opt/kernels", "NUMBA_CPU_NAME": "generic"}


def test_both_stages_look_for_kernels_in_the_same_folder_which_the_user_owns():
    text = (ROOT / "packaging" / "Containerfile").read_text()
    places = re.findall(r"NUMBA_CACHE_DIR=(\S+)", text)
    assert len(places) == 2
    assert len(set(places)) == 1
    user = re.search(r"^USER (\w+)$", text, re.M)[1]
    assert f"chown -R {user} {places[0]}" in text
