"""What an intruder finds in a published file: as it was in the first edition, and as it is written now.

    python -m benchmarks.intruder [--seeds 20] [--k 5] [--tables tarragona eia adult household survey]

Every attack is run on files as they are written. "before" asks for what the first edition did (rows in their
order, k counts rows, one contributor is enough, no question about kept columns); "now" is the default. For
attacks whose success is a share of records, 1/k is what guessing inside a group finds; the mean over the
seeds must stay below 1/k + 2 points for what is promised. Each seed gives another order of rows; of the ranks
by each column, upwards and downwards, the most telling counts. Where "before" cannot be asked for any more,
it is what 0.1 did.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

import shoal
from benchmarks import _common
from shoal import pipeline
from shoal.errors import InputError

#: table -> protected columns (None: every number), unit, weight, identifiers
TABLES: dict[str, dict[str, Any]] = {
    "tarragona": {},
    "eia": {"unit": "UTILITYID", "dropped": ["UTILNAME"], "only": ("REVENUE", "SALES")},
    "adult": {"columns": ["age", "fnlwgt", "education-num", "hours-per-week"]},
    "household": {
        "columns": ["age", "expend", "income", "savings"],
        "unit": "ori_hid",
        "weight": "sampling_weight",
    },
    "survey": {},
}
BEFORE = {"order": "keep", "contributors": 1, "contributor_share": 1.0}


def load(name: str) -> pd.DataFrame:
    if name == "survey":
        return shoal.datasets.survey(1000).to_pandas()
    return pd.read_csv(_common.DATA / f"{name}.csv").head(6000)


def columns_of(table: pd.DataFrame, about: Mapping[str, Any]) -> list[str]:
    if "columns" in about:
        return [name for name in about["columns"] if name in table]
    numbers = [n for n in table.columns if pd.api.types.is_numeric_dtype(table[n]) and n != about.get("unit")]
    return [n for n in numbers if n.endswith(about["only"])] if "only" in about else numbers


def made(table: pd.DataFrame, about: Mapping[str, Any], k: int, seed: int, **options: Any) -> Any:
    columns = columns_of(table, about)
    roles = dict.fromkeys(about.get("dropped", ()), "identifier")
    if "unit" in about and "unit" not in options:
        roles[about["unit"]] = "identifier"
    plan = shoal.Plan(k, columns=columns, roles=roles, seed=seed, method="mdav", **options)
    release = pipeline.run(plan, table)
    return release, columns


def written(release: Any, folder: str) -> pd.DataFrame:
    """The file as another library reads it."""
    path = Path(folder) / "out.parquet"
    release.write(path, keep=release.outcome.kept)
    return pq.read_table(path).to_pandas()


def by_order(table: pd.DataFrame, release: Any, file: pd.DataFrame, columns: list[str]) -> np.ndarray:
    """For each column and direction, the share of records found by their rank within their group.

    The intruder takes the j-th row of a group in the file for the j-th of its records by that column.
    """
    groups = combinations(file, columns)
    place = pd.Series(groups).groupby(groups).cumcount().to_numpy()
    sizes = np.bincount(groups)[groups]
    found = []
    order = release_order(release, table)
    for name in columns:
        true = table[name].to_numpy(float)[order]
        ties = np.random.default_rng(0).random(len(true))  # equal values are told apart by chance
        rank = np.empty(len(true), np.int64)
        ranked = np.lexsort((ties, true, groups))
        rank[ranked] = np.arange(len(true)) - np.repeat(
            np.cumsum(np.bincount(groups)) - np.bincount(groups), np.bincount(groups)
        )
        found += [np.mean(rank == place), np.mean(sizes - 1 - rank == place)]
    return np.array(found)


def release_order(release: Any, table: pd.DataFrame) -> np.ndarray:
    """Which record each row of the file truly is: the owner's key, used here to judge the intruder."""
    from shoal.frame.order import file_order
    from shoal.io.files import as_arrow

    order = file_order(as_arrow(table), release.plan, release.columns)
    return np.arange(len(table)) if order is None else order


def by_distance(table: pd.DataFrame, file: pd.DataFrame, release: Any, columns: list[str]) -> float:
    """Record linkage: who knows all true values takes a row of the nearest combination."""
    from scipy.spatial import cKDTree

    order = release_order(release, table)
    X = table[columns].fillna(table[columns].mean()).to_numpy(float)
    scale = X.std(axis=0)
    scale[scale == 0] = 1
    Y = file[columns].fillna(table[columns].mean()).to_numpy(float)
    points, groups, sizes = np.unique(Y, axis=0, return_inverse=True, return_counts=True)
    nearest = cKDTree(points / scale).query(X / scale)[1]
    own = np.empty(len(X), np.int64)
    own[order] = groups.ravel()
    return float(np.mean((nearest == own) / sizes[nearest]))


def combinations(table: pd.DataFrame, columns: list[str]) -> np.ndarray:
    """The number of each row's published combination; a gap is a value."""
    return table[columns].fillna(-1e300).groupby(columns, sort=False).ngroup().to_numpy()


def by_unit(table: pd.DataFrame, release: Any, unit: str, columns: list[str]) -> float:
    """Who has found the combination guesses among the units that share it."""
    pairs = pd.DataFrame({"group": combinations(release.table, columns), "unit": table[unit].to_numpy()})
    return float((1 / pairs.groupby("group")["unit"].transform("nunique")).mean())


def by_two(orders: list[np.ndarray], groups: list[np.ndarray]) -> float:
    """Two releases of the same data: who knows a record's combination in both takes a row that has both.

    `groups` are the combinations of the records, `orders` the record of each row of the two files. Rows of
    one place are taken for one record; where no place has both combinations, the first file alone is used.
    """
    first, second = (own[order] for own, order in zip(groups, orders))
    here = pd.DataFrame({"pair": first * (second.max() + 1) + second, "first": first, "record": orders[0]})
    known = pd.Series(groups[0] * (second.max() + 1) + groups[1])
    places = known.map(here["pair"].value_counts()).fillna(0).to_numpy()
    own = np.empty(len(known), np.int64)
    own[orders[0]] = here["pair"].to_numpy()
    alone = 1 / pd.Series(groups[0]).map(pd.Series(groups[0]).value_counts()).to_numpy()
    return float(np.mean(np.where(places > 0, (own == known) / np.maximum(places, 1), alone)))


def alone(table: pd.DataFrame, release: Any, columns: list[str], weight: str | None) -> int:
    """Published cells that are one record's own value: the others of its group have none, or no weight."""
    count = 0
    w = np.ones(len(table)) if weight is None else table[weight].to_numpy(float)
    for name in columns:
        has = table[name].notna().to_numpy() & (w > 0)
        groups = pd.Series(np.asarray(release.labels)[has])
        published = pd.notna(release.table[name]).to_numpy()[has]
        sizes = groups.map(groups.value_counts())
        count += int(groups[(sizes == 1).to_numpy() & published].nunique())
    return count


def with_gaps(table: pd.DataFrame, columns: list[str], share: float = 0.6) -> pd.DataFrame:
    rng, holey = np.random.default_rng(0), table.copy()
    for name in columns:
        holey[name] = holey[name].astype(float).mask(rng.random(len(holey)) < share)
    return holey


def shares(name: str, k: int, seeds: int) -> list[dict[str, Any]]:
    """The attacks whose success is a share of records."""
    table, about = load(name), TABLES[name]
    found: dict[str, dict[str, list[Any]]] = {}

    def tried(attack: str, when: str, success: Any) -> None:
        found.setdefault(attack, {}).setdefault(when, []).append(success)

    by_value = table.sort_values(columns_of(table, about)[0], kind="stable", ignore_index=True)
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(seeds):
            for when, options in (("before", BEFORE), ("now", {})):
                release, columns = made(table, about, k, seed, **options)
                file = written(release, folder)
                tried("row order, as supplied", when, by_order(table, release, file, columns))
                tried("linkage", when, by_distance(table, file, release, columns))
                other = made(table, about, k + 1, seed, **options)[0]
                groups = [combinations(r.table, columns) for r in (release, other)]
                orders = [release_order(r, table) for r in (release, other)]
                tried(f"two releases, k = {k} and {k + 1}", when, by_two(orders, groups))
                if when == "now":
                    linked = by_two([np.arange(len(table))] * 2, groups)
                    tried("two releases, if a kept column links their rows", "now", linked)
                release = made(by_value, about, k, seed, **options)[0]
                file = written(release, folder)
                tried(f"row order, sorted by {columns[0]}", when, by_order(by_value, release, file, columns))
                if "unit" in about:
                    who = {"unit": about["unit"]} if when == "now" else options
                    release = made(table, about, k, seed, **who)[0]
                    tried("units", when, by_unit(table, release, about["unit"], columns))
    rows = []
    for attack, by_time in found.items():
        means = {when: np.max(np.mean(values, axis=0)) for when, values in by_time.items()}
        promised = "before" in by_time
        held = "yes" if means["now"] <= 1 / k + 0.02 else "NO" if promised else "not promised"
        shown = {when: f"{100 * means[when]:.1f} %" if when in means else "" for when in ("before", "now")}
        rows.append({"table": name, "attack": attack, "1/k": f"{100 / k:.1f} %", **shown, "held": held})
    return rows


def facts(name: str, k: int) -> list[dict[str, Any]]:
    """The attacks that find single facts; how many they find."""
    table, about = load(name), TABLES[name]
    columns, rows = columns_of(table, about), []

    def row(attack: str, before: Any, now: Any) -> None:
        rows.append({"table": name, "attack": attack, "before": before, "now": now})

    holey, weight = with_gaps(table, columns), about.get("weight")
    by_time = {}
    for when, options in (("before", BEFORE), ("now", {})):
        release, _ = made(holey, about, k, 0, missing="impute", **options)
        by_time[when] = alone(holey, release, columns, None)
    row("gaps: cells of one record", by_time["before"], by_time["now"])
    if weight:
        light = table.assign(**{weight: np.where(np.arange(len(table)) % 4, 0, table[weight])})
        by_time = {}
        for when, options in (("before", BEFORE), ("now", {})):
            release, _ = made(light, about, k, 0, weight=weight, **options)
            by_time[when] = alone(light, release, columns, weight)
        row("weights: cells of one record", by_time["before"], by_time["now"])
    twin = table.assign(twin=np.log1p(table[columns[0]].abs()))
    plan = shoal.Plan(
        k, columns=columns, roles=dict.fromkeys(about.get("dropped", ()), "identifier"), method="mdav"
    )
    try:
        pipeline.run(plan, twin).write("/dev/null/never.csv")
        said = "published"
    except InputError as error:
        said = "refused" if "twin" in str(error) else "other columns refused first"
    row(f"kept column: log of {columns[0]}", "published", said)
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder) / "in.parquet", Path(folder) / "out"
        rng = np.random.default_rng(0)
        numbers = table[columns].astype(float) * (1 + rng.random((len(table), len(columns))) / 1e6)
        numbers.to_parquet(source)  # cells of many digits: whoever holds one knows whose it is
        shoal.protect_files(source, target, k, columns=columns, method="mdav")
        cells = {repr(value) for value in numbers.to_numpy().ravel().tolist() if value % 1 and value == value}
        held = [
            sum(cell in text for cell in cells)
            for text in (Path(f"{target}.private.json").read_text(), (target / "_manifest.json").read_text())
        ]
        row("manifest: cells of records in it (before: now in the private file)", *held)
        levels = pd.Categorical(["a"] * len(table), categories=["a", "Jane Doe"])
        release = pipeline.run(shoal.Plan(k, columns=columns, method="mdav"), numbers.assign(who=levels))
        release.write(Path(folder) / "levels.parquet", keep=["who"])
        told = b"Jane Doe" in (Path(folder) / "levels.parquet").read_bytes()
        row("levels that no row has (before: 0.1)", 1, int(told))
        stamped = pa.Table.from_pandas(numbers).replace_schema_metadata({"author": "Jane Doe"})
        pq.write_table(stamped, source)
        release = pipeline.run(shoal.Plan(k, columns=columns, method="mdav"), source)
        release.write(Path(folder) / "stamped.parquet")
        told = b"Jane Doe" in (Path(folder) / "stamped.parquet").read_bytes()
        row("metadata of the input (before: 0.1)", 1, int(told))
    one_more = pd.concat([numbers, numbers.iloc[[0]] * 3], ignore_index=True)
    totals = [
        pipeline.run(shoal.Plan(k, columns=columns, method="mdav"), t).table.sum()
        for t in (numbers, one_more)
    ]
    same = np.allclose(totals[1] - totals[0], one_more.iloc[-1], rtol=1e-6, atol=1e-9 * totals[0].abs().max())
    row(
        "one record added: its values from two totals",
        "found",
        "found (not promised)" if same else "not found",
    )
    return rows


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    words.add_argument("--seeds", type=int, default=20)
    words.add_argument("--k", type=int, default=5)
    words.add_argument("--tables", nargs="+", default=list(TABLES))
    asked = words.parse_args()
    print(_common.header())
    tables = [name for name in asked.tables if name == "survey" or (_common.DATA / f"{name}.csv").exists()]
    found = [row for name in tables for row in shares(name, asked.k, asked.seeds)]
    print(f"\nRecords found, mean over {asked.seeds} seeds, k = {asked.k}\n\n{_common.table(found)}")
    told = [row for name in tables for row in facts(name, asked.k)]
    print(f"\nFacts found\n\n{_common.table(told)}")
    _common.save("intruder", {"shares": found, "facts": told})
    if any(row["held"] == "NO" for row in found):
        raise SystemExit("an attack finds more than 1/k + 2 points")


if __name__ == "__main__":
    main()
