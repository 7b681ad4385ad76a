"""What each engine makes of one block is the release that memory gives; of many, it holds all the same.

Every field of `Plan` stands in both lists below: a new field must be put into them.
"""

import json
import re
from dataclasses import fields, replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import shoal.spark
from shoal.cli.commands import app
from shoal.engines.blocks.facts import MOST_DISTINCT, Distinct
from shoal.engines.blocks.limits import columns_to_protect
from shoal.engines.blocks.plan import BlockPlan, make_plan, sha256_of
from shoal.engines.blocks.steps import Outermost, find
from shoal.engines.disk import engine as disk
from shoal.engines.spark import engine as cluster
from shoal.engines.spark.fingerprint import hashable
from shoal.errors import CheckFailed, InputError
from shoal.frame.column import Column, Whole
from shoal.frame.frame import Frame
from shoal.frame.order import file_order
from shoal.pipeline import run
from shoal.plan.rules import read_rule
from shoal.requirements.closeness import Closeness
from shoal.stages.encode import encode, grouping_matrix
from shoal.stages.moments import Moments
from shoal.verify.compare import first_difference
from shoal.verify.requirements import groups_of, held_by
from tests.engines.test_disk import people

NUMBERS = ["income", "age", "born"]
KEPT = ["id", "name", "holes", "odd_age", "house", "rent"]  # identifiers, and columns that give others away
STEPS = ("top", "bottom", "regroup", "round")

#: field -> plans that use it, beside k and columns
TAKEN = {
    "k": [{"k": 2}, {"k": 7}],
    "columns": [
        {"columns": None, "keep": KEPT},
        {"columns": ["age"], "method": "auto"},
        {"columns": ["income"], "method": "auto"},
    ],
    "method": [{"method": key} for key in ("auto", "mdav", "optimise", "mst_d", "repordmic", "pca_mhm")],
    "parameters": [{"method": "vmdav", "parameters": {"gamma": 0.5}}],
    "seed": [{"seed": 11, "method": "auto"}],
    "roles": [{"roles": {"id": "identifier", "name": "confidential"}}],
    "types": [
        {"columns": ["odd_age"], "types": {"odd_age": "integer"}},
        {"columns": ["income", "town"]},
        {"columns": ["name", "age"], "weight": "grossing", "missing": "group", "method": "mdav_generic"},
        {"columns": ["age", "house"], "types": {"house": "nominal"}},
    ],
    "missing": [{"columns": ["holes", "age"], "missing": word} for word in ("group", "impute", "drop")],
    "centroids": [{"centroids": "median"}, {"centroids": {"income": "trimmed", "age": "mode"}}],
    "column_weights": [{"column_weights": {"income": 4.0, "age": 0.5}}],
    "keep": [{"keep": [*KEPT, "list"]}],
    "missing_codes": [{"missing_codes": [30]}, {"missing_codes": {"age": ["41", 42], "income": [-1]}}],
    "known": [{"known": ["list"]}],
    "order": [{"order": "keep"}, {"order": "shuffle"}],
    "unit": [
        {"unit": ["id"]},
        {"unit": ["house"], "columns": ["income", "age"]},
        {"unit": ["house"], "columns": ["income", "rent"], "method": "mdav"},
        {"unit": ["house"], "columns": ["rent"]},
    ],
    "by_record": [{"unit": ["house"], "columns": ["income", "rent"], "by_record": ["rent"]}],
    "strata": [
        {"strata": ["town"]},
        {"strata": ["town", "name"], "missing_codes": {"town": ["Rust"]}, "method": "mdav"},
        {"strata": ["town"], "unit": ["house"], "columns": ["income", "rent"], "method": "mdav"},
    ],
    "merge_small_strata": [
        {"merge_small_strata": True, "strata": ["town"]},
        {"merge_small_strata": True, "strata": ["town", "house"]},
        {"merge_small_strata": True, "strata": ["house"], "unit": ["id"], "columns": ["income", "age"]},
        {
            "merge_small_strata": True,
            "strata": ["town", "size", "house"],
            "columns": ["income", "town"],
            "regroup": {"town": {"East": ["Graz", "Rust"]}},
        },
    ],
    "weight": [
        {"weight": "grossing"},
        {"weight": "grossing", "columns": ["holes", "age"], "strata": ["town"]},
    ],
    "log": [{"log": ["income"]}],
    "scaling": [
        {"scaling": word, "columns": ["income", "age", "town"]}
        for word in ("robust", "range", "rank", "none")
    ],
    "preserve": [{"preserve": "totals", "columns": ["age", "born"]}],
    "levels": [{"columns": ["income", "size"], "levels": {"size": ["small", "middle", "large"]}}],
    "diversity": [{"diversity": {"town": 2}}, {"diversity": {"name": "entropy:1.5"}, "strata": ["town"]}],
    "dominance": [{"dominance": {"income": "1:80"}}, {"dominance": {"rent": "p:10"}, "weight": "grossing"}],
    "closeness": [
        {"closeness": {"holes": 0.3}, "method": "mdav"},
        {"closeness": {"town": 0.4}},
        {"closeness": {"town": "beta:2"}, "strata": ["size"]},
    ],
    "spread": [{"spread": {"income": 0.1}}, {"spread": {"rent": "rel:0.1"}, "method": "mdav"}],
    "zeros": [{"zeros": "group"}],
    "contributors": [{"contributors": 3}],
    "thin": [{"thin": "gap"}],
    "contributor_share": [{"contributor_share": 0.5}],
    "round": [{"round": {"income": "sig:2", "age": "base:5"}}, {"round": {"rent": 1, "holes": "sig:2"}}],
    "top": [
        {"top": {"income": 100}},
        {"top": {"rent": "q0.9", "age": 60}, "unit": ["house"], "columns": ["income", "age"]},
        {
            "top": {"income": "q0.97"},
            "weight": "grossing",
            "scaling": "rank",
            "dominance": {"income": "1:80"},
        },
    ],
    "bottom": [
        {"bottom": {"income": "q0.1", "born": "2001-01-01"}},
        {"bottom": {"holes": "q0.2", "rent": "q0.6"}, "top": {"holes": "q0.8"}, "round": {"holes": 0}},
        {"bottom": {"age": 20}, "top": {"age": "q0.5"}, "missing_codes": [30], "missing": "group"},
    ],
    "regroup": [
        {"regroup": {"name": {"A": ["person 1", "person 2"]}}},
        {"regroup": {"town": {"rare": 90}}, "columns": ["income", "town"]},
        {"regroup": {"town": ["East:Graz,Linz"], "size": {"rare": 60}}, "unit": ["house"]},
        {"regroup": {"town": {"East": ["Graz", "Rust"]}}, "strata": ["town"], "weight": "grossing"},
        {
            "regroup": {"size": {"large": ["middle"]}},
            "columns": ["income", "size"],
            "levels": {"size": ["small", "large"]},
        },
        {"regroup": {"house": {"0": [1, 2, 3]}}, "columns": ["age", "house"], "types": {"house": "nominal"}},
    ],
    "per_column": [
        {"per_column": True},
        {"per_column": True, "unit": ["house"], "columns": ["income", "rent"], "top": {"rent": "q0.9"}},
        {"per_column": True, "diversity": {"town": 2}, "dominance": {"age": "1:60"}, "order": "keep"},
    ],
    "blocks": [
        {"blocks": [["income"], ["age", "born"]]},
        {"blocks": [["born", "town"], ["income"]], "columns": None, "strata": ["town"], "weight": "grossing"},
    ],
    "decimals": [{"decimals": True, "columns": ["odd_age", "income"]}],
    "pseudonyms": [
        {"pseudonyms": "key", "unit": ["house"], "columns": ["income", "age"]},
        {"pseudonyms": "key", "unit": ["house", "town"], "columns": ["income"], "order": "keep"},
    ],
    "time_limit": [{"time_limit": 600.0, "method": "mdav"}],
    "version": [{"version": "0.1.0"}],
    "sha256": [{"sha256": "0" * 64}],
}
#: Few plans with many fields each, for Spark's jobs are slow: every field but a time limit, which it refuses.
TOGETHER = [
    {
        "k": 7,
        "seed": 11,
        "method": "vmdav",
        "parameters": {"gamma": 0.5},
        "column_weights": {"income": 4.0, "age": 0.5},
        "log": ["income"],
        "centroids": {"income": "median", "age": "mode"},
        "known": ["list"],
        "keep": [*KEPT, "list"],
        "order": "shuffle",
        "version": "0.1.0",
        "sha256": "0" * 64,
    },
    {
        "columns": ["income", "house"],
        "types": {"house": "nominal"},
        "missing_codes": {"income": [-1]},
        "roles": {"name": "confidential"},
        "contributors": 3,
        "thin": "gap",
        "scaling": "robust",
        "closeness": {"town": 0.4},
        "round": {"rent": 1},
    },
    {
        "unit": ["house"],
        "pseudonyms": "key",
        "columns": ["income", "rent"],
        "by_record": ["rent"],
        "dominance": {"income": "1:80"},
        "scaling": "range",
        "top": {"rent": "q0.9"},
        "decimals": True,
    },
    {
        "columns": ["age", "born"],
        "preserve": "totals",
        "zeros": "group",
        "contributor_share": 0.5,
        "regroup": {"town": {"East": ["Graz", "Rust"]}},
    },
    {
        "columns": None,
        "blocks": [["holes", "age"], ["size"]],
        "keep": ["id", "name", "odd_age", "house", "income", "rent"],
        "missing": "group",
        "strata": ["size"],  # protected, and needed by both
        "levels": {"size": ["small", "middle", "large"]},
        "scaling": "rank",
        "weight": "grossing",
        "bottom": {"holes": "q0.1"},
        "spread": {"rent": 0.1},
    },
    {
        "k": 8,
        "per_column": True,
        "strata": ["town", "house"],
        "merge_small_strata": True,
        "diversity": {"size": 2},
    },
]
CASES = [("disk", plan) for plans in TAKEN.values() for plan in plans]
CASES += [(engine, plan) for engine in ("disk", "spark") for plan in TOGETHER]


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    table = people(240)
    income = table["income"].to_numpy().copy()
    income[::9] = np.nan
    table = table.append_column("holes", pa.array(income))
    table = table.append_column("odd_age", table["age"].cast(pa.float64()))
    house = np.random.default_rng(3).integers(0, 72, len(table))
    table = table.append_column("house", pa.array(house))
    table = table.append_column("rent", pa.array(np.random.default_rng(4).lognormal(6, 0.5, 72)[house]))
    rng = np.random.default_rng(5)
    towns, sizes = rng.integers(0, 3, len(table)), rng.integers(0, 3, len(table))
    table = table.append_column(
        "town", pa.array(np.array(["Rust", "Linz", "Graz"])[towns]).dictionary_encode()
    )
    table = table.append_column("size", pa.array(np.array(["small", "middle", "large"])[sizes]))
    table = table.append_column("grossing", pa.array(rng.integers(0, 4, len(table)) / 2))
    path = tmp_path_factory.mktemp("parity") / "in.parquet"
    pq.write_table(table, path)
    return path


def plan_of(options):
    """By a quick method, where the case names none: engines differ in where records lie."""
    others = {*KEPT, *NUMBERS} - set(options.get("columns") or NUMBERS)
    named = {field: given for field, given in options.items() if field not in STEPS}
    kept = sorted(name for name in others if f"'{name}'" not in str(named))
    return shoal.Plan(**{"k": 4, "columns": NUMBERS, "keep": kept, "method": "mdav_generic"} | options)


def test_every_field_is_taken_on_every_engine():
    names = {field.name for field in fields(shoal.Plan)}
    assert names == set(TAKEN) == {"time_limit"}.union(*TOGETHER)


def test_columns_are_grouped_apart_in_many_blocks(tmp_path):
    pq.write_table(many(), tmp_path / "in.parquet")
    parts, names = [["wage", "age"], ["work"]], ["wage", "age", "work"]
    plan = shoal.Plan(
        4,
        blocks=parts,
        strata=["town", "work"],
        merge_small_strata=True,
        top={"age": 70},
        missing="group",
        keep=["row", "grossing"],
        method="mdav_generic",
    )
    paths = tmp_path / "out", tmp_path / "in.parquet"
    outcome = disk.run(plan, *paths[::-1], block_records=150)
    assert outcome.blocks > 5
    assert [finding.passed for finding in shoal.check(paths[0], 4, plan=plan, blocks=parts)][:2] == [True] * 2
    merged = ["town", "work"]
    agreed = shoal.check.check_original(*paths, names, plan=plan, blocks=parts, merged=merged)
    assert agreed.faults == ()
    private = json.loads((tmp_path / "out.private.json").read_text())
    made = [BlockPlan.from_json(text) for text in private["block_plan"]]
    assert [one.names for one in made] == [("wage", "age"), ("work",)]
    assert outcome.plan_sha256 == sha256_of(made) != made[0].sha256()


def in_the_order_of_a_cluster(plan, path, spark, monkeypatch):
    """What a cluster will make of a table, and that table by the hashes of its records, which break ties."""
    from pyspark.sql import functions as F

    seen = []
    monkeypatch.setattr(cluster, "hashable", lambda df, *names: seen.append(df) or hashable(df, *names))
    made = cluster._protect(plan, spark.read.parquet(str(path)), None, None)
    hashed = seen[-1].select("id", F.xxhash64(*hashable(seen[-1])).alias("tie")).toArrow().sort_by("id")
    table = pq.read_table(path)
    assert hashed["id"].equals(table["id"])
    return made, table.take(np.argsort(hashed["tie"].to_numpy().view(np.uint64), kind="stable"))


@pytest.mark.parametrize(("engine", "options"), CASES, ids=str)
def test_one_block_on_every_engine_is_the_release_of_memory(
    engine, options, table, tmp_path, request, monkeypatch
):
    if "pseudonyms" in options:
        options = options | {"pseudonyms": str(tmp_path / "key")}
    plan = plan_of(options)
    if engine == "spark":
        made, ordered = in_the_order_of_a_cluster(plan, table, request.getfixturevalue("spark"), monkeypatch)
        pq.write_table(ordered, table := tmp_path / "in.parquet")
        outcome = shoal.spark.write(made, tmp_path / "out.parquet")
    else:
        outcome = disk.run(plan, table, tmp_path / "out.parquet")
    release = run(plan, table)
    release.write(tmp_path / "memory.parquet", keep=pq.read_schema(table).names)
    ours, theirs = (pq.read_table(tmp_path / name) for name in ("out.parquet", "memory.parquet"))
    if engine == "spark":  # which keeps no order, and has types of its own
        ours, theirs = ours.sort_by("id"), theirs.sort_by("id").cast(ours.schema)
    assert ours.schema.equals(theirs.schema)
    for name in ours.column_names:
        assert first_difference(ours[name], theirs[name]) is None, name
    ours, theirs = outcome.summary(), release.outcome.summary()
    for name in ("information_loss", "rounding_loss", "recoding_loss"):
        assert ours.pop(name) == pytest.approx(theirs.pop(name), rel=1e-12)
    for name in ("seconds", "engine", "plan_sha256", "notes"):
        ours.pop(name), theirs.pop(name)
    assert ours == theirs


def test_blocks_round_numbers_only(table, tmp_path):
    with pytest.raises(InputError, match="column 'born' is date: only numbers can be rounded"):
        disk.run(plan_of({"round": {"born": 1}}), table, tmp_path / "out.parquet")


def test_an_identifier_that_repeats_is_noted_on_disk_too(table, tmp_path):
    plan = plan_of({"roles": {"house": "identifier"}, "columns": ["rent"], "method": "mdav"})
    said = [note for note in run(plan, table).notes if "'house' repeats" in note]
    assert "groups hold fewer than k=4 of its values" in said[0]
    assert said[0] in disk.run(plan, table, tmp_path / "out.parquet").notes


def panel(units=90, years=3):
    """Records of units over years in random order: rent is one for each unit, wage another each year."""
    rng = np.random.default_rng(7)
    house = rng.permutation(np.repeat(np.arange(units), years))
    rent = rng.lognormal(6, 0.5, units)[house]
    wage = rng.lognormal(3, 0.6, units)[house] * rng.lognormal(0, 0.4, len(house))
    return pa.table(
        {"house": house, "rent": rent, "wage": wage, "flat": house * 0, "row": np.arange(len(house))}
    )


@pytest.mark.parametrize(
    "columns", [pytest.param(["rent", "wage"], marks=pytest.mark.no_cover), ["rent"], ["wage"], ["flat"]]
)
def test_no_unit_lies_in_two_blocks(columns, tmp_path, monkeypatch):
    units = 200 if columns == ["flat"] else 90
    table = panel(units)
    pq.write_table(table, tmp_path / "in.parquet", row_group_size=100)
    homes = []

    def spy(*facts, plain=disk.protect_block):
        homes.append(set(facts[6].tolist()))  # its units
        return plain(*facts)

    monkeypatch.setattr(disk, "protect_block", spy)
    others = [name for name in ("rent", "wage", "flat", "row") if name not in columns]
    k = 2 if columns == ["flat"] else 5  # all alike: dealt out by chance
    plan = shoal.Plan(k, columns=columns, unit="house", method="mdav", keep=others)
    outcome = disk.run(plan, tmp_path / "in.parquet", tmp_path / "out.parquet", block_records=50)
    assert outcome.blocks == len(homes) > 3
    assert sum(map(len, homes)) == len(set.union(*homes)) == units
    released = pq.read_table(tmp_path / "out.parquet").sort_by("row").to_pandas()
    released = released.assign(house=table["house"].to_numpy())
    assert released.groupby(columns)["house"].nunique().min() >= outcome.smallest_group >= k
    if "rent" in columns:
        assert (released.groupby("house")["rent"].nunique() == 1).all()
        assert released.groupby("rent")["house"].nunique().min() >= 5
    said = [note for note in outcome.notes if "published once for each" in note]
    assert said == [note for note in run(plan, tmp_path / "in.parquet").notes if note in said]
    assert len(said) == (columns != ["wage"])


def many(n=1500):
    rng = np.random.default_rng(8)
    town = np.array(["Rust", "Linz", "Graz", "Wels"])[np.minimum(rng.geometric(0.55, n) - 1, 3)]
    age = rng.integers(16, 90, n)
    return pa.table(
        {
            "wage": np.where(rng.random(n) < 0.1, np.nan, rng.lognormal(3, 0.6, n)),
            "age": age,
            "work": np.array(["a", "b", "c", "d", "e"])[np.minimum(age // 20, 4) - rng.integers(0, 2, n)],
            "town": town,
            "ill": np.array(["no", "yes"])[rng.integers(0, 2, n)],
            "grossing": rng.integers(0, 5, n) / 2,
            "row": np.arange(n),
        }
    )


def loss_of(original, released, weight):
    """Information lost, by its definition, in numbers and nominal columns."""
    total = lost = 0.0
    for name in ("wage", "age", "work"):
        old, new = original[name], released[name]
        there = old.notna().to_numpy()
        levels = sorted(old.dropna().unique()) if name == "work" else [None]
        one, other = (
            np.stack([(cells == level) if level is not None else cells for level in levels], 1).astype(float)
            for cells in (old[there].to_numpy(), new[there].to_numpy())
        )
        w = weight[there]
        scale = np.sqrt(one.var(axis=0, ddof=1).sum())
        centre = w @ one / w.sum()
        total += float((w @ np.square((one - centre) / scale)).sum())
        lost += float((w @ np.square((one - other) / scale)).sum())
    return 100 * lost / total


@pytest.mark.parametrize("weight", [None, "grossing"])
def test_strata_weights_categories_and_requirements_hold_in_many_blocks(weight, tmp_path):
    table = many()
    pq.write_table(table, tmp_path / "in.parquet", row_group_size=700)
    plan = shoal.Plan(
        4,
        columns=["wage", "age", "work"],
        strata="town",
        weight=weight,
        diversity={"ill": 2},
        missing="group",
        method="mdav_generic",
        keep=["row", *([] if weight else ["grossing"])],
    )
    outcome = disk.run(plan, tmp_path / "in.parquet", tmp_path / "out.parquet", block_records=150)
    assert outcome.blocks > 5
    original = table.to_pandas()
    released = pq.read_table(tmp_path / "out.parquet").sort_by("row").to_pandas()
    for name in ("town", "ill", "grossing"):
        assert released[name].tolist() == original[name].tolist()
    alike = released.groupby(["wage", "age", "work", "town"], dropna=False)
    assert alike.size().min() >= 4
    assert alike["ill"].nunique().min() >= 2
    weights = table[weight].to_numpy() if weight else np.ones(len(table))
    stated = outcome.information_loss + outcome.rounding_loss
    whole = released.assign(wage=released["wage"].where(original["wage"].notna()))
    if not (whole["wage"].isna() & original["wage"].notna()).any():
        assert stated == pytest.approx(loss_of(original, whole, weights), rel=1e-6)
    again = disk.run(plan, tmp_path / "in.parquet", tmp_path / "two.parquet", block_records=10**6)
    assert again.blocks == 1
    assert again.information_loss < outcome.information_loss


def standard(cells, levels=None):
    """A column as coordinates whose variance is 1 in all; nominal levels are one each."""
    points = cells[:, None].astype(float) if levels is None else (cells[:, None] == levels).astype(float)
    return (points - points.mean(axis=0)) / np.sqrt(points.var(axis=0, ddof=1).sum())


def test_recoded_columns_are_measured_by_the_whole_table_in_many_blocks(tmp_path):
    """100 * SSE / SST of what the columns were; a joined level lies amid the records that have it."""
    table = many().drop_columns(["grossing"])
    pq.write_table(table, tmp_path / "in.parquet", row_group_size=400)
    plan = shoal.Plan(
        4,
        columns=["age", "work"],
        top={"age": "q0.8"},
        bottom={"age": 20, "row": "q0.3"},
        regroup={"work": {"f": ["a", "b"]}, "town": {"rare": 400}},
        round={"wage": 1},
        types={"row": "integer"},
        keep=["row"],
        method="mdav_generic",
    )
    paths = tmp_path / "in.parquet", tmp_path / "out.parquet"
    outcome = disk.run(plan, *paths, block_records=150, batch_records=333)
    assert outcome.blocks > 5
    assert outcome.recoded == ("wage", "town", "row")
    assert shoal.check(paths[1], 4, ["age", "work"], plan=plan)[0].passed
    assert shoal.check.check_original(paths[1], paths[0], ["age", "work"], plan=plan).passed
    whole = run(plan, paths[0]).outcome
    assert dict(outcome.recoding_loss) == pytest.approx(dict(whole.recoding_loss))
    order = file_order(table, plan, ["age", "work"])
    was, now = table.take(order).to_pandas(), pq.read_table(paths[1]).to_pandas()
    age, work = standard(was["age"].to_numpy()), standard(was["work"].to_numpy(), np.unique(was["work"]))
    spread = was["age"].std()
    lost = np.square((now["age"] - was["age"]) / spread).sum()
    recoded = np.where(np.isin(was["work"], ["a", "b"]), "f", was["work"])
    places = {level: work[recoded == level].mean(axis=0) for level in np.unique(recoded)}
    lost += np.square(np.stack([places[level] for level in now["work"]]) - work).sum()
    total = np.square(age).sum() + np.square(work).sum()
    assert outcome.information_loss + outcome.rounding_loss == pytest.approx(100 * lost / total)


def stepped(key):
    """A plan with every step, in which k counts units."""
    return {
        "k": 3,
        "columns": ["wage", "rent"],
        "unit": ["house"],
        "pseudonyms": str(key),
        "top": {"wage": "q0.9"},
        "bottom": {"wage": "q0.2"},
        "regroup": {"shop": {"rare": 24}},
        "round": {"pay": 1},
        "decimals": True,
        "method": "mdav",
        "keep": ["row", "flat", "shop", "pay"],
    }


def panel_with_shops():
    shops = np.random.default_rng(11).integers(0, 9, 270) ** 2 // 16
    table = panel().append_column("shop", pa.array([f"s{shop}" for shop in shops]))
    return table.append_column("pay", pa.array(np.random.default_rng(12).lognormal(3, 1, 270)))


def test_units_keep_their_numbers_and_tails_and_levels_count_them_in_many_blocks(tmp_path):
    pq.write_table(panel_with_shops(), tmp_path / "in.parquet")
    plan = shoal.Plan(**stepped(tmp_path / "key"))
    paths = tmp_path / "in.parquet", tmp_path / "out.parquet"
    outcome = disk.run(plan, *paths, block_records=50, batch_records=70)
    assert outcome.blocks > 3
    assert shoal.check.check_original(paths[1], paths[0], ["wage", "rent"], plan=plan).passed
    release = run(plan, paths[0])
    release.write(tmp_path / "memory.parquet")
    ours, theirs = (pq.read_table(tmp_path / f"{name}.parquet") for name in ("out", "memory"))
    for name in ("house", "shop", "row", "pay"):
        assert ours[name].equals(theirs[name])
    about = ("'wage' ", "'shop'", "units are published", "lie in groups that")
    for note in release.notes:
        if any(words in note for words in about[:3]):
            assert note in outcome.notes
    assert sum(about[3] in note for note in outcome.notes) == 1


def test_units_with_one_number_or_none_are_refused_on_disk(tmp_path):
    (tmp_path / "key").write_text("ab" * 32)
    (tmp_path / "key").chmod(0o600)
    plan = shoal.Plan(
        **stepped(tmp_path / "key") | {"columns": ["wage"], "keep": ["row", "rent", "flat", "pay"]}
    )
    houses = [7151502, *range(268), 36054232]  # the first and the last have one number under this key
    pq.write_table(panel_with_shops().set_column(0, "house", pa.array(houses)), tmp_path / "in.parquet")
    with pytest.raises(InputError, match="two units have one number"):
        disk.run(plan, tmp_path / "in.parquet", tmp_path / "out.parquet", batch_records=5)
    house = pa.array([None, *range(269)])
    pq.write_table(panel_with_shops().set_column(0, "house", house), tmp_path / "in.parquet")
    with pytest.raises(InputError, match="column 'house' has a gap in row 1, but every record needs"):
        disk.run(plan, tmp_path / "in.parquet", tmp_path / "out.parquet")


def test_levels_that_came_meanwhile_are_told(tmp_path):
    plan = shoal.Plan(3, columns=["age"], regroup={"town": {"rare": 2}})
    table = pa.table({"age": [1.0, 2, 3], "town": ["a", "a", "b"]})
    asked = columns_to_protect(plan, table.schema)
    recoding, *_ = find(plan, asked, lambda names, found: [found([(0, table.select(names))])], 3)
    assert recoding.apply(table)["town"].to_pylist() == ["other"] * 3
    with pytest.raises(CheckFailed, match="column 'town' has changed meanwhile"):
        recoding.apply(table.set_column(1, "town", pa.array(["a", "c", "b"])))


@pytest.mark.parametrize("word", ["q0.001", "q0.2", "q0.5", "q0.77", "q0.999"])
def test_a_share_of_the_values_is_found_in_batches_as_in_the_whole(word):
    rng = np.random.default_rng(1)
    values = np.concatenate([rng.normal(size=331), np.zeros(40), rng.integers(-3, 3, 60)])
    parts = [Outermost(word, 500) for _ in range(3)]  # 69 are gaps
    for j, piece in enumerate(np.array_split(values, 9)):
        parts[j % 3].add(piece, len(piece))
    parts[0].merge(parts[1])
    parts[0].merge(parts[2])
    column = Column("x", "continuous", values)
    place = int(np.ceil(round(float(word[1:]) * len(values), 9))) - 1
    assert parts[0].value(column) == np.sort(values)[place]
    assert len(parts[0].held) <= 0.5 * 500 + 1


@pytest.mark.parametrize("scaling", ["robust", "range", "rank", "none"])
def test_blocks_are_scaled_as_the_whole_table_is(scaling, tmp_path):
    """Ranks and quartiles are those of a sample, here of all records; a block's own would be others."""
    rng = np.random.default_rng(9)
    table = pa.table({"a": rng.lognormal(0, 2, 2000), "b": rng.integers(0, 50, 2000)})
    pq.write_table(table, tmp_path / "in.parquet")
    plan = shoal.Plan(5, columns=["a", "b"], scaling=scaling, log=["a"], order="keep", method="mdav")
    columns = [
        Column("a", "continuous", table["a"].to_numpy()),
        Column("b", "integer", table["b"].to_numpy()),
    ]
    facts = [Moments.of(column.values) for column in columns]
    stored = columns_to_protect(plan, table.schema).chosen
    blocks = BlockPlan.from_json(make_plan(plan, stored, facts, table, 300).json())
    space = encode(columns)
    half = [column.at(np.arange(0, 2000, 2)) for column in columns]
    measured = encode(half, scales=blocks.scales)
    whole, part = (
        grouping_matrix(plan, those, made, scales)
        for those, made, scales in ((columns, space, None), (half, measured, blocks.scales))
    )
    np.testing.assert_allclose(measured.matrix, space.matrix[::2], atol=1e-9)
    np.testing.assert_allclose(part, whole[::2], atol=2e-3 if scaling == "rank" else 1e-9)
    outcome = disk.run(plan, tmp_path / "in.parquet", tmp_path / "out.parquet", block_records=300)
    assert outcome.blocks > 4
    assert (
        pq.read_table(tmp_path / "out.parquet")
        .group_by(["a", "b"])
        .aggregate([([], "count_all")])["count_all"]
        .to_numpy()
        .min()
        >= 5
    )


def test_a_stratum_short_of_k_is_told_on_disk(tmp_path):
    table = many(500)
    town = ["Rust" if i < 3 else town for i, town in enumerate(table["town"].to_pylist())]
    town = ["Linz" if i >= 3 and name == "Rust" else name for i, name in enumerate(town)]
    pq.write_table(table.set_column(3, "town", pa.array(town)), tmp_path / "in.parquet")
    plan = shoal.Plan(4, columns=["age"], strata="town", keep=["row", "wage", "work", "ill", "grossing"])
    with pytest.raises(InputError, match="k=4 needs at least 4 records, but stratum 'Rust' has 3: merge"):
        disk.run(plan, tmp_path / "in.parquet", tmp_path / "out.parquet", block_records=100)
    assert not (tmp_path / "out.parquet").exists()


@pytest.mark.parametrize(
    ("weights", "sentence"),
    [
        (np.r_[np.ones(40), -1, np.ones(9)], "'w' has a negative weight in row 41"),
        (np.zeros(50), "all weights in column 'w' are 0"),
    ],
)
def test_weights_that_are_none_are_told_on_disk(weights, sentence, tmp_path):
    pq.write_table(pa.table({"w": weights, "v": np.arange(50.0)}), tmp_path / "in.parquet")
    plan = shoal.Plan(4, columns=["v"], weight="w")
    with pytest.raises(InputError, match=sentence):
        disk.run(plan, tmp_path / "in.parquet", tmp_path / "out.parquet", batch_records=16)


def test_numbers_spelled_as_text_are_no_category(tmp_path):
    pq.write_table(pa.table({"v": ["1", "2"] * 20, "x": np.arange(40.0)}), tmp_path / "in.parquet")
    with pytest.raises(InputError, match="'v'"):
        disk.run(shoal.Plan(4, columns=["v", "x"]), tmp_path / "in.parquet", tmp_path / "out.parquet")


def test_units_too_few_for_k_are_told_on_disk_too(tmp_path):
    pq.write_table(panel(4), tmp_path / "in.parquet")
    plan = shoal.Plan(5, columns=["wage"], unit="house", keep=["rent", "flat", "row"])
    with pytest.raises(InputError, match="k=5 needs at least 5 units, but the table has 4"):
        disk.run(plan, tmp_path / "in.parquet", tmp_path / "out.parquet")


def late(n=60_000, harmless=20_000):
    """The first rows look harmless: later ones have codes for gaps, own names, and a telling column.

    Any sample of the whole shows it: the telling column gives back two thirds, where half would do.
    """
    rng = np.random.default_rng(2)
    after = np.arange(n) >= harmless
    wage = np.round(rng.lognormal(7, 0.5, n), -1)
    return pa.table(
        {
            "wage": np.where(after & (rng.random(n) < 0.02), 999_999, wage),
            "tag": [f"t{i}" if late else None for i, late in enumerate(after)],
            "log": pa.array(np.log(wage), mask=~after),
        }
    )


def test_what_later_rows_give_away_is_seen_on_disk(tmp_path):
    pq.write_table(late(), tmp_path / "in.parquet")
    paths = tmp_path / "in.parquet", tmp_path / "out.parquet"
    for keep, reason in (["log"], "'tag' looks like an identifier"), (["tag"], "'log' gives back 'wage'"):
        with pytest.raises(InputError, match=reason):
            disk.run(shoal.Plan(5, columns=["wage"], keep=keep), *paths, batch_records=1000)
    assert not (tmp_path / "out.parquet").exists()
    plan = shoal.Plan(5, columns=["wage"], keep=["tag", "log"])
    outcome = disk.run(plan, *paths, batch_records=1000)
    assert any("999999" in note for note in outcome.notes)


def test_what_the_order_of_rows_gives_away_is_noted_on_disk(tmp_path):
    pq.write_table(panel().sort_by("wage"), tmp_path / "in.parquet")
    plan = shoal.Plan(5, columns=["wage", "rent"], order="keep", method="mdav", keep=["house", "row", "flat"])
    said = [note for note in run(plan, tmp_path / "in.parquet").notes if "rows keep their order" in note]
    assert "by 'wage' finds" in said[0]
    assert said[0] in disk.run(plan, tmp_path / "in.parquet", tmp_path / "out.parquet").notes
    several = disk.run(plan, tmp_path / "in.parquet", tmp_path / "two.parquet", block_records=100)
    assert any("of the" in note and "records of one block" in note for note in several.notes)


def test_one_whole_number_column_is_grouped_by_the_same_method_everywhere(table, tmp_path):
    plan = plan_of({"columns": ["age"], "method": "auto"})
    assert run(plan, table).outcome.used == ("univariate_integer",)
    several = disk.run(plan, table, tmp_path / "several.parquet", block_records=100)
    assert several.blocks > 1
    assert several.used == ("univariate_integer",)


@pytest.mark.parametrize(
    "asked",
    [
        {"closeness": {"holes": 0.3}},
        {"closeness": {"town": 0.4}},
        {"closeness": {"town": "delta:1"}},
        {"spread": {"rent": 0.3}},
        {"spread": {"rent": "rel:0.2"}},
    ],
    ids=str,
)
def test_groups_of_many_blocks_are_compared_with_the_whole_table(asked, table, tmp_path):
    plan = shoal.Plan(4, columns=["age", "born"], keep=KEPT, method="mdav", **asked)
    outcome = disk.run(plan, table, tmp_path / "out.parquet", block_records=60)
    assert outcome.blocks > 2
    out = pq.read_table(tmp_path / "out.parquet")
    groups = groups_of([out["age"], out["born"]])
    (found,) = held_by(plan, Frame(out), [["age", "born"]], [groups])
    assert found.passed
    (told,) = outcome.requirements
    assert told["reached"] == pytest.approx(found.reached)
    assert (told["groups"], told["failing_groups"]) == (outcome.groups, 0)
    (tmp_path / "plan.toml").write_text(plan.toml())
    done = CliRunner().invoke(
        app, ["check", str(tmp_path / "out.parquet"), "--plan", str(tmp_path / "plan.toml")]
    )
    assert done.exit_code == 0, done.output


def unlike(x):
    """Values of a column that is not the same all over x: only its last quarter has no flu."""
    return np.where(x % 3 == 0, "flu", np.where(x < 150, "cough", "cold"))


def test_blocks_that_are_unlike_the_whole_table_are_told_before_any_is_grouped(tmp_path, monkeypatch):
    x = np.arange(200.0)
    pq.write_table(pa.table({"x": x, "ill": unlike(x)}), tmp_path / "in.parquet")
    plan = shoal.Plan(4, columns=["x"], closeness={"ill": 0.1}, method="mdav")

    def run(plan):
        return disk.run(plan, tmp_path / "in.parquet", tmp_path / "out.parquet", block_records=50)

    with monkeypatch.context() as patched:
        patched.setattr("shoal.engines.disk.engine.protect_block", None)
        with pytest.raises(InputError, match="a block of") as refused:
            run(plan)
    assert not (tmp_path / "out.parquet").exists()
    nearest = float(re.search(r"the nearest that can be had is closeness (\S+)$", str(refused.value))[1])
    assert nearest == pytest.approx(0.5, abs=0.02)  # of the last block, farthest from the whole table
    assert run(replace(plan, closeness={"ill": nearest})).blocks > 2


@pytest.mark.parametrize("asked", [{"diversity": {"ill": 3}}, {"spread": {"x": 0.6}}], ids=str)
def test_what_a_stratum_of_a_block_cannot_hold_is_told_before_any_is_grouped(asked, tmp_path, monkeypatch):
    x = np.arange(200.0)
    table = pa.table({"x": x, "ill": unlike(x), "half": np.where(x % 2, "odd", "even")})
    pq.write_table(table, tmp_path / "in.parquet")
    plan = shoal.Plan(4, columns=["x"], strata=["half"], method="mdav", **asked)
    monkeypatch.setattr("shoal.engines.disk.engine.protect_block", None)
    with pytest.raises(InputError, match=r"of .* records cannot have .* in each group: the nearest that can"):
        disk.run(plan, tmp_path / "in.parquet", tmp_path / "out.parquet", block_records=30)


def test_too_many_different_numbers_are_refused():
    seen, numbers = Distinct(), np.arange(1.0, MOST_DISTINCT + 2)
    seen.add(Column("wage", "continuous", numbers[:-1], numbers[:-1] > MOST_DISTINCT))
    with pytest.raises(InputError, match=r"column 'wage' has more than .* different numbers"):
        seen.add(Column("wage", "continuous", numbers[-2:]))


def test_a_number_that_the_whole_table_had_not_is_told():
    rule, whole = read_rule("closeness", "x", 0.3), Whole(np.array([1.0, 2.0]), np.array([3, 3, 0]))
    with pytest.raises(CheckFailed, match="column 'x' has changed meanwhile"):
        Closeness.of(rule, Column("x", "continuous", np.array([1.0, 9.0]), whole=whole))
