"""Plans as files: every decision, read back as it was written, and the same release bit for bit."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.datasets import survey
from shoal.errors import InputError
from shoal.grouping.registry import methods
from tests.plan.journey import call, from_inspect_to_release, write_plan

names = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), max_size=8)


@settings(deadline=None, max_examples=80)
@given(st.data())
def test_a_plan_reads_back_as_it_was_written(data):
    columns = data.draw(st.lists(names, min_size=4, max_size=7, unique=True))
    quasi, rest = columns[:2], columns[2:]
    some = lambda words: data.draw(  # noqa: E731
        st.dictionaries(st.sampled_from(quasi), st.sampled_from(words), max_size=2)
    )
    plan = shoal.Plan(
        data.draw(st.integers(1, 9)),
        columns=quasi if data.draw(st.booleans()) else None,
        method="mdav",
        parameters=data.draw(st.dictionaries(names, st.integers() | st.booleans() | names, max_size=2)),
        seed=data.draw(st.integers(0, 9)),
        time_limit=data.draw(st.none() | st.floats(0.1, 9)),
        roles=dict(
            zip(rest[1:], data.draw(st.permutations(["identifier", "other", "confidential", "unit"])))
        ),
        known=data.draw(st.none() | st.lists(st.sampled_from(rest), min_size=1, unique=True)),
        missing_codes=data.draw(st.sampled_from([(), (-9, "NA"), {quasi[0]: (99, 98.5)}])),
        zeros=data.draw(st.sampled_from(["value", "group"])),
        contributors=data.draw(st.integers(1, 4)),
        thin=data.draw(st.sampled_from(["widen", "gap"])),
        contributor_share=data.draw(st.sampled_from([0.5, 1.0])),
        diversity=data.draw(st.sampled_from([{}, {"ill": 3}, {"ill": "entropy:2.5"}])),
        closeness=data.draw(st.sampled_from([{}, {"ill": 0.2}, {"pay": "beta:1"}])),
        dominance=data.draw(st.sampled_from([{}, {quasi[0]: "1:80"}])),
        spread=data.draw(st.sampled_from([{}, {"pay": "rel:0.1", quasi[1]: 0.5}])),
        types=some(["nominal", "integer"]),
        levels=data.draw(
            st.dictionaries(st.sampled_from(quasi), st.lists(names | st.integers()), max_size=1)
        ),
        scaling=data.draw(st.sampled_from(["robust", {quasi[0]: "rank"}])),
        centroids=data.draw(st.sampled_from(["median", {quasi[1]: "mode"}])),
        log=data.draw(st.lists(st.sampled_from(quasi), unique=True)),
        column_weights=some([0.5, 3]),
        preserve=data.draw(st.sampled_from([None, "totals"])),
        missing=data.draw(st.sampled_from(["group", "drop"])),
        strata=rest[:1] if data.draw(st.booleans()) else [],
        merge_small_strata=data.draw(st.booleans()),
        sha256=data.draw(st.sampled_from([None, "ab"])),
        version=shoal.__version__,
    )
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "plan.toml"
        path.write_text(plan.toml({quasi[0]: "a reason\nin two lines"}), encoding="utf-8")
        again = shoal.Plan.read(path)
    plain = lambda p: {  # noqa: E731
        **vars(p),
        **{
            name: p.known and set(p.known) if name == "known" else set(getattr(p, name))
            for name in ("log", "keep", "known")
        },
        "levels": {n: list(v) for n, v in p.levels.items()},
    }
    left, right = plain(plan), plain(again)
    assert left == right
    assert again.canonical() == plan.canonical()
    assert eval(repr(plan), {"Plan": shoal.Plan}) == plan


def test_the_canonical_text_tells_plans_apart_and_nothing_else():
    """The order of a file's rows hangs on it."""
    plan = shoal.Plan(3, columns=["a", "b"], column_weights={"a": 2, "b": 0.5}, missing_codes=[-9])
    same = shoal.Plan(
        3,
        roles={"b": "quasi", "a": "quasi"},
        columns=("a", "b"),
        column_weights={"b": 0.5, "a": 2.0},
        missing_codes=[np.int64(-9)],
        method="auto",
        version="0.1.0",
        sha256="ab",
    )
    assert same.canonical() == plan.canonical()
    others = [{"k": 4}, {"seed": 1}, {"columns": ["b", "a"]}, {"column_weights": {"a": 2.5, "b": 0.5}}]
    others += [{"missing_codes": ["-9"]}, {"known": ["c"]}, {"per_column": True}, {"time_limit": 2}]
    texts = {plan.canonical()} | {replace(plan, roles={}, **other).canonical() for other in others}
    assert len(texts) == 1 + len(others)


def test_blocks_and_weights_read_back(tmp_path):
    plan = shoal.Plan(3, blocks=[["b", "a"], ["c"]], weight="w", version=shoal.__version__)
    (tmp_path / "plan.toml").write_text(plan.toml())
    assert shoal.Plan.read(tmp_path / "plan.toml") == plan


def test_columns_of_an_array_are_found_by_their_number(tmp_path):
    X = np.random.default_rng(0).normal(size=(30, 3))
    plan = shoal.Plan(3, columns=[0, 2], method="mdav", scaling={0: "robust"}, roles={1: "other"})
    (tmp_path / "plan.toml").write_text(plan.toml())
    again = shoal.Plan.read(tmp_path / "plan.toml")
    from shoal.pipeline import run

    assert np.array_equal(run(plan, X).table, run(again, X).table)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("[release]\nkk = 5", "unknown key of .release. 'kk' in the plan: did you mean 'k'"),
        ("[relaese]\nk = 5", "unknown section 'relaese' in the plan: did you mean 'release'"),
        ("[made]\nwho = 1", "unknown key of .made. 'who'"),
        ("[release]\nk = 5\n[columns.a]\nrle = 1", "unknown key of column 'a' 'rle'"),
        ("[release]\nk = 5\n[columns]\na = 1", "holds a table for each column"),
        ("release = 5", "must be a table"),
        ("[release]\nmethod = 'mdav'", "the plan has no k"),
        ("k = = 5", "is not a plan in TOML"),
        ("[release]\nk = 5\nmissing = 'zero'", "unknown missing 'zero'"),
        ("[release]\nk = 'five'", "k must be a whole number"),
    ],
)
def test_wrong_plans_in_one_sentence(tmp_path, text, sentence):
    (tmp_path / "plan.toml").write_text(text)
    with pytest.raises(InputError, match=sentence):
        shoal.Plan.read(tmp_path / "plan.toml")


def test_no_plan_and_two_ks(tmp_path):
    with pytest.raises(InputError, match="there is no plan"):
        shoal.Plan.read(tmp_path / "plan.toml")
    (tmp_path / "plan.toml").write_text("[release]\nk = 5")
    with pytest.raises(InputError, match="the plan says k=5, and you say k=4"):
        shoal.Plan.read(tmp_path / "plan.toml", 4)
    (tmp_path / "plan.toml").write_text("")
    assert shoal.Plan.read(tmp_path / "plan.toml", 4).k == 4


def test_no_method_has_a_parameter_that_a_plan_takes():
    from dataclasses import fields

    for info in methods().values():
        taken = {field.name for field in fields(shoal.Plan)} - {"order"}  # imhm has one: in parameters only
        assert not set(info.parameters) & taken


def test_plan_then_protect_twice_is_the_same_bit_for_bit(tmp_path):
    path = tmp_path / "firms.csv"
    shoal.write(survey(80), path)
    plan = write_plan(path)
    outs = [tmp_path / f"{j}.csv" for j in (1, 2)]
    for out in outs:
        found = json.loads(call("protect", path, "--plan", plan, "-o", out, "--json").stdout)
        assert found["k"] == 5
        assert "sector" in found["columns"]
        assert not any("differ" in note for note in found["notes"])
    assert outs[0].read_bytes() == outs[1].read_bytes()
    call("check", outs[0], "--plan", plan)
    call("check", path, "--plan", plan, status=1)


def test_a_replay_says_when_data_or_version_differ(tmp_path):
    path = tmp_path / "firms.csv"
    shoal.write(survey(80), path)
    plan = write_plan(path, "-k", 4)
    shoal.write(survey(81), path)
    plan.write_text(plan.read_text().replace(f'version = "{shoal.__version__}"', 'version = "0.0.1"'))
    notes = json.loads(call("protect", path, "--plan", plan, "-o", tmp_path / "o.csv", "--json").stdout)[
        "notes"
    ]
    begin = f"the plan was written by shoal 0.0.1; this is {shoal.__version__};"
    assert any(note.startswith(begin) for note in notes)
    assert "the data differ from those that the plan was written for" in notes


def test_options_beside_a_plan_are_refused(tmp_path):
    path = tmp_path / "firms.csv"
    shoal.write(survey(80), path)
    plan = write_plan(path)
    refused = call("protect", path, "--plan", plan, "-m", "mdav", status=2)
    assert "--method is the plan's to say" in refused.stderr
    assert "the plan says k=5" in call("protect", path, "--plan", plan, "-k", 4, status=2).stderr
    assert "give -k" in call("protect", path, status=2).stderr
    assert "give -k" in call("check", path, status=2).stderr


def test_inspect_guesses_with_reasons(tmp_path):
    path = tmp_path / "t.csv"
    n = 40
    table = pa.table(
        {
            "person_id": [f"p{i}" for i in range(n)],
            "row": np.arange(n),
            "sex": ["m", "f"] * (n // 2),
            "town": ["a", "b", "c", "d"] * (n // 4),
            "born": [f"19{50 + i % 50}-01-0{1 + i % 9}" for i in range(n)],
            "children": np.arange(n) % 4,
            "pay": np.random.default_rng(0).lognormal(size=n),
            "diagnosis": ["x", "y"] * (n // 2),
            "weight": np.full(n, 2.5),
            "second_weight": np.arange(n) / 7,
            "stratum": ["n", "s", "e", "w"] * (n // 4),
            "remarks": [f"free text {i // 2}" for i in range(n)],
            "same": ["z"] * n,
        }
    )
    shoal.write(table, path)
    found = {g["name"]: g for g in json.loads(call("inspect", path, "--json").stdout)["columns"]}
    roles = {name: guess["role"] for name, guess in found.items()}
    assert roles == {
        "person_id": "identifier",
        "row": "identifier",
        "sex": "quasi",
        "town": "quasi",
        "born": "quasi",
        "children": "quasi",
        "pay": "quasi",
        "diagnosis": "confidential",
        "weight": "weight",
        "second_weight": "other",
        "stratum": "stratum",
        "remarks": "quasi",
        "same": "other",
    }
    types = {name: guess["type"] for name, guess in found.items()}
    assert (types["sex"], types["town"], types["born"]) == ("boolean", "nominal", "date")
    assert (types["children"], types["pay"]) == ("integer", "continuous")
    assert all(guess["reason"] for guess in found.values())
    shown = call("inspect", path).stdout
    assert "each record has a value of its own" in " ".join(shown.split()) or "its name says so" in shown
    plan = write_plan(path, "-k", 4)
    call("protect", path, "--plan", plan, "-o", tmp_path / "out.csv")
    out = shoal.read(tmp_path / "out.csv")
    assert "person_id" not in out.column_names
    assert sorted(out["remarks"].to_pylist()) != sorted(table["remarks"].to_pylist())


def household_survey(n, seed=0):
    """Like the files of statistical offices: codes, whole numbers stored as doubles, gaps, two weights."""
    rng = np.random.default_rng(seed)
    income = np.rint(rng.lognormal(17, 0.8, n))
    savings = np.where(rng.random(n) < 0.1, np.nan, np.round(rng.lognormal(11, 1, n), 1))
    return pa.table(
        {
            "region": rng.integers(1, 13, n).astype(float),
            "sex": rng.integers(1, 3, n),
            "age": rng.integers(0, 96, n),
            "work": rng.choice(["State-gov", "Private", "Self-emp", "none, yet"], n),
            "country": rng.choice([f"country {j}" for j in range(40)], n),
            "expend": rng.permutation(10**6)[:n] * 90,
            "income": income,
            "savings": pa.array(savings, from_pandas=True),
            "ori_hid": np.sort(rng.integers(1, n // 4, n)),
            "sampling_weight": np.full(n, 100),
            "household_weights": np.round(rng.uniform(20, 120, n), 1),
            "year": np.full(n, 1995),
        }
    )


def test_a_household_survey_from_inspect_to_release(tmp_path):
    path = tmp_path / "household.csv"
    shoal.write(household_survey(1500), path)
    from_inspect_to_release(path, tmp_path)


def test_command_line_options_for_tables(tmp_path):
    path, out = tmp_path / "firms.csv", tmp_path / "out.csv"
    shoal.write(survey(120), path)
    words = ("-k", 4, "-c", "sector", "-c", "wages", "--type", "sector=nominal", "--stratum", "region")
    call(
        "protect",
        path,
        *words,
        "--merge-small-strata",
        "--weight",
        "employees",
        "-m",
        "mdav_generic",
        "-o",
        out,
    )
    call("check", out, "-k", 4, "-c", "sector", "-c", "wages")
    call(
        "protect",
        path,
        "-k",
        4,
        "--role",
        "sector=identifier,region=other",
        "--missing",
        "error",
        "--scaling",
        "rank",
        "-o",
        out,
    )
    assert "sector" not in shoal.read(out).column_names
    assert "COLUMN=WORD" in call("protect", path, "-k", 4, "--type", "sector", status=2).stderr


def test_a_time_limit_may_be_any_kind_of_number_but_no_truth():
    assert shoal.Plan(5, time_limit=np.int64(2)).time_limit == 2.0
    assert shoal.Plan(5, time_limit=np.float32(0.5)).time_limit == 0.5
    for wrong in (True, "2", 0, -1, float("nan"), float("inf")):
        with pytest.raises(InputError, match="time_limit must be a positive number of seconds"):
            shoal.Plan(5, time_limit=wrong)


@pytest.mark.parametrize(
    "text",
    [
        '[release]\nk = 2\nper_column = "no"',
        '[release]\nk = 2\nmerge_small_strata = "false"',
        "[release]\nk = 2\nscaling = 3",
        '[release]\nk = 2\nmethod = ["mdav"]',
        '[release]\nk = 2\n[columns.a]\nblock = "x"\n[columns.b]\nblock = 1',
        '[release]\nk = 2\n[columns.a]\nrole = "quasi"\nlog = "no"',
        '[release]\nk = 2\n[columns.a]\nrole = "quasi"\nstratum = "no"',
        '[release]\nk = 2\n[columns.a]\nrole = "quasi"\nlevels = 3',
    ],
)
def test_a_value_of_the_wrong_kind_is_refused_and_never_taken_for_true(tmp_path, text):
    (tmp_path / "plan.toml").write_text(text)
    with pytest.raises(shoal.ShoalError, match="not "):
        shoal.Plan.read(tmp_path / "plan.toml")


def test_a_plan_of_0_1_is_read_as_it_was_meant():
    text = (
        '[made]\nversion = "0.1.0"\n[release]\nk = 5\nmethod = "vmdav"\nseed = 3\nper_column = false\n'
        'missing = "group"\nmerge_small_strata = false\nscaling = "standard"\n[parameters]\ngamma = 0.5\n'
        '[columns."wages"]\nrole = "quasi"\nblock = 1\n[columns."profit"]\nrole = "quasi"\nblock = 2\n'
    )
    plan = shoal.Plan.parse(text)
    blocks = [["wages"], ["profit"]]
    expected = {"method": "vmdav", "parameters": {"gamma": 0.5}, "seed": 3, "version": "0.1.0"}
    assert plan == shoal.Plan(5, blocks=blocks, **expected)
    release = shoal.pipeline.run(plan, survey(40))
    (note,) = [note for note in release.notes if note.startswith("the plan was written by shoal 0.1.0;")]
    for word in ("shuffled", "two contributors", "merged strata", "kept columns", "docs/migration.md"):
        assert word in note
    later = shoal.pipeline.run(replace(plan, version="9.0.0"), survey(40))
    assert f"the plan was written by shoal 9.0.0; this is {shoal.__version__}" in later.notes


def test_a_text_that_is_no_plan_is_an_input_error():
    with pytest.raises(InputError, match="the text is not a plan in TOML"):
        shoal.Plan.parse("k = = 5")


def test_what_blocks_protect_is_quasi_and_a_plan_can_be_replaced():
    from dataclasses import replace

    plan = shoal.Plan(3, blocks=[["b", "a"], ["c"]], weight="w")
    assert plan.roles == {"w": "weight", "b": "quasi", "a": "quasi", "c": "quasi"}
    assert replace(plan) == plan
    assert replace(plan, k=4) == shoal.Plan(4, blocks=[["b", "a"], ["c"]], weight="w")
    with pytest.raises(InputError, match="both quasi and weight"):
        shoal.Plan(3, blocks=[["a"], ["w"]], weight="w")


def test_one_column_may_be_anything_that_is_not_a_list():
    import datetime as dt

    day = dt.date(2024, 1, 1)
    assert shoal.Plan(3, columns=day, log=np.int64(2), strata=None).columns == (day,)
    assert shoal.Plan(3, log=np.int64(2)).log == (2,)
    assert shoal.Plan(3, strata=None) == shoal.Plan(3)
    assert shoal.Plan(3, columns=pa.array(["a"]).to_numpy(zero_copy_only=False)).columns == ("a",)


@pytest.mark.parametrize("name", ["parameters", "roles", "types", "levels", "column_weights"])
def test_what_is_said_by_column_must_be_a_mapping(name):
    with pytest.raises(InputError, match=f"{name} is a mapping"):
        shoal.Plan(3, **{name: ["wages"]})


def test_a_plan_shows_only_what_was_asked_for():
    assert repr(shoal.Plan(3)) == "Plan(3)"
    plan = shoal.Plan(3, roles={"a": "quasi", "i": "identifier", "s": "stratum"}, missing="drop")
    assert repr(plan) == "Plan(3, columns=('a',), roles={'i': 'identifier'}, missing='drop', strata=('s',))"
    assert eval(repr(plan), {"Plan": shoal.Plan}) == plan


@pytest.mark.parametrize(
    "text",
    [
        "[release]\nk = " + "9" * 5000,
        "[release]\nk = 0x" + "f" * 5000,
        "[parameters]\nx = " + "[" * 100_000 + "]" * 100_000,
        "[parameters]\nx = [[0x" + "f" * 5000 + "]]",
    ],
)
def test_a_plan_that_is_too_deep_or_too_long_is_one_sentence(text):
    with pytest.raises(InputError, match="the text is no plan") as said:
        shoal.Plan.parse(text)
    assert len(str(said.value)) < 200


def test_a_number_of_many_digits_is_no_k():
    with pytest.raises(InputError, match="at most 38 digits"):
        shoal.Plan(k=10**5000)
    with pytest.raises(InputError, match="at most 38 digits"):
        shoal.Plan(k=3, seed=10**5000)


def test_a_rule_is_the_same_as_a_number_and_as_its_text():
    """Else files of one would not be found again with the other: the plan decides the order of rows."""
    text = shoal.Plan(3, spread={"x": "0.02"}, diversity={"ill": "3"}, dominance={"x": "1:80"})
    number = shoal.Plan(3, spread={"x": 0.02}, diversity={"ill": 3}, dominance={"x": "1:80"})
    assert text == number
    assert text.canonical(["x"]) == number.canonical(["x"])
