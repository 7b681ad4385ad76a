"""What users see after `shoal.`: the names, their types, their keywords, their examples."""

import ast
import doctest
import inspect
import os
import re
import subprocess
import sys
import tomllib
import warnings
from dataclasses import MISSING, fields
from importlib import import_module
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest

import shoal
from shoal.datasets import survey
from shoal.errors import InputError

ROOT = Path(__file__).parents[1]
FIELDS = [f.name for f in fields(shoal.Plan)]
DOORS = {
    "Plan": shoal.Plan,
    "microaggregate": shoal.microaggregate,
    "protect_files": shoal.protect_files,
    "spark.protect": shoal.spark.protect,
}
#: A value for each field that is not its default.
ASKED = {
    "k": 4,
    "columns": ("a", "b"),
    "method": "vmdav",
    "parameters": {"gamma": 0.5},
    "seed": 7,
    "time_limit": 3.0,
    "per_column": False,
    "blocks": (("a",), ("b",)),
    "roles": {"i": "identifier"},
    "types": {"a": "integer"},
    "levels": {"b": [1, 2]},
    "scaling": "rank",
    "log": ("a",),
    "column_weights": {"a": 2.0},
    "centroids": {"a": "median"},
    "preserve": "totals",
    "missing": "drop",
    "strata": ("s",),
    "merge_small_strata": True,
    "weight": "w",
    "unit": ("h",),
    "by_record": ("a",),
    "keep": ("phone",),
    "known": ("sex",),
    "missing_codes": (-9,),
    "zeros": "group",
    "contributors": 3,
    "thin": "gap",
    "contributor_share": 0.8,
    "diversity": {"job": "entropy:2"},
    "closeness": {"job": 0.2},
    "dominance": {"b": "1:80"},
    "spread": {"b": 0.1},
    "order": "shuffle",
    "top": {"a": 5, "b": "q0.9"},
    "bottom": {"a": 1},
    "regroup": {"c": {"d": ("e", "f"), "rare": 5}},
    "round": {"a": 2, "b": "sig:3"},
    "decimals": True,
    "pseudonyms": "key",
    "version": "0.1.0",
    "sha256": "ab",
}


# --- names ---------------------------------------------------------------------------------------------


def test_editors_and_python_see_the_same_names():
    tree = ast.parse((ROOT / "src/shoal/__init__.py").read_text())
    block = next(node for node in tree.body if isinstance(node, ast.If))
    seen = {
        alias.asname: f"{node.module}.{alias.name}"
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert sorted(["__version__", *seen]) == sorted(shoal.__all__) == dir(shoal)
    for name, origin in seen.items():
        if name not in ("check", "requirements"):  # modules that are called like their function
            assert origin in (f"shoal.{name}", f"{shoal._NAMES.get(name)}.{name}")
            assert getattr(shoal, name) is not None


def test_the_stable_names_are_listed():
    page = (ROOT / "docs/api-stability.md").read_text()
    for name in shoal.__all__:
        assert re.search(rf"`(shoal\.)?{name}[`(.]", page), name


@pytest.mark.parametrize(("former", "now"), [("checks", "testing"), ("method", "grouping.registry")])
def test_former_modules_still_work_and_say_where_they_are_now(former, now, monkeypatch):
    monkeypatch.delitem(sys.modules, f"shoal.{former}", raising=False)
    monkeypatch.delitem(vars(shoal), former, raising=False)
    with pytest.warns(DeprecationWarning, match=f"shoal.{former} is shoal.{now} since 0.2"):
        module = shoal.checks if former == "checks" else import_module(f"shoal.{former}")
    for name in module.__all__:
        assert getattr(module, name) is getattr(import_module(f"shoal.{now}"), name)


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'microagregate'"):
        shoal.microagregate  # noqa: B018


def test_the_version_is_one():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["version"] == shoal.__version__
    assert f"version: {shoal.__version__}\n" in (ROOT / "CITATION.cff").read_text()


def test_the_package_says_that_it_is_typed():
    assert (Path(shoal.__file__).parent / "py.typed").exists()


@pytest.mark.parametrize(
    "made", [pd.DataFrame, pl.DataFrame, lambda table: table], ids=["pandas", "polars", "arrow"]
)
def test_check_is_a_function_and_a_module(made):
    from shoal.check import check, check_original

    columns = {name: survey(40)[name].to_numpy() for name in ("turnover", "wages")}
    original = made(columns) if made in (pd.DataFrame, pl.DataFrame) else survey(40).select(list(columns))
    release = shoal.microaggregate(original, 4, method="mdav")
    for function in (shoal.check, check, shoal.check.check):
        (finding,) = function(release.table, 4)
        assert finding.passed
    assert not shoal.check(original, 4)[0].passed
    assert check_original(release.table, original).passed
    assert inspect.signature(shoal.check) == inspect.signature(check)


# --- keywords ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("door", DOORS.values(), ids=DOORS)
def test_every_field_of_a_plan_is_a_keyword_with_the_same_default(door):
    parameters = inspect.signature(door).parameters
    asked = inspect.signature(shoal.Plan).parameters
    assert [name for name in parameters if name in FIELDS] == FIELDS
    for f in fields(shoal.Plan):
        assert parameters[f.name].default == asked[f.name].default
        if f.name != "k":
            assert parameters[f.name].kind is inspect.Parameter.KEYWORD_ONLY
            assert asked[f.name].default == (None if f.default is MISSING else f.default)
    assert not [p for p in parameters.values() if p.kind in (p.VAR_KEYWORD, p.VAR_POSITIONAL)]


def test_every_keyword_reaches_the_plan(monkeypatch):
    monkeypatch.setattr("shoal.pipeline.run", lambda plan, *rest: plan)
    monkeypatch.setattr("shoal.engines.disk.engine.run", lambda plan, *rest, **options: plan)
    monkeypatch.setattr("shoal.engines.spark.engine._protect", lambda plan, *rest: plan)
    assert list(ASKED) == FIELDS
    plan = shoal.Plan(**ASKED)
    assert shoal.microaggregate(None, **ASKED) == plan
    assert shoal.protect_files("a", "b", **ASKED) == plan
    assert shoal.spark.protect(None, **ASKED) == plan
    assert shoal.Plan.of(**ASKED) == plan
    assert list(shoal.plan.PlanFields.__annotations__) == FIELDS[1:]
    for name in set(FIELDS) - {"roles", "per_column", "order"}:  # which the other fields fill in, and forbid
        assert getattr(plan, name) == ASKED[name]
        assert getattr(plan, name) != getattr(shoal.Plan(5), name)
    assert shoal.microaggregate(None, 4, per_column=True).per_column


def call(door, *arguments, **options):
    first = {"Plan": (), "Plan.of": (), "protect_files": ("a", "b")}.get(door, (survey(20),))
    function = shoal.Plan.of if door == "Plan.of" else DOORS[door]
    return function(*first, *arguments, **options)


@pytest.mark.parametrize("door", [*DOORS, "Plan.of"])
def test_an_unknown_keyword_is_answered_with_the_nearest(door):
    with pytest.raises(InputError, match="unknown keyword 'colums': did you mean 'columns'"):
        call(door, 5, colums=["wages"])
    with pytest.raises(InputError, match="'gamma' is no parameter of method 'mdav', but of vmdav"):
        call(door, 5, method="mdav", gamma=0.5)
    with pytest.raises(InputError, match="unknown keyword 'gama': did you mean 'gamma'"):
        call(door, 5, method="vmdav", gama=0.5)


def test_loose_parameters_of_a_method_still_work_and_say_what_to_write():
    with pytest.warns(DeprecationWarning, match=r"write parameters=\{'gamma': 0.5\}") as told:
        release = shoal.microaggregate(survey(20), 3, method="vmdav", gamma=0.5)
    assert told[0].filename == __file__
    assert release.plan == shoal.Plan(3, method="vmdav", parameters={"gamma": 0.5})
    with pytest.warns(DeprecationWarning, match="loose") as told:
        assert shoal.Plan.of(3, method="vmdav", gamma=0.5) == release.plan
    assert told[0].filename == __file__
    with pytest.raises(InputError, match=r"'gamma' is a parameter of method 'vmdav': write parameters="):
        shoal.Plan(3, method="vmdav", gamma=0.5)


def test_fields_by_position_still_work_and_say_what_to_write():
    with pytest.warns(DeprecationWarning, match=r"write columns=..., method=...") as told:
        plan = shoal.Plan(3, ["a"], "mdav", seed=2)
    assert told[0].filename == __file__
    assert plan == shoal.Plan(3, columns=["a"], method="mdav", seed=2)
    with pytest.raises(InputError, match="columns is given twice"):
        shoal.Plan(3, ["a"], columns=["a"])
    with pytest.raises(TypeError, match="positional"):
        shoal.microaggregate(survey(20), 3, ["wages"])


def test_what_is_not_deprecated_does_not_warn():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        shoal.microaggregate(survey(20), 3, method="vmdav", parameters={"gamma": 0.5})
        shoal.Microaggregator(3, method="vmdav", parameters={"gamma": 0.5}).fit(
            np.arange(20.0).reshape(10, 2)
        )
        shoal.Plan.of(5, parameters={"gamma": 0.5})


# --- types ---------------------------------------------------------------------------------------------

SCRIPT = """
import shoal
from shoal.check import check_original

release = shoal.microaggregate("firms.csv", k=5, columns=["turnover"], parameters={"gamma": 0.5})
reveal_type(release)
reveal_type(release.outcome.k)
reveal_type(shoal.check(release.table, 5))
reveal_type(check_original("safe.csv", "firms.csv"))
reveal_type(shoal.protect_files("a.parquet", "b.parquet", 5, strata="region"))
reveal_type(shoal.spark.protect(None, 5, columns=["wages"]))
reveal_type(shoal.compare("firms.csv", k=[3, 5]))
reveal_type(shoal.lower_bound("firms.csv", 3).information_loss)
reveal_type(shoal.Microaggregator(5).release_)
by_column: dict[str, str] = {"turnover": "quasi"}
reveal_type(shoal.Plan(5, columns="wages", roles=by_column))
try:
    reveal_type(shoal.methods()["mdav"].title)
except shoal.InputError as error:
    reveal_type(error.exit_code)
"""
REVEALED = [
    *(
        "shoal.release.Release",
        "int",
        "list[shoal.verify.count.Finding | shoal.verify.requirements.Held]",
        "shoal.verify.compare.Agreement",
    ),
    *("shoal.outcome.Outcome", "shoal.engines.spark.release.SparkRelease", "shoal.comparison.Comparison"),
    *("float", "shoal.release.Release", "shoal.plan.model.Plan", "str", "int"),
]
WRONG = """
import shoal

shoal.microaggregate("firms.csv", k=5, colums=["turnover"])
shoal.microaggregate("firms.csv", k="five")
shoal.Plan(5, ["turnover"])
shoal.microagregate("firms.csv", k=5)
"""
FAULTS = [
    'wrong.py:4: error: Unexpected keyword argument "colums" for "microaggregate"; did you mean "columns"?',
    'wrong.py:5: error: Argument "k" to "microaggregate" has incompatible type "str"; expected "int"',
    'wrong.py:6: error: Too many positional arguments for "Plan"',
    'wrong.py:7: error: Module has no attribute "microagregate"',
]


def test_a_type_checker_sees_what_users_write(tmp_path):
    (tmp_path / "right.py").write_text(SCRIPT)
    (tmp_path / "wrong.py").write_text(WRONG)
    words = ["--strict", "--follow-imports=silent", "--no-site-packages", "--cache-dir=cache", "--no-pretty"]
    told = subprocess.run(
        [sys.executable, "-m", "mypy", *words, "--config-file=", "right.py", "wrong.py"],
        cwd=tmp_path,
        env=os.environ | {"MYPYPATH": str(Path(shoal.__file__).parents[1])},
        capture_output=True,
        text=True,
    ).stdout
    right = [line for line in told.splitlines() if line.startswith("right.py")]
    assert [line.split('"')[1].replace("builtins.", "") for line in right] == REVEALED, told
    wrong = [line for line in told.splitlines() if line.startswith("wrong.py") and ": error: " in line]
    assert [line.split("  [")[0] for line in wrong] == FAULTS, told


# --- examples ------------------------------------------------------------------------------------------

#: Public modules with how many examples each has at least; the Spark ones need a cluster.
EXAMPLES = {
    "shoal.check": 0,
    "shoal.comparison": 0,
    "shoal.datasets": 2,
    "shoal.errors": 4,
    "shoal.estimator": 1,
    "shoal.grouping.registry": 0,
    "shoal.outcome": 1,
    "shoal.pipeline": 2,
    "shoal.plan.model": 5,
    "shoal.release": 0,
    "shoal.testing": 2,
    "shoal.verify.files": 2,
}


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_examples_of_docstrings_run(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    module = import_module(name)
    found = [test for test in doctest.DocTestFinder().find(module) if test.examples]
    assert len(found) >= EXAMPLES[name]
    runner = doctest.DocTestRunner()
    told = []
    for test in found:
        runner.run(test, out=told.append)
    assert not runner.failures, "".join(told)


@pytest.mark.parametrize(
    ("public", "sections"),
    [
        (shoal.Plan, ("Parameters", "Raises", "Examples")),
        (shoal.Plan.of, ("Parameters", "Returns", "Raises", "Examples")),
        (shoal.Plan.read, ("Parameters", "Returns", "Raises", "Examples")),
        (shoal.Plan.parse, ("Parameters", "Returns", "Raises", "Examples")),
        (shoal.Plan.toml, ("Parameters", "Returns", "Examples")),
        (shoal.microaggregate, ("Parameters", "Returns", "Raises", "Examples")),
        (shoal.protect_files, ("Parameters", "Returns", "Raises", "Examples")),
        (shoal.spark.protect, ("Parameters", "Returns", "Raises", "Examples")),
        (shoal.check.check, ("Parameters", "Returns", "Raises", "Examples")),
        (shoal.check.check_original, ("Parameters", "Returns", "Raises", "Examples")),
        (shoal.Microaggregator, ("Parameters", "Attributes", "Examples")),
        (shoal.datasets.survey, ("Parameters", "Returns", "Examples")),
        (shoal.datasets.sim, ("Parameters", "Returns", "Raises", "Examples")),
        (shoal.testing.check_method, ("Parameters", "Raises", "Examples")),
        (shoal.ShoalError, ("Attributes", "Examples")),
        (shoal.InputError, ("Examples",)),
        (shoal.CheckFailed, ("Examples",)),
        (shoal.MachineError, ("Examples",)),
    ],
    ids=lambda value: getattr(value, "__qualname__", ""),
)
def test_docstrings_have_the_sections_that_readers_look_for(public, sections):
    text = inspect.getdoc(public)
    at = [text.find(f"\n{section}\n{'-' * len(section)}\n") for section in sections]
    assert -1 not in at, sections
    assert at == sorted(at)


@pytest.mark.parametrize("door", DOORS.values(), ids=DOORS)
def test_docstrings_name_every_keyword(door):
    text = inspect.getdoc(door)
    for name in inspect.signature(door).parameters:
        assert re.search(rf"\b{name}\b", text), name
