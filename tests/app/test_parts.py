"""The parts of the page that need no browser: settings, facts, words, charts, workers."""

import asyncio
import json
import shlex
import sqlite3
import subprocess
import sys
from contextlib import closing
from dataclasses import fields, replace

import numpy as np
import pyarrow as pa
import pytest

pytest.importorskip("nicegui")

import shoal
from shoal.app import charts
from shoal.app.crew import Stopped, Worker
from shoal.app.draft import FURTHER, Draft
from shoal.app.facts import release_facts, table_facts
from shoal.app.markup import pieces, sentence, show
from shoal.app.office import Office
from shoal.datasets import survey
from shoal.errors import InputError, ShoalError
from shoal.frame.frame import Frame
from shoal.io.source import frame_of
from shoal.pipeline import run
from shoal.plan.text import as_command, as_python

EVIL = "<b onclick='x'>\"&"


@pytest.fixture(scope="module")
def mixed(tmp_path_factory):
    """A file with everything: texts, codes, gaps, a weight, a stratum, an identifier, a date."""
    rng = np.random.default_rng(1)
    n = 80
    columns = {
        "firm_id": np.arange(n),
        "size class": rng.choice(["a", "b", "c"], n),
        "opened": np.datetime64("2020-01-01") + rng.integers(0, 900, n).astype("timedelta64[D]"),
        "wages": pa.array(rng.normal(size=n).round(3), mask=rng.random(n) < 0.2),
        "=staff": rng.integers(1, 90, n),
        "weight": rng.uniform(1, 2, n).round(2),
        "stratum": rng.choice(["x", "y"], n),
    }
    path = tmp_path_factory.mktemp("mixed") / "a file.csv"
    shoal.write(pa.table(columns), path)
    return path


def test_facts_of_a_table_are_fit_for_json(mixed):
    facts = json.loads(json.dumps(table_facts(frame_of(mixed))))
    assert facts["records"] == 80
    by_name = {column["name"]: column for column in facts["columns"]}
    assert by_name["firm_id"]["role"] == "identifier"
    assert by_name["wages"]["gaps"] > 0
    assert sum(by_name["wages"]["counts"]) == 80 - by_name["wages"]["gaps"]
    assert sum(by_name["size class"]["counts"]) == 80
    assert by_name["opened"]["range"].startswith("2020-")
    assert len(facts["preview"]) == 8


def test_facts_of_odd_tables():
    odd = pa.table({"none": pa.nulls(5), "same": [1] * 5, "nan": [float("nan")] * 5, "list": [[1]] * 5})
    facts = json.loads(json.dumps(table_facts(Frame(odd)), allow_nan=False))
    assert [column["name"] for column in facts["columns"]] == ["none", "same", "nan", "list"]


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


def test_charts_hold_text_from_data_only_as_values():
    names = [EVIL, ":formatter", "c"]
    original = survey(60).select(["turnover", "wages", "assets"]).rename_columns(names)
    release = run(shoal.Plan(4, method="mdav"), original)
    facts = json.loads(json.dumps(release_facts(release), allow_nan=False))
    linked = [facts["risk"][side]["linkage"]["detail"]["by_known_columns"] for side in ("before", "after")]
    point = {"number": 1, "title": EVIL, "k": 4, "loss": 3.0, "risk": 20.0, "bound": 2.0}
    drawn = [
        *map(charts.distribution, facts["distributions"]),
        charts.correlations(facts["utility"]["correlations"]["detail"]),
        charts.group_map(facts["map"]),
        charts.group_sizes(facts["risk"]["after"]["k"]["detail"]["sizes"]),
        charts.linkage(*linked, 4),
        charts.risk_utility([point], 1),
    ]
    json.dumps(drawn, allow_nan=False)

    def keys(value):
        if isinstance(value, dict):
            yield from value
        for item in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
            yield from keys(item)

    assert not {key for key in keys(drawn) if key in names or key.startswith(":")}
    assert facts["changes"]
    assert abs(facts["changes"][0]["sd"]) >= abs(facts["changes"][-1]["sd"])


def test_group_sizes_far_apart_share_bars():
    options = charts.group_sizes({"3": 10, "4": 2, "5000": 1})
    assert len(options["series"][0]["data"]) <= 20
    assert sum(options["series"][0]["data"]) == 13


def test_markup_escapes_everything():
    made = [
        pieces.table([EVIL], [[EVIL]], EVIL),
        pieces.select(EVIL, [(EVIL, EVIL)], EVIL, column=EVIL),
        pieces.bars([1, 2], [EVIL, "b"], EVIL),
        pieces.code(EVIL, EVIL),
        pieces.figures([(EVIL, EVIL, EVIL)]),
        pieces.losses(EVIL, [(EVIL, EVIL, EVIL, EVIL)]),
        pieces.drop(1, EVIL),
    ]
    for markup in made:
        assert "<b" not in markup.replace("<tbody", "").replace("<button", "").replace("<b>", "")
        assert "onclick='" not in markup
    with pytest.raises(TypeError, match="only Markup goes on the page, not str"):
        show(EVIL)


def test_the_gate_for_markup_stands_without_asserts():
    code = f"from shoal.app.markup import show; show({EVIL!r})"
    done = subprocess.run([sys.executable, "-O", "-c", code], capture_output=True, text=True)
    assert done.returncode == 1
    assert "TypeError: only Markup goes on the page" in done.stderr


def test_sentences():
    assert sentence("a file is empty: mend it") == "A file is empty: mend it."
    assert sentence("k=5 is too large") == "k=5 is too large."


def test_a_worker_can_be_stopped_and_starts_again(tmp_path):
    path, plan = tmp_path / "t.csv", tmp_path / "plan.toml"
    shoal.write(survey(40_000).drop_columns(["region", "sector"]), path)
    plan.write_text(shoal.Plan(3, method="optimise").toml())  # takes minutes

    async def work():
        worker, heard = Worker(tmp_path), asyncio.Event()
        order = {"path": str(path), "plan": str(plan), "folder": str(tmp_path), "bound": False}
        task = asyncio.create_task(worker.do("run", lambda event, value: heard.set(), **order))
        await asyncio.wait({task, asyncio.create_task(heard.wait())}, return_when=asyncio.FIRST_COMPLETED)
        process = worker._process
        await worker.stop()
        with pytest.raises(Stopped):
            await task
        assert process.returncode == -9
        task = asyncio.create_task(worker.do("run", **order))
        await asyncio.sleep(0)  # the task has begun
        assert worker._process is None  # but not its process
        await worker.stop()
        with pytest.raises(Stopped):
            await task
        with pytest.raises(ShoalError, match="there is no file"):
            await worker.do("inspect", path=str(tmp_path / "none.csv"))
        await worker.stop()

    asyncio.run(work())


def test_every_centroid_has_words():
    from shoal.app.steps.settings import CHOICES
    from shoal.words import CENTROIDS

    assert set(CHOICES["centroids"][1]) == {"", *CENTROIDS}


def endless(path):
    """A view without an end, and without a row."""
    with closing(sqlite3.connect(path)) as database:
        database.execute(
            "CREATE VIEW v AS WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) "
            "SELECT x FROM c WHERE x < 0"
        )
    return path


def test_reading_has_a_deadline_and_keeps_nobody_else_waiting(tmp_path):
    for name in ("a.csv", "b.csv"):
        (tmp_path / name).write_text("a,b\n1,2\n3,4\n")

    async def work():
        office = Office(tmp_path)
        async with office.open(None):
            slow, other = (office.sessions[office.new_session()] for _ in range(2))
            first = asyncio.create_task(office.take_in(slow, endless(tmp_path / "v.db"), "v.db"))
            assert (await office.take_in(other, tmp_path / "a.csv", "a.csv")).records == 2
            assert not first.done()
            first.cancel()  # as when the browser is gone
            with pytest.raises(asyncio.CancelledError):
                await first
            assert (await office.take_in(slow, tmp_path / "b.csv", "b.csv")).records == 2
            office.seconds = 0.01
            with pytest.raises(InputError, match=r"took longer than .* use `shoal protect`"):
                await office.take_in(slow, endless(tmp_path / "w.db"), "w.db")
            assert not (tmp_path / "w.db").exists()

    asyncio.run(work())


def test_a_worker_has_a_limit_of_memory_and_its_own_folder(tmp_path):
    (tmp_path / "long.csv").write_text("a,b\n" + f"1,{'x' * 999}\n" * 300_000)

    async def work():
        worker = Worker(tmp_path, memory=700_000_000)
        with pytest.raises(ShoalError, match="memory"):
            await worker.do("inspect", path="long.csv")
        (tmp_path / "short.csv").write_text("a,b\n1,2\n")
        assert (await worker.do("inspect", path="short.csv"))["records"] == 1
        await worker.stop()

    asyncio.run(work())


def test_every_role_has_words():
    from shoal.app.steps.data import MEANINGS
    from shoal.words import ROLES

    assert set(MEANINGS) == set(ROLES)


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
    kept = {name: "other" for name in draft.roles if name not in plan.roles}
    assert draft.plan() == replace(plan, roles={**plan.roles, **kept})


def test_a_plan_for_other_columns_is_not_opened():
    with pytest.raises(InputError, match="the plan is for other columns: this table has no 'wages'; did you"):
        table_draft().following(shoal.Plan(4, columns=["wages", "age"]))
