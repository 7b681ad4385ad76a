"""The printed figures, the data they were made from, and what a measured figure says beside a printed one."""

from __future__ import annotations

import csv
import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

TFRP_COLUMNS = [
    f"{part}{kind}" for part in ("RES", "COM", "IND", "OTH", "TOT") for kind in ("REVENUE", "SALES")
]
TFRP_COLUMNS[7] = "OTHRSALES"
EIA_COLUMNS = ["UTILITYID", *TFRP_COLUMNS]

#: Proven lower bounds on the information loss of any partition: shared/notes/optimality.md, bounds 2 and 3.
BOUNDS = {
    ("tarragona", 3): 14.459, ("tarragona", 4): 17.070, ("tarragona", 5): 20.134, ("tarragona", 10): 29.65,
    ("census", 3): 4.664, ("census", 4): 6.022, ("census", 5): 7.227, ("census", 10): 10.92,
    ("eia", 3): 0.3395, ("eia", 10): 1.6575,
}  # fmt: skip

#: The paper's name of a method -> its key here.
KEYS = {
    "MDAV": "mdav",
    "MDAV-1": "mdav1",
    "MDAV-2": "mdav2",
    "D": "diameter",
    "C": "centroid",
    "M": "mst",
    "M-d": "mst_d",
    "M-c": "mst_c",
    "mu-Approx": "mu_approx",
    "TFRP-1": "tfrp1",
    "TFRP-2": "tfrp2",
    "DBA-1": "dba1",
    "DBA-2": "dba2",
    "Multi-DSort": "multi_dsort",
    "NPN-MHM": "npn_mhm",
    "MDAV-MHM": "mdav_mhm",
    "MD-MHM": "md_mhm",
    "CBFS-MHM": "cbfs_mhm",
    "IMHM": "imhm",
    "IGD": "igd",
    "RepOrdMic": "repordmic",
}


@dataclass(frozen=True)
class Printed:
    """One printed information loss, with the number of decimals it was printed with."""

    method: str
    dataset: str
    k: int
    loss: float
    decimals: int
    table: str  # e.g. "001 Table 5"


def printed_losses(folder: Path) -> list[Printed]:
    """Every row of information_loss.csv. It has lost trailing zeros: a column's longest figure counts."""
    with (folder / "information_loss.csv").open() as lines:
        rows = list(csv.DictReader(lines))

    def decimals(row: dict[str, str]) -> int:
        return len(row["information_loss_percent"].partition(".")[2])

    def column(row: dict[str, str]) -> tuple[str, ...]:
        return row["source"], row["table"], row["method"], row["dataset"]

    longest: dict[tuple[str, ...], int] = {}
    for row in rows:
        longest[column(row)] = max(longest.get(column(row), 2), decimals(row))
    figures = []
    for row in rows:
        # Two papers do not keep to one number of decimals: RepOrdMic's Table 2, and ten digits in all.
        mixed = row["source"].startswith("000") or longest[column(row)] > 5
        digits = max(2, decimals(row)) if mixed else longest[column(row)]
        loss = float(row["information_loss_percent"])
        table = f"{row['source'][:3]} {row['table']}"
        figures.append(Printed(row["method"], row["dataset"], int(row["k"]), loss, digits, table))
    return figures


def load(folder: Path, name: str) -> NDArray[np.float64]:
    """The papers' columns of a dataset, standardised with n-1.

    tarragona, census, eia (11 columns), eia10, forest.
    """
    if name == "forest":
        import pyarrow.parquet as pq

        columns = pq.read_table(folder / "forest.parquet").columns
        return standardised(np.stack([column.to_numpy().astype(np.float64) for column in columns], axis=1))
    path = folder / f"{name.removesuffix('10')}.csv"
    names = next(csv.reader(path.open()))
    wanted = {"eia": EIA_COLUMNS, "eia10": TFRP_COLUMNS}.get(name, names)
    used = [names.index(column) for column in wanted]
    return standardised(np.loadtxt(path, delimiter=",", skiprows=1, usecols=used, quotechar='"'))


def standardised(X: NDArray[np.float64]) -> NDArray[np.float64]:
    return (X - X.mean(0)) / X.std(0, ddof=1)


def verdict(figure: Printed, measured: float) -> str:
    """same (to every printed digit), close (within 2 %), lower, higher; or impossible: below the bound."""
    if figure.loss < BOUNDS.get((figure.dataset, figure.k), 0.0):
        return "impossible"
    if abs(measured - figure.loss) <= 0.5 * 10.0**-figure.decimals + 1e-12:
        return "same"
    return beside(figure.loss, measured)


def beside(printed: float, measured: float) -> str:
    """close (within 2 %), lower or higher."""
    if abs(measured - printed) <= 0.02 * printed:
        return "close"
    return "lower" if measured < printed else "higher"


def count_partitions(n: int, k: int) -> int:
    """In how many ways n records fall into groups of k to 2k-1: too many to look at all of them.

    The recurrence of Laszlo and Mukherjee 2005 (appendix A, where formula (6) lacks an m!) said more simply:
    the first record shares its group with size-1 of the others, and what remains is divided likewise.
    """
    ways = [1] + [0] * n
    for m in range(k, n + 1):
        ways[m] = sum(math.comb(m - 1, size - 1) * ways[m - size] for size in range(k, min(2 * k - 1, m) + 1))
    return ways[n]
