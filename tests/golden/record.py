"""Carry out the golden cases, and record or compare what they publish.

    python -m tests.golden.record --write            writes golden.json, which test_golden.py holds us to
    python -m tests.golden.record --hashes OUT.json  writes fingerprints, exact to the last byte
    python -m tests.golden.record --compare OUT.json does it again and lists every difference

Fingerprints are for one machine and one set of packages; golden.json is for all.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import hashlib
import json
import math
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import shoal
import shoal.pipeline
from tests.golden.plans import CASES, TABLES, Case

GOLDEN = Path(__file__).with_name("golden.json")
DIGITS = 12
#: Formats whose files hold the time of writing: what they hold is hashed, not their bytes.
DATED = ("xlsx", "sav", "dta")


@dataclass(frozen=True)
class Outcome:
    """What a case published: `columns` has for each column its type and its cells, `files` where it wrote."""

    labels: list[list[int]]  # one list for each part that was grouped on its own
    columns: dict[str, tuple[str, list[Any]]]
    loss: float | None
    files: dict[str, Path]


def carry_out(case: Case, folder: Path, write: bool = True) -> Outcome:
    """Make the table, protect it as the case says, and write it in all its formats if asked."""
    table = TABLES[case.table](case.records, case.seed)
    table = table.select(case.only) if case.only else table
    return HOW[case.how](case, GIVEN[case.given](case, table, folder), folder, write)


# How a table is given.


def _pandas(case: Case, table: pa.Table, folder: Path) -> Any:
    return table.to_pandas()


def _pandas_nullable(case: Case, table: pa.Table, folder: Path) -> Any:
    import pandas as pd

    own = {pa.int16(): pd.Int16Dtype(), pa.int32(): pd.Int32Dtype(), pa.bool_(): pd.BooleanDtype()}
    return table.to_pandas(types_mapper=own.get)


def _polars(case: Case, table: pa.Table, folder: Path) -> Any:
    import polars as pl

    return pl.from_arrow(table)


def _numpy(case: Case, table: pa.Table, folder: Path) -> Any:
    return np.column_stack([table[name].to_numpy() for name in table.column_names])


def _vector(case: Case, table: pa.Table, folder: Path) -> Any:
    return table[0].to_numpy()


def _text(case: Case, table: pa.Table, folder: Path) -> Path:
    """A file of text, written by Python and not by shoal."""
    path = folder / f"source.{case.given}"
    facts = {"delimiter": "\t" if case.given == "tsv" else ",", "decimal": ".", "gap": "", "eol": "\n"}
    facts |= {"encoding": "utf-8", **case.options}

    def text(cell: Any) -> str:
        shown = facts["gap"] if cell is None else str(cell)
        return shown.replace(".", facts["decimal"]) if isinstance(cell, float) else shown

    opened = gzip.open if case.given.endswith("gz") else open
    with opened(path, "wt", encoding=facts["encoding"], newline="") as file:
        writer = csv.writer(file, delimiter=facts["delimiter"], lineterminator=facts["eol"])
        writer.writerow(table.column_names)
        writer.writerows([text(cell) for cell in row.values()] for row in table.to_pylist())
    return path


def _parquet(case: Case, table: pa.Table, folder: Path) -> Path:
    import pyarrow.parquet as pq

    pq.write_table(table, folder / "source.parquet")
    return folder / "source.parquet"


def _parquet_folder(case: Case, table: pa.Table, folder: Path) -> Path:
    """Three files of different sizes."""
    import pyarrow.parquet as pq

    source = folder / "source"
    source.mkdir()
    ends = [0, len(table) // 2, len(table) // 2 + 7, len(table)]
    for number, (begin, end) in enumerate(pairwise(ends)):
        pq.write_table(table.slice(begin, end - begin), source / f"{number}.parquet")
    return source


def _arrow(case: Case, table: pa.Table, folder: Path) -> Path:
    import pyarrow.feather as feather

    feather.write_feather(table, str(folder / "source.arrow"))
    return folder / "source.arrow"


def _excel(case: Case, table: pa.Table, folder: Path) -> Path:
    from tests.workbooks import workbook

    rows = zip(*(column.to_pylist() for column in table.columns))
    return workbook(folder / "source.xlsx", table.column_names, *rows)


def _stats(case: Case, table: pa.Table, folder: Path) -> Path:
    import pyreadstat

    path = folder / f"source.{case.given}"
    getattr(pyreadstat, f"write_{case.given}")(table.to_pandas(), str(path))
    return path


GIVEN: dict[str, Callable[[Case, pa.Table, Path], Any]] = {
    "pyarrow": lambda case, table, folder: table,
    "pandas": _pandas,
    "pandas nullable": _pandas_nullable,
    "polars": _polars,
    "numpy": _numpy,
    "vector": _vector,
    "csv": _text,
    "tsv": _text,
    "csv.gz": _text,
    "parquet": _parquet,
    "parquet folder": _parquet_folder,
    "arrow": _arrow,
    "xlsx": _excel,
    "sav": _stats,
    "dta": _stats,
}


# How a plan is carried out.


def _by_keywords(case: Case, data: Any, folder: Path, write: bool) -> Outcome:
    return _told(case, shoal.microaggregate(data, **case.plan), folder, write)


def _by_plan(case: Case, data: Any, folder: Path, write: bool) -> Outcome:
    return _told(case, shoal.pipeline.run(shoal.Plan(**case.plan), data), folder, write)


def _by_plan_file(case: Case, data: Any, folder: Path, write: bool) -> Outcome:
    path = folder / "plan.toml"
    path.write_text(shoal.Plan(**case.plan).toml(), encoding="utf-8")
    return _told(case, shoal.pipeline.run(shoal.Plan.read(path), data), folder, write)


def _to_file(case: Case, data: Any, folder: Path, write: bool) -> Outcome:
    target = folder / "release.parquet"
    _on_disk(case, data, target)
    return _read(case, shoal.read(target), {"parquet": target})


def _to_folder(case: Case, data: Any, folder: Path, write: bool) -> Outcome:
    target = folder / "release"
    _on_disk(case, data, target)
    parts = sorted(target.glob("*.parquet"))
    return _read(case, pa.concat_tables(map(shoal.read, parts)), {path.name: path for path in parts})


def _written(case: Case, data: Any, folder: Path, write: bool) -> Outcome:
    """What a file holds, in the order of its rows."""
    target = folder / f"release.{case.write[0]}"
    shoal.microaggregate(data, **case.plan).write(target)
    return _read(case, shoal.read(target), {case.write[0]: target})


HOW: dict[str, Callable[[Case, Any, Path, bool], Outcome]] = {
    "microaggregate": _by_keywords,
    "run": _by_plan,
    "plan file": _by_plan_file,
    "written": _written,
    "disk file": _to_file,
    "disk folder": _to_folder,
}


def _on_disk(case: Case, source: Path, target: Path) -> None:
    """The disk engine. Only this function knows how it is asked for blocks of a given size."""
    if case.block_records is None and "parameters" not in case.plan:
        shoal.protect_files(source, target, **case.plan)
        return
    from shoal.engines.disk import engine as disk

    disk.run(shoal.Plan(**case.plan), source, target, block_records=case.block_records)


def _told(case: Case, release: Any, folder: Path, write: bool) -> Outcome:
    labels = np.asarray(release.labels)
    files = {ending: folder / f"release.{ending}" for ending in case.write if write}
    for path in files.values():
        release.write(path, keep=release.outcome.kept)
    parts = labels.reshape(len(labels), -1).T.tolist()
    return Outcome(parts, columns_of(release.table), float(release.information_loss), files)


def _read(case: Case, table: pa.Table, files: dict[str, Path]) -> Outcome:
    """A file has no labels: records that publish the same are taken for one group."""
    columns = columns_of(table)
    rows = list(zip(*(columns[name][1] for name in case.protected)))
    return Outcome([_codes(rows)[1]], columns, None, files)


def columns_of(table: Any) -> dict[str, tuple[str, list[Any]]]:
    """Each column's type and cells, exact: floats, whole numbers, texts, or None for a gap."""
    if isinstance(table, np.ndarray):
        arrays = {str(j): column for j, column in enumerate(table.reshape(len(table), -1).T)}
        return {name: (str(a.dtype), _cells(pa.array(np.ascontiguousarray(a)))) for name, a in arrays.items()}
    if isinstance(table, pa.Table):
        return {name: (str(table[name].type), _cells(table[name])) for name in table.column_names}
    if hasattr(table, "iloc"):
        return {str(n): (str(table[n].dtype), _cells(pa.Array.from_pandas(table[n]))) for n in table.columns}
    return {n: (str(table[n].dtype), _cells(table[n].to_arrow())) for n in table.columns}


def _cells(column: Any) -> list[Any]:
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if pa.types.is_timestamp(column.type):
        column = column.cast(pa.int64())
    if pa.types.is_decimal(column.type) or pa.types.is_date(column.type):
        return [None if cell is None else str(cell) for cell in column.to_pylist()]
    return column.to_pylist()


def _codes(cells: Iterable[Any]) -> tuple[list[Any], list[int]]:
    """The different cells in the order in which they appear, and the place of each cell among them."""
    places: dict[Any, int] = {}
    codes = [places.setdefault(cell, len(places)) for cell in cells]
    return list(places), codes


# What is recorded.


def fingerprints(case: Case, outcome: Outcome) -> dict[str, str]:
    """Exact in every bit: `repr` gives each number with all its digits."""
    found = {
        "labels": _sha256(repr(outcome.labels).encode()),
        "values": _sha256(repr(outcome.columns).encode()),
        "information_loss": repr(outcome.loss),
    }
    for name, path in outcome.files.items():
        found[f"file {name}"] = _sha256(_content(path))
    return found


def _content(path: Path) -> bytes:
    if path.suffix[1:] in DATED:
        table = shoal.read(path)
        return repr((str(table.schema), columns_of(table))).encode()
    return path.read_bytes()


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def golden(case: Case, outcome: Outcome) -> dict[str, Any]:
    """What golden.json holds of a case: the different cells of each column, and which one a record has."""
    held: dict[str, Any] = {"labels": [_joined(part) for part in outcome.labels]}
    if outcome.loss is not None:
        held["information_loss"] = _short(outcome.loss)
    names = case.protected or outcome.columns
    held["columns"] = {}
    for name in names:
        cells, codes = _codes(map(_short, outcome.columns[name][1]))
        held["columns"][name] = [cells, _joined(codes)]
    return held


def _joined(numbers: Sequence[int]) -> str:
    return " ".join(map(str, numbers))


def _short(cell: Any) -> Any:
    if not isinstance(cell, float):
        return cell
    return "nan" if math.isnan(cell) else float(f"{cell:.{DIGITS}g}")


def _all(measure: Callable[[Case, Outcome], Any], write: bool) -> dict[str, Any]:
    found = {}
    for case in CASES:
        began = time.perf_counter()
        with tempfile.TemporaryDirectory() as folder:
            found[case.name] = measure(case, carry_out(case, Path(folder), write))
        seconds = time.perf_counter() - began
        if seconds > 1:
            print(f"{case.name}: {seconds:.1f} s", file=sys.stderr)
    return found


def _differences(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    """One line for each case and kind that differ."""
    found = [f"{name}: no longer there" for name in old if name not in new]
    found += [f"{name}: new, was not recorded" for name in new if name not in old]
    for name in [name for name in old if name in new]:
        kinds = dict.fromkeys([*old[name], *new[name]])
        found += [f"{name}: {kind}" for kind in kinds if old[name].get(kind) != new[name].get(kind)]
    return found


def _lines(held: Mapping[str, Any]) -> str:
    """JSON with a line for each case, so that a difference is easy to find."""
    lines = [f"{json.dumps(n)}: {json.dumps(h, separators=(',', ':'))}" for n, h in held.items()]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    asked = parser.add_mutually_exclusive_group(required=True)
    asked.add_argument("--write", action="store_true", help="write golden.json")
    asked.add_argument("--hashes", type=Path, metavar="OUT", help="write fingerprints to this file")
    asked.add_argument("--compare", type=Path, metavar="OUT", help="compare with these fingerprints")
    given = parser.parse_args()
    began = time.perf_counter()
    if given.write:
        GOLDEN.write_text(_lines(_all(golden, write=False)), encoding="utf-8")
    elif given.hashes:
        given.hashes.write_text(_lines(_all(fingerprints, write=True)), encoding="utf-8")
    else:
        old = json.loads(given.compare.read_text(encoding="utf-8"))
        found = _differences(old, _all(fingerprints, write=True))
        print("\n".join(found) or "no difference")
        print(f"{len(CASES)} cases, {len(found)} differences, {time.perf_counter() - began:.1f} s")
        return 1 if found else 0
    print(f"{len(CASES)} cases, {time.perf_counter() - began:.1f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
