"""Benchmarks are named in docs beside their figures: each must still run against the code as it is."""

import subprocess
import sys
from pathlib import Path

import numpy as np
from benchmarks import gaps

from tests.app_server import chromium

ROOT = Path(__file__).parents[2]


def test_every_benchmark_finds_what_it_imports():
    names = [f"benchmarks.{path.stem}" for path in (ROOT / "benchmarks").glob("[a-z]*.py")]
    names = [name for name in names if chromium() or name != "benchmarks.page"]
    code = f"import importlib; [importlib.import_module(name) for name in {sorted(names)}]"
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT)


def test_each_way_to_place_gaps_is_another():
    rng = np.random.default_rng(0)
    X = gaps.holes(rng.normal(size=(60, 3)).cumsum(axis=1), 0.3, False, rng)
    lost = [gaps.loss(X, 3, "impute", "mdav", without) for without in gaps.WAYS.values()]
    assert len(set(lost)) == 3
