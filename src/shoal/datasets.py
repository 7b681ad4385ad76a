"""Tables that need no file: made from a seed, the same on every machine."""

import numpy as np
import pyarrow as pa

from shoal.arrays import Floats, Ints
from shoal.errors import InputError

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


def survey(n: int = 5000, seed: int = 0) -> pa.Table:
    """A made-up business survey: region, sector, and six skewed, correlated amounts, as an Arrow table.

    Sectors form natural clusters; sizes are log-normal with a long tail; profit can be negative.

    Parameters
    ----------
    n : int
        How many businesses.
    seed : int
        The same seed gives the same table.

    Returns
    -------
    pyarrow.Table

    Examples
    --------
    >>> from shoal.datasets import survey
    >>> table = survey(100)
    >>> table.num_rows, table.column_names[:4]
    (100, ['region', 'sector', 'employees', 'turnover'])
    """
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


def households(n: int = 1000, seed: int = 0) -> pa.Table:
    """Persons of n made-up households: household, weight, age, income, rent; one household has 1 to 5.

    Examples
    --------
    >>> from shoal.datasets import households
    >>> households(10).column_names
    ['household', 'weight', 'age', 'income', 'rent']
    """
    rng = np.random.default_rng(seed)
    unit = np.repeat(np.arange(n), rng.integers(1, 6, n))
    rent, weight = rng.lognormal(6.6, 0.35, n).round(), rng.uniform(50, 400, n).round(1)
    age = rng.integers(0, 90, len(unit))
    income = np.where(age < 18, 0.0, rng.lognormal(7.6, 0.6, len(unit)).round())
    columns = [unit, weight[unit], age, income, rent[unit]]
    return pa.table(dict(zip(("household", "weight", "age", "income", "rent"), columns)))


def patients(n: int = 1000, seed: int = 0) -> pa.Table:
    """A made-up health table: age, height, weight, blood pressure, and the diagnosis, which is confidential.

    Examples
    --------
    >>> from shoal.datasets import patients
    >>> patients(10).column_names
    ['age', 'height', 'weight', 'pressure', 'diagnosis']
    """
    rng = np.random.default_rng(seed)
    age, height = rng.integers(18, 95, n), rng.normal(170, 9, n).round()
    weight = (height - 100 + rng.normal(0, 12, n)).round(1)
    pressure = (95 + 0.45 * age + rng.normal(0, 12, n)).round()
    ill = rng.uniform(size=n) < 1 / (1 + np.exp(4 - pressure / 40))
    diagnosis = np.where(ill, rng.choice(["diabetes", "stroke", "heart failure"], n), "none")
    names = ("age", "height", "weight", "pressure", "diagnosis")
    return pa.table(dict(zip(names, (age, height, weight, pressure, diagnosis))))


def panel(n: int = 300, years: int = 4, seed: int = 0) -> pa.Table:
    """n made-up firms over some years: firm, year, staff, sales; sales of one firm resemble each other.

    Examples
    --------
    >>> from shoal.datasets import panel
    >>> panel(10, years=3).num_rows
    30
    """
    rng = np.random.default_rng(seed)
    firm, year = np.repeat(np.arange(n), years), np.tile(np.arange(2021, 2021 + years), n)
    size = rng.lognormal(3, 1, n)[firm] * rng.lognormal(0.02, 0.1, n * years)
    sales = (size * 140 * rng.lognormal(0, 0.2, n * years)).round(1)
    return pa.table({"firm": firm, "year": year, "staff": np.ceil(size).astype(np.int64), "sales": sales})


_SIM_SPREAD = (0.010, 0.025, 0.050, 0.075, 0.100, 0.150, 0.200, 0.300)  # Table 1
_SIM_ATTRIBUTES = (20, 40, 60, 80, 100, 200)  # Table 3


def sim(number: int, seed: int = 0) -> tuple[Floats, Ints]:
    """SIM_1 to SIM_29 of Laszlo and Mukherjee 2005: records, and the cluster that each was drawn from.

    200 centres lie evenly over the cube [-1, 1]^d; around each the records follow a Gaussian with the same
    spread in every attribute. SIM_1..8 differ in that spread (10 to 100 records in a cluster), 9..14 in the
    number of records, 15..20 in the number of attributes, 21..29 in the (fixed) size of the clusters.
    The paper names no seed, so its own tables cannot be made again, only others like them.

    Parameters
    ----------
    number : int
        1 to 29.
    seed : int
        The same seed gives the same table.

    Returns
    -------
    records : array of float, one row for each record
    clusters : array of int, the cluster of each record

    Raises
    ------
    InputError
        If the paper has no table of that number.

    Examples
    --------
    >>> from shoal.datasets import sim
    >>> records, clusters = sim(21)
    >>> records.shape, clusters.max()
    ((1600, 10), np.int64(199))
    """
    attributes, spread, smallest, largest = 10, 0.1, 50, 50
    if 1 <= number <= 8:
        spread, smallest, largest = _SIM_SPREAD[number - 1], 10, 100
    elif 9 <= number <= 14:
        smallest = largest = 100 * (number - 8)
    elif 15 <= number <= 20:
        attributes = _SIM_ATTRIBUTES[number - 15]
    elif 21 <= number <= 29:
        spread, smallest, largest = 0.01, number - 13, number - 13
    else:
        raise InputError(f"there is no SIM_{number}: the paper has SIM_1 to SIM_29")
    rng = np.random.default_rng((seed, number))
    centres = rng.uniform(-1, 1, (200, attributes))
    clusters = np.repeat(np.arange(200), rng.integers(smallest, largest, 200, endpoint=True))
    return rng.normal(centres[clusters], spread), clusters
