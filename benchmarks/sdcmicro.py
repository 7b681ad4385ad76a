"""Figures that sdcMicro's authors print, beside ours on the same tables: `python -m benchmarks.sdcmicro`.

dRisk (our `interval_sd`) and IL1s (our `il1s`) after MDAV on all columns, and what each setting changes.
sdcMicro itself is not run: neither Debian nor the package index for Python has it, CRAN could not be reached.
"""

from __future__ import annotations

import sys

import numpy as np
from numpy.typing import NDArray

import shoal
from benchmarks import _common
from benchmarks._published import EIA_COLUMNS
from shoal.measures.order import order_attack

KS = (3, 5, 10)
PRINTED = {
    ("tarragona", "dRisk"): (0.0456, 0.0180, 0.0060),
    ("tarragona", "IL1s"): (1092.0, 1311.0, 1583.0),
    ("eia", "dRisk"): (0.655, 0.539, 0.423),
}


def table(name: str) -> NDArray[np.float64]:
    path = _common.DATA / f"{name}.csv"
    names = path.open().readline().replace('"', "").strip().split(",")
    used = [names.index(column) for column in (EIA_COLUMNS if name == "eia" else names)]
    return np.loadtxt(path, delimiter=",", skiprows=1, usecols=used, quotechar='"')


def within(X: NDArray[np.float64], Y: NDArray[np.float64], spread: NDArray[np.float64]) -> float:
    return float((np.abs(X - Y) <= 0.05 * spread).all(axis=1).mean())


def eigen(X: NDArray[np.float64], Y: NDArray[np.float64]) -> float:
    before, after = (np.linalg.eigvalsh(np.cov(Z.T)) for Z in (X, Y))
    return float(np.mean(np.abs(after - before) / before))


def measured(name: str) -> dict[str, list[float]]:
    """Each figure at k of 3, 5 and 10."""
    X = table(name)
    found: dict[str, list[float]] = {}
    for k in KS:
        release = shoal.microaggregate(X, k, method="mdav_generic")
        Y, other = release.table, shoal.microaggregate(X, k, method="mdav").table
        utility = shoal.utility(X, Y, models=False)
        figures = {
            "dRisk": shoal.risk(X, Y, sample=10)["interval_sd"].overall,
            "dRisk, method mdav": shoal.risk(X, other, sample=10)["interval_sd"].overall,
            "dRisk, by the original's spread": within(X, Y, X.std(axis=0, ddof=1)),
            "IL1s": utility["il1s"].overall,
            "eigenvalues": utility["eigenvalues"].overall,
            "eigenvalues, columns unscaled": eigen(X, Y),
            "found by their place, %": place(X, k),
        }
        for key, figure in figures.items():
            found.setdefault(key, []).append(figure)
    return found


def place(X: NDArray[np.float64], k: int) -> float:
    """The share of records that the order of rows gives away in a file whose order is kept."""
    labels = shoal.microaggregate(X, k, method="mdav").labels
    attack = order_attack(dict(enumerate(X.T)), labels)
    return 100 * attack.share if attack else 0.0


def main() -> None:
    print(_common.header())
    rows = []
    for name in ("tarragona", "eia"):
        for key, figures in measured(name).items():
            said = PRINTED.get((name, key))
            row = {"table": name, "figure": key} | {f"k = {k}": f"{x:.5g}" for k, x in zip(KS, figures)}
            digits = 0 if key == "IL1s" else 4 if name == "tarragona" else 3
            same = said is None or all(round(x, digits) == y for x, y in zip(figures, said))
            rows.append(
                row | {"printed": "" if said is None else str(said), "same": "" if said is None else same}
            )
    print(_common.table(rows))
    print(_common.save("sdcmicro", rows))
    sys.exit(0 if all(row["same"] in ("", True) for row in rows) else 1)


if __name__ == "__main__":
    main()
