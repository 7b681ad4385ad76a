"""What units cost: 545 simulated people in eight years, with and without columns that stay the same.

python -m benchmarks.panel
"""

import time

import numpy as np
import pandas as pd

import shoal
from benchmarks._common import header, save, table

PEOPLE, YEARS, K = 545, 8, 5


def panel() -> pd.DataFrame:
    """A wage and hours of each year; years at school and the parents' income of each person."""
    rng = np.random.default_rng(0)
    person = np.repeat(np.arange(PEOPLE), YEARS)
    ability, diligence = rng.normal(size=PEOPLE), rng.normal(size=PEOPLE)
    year, noise = np.tile(np.arange(YEARS), PEOPLE), rng.normal(size=(2, len(person)))
    return pd.DataFrame(
        {
            "person": person,
            "wage": np.exp(1.6 + 0.35 * ability[person] + 0.05 * year + 0.35 * noise[0]),
            "hours": np.clip(np.round(2200 + 250 * diligence[person] + 450 * noise[1]), 100, 4500),
            "school": np.round(12 + 0.8 * ability + 1.7 * rng.normal(size=PEOPLE))[person],
            "parents": np.round(np.exp(10 + 0.3 * ability + 0.6 * rng.normal(size=PEOPLE)))[person],
        }
    )


def main() -> None:
    data, rows = panel(), []
    for more in ([], ["school"], ["parents"]):
        columns = ["wage", "hours", *more]
        ways = {"records": {"keep": ["person"]}, "units": {"unit": "person"}}
        ways |= {"units, by record": {"unit": "person", "by_record": more}} if more else {}
        for way, options in ways.items():
            cpu = time.process_time()
            release = shoal.microaggregate(data, K, columns=columns, **options)
            lost = round(release.information_loss, 3)
            spent = round(time.process_time() - cpu, 1)
            rows.append({"columns": ", ".join(columns), "groups of": way, "lost %": lost, "CPU s": spent})
    print(header())
    print(table(rows))
    save("panel", rows)


if __name__ == "__main__":
    main()
