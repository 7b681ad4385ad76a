"""The settings in the form, and the plan that they make."""

import shlex
import subprocess
import sys
from dataclasses import fields

import pytest

pytest.importorskip("nicegui")

import shoal
from shoal.app.draft import FURTHER, Draft
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
    roles = {"a": "stratum", "b": "quasi", "c": "quasi"}
    draft = Draft(roles, dict.fromkeys(roles))
    draft.give("stratum", ["b"])
    assert draft.roles == {"a": "other", "b": "stratum", "c": "quasi"}
    assert draft.plan().keep == ()


def test_a_column_is_kept_by_decision_only_where_somebody_says_so():
    columns = [
        {"name": name, "role": role, "type": "integer", "kind": "integer"}
        for name, role in (("wage", "quasi"), ("code", "other"))
    ]
    draft = Draft.guessed({"columns": columns})
    assert draft.plan().keep == ()
    draft.decide("code", "other")
    assert draft.plan().keep == ("code",)
    draft.decide("code", "")
    assert draft.plan().keep == ()


def test_levels_make_a_text_ordinal():
    draft = Draft({"a": "quasi"}, {"a": "ordinal"}, levels={"a": "low, high"})
    assert draft.plan().levels == {"a": ["low", "high"]}


def test_the_form_has_every_field_of_a_plan():
    of_columns = {"columns", "strata", "weight", "unit", "keep"}  # which the form gives as roles
    there = {field.name for field in fields(Draft)} | of_columns | {option.field for option in FURTHER}
    assert {field.name for field in fields(shoal.Plan)} == there & {f.name for f in fields(shoal.Plan)} | {
        "version",
        "sha256",
    }
    draft = Draft({"x": "quasi", "hid": "unit", "s": "other"}, {"x": None, "hid": None, "s": None})
    draft.missing_codes, draft.known, draft.zeros, draft.contributors = "99 98.5", ["s"], "group", 3
    plan = draft.plan()
    assert (plan.missing_codes, plan.known, plan.zeros, plan.contributors) == ((99, 98.5), ("s",), "group", 3)
    assert (plan.unit, plan.keep) == (("hid",), ("s",))
    draft.missing_codes = "x=99"
    assert draft.plan().missing_codes == {"x": (99,)}


def table_draft():
    roles = {"wage": "quasi", "age": "quasi", "job": "other", "house": "other", "w": "other"}
    return Draft(roles, dict.fromkeys(roles))


def test_further_fields_are_typed_as_on_the_command_line():
    draft = table_draft()
    draft.further = {"top": "wage=q0.9\n\nage=80", "regroup": "job=Manual:miner,farmer\njob=rare:20"}
    draft.further |= {"decimals": True, "log": "wage", "blocks": "wage\nage", "round": ""}
    plan = draft.plan()
    assert plan.top == {"wage": "q0.9", "age": 80}
    assert plan.regroup == {"job": {"Manual": ("miner", "farmer"), "rare": 20}}
    assert plan.blocks == (("wage",), ("age",))
    assert (plan.decimals, plan.log, plan.round) == (True, ("wage",), {})
    draft.roles["house"], draft.further["pseudonyms"] = "unit", "units.key"
    with pytest.raises(InputError, match="needs its whole path"):
        draft.plan()


@pytest.mark.parametrize(
    "asked",
    [
        {},
        {"roles": {"job": "confidential", "house": "unit", "w": "weight"}, "seed": 7, "method": "mdav"},
        {"levels": {"age": ["1", "2"]}, "types": {"age": "ordinal"}, "missing_codes": {"wage": [99, "none"]}},
        {"scaling": {"wage": "rank"}, "centroids": {"wage": "median"}, "known": ["job"], "time_limit": 2.0},
        {"top": {"wage": 5}, "round": {"wage": "sig:3"}, "blocks": [["wage"], ["age"]], "preserve": "totals"},
        {"strata": ["wage"], "parameters": {"gamma": 0.5}, "method": "vmdav"},
        {"log": ["wage"], "column_weights": {"age": 2.0}, "unit": "house", "pseudonyms": "/keys/a"},
    ],
)
def test_a_plan_that_is_opened_fills_in_the_form(asked):
    plan = shoal.Plan(4, columns=["wage", "age"], **asked)
    draft = table_draft().following(plan)
    assert draft.plan() == plan


def test_a_plan_for_other_columns_is_not_opened():
    with pytest.raises(InputError, match="the plan is for other columns: this table has no 'wages'; did you"):
        table_draft().following(shoal.Plan(4, columns=["wages", "age"]))
