"""The field's benchmark tables, standardised. A test that asks for a table that is not here is skipped.

The tables lie in the folder that SHOAL_BENCHMARK_DATA names, or else in ../shared/data beside the project.
docs/results.md tells how to get them.
"""

import csv
import functools
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from benchmarks._common import DATA as FOLDER
from benchmarks._published import EIA_COLUMNS, TFRP_COLUMNS

from shoal.grouping.registry import get_method
from shoal.grouping.runner import run_method
from tests.loss import information_loss

PRINTED = FOLDER.parent / "published"  # the papers' tables of figures, as CSV


def table(name: str, folder: Path = FOLDER) -> Path:
    """The path of a table, such as household.csv."""
    if not FOLDER.is_dir():
        pytest.skip(f"no benchmark data at {FOLDER}")
    if not (folder / name).exists():
        pytest.skip(f"no {name} at {folder}")
    return folder / name


def printed(name: str) -> Path:
    """The path of a table of printed figures, such as information_loss.csv."""
    return table(name, PRINTED)


@functools.cache
def raw(name: str) -> np.ndarray:
    """The papers' columns of a dataset as they are: tarragona, census, eia (11 columns), eia10, forest."""
    if name == "forest":
        parts = pq.read_table(table("forest.parquet")).columns
        return np.stack([part.to_numpy().astype(np.float64) for part in parts], axis=1)
    path = table(f"{name.removesuffix('10')}.csv")
    columns = None
    if name.startswith("eia"):
        header = next(csv.reader(path.open()))
        columns = [header.index(c) for c in (TFRP_COLUMNS if name == "eia10" else EIA_COLUMNS)]
    return np.loadtxt(path, delimiter=",", skiprows=1, usecols=columns, quotechar='"')


@functools.cache
def load(name: str) -> np.ndarray:
    """The same, standardised with n-1."""
    X = raw(name)
    Z = (X - X.mean(0)) / X.std(0, ddof=1)
    Z.flags.writeable = False
    return Z


def loss(key: str, dataset: str, k: int, **parameters) -> float:
    """The information loss, in %, of a method on a standardised table."""
    Z = load(dataset)
    return information_loss(Z, run_method(get_method(key), Z, k, parameters=parameters).labels)


def decimals(figure: str) -> int:
    """How many decimals a figure was printed with."""
    return len(figure.partition(".")[2])
