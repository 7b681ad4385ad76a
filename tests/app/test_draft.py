"""The settings in the form, and the plan that they make."""

import shlex
import subprocess
import sys

import pytest

pytest.importorskip("nicegui")

from shoal.app.draft import Draft
from shoal.app.facts import table_facts
from shoal.errors import InputError
from shoal.io.source import frame_of
from shoal.pipeline import run
from shoal.plan.text import as_command, as_python


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"method": "vmdav", "parameters": {"gamma": 0.3}, "per_column": False, "missing": "impute"},
        {"centroids": "median", "scaling": "rank", "seed": 3, "merge_small_strata": True},
    ],
    ids=["guessed", "parameters", "centroids"],
)
def test_python_and_command_line_say_the_same(mixed, tmp_path, settings):
    draft = Draft.guessed(table_facts(frame_of(mixed)))
    for name, value in {"k": 3, **settings}.items():
        setattr(draft, name, value)
    plan = draft.plan()
    assert plan.strata == ("stratum",)
    (tmp_path / "a file.csv").write_bytes(mixed.read_bytes())
    (tmp_path / "plan.toml").write_text(plan.toml())
    run(plan, mixed).write(tmp_path / "expected.csv")
    expected = (tmp_path / "expected.csv").read_bytes()
    assert b"firm_id" not in expected
    python, command = (words(plan, mixed.name, "out.csv") for words in (as_python, as_command))
    for words in ([sys.executable, "-c", python], [sys.executable, "-m", *shlex.split(command)]):
        subprocess.run(words, cwd=tmp_path, check=True, capture_output=True)
        assert (tmp_path / "out.csv").read_bytes() == expected
        (tmp_path / "out.csv").unlink()


def test_a_draft_says_what_is_missing():
    draft = Draft({"a": "other"}, {"a": None})
    with pytest.raises(InputError, match="no column is to be protected"):
        draft.plan()
    draft.roles["a"], draft.k = "quasi", None
    with pytest.raises(InputError, match="k is empty"):
        draft.plan()


def test_a_role_is_given_to_exactly_these_columns():
    draft = Draft({"a": "stratum", "b": "quasi", "c": "quasi"}, {})
    draft.give("stratum", ["b"])
    assert draft.roles == {"a": "other", "b": "stratum", "c": "quasi"}


def test_levels_make_a_text_ordinal():
    draft = Draft({"a": "quasi"}, {"a": "ordinal"}, levels={"a": "low, high"})
    assert draft.plan().levels == {"a": ["low", "high"]}


def test_the_form_has_every_field_of_a_plan():
    from dataclasses import fields

    from shoal.app.draft import Draft
    from shoal.plan import Plan

    of_columns = {"columns", "strata", "weight", "unit", "keep"}  # which the form gives as roles
    not_there_yet = {"blocks", "log", "column_weights", "version", "sha256"}
    not_there_yet |= {"top", "bottom", "regroup", "round", "decimals", "pseudonyms"}  # the everyday steps
    there = {field.name for field in fields(Draft)} | of_columns | not_there_yet
    assert {field.name for field in fields(Plan)} <= there
    draft = Draft({"x": "quasi", "hid": "unit", "s": "other"}, {"x": None, "hid": None, "s": None})
    draft.missing_codes, draft.known, draft.zeros, draft.contributors = "99 98.5", ["s"], "group", 3
    plan = draft.plan()
    assert (plan.missing_codes, plan.known, plan.zeros, plan.contributors) == ((99, 98.5), ("s",), "group", 3)
    assert (plan.unit, plan.keep) == (("hid",), ("s",))
    draft.missing_codes = "x=99"
    assert draft.plan().missing_codes == {"x": (99,)}
