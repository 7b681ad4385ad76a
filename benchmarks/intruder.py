"""What an intruder finds in a published file: as it was in the first edition, and as it is written now.

    python -m benchmarks.intruder [--seeds 20] [--k 5] [--tables tarragona eia adult household survey]

Every attack is run on files as they are written. "before" asks for what the first edition did (rows in their
order, k counts rows, one contributor is enough, no question about kept columns); "now" is the default. For
attacks whose success is a share of records, 1/k is what guessing inside a group finds; the mean over the
seeds must stay below 1/k + 2 points for what is promised.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
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
    groups = file[columns].fillna(-1e300).groupby(columns, sort=False).ngroup().to_numpy()
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


def by_unit(table: pd.DataFrame, release: Any, unit: str) -> float:
    """Who knows all records of a unit but one guesses among the units of its group."""
    pairs = pd.DataFrame({"group": np.asarray(release.labels), "unit": table[unit].to_numpy()})
    return float((1 / pairs.groupby("group")["unit"].transform("nunique")).mean())


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
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(seeds):
            mixed = table.sample(frac=1, random_state=seed) if seed else table  # seed 0: as supplied
            mixed = mixed.reset_index(drop=True)
            for when, options in (("before", BEFORE), ("now", {})):
                release, columns = made(mixed if when == "now" else table, about, k, seed, **options)
                source = mixed if when == "now" else table
                file = written(release, folder)
                found.setdefault("row order", {}).setdefault(when, []).append(
                    by_order(source, release, file, columns)
                )
                near = by_distance(source, file, release, columns)
                found.setdefault("linkage", {}).setdefault(when, []).append(near)
                if "unit" in about:
                    unit = (
                        {"unit": about["unit"], **({} if when == "now" else options)}
                        if when == "now"
                        else options
                    )
                    release = made(source, about, k, seed, **unit)[0]
                    units = by_unit(source, release, about["unit"])
                    found.setdefault("units", {}).setdefault(when, []).append(units)
    rows = []
    for attack, by_time in found.items():
        means = {when: np.max(np.mean(values, axis=0)) for when, values in by_time.items()}
        rows.append(
            {
                "table": name,
                "attack": attack,
                "1/k": f"{100 / k:.1f} %",
                "before": f"{100 * means['before']:.1f} %",
                "now": f"{100 * means['now']:.1f} %",
                "held": "yes" if means["now"] <= 1 / k + 0.02 else "NO",
            }
        )
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
        numbers = table[columns].astype(float)
        numbers.to_parquet(source)
        shoal.protect_files(source, target, k, columns=columns, method="mdav")
        public = (target / "_manifest.json").read_text()
        cells = {
            repr(value) for value in np.unique(numbers.to_numpy()[~np.isnan(numbers.to_numpy())]) if value % 1
        }
        row("manifest: cells of records in it", "cuts, minima, means", sum(cell in public for cell in cells))
        levels = pd.Categorical(["a"] * len(table), categories=["a", "Jane Doe"])
        release = pipeline.run(shoal.Plan(k, columns=columns, method="mdav"), numbers.assign(who=levels))
        release.write(Path(folder) / "levels.parquet", keep=["who"])
        told = b"Jane Doe" in (Path(folder) / "levels.parquet").read_bytes()
        row("levels that no row has", 1, int(told))
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
    if any(row["held"] != "yes" for row in found):
        raise SystemExit("an attack finds more than 1/k + 2 points")


if __name__ == "__main__":
    main()
