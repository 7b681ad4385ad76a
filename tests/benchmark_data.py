"""The field's benchmark tables, standardised. Tests that need them skip where ../shared/data is absent."""

import functools
from pathlib import Path

import numpy as np
import pytest

FOLDER = Path(__file__).resolve().parents[2] / "shared" / "data"
EIA10 = [part + kind for part in ("RES", "COM", "IND", "OTH", "TOT") for kind in ("REVENUE", "SALES")]
EIA10[7] = "OTHRSALES"


@functools.cache
def raw(name: str) -> np.ndarray:
    """The papers' columns of a dataset as they are: tarragona, census, eia (11 columns) or eia10 (ten)."""
    path = FOLDER / f"{name.removesuffix('10')}.csv"
    if not path.exists():
        pytest.skip(f"benchmark data {path} is absent")
    columns = None
    if name.startswith("eia"):
        header = path.open().readline().strip().split(",")
        columns = [header.index(c) for c in ([] if name == "eia10" else ["UTILITYID"]) + EIA10]
    return np.loadtxt(path, delimiter=",", skiprows=1, usecols=columns, quotechar='"')


@functools.cache
def load(name: str) -> np.ndarray:
    """The same, standardised with n-1."""
    X = raw(name)
    Z = (X - X.mean(0)) / X.std(0, ddof=1)
    Z.flags.writeable = False
    return Z


def information_loss(Z: np.ndarray, labels: np.ndarray) -> float:
    """100 * SSE / SST, computed plainly."""
    sse = sum(np.square(Z[labels == g] - Z[labels == g].mean(0)).sum() for g in np.unique(labels))
    return 100 * sse / np.square(Z - Z.mean(0)).sum()
