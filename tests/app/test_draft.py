"""The settings in the form, and the plan that they make."""

import shlex
from dataclasses import fields

import pytest
from typer.testing import CliRunner

pytest.importorskip("nicegui")

import shoal
from shoal.app.draft import BY_COLUMN, DEFAULTS, Draft
from shoal.app.facts import table_facts
from shoal.cli.commands import app
from shoal.errors import InputError
from shoal.io.source import frame_of
from shoal.pipeline import run
from shoal.plan.text import as_command, as_python


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"method": "vmdav", "parameters": {"gamma": 0.3}, "missing": "impute"},
        {"centroids": "median", "scaling": "rank", "seed": 3, "merge_small_strata": True},
    ],
    ids=["guessed", "parameters", "centroids"],
)
def test_python_and_command_line_say_the_same(mixed, tmp_path, monkeypatch, settings):
    draft = Draft.guessed(table_facts(frame_of(mixed)))
    draft.k = 3
    for name, value in settings.items():
        draft.put(name, value)
    plan = draft.plan()
    assert plan.strata == ("stratum",)
    (tmp_path / "a file.csv").write_bytes(mixed.read_bytes())
    (tmp_path / "plan.toml").write_text(plan.toml())
    run(plan, mixed).write(tmp_path / "expected.csv")
    expected = (tmp_path / "expected.csv").read_bytes()
    assert b"firm_id" not in expected
    python, command = (words(plan, mixed.name, "out.csv") for words in (as_python, as_command))
    monkeypatch.chdir(tmp_path)
    exec(python, {})
    assert (tmp_path / "out.csv").read_bytes() == expected
    (tmp_path / "out.csv").unlink()
    assert CliRunner().invoke(app, shlex.split(command)[1:]).exit_code == 0  # as `shoal ...`
    assert (tmp_path / "out.csv").read_bytes() == expected


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
    draft = Draft({"a": "quasi"}, {"a": "ordinal"}, kinds={"a": "text"})
    with pytest.raises(InputError, match="the levels of 'a' have no order yet"):
        draft.plan()
    draft.say("levels", "a", ["low", "high"])
    assert draft.plan().levels == {"a": ["low", "high"]}
    draft.types["a"] = "nominal"
    assert draft.plan().levels == {}


def test_what_is_at_its_default_is_not_kept():
    draft = table_draft()
    draft.put("seed", 3)
    draft.say("top", "wage", "q0.9")
    assert (draft.get("seed"), draft.said("top", "wage")) == (3, "q0.9")
    draft.put("seed", 0)
    draft.say("top", "wage", None)
    assert (draft.fields, draft.columns["top"], draft.plan().top) == ({}, {}, {})


def table_draft():
    roles = {"wage": "quasi", "age": "quasi", "job": "other", "house": "other", "w": "other"}
    return Draft(roles, dict.fromkeys(roles))


def test_columns_have_fields_of_their_own():
    draft = table_draft()
    for field, column, value in (
        ("top", "wage", "q0.9"),
        ("regroup", "job", {"Manual": ("miner", "farmer"), "rare": 20}),
        ("blocks", "wage", 2),  # age has none: the columns without a number are grouped together
        ("missing_codes", "wage", "99, none"),
        ("column_weights", "job", 2.0),  # which is not protected
    ):
        draft.say(field, column, value)
    draft.put("missing_codes", "-1")
    draft.put("centroids", "median")
    draft.kinds["age"] = "nominal"
    plan = draft.plan()
    assert plan.top == {"wage": "q0.9"}
    assert plan.regroup == {"job": {"Manual": ("miner", "farmer"), "rare": 20}}
    assert plan.blocks == (("age",), ("wage",))
    assert plan.missing_codes == {"wage": (-1, 99, "none"), "age": (-1,)}
    assert plan.centroids == {"wage": "median"}  # categories without order have no median
    assert plan.column_weights == {}


def test_a_key_file_needs_its_whole_path():
    draft = table_draft()
    draft.roles["house"] = "unit"
    draft.put("pseudonyms", "units.key")
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
        {
            "missing_codes": [99, "a,b"],
            "known": [],
            "decimals": True,
            "scaling": "rank",
            "centroids": "median",
        },
        {"regroup": {"job": {"A": ["a", "b"], "rare": 20}}, "dominance": {"wage": "1:80"}},
        {"diversity": {"job": "entropy:2"}, "closeness": {"job": 0.2}, "spread": {"wage": "rel:0.1"}},
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


def test_every_field_of_a_plan_stands_in_the_form():
    """A field that is added to `Plan` is missed here until the page asks for it."""
    from shoal.app.steps import WORDS
    from shoal.app.steps.columns import _TITLES

    of_roles = {"roles", "types", "columns", "strata", "weight", "unit", "keep"}
    others = {"k", "method", "parameters", "known"}
    listed = {name for part in ("checks", "choices", "limits", "typed", "lists") for name in WORDS[part]}
    asked = {*listed, *_TITLES, *others, *of_roles} - {"prove"}
    assert asked == {field.name for field in fields(shoal.Plan)} - {"version", "sha256"}
    assert set(_TITLES) == set(BY_COLUMN)
    assert all(hasattr(DEFAULTS, name) for name in BY_COLUMN)
