"""The everyday steps as a plan says them, on every surface."""

from dataclasses import replace

import pytest

import shoal
from shoal.errors import InputError
from shoal.plan.options import OPTIONS
from shoal.plan.steps import said
from shoal.plan.text import as_command, needs_file

STEPS = {
    "top": {"wage": 100000, "age": "q0.99"},
    "bottom": {"age": 18, "born": "1940-01-01"},
    "regroup": {"job": {"Manual": ("miner", "farmer"), "rare": 20}},
    "round": {"wage": 2, "rent": "sig:3", "age": "base:5"},
    "decimals": True,
    "pseudonyms": "keys/house.key",
}


def test_every_surface_says_the_same():
    plan = shoal.Plan(5, columns=["wage"], unit="house", version=shoal.__version__, **STEPS)
    assert {name: getattr(plan, name) for name in STEPS} == STEPS
    assert shoal.Plan.parse(plan.toml()) == plan
    typed = shoal.Plan(
        5,
        columns=["wage"],
        unit="house",
        version=shoal.__version__,
        top={"wage": "100000", "age": "q0.99"},
        bottom={"age": 18.0, "born": "1940-01-01"},
        regroup={"job": ["Manual:miner,farmer", "rare:20"]},
        round={"wage": "2", "rent": "sig:3", "age": "base:5"},
        decimals=True,
        pseudonyms="keys/house.key",
    )
    assert typed == plan
    assert not needs_file(plan)
    command = as_command(plan, "in.csv")
    for word in (
        "--top=age=q0.99",
        "--regroup=job=Manual:miner,farmer",
        "--regroup=job=rare:20",
        "--decimals",
    ):
        assert word in command
    for option in OPTIONS:
        if option.field in STEPS and option.shape not in ("switch", "word"):
            words = [word.partition("=")[2] for word in option.write(getattr(plan, option.field))]
            assert shoal.Plan(5, **{option.field: option.read(words)}) == shoal.Plan(
                5, **{option.field: STEPS[option.field]}
            )
    assert len(said(plan)) == 11


def test_a_key_file_may_be_moved():
    plan = shoal.Plan(5, unit="house", pseudonyms="a")
    assert (
        plan.canonical()
        == replace(plan, pseudonyms="b").canonical()
        != shoal.Plan(5, unit="house").canonical()
    )


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        (
            {"top": {"wage": "much"}},
            "top of column 'wage' is a value, a date, or a share of the values such as q0.99",
        ),
        ({"top": {"wage": "q1.5"}}, "such as q0.99, not 'q1.5'"),
        ({"bottom": {"wage": True}}, "bottom of column 'wage' is a value"),
        ({"top": 5}, "top is a mapping"),
        (
            {"round": {"wage": -2}},
            "to -2 digits: they are 0 or more; to round to tens or hundreds, say base:10",
        ),
        ({"round": {"wage": "sig:0"}}, "round of column 'wage' is a number of decimals"),
        ({"round": {"wage": "base:-5"}}, "round of column 'wage' is a number of decimals"),
        ({"round": {"wage": True}}, "round of column 'wage' is a number of decimals"),
        ({"round": {"wage": "1e999"}}, "round of column 'wage' is a number of decimals"),
        ({"round": {"wage": 99}}, "round of column 'wage' is a number of decimals"),
        ({"regroup": {"job": 5}}, "regroup of column 'job' reads NEW:a,b"),
        ({"regroup": {"job": "Manual"}}, "regroup of column 'job' reads NEW:a,b"),
        ({"regroup": {"job": {}}}, "regroup of column 'job' reads NEW:a,b"),
        ({"regroup": {"job": {"Manual": 5}}}, "regroup of column 'job' reads NEW:a,b"),
        ({"regroup": {"job": "rare:few"}}, "rare takes the count below which levels are joined"),
        ({"regroup": {"job": {"A": ["x"], "B": "x"}}}, "regroup of column 'job' joins 'x' twice"),
        ({"decimals": 2}, "decimals is true or false, not 2"),
        ({"pseudonyms": "key"}, "pseudonyms are new numbers of units: name the unit"),
    ],
)
def test_slips_are_answered_with_a_sentence(fields, sentence):
    with pytest.raises(InputError, match=sentence):
        shoal.Plan(5, **fields)
