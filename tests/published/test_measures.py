"""Risk and utility as sdcMicro measures them."""

import functools

import pytest

import shoal
from tests.published.data import raw

#: sdcMicro's dRisk after MDAV (0.05 of the released standard deviation)
INTERVAL = {
    ("tarragona", 3): 0.0456,
    ("tarragona", 5): 0.0180,
    ("tarragona", 10): 0.0060,
    ("eia", 3): 0.655,
    ("eia", 5): 0.539,
    ("eia", 10): 0.423,
}


@functools.cache
def release_of(name, k):
    return shoal.microaggregate(raw(name).astype(float), k, method="mdav_generic").table


@pytest.mark.parametrize(("name", "k"), list(INTERVAL))
def test_interval_disclosure_of_sdcmicro(name, k):
    digits = 4 if name == "tarragona" else 3
    found = shoal.risk(raw(name).astype(float), release_of(name, k), sample=10)["interval_sd"]
    assert round(found.overall, digits) == INTERVAL[name, k]


# sdcMicro's dUtility(method = "IL1s") after microaggregation(method = "mdav")
@pytest.mark.parametrize(("k", "il1s"), [(3, 1092), (5, 1311), (10, 1583)])
def test_il1s_of_sdcmicro_on_tarragona(k, il1s):
    found = shoal.utility(raw("tarragona").astype(float), release_of("tarragona", k), models=False)
    assert round(found["il1s"].overall) == il1s
