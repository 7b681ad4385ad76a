"""Tables that need no file: made from a seed, the same on every machine."""

from __future__ import annotations

from typing import Any

import numpy as np

#: sector -> share of businesses, turnover per employee, wage per employee, assets per turnover,
#: kWh per unit of turnover, profit margin (money in thousands)
_SECTORS = {
    "agriculture": (0.08, 95, 21, 1.40, 0.9, 0.07),
    "construction": (0.16, 130, 33, 0.45, 0.3, 0.05),
    "hospitality": (0.15, 62, 19, 0.60, 0.8, 0.04),
    "manufacturing": (0.14, 210, 38, 0.80, 1.6, 0.06),
    "retail": (0.25, 240, 24, 0.30, 0.4, 0.03),
    "services": (0.22, 120, 42, 0.35, 0.1, 0.12),
}
_REGIONS = {"Coast": 0.40, "Hills": 0.25, "Islands": 0.08, "Plain": 0.27}


def survey(n: int = 5000, seed: int = 0) -> Any:
    """A made-up business survey: region, sector, and six skewed, correlated amounts, as an Arrow table.

    Sectors form natural clusters; sizes are log-normal with a long tail; profit can be negative.
    """
    import pyarrow as pa

    rng = np.random.default_rng(seed)
    facts = np.array(list(_SECTORS.values()))
    sector = rng.choice(len(facts), n, p=facts[:, 0])
    region = rng.choice(len(_REGIONS), n, p=list(_REGIONS.values()))
    _, turnover_each, wage_each, asset_share, energy_share, margin = facts[sector].T

    employees = np.ceil(rng.lognormal(1.6 + 0.5 * (sector == 3), 1.1, n)).astype(np.int64)
    turnover = employees**0.95 * turnover_each * rng.lognormal(0, 0.4, n)
    wages = employees * wage_each * rng.lognormal(0, 0.15, n)
    assets = turnover * asset_share * rng.lognormal(0, 0.6, n)
    energy = turnover * energy_share * rng.lognormal(0, 0.5, n)
    profit = turnover * (margin + 0.08 * rng.standard_t(4, n))
    return pa.table(
        {
            "region": np.array(list(_REGIONS))[region],
            "sector": np.array(list(_SECTORS))[sector],
            "employees": employees,
            "turnover": np.rint(turnover).astype(np.int64),
            "wages": np.rint(wages).astype(np.int64),
            "assets": np.round(assets, 1),
            "energy_use": np.round(energy, 1),
            "profit": np.round(profit, 1),
        }
    )
