"""What the tests of the page share."""

import numpy as np
import pyarrow as pa
import pytest

import shoal


@pytest.fixture(scope="session")
def mixed(tmp_path_factory):
    """A file with everything: texts, codes, gaps, a weight, a stratum, an identifier, a date."""
    rng = np.random.default_rng(1)
    n = 80
    columns = {
        "firm_id": np.arange(n),
        "size class": rng.choice(["a", "b", "c"], n),
        "opened": np.datetime64("2020-01-01") + rng.integers(0, 900, n).astype("timedelta64[D]"),
        "wages": pa.array(rng.normal(size=n).round(3), mask=rng.random(n) < 0.2),
        "=staff": rng.integers(1, 90, n),
        "weight": rng.uniform(1, 2, n).round(2),
        "stratum": rng.choice(["x", "y"], n),
    }
    path = tmp_path_factory.mktemp("mixed") / "a file.csv"
    shoal.write(pa.table(columns), path)
    return path
