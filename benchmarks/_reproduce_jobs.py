"""The runs behind `benchmarks.reproduce`: each a plain tuple, so that it can travel to a worker process."""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

import shoal
from benchmarks._common import OUT
from benchmarks._published import load, standardised
from benchmarks.integer_table import ORDERS, integer_sse
from shoal.datasets import sim
from shoal.grouping.partition import Partition
from shoal.grouping.registry import methods
from shoal.grouping.runner import run_method

Job = tuple[Any, ...]
CACHE = OUT / "reproduce_cells.json"


def loss_percent(X: np.ndarray, labels: np.ndarray) -> float:
    return 100 * Partition(labels).sse(X) / float(np.square(X - X.mean(0)).sum())


def run_cell(data: str, key: str, dataset: str, k: int) -> dict[str, Any]:
    """One method on one dataset."""
    X = load(Path(data), dataset)
    return {"loss": loss_percent(X, run_method(methods()[key], X, k).labels)}


def run_repordmic(data: str, dataset: str, seed: int, starts: int) -> dict[str, Any]:
    """RepOrdMic from 1..`starts` k-means clusters of one seed: both insertion rules, k = 3, 5, 10."""
    from shoal.algorithms.repordmic import kmeans_starts, repeated_ordering

    X = load(Path(data), dataset)
    total = float(np.square(X - X.mean(0)).sum())
    given = kmeans_starts(X, starts, np.random.default_rng(seed))
    outcome = {}
    for rule in ("nearest", "cheapest"):
        for k in (3, 5, 10):
            repeated_ordering(X, k, given[:1], rule)  # compiles
            begin = time.perf_counter()
            runs = repeated_ordering(X, k, given, rule)
            seconds = time.perf_counter() - begin
            outcome[f"{rule} {k}"] = {
                "loss": 100 * min(run.sse[-1] for run in runs) / total,
                "rounds": sum(len(run.sse) for run in runs),
                "starts": len(runs),
                "seconds": seconds,
                "monotone": all((np.diff(run.sse[1:]) <= 1e-9 * total).all() for run in runs),
            }
    return outcome


def run_integer(data: str, dataset: str, order: str) -> dict[str, Any]:
    """One order of the integer SSE table, for all its k."""
    X = load(Path(data), dataset)
    sequence = ORDERS[order](X)
    return {str(k): integer_sse(X, k, sequence) for k in (2, 3, 4, 5, 10)}


def run_sim(number: int, seed: int, ks: tuple[int, ...]) -> dict[str, Any]:
    """All columns of Tables 5, 7 and 8 on one simulated dataset, and the oversized groups of Table 6."""
    from shoal.algorithms.trees import spanning_tree

    X, clusters = sim(number, seed)
    X = standardised(X)
    tree = spanning_tree(X)
    total = float(np.square(X - X.mean(0)).sum())
    outcome = {}
    for k in ks:
        losses: dict[str, Any] = {}
        for name, key in (
            ("D", "diameter"),
            ("C", "centroid"),
            ("M", "mst"),
            ("M-d", "mst_d"),
            ("M-c", "mst_c"),
        ):
            parameters = {"tree": tree} if name.startswith("M") else {}
            partition = run_method(methods()[key], X, k, parameters=parameters)
            losses[name] = 100 * partition.sse(X) / total
            if name == "M":
                losses["oversized"] = oversized(partition.sizes, k)
        inside = 0.0
        for cluster in np.unique(clusters):
            Y = X[clusters == cluster]
            inside += min(run_method(methods()[key], Y, k).sse(Y) for key in ("diameter", "centroid"))
        losses["UB"] = 100 * inside / total
        outcome[str(k)] = losses
    return outcome


def run_oversized(data: str, dataset: str) -> dict[str, Any]:
    """Table 6 on one dataset."""
    X = load(Path(data), dataset)
    return {str(k): oversized(run_method(methods()["mst"], X, k).sizes, k) for k in (3, 4, 5, 10)}


def oversized(sizes: np.ndarray, k: int) -> tuple[float, float]:
    """Share of the groups of 2k or more records in percent, and their mean size."""
    large = sizes[sizes >= 2 * k]
    return 100 * len(large) / len(sizes), float(large.mean()) if len(large) else 0.0


RUN: dict[str, Callable[..., dict[str, Any]]] = {
    "cell": run_cell,
    "repordmic": run_repordmic,
    "integer": run_integer,
    "sim": run_sim,
    "oversized": run_oversized,
}


def perform(job: Job) -> tuple[dict[str, Any], float]:
    """Run a job and say how long it took."""
    begin = time.perf_counter()
    outcome = RUN[job[0]](*job[1:])
    return outcome, time.perf_counter() - begin


def version() -> str:
    """The package's version and a digest of the code that the figures depend on."""
    digest = hashlib.sha256()
    home = Path(shoal.__file__).parent
    for path in sorted([*home.glob("algorithms/*.py"), *home.glob("kernels/*.py"), home / "datasets.py"]):
        digest.update(path.read_bytes())
    return f"{shoal.__version__}+{digest.hexdigest()[:12]}"


def perform_all(jobs: list[Job], processes: int) -> dict[Job, dict[str, Any]]:
    """The outcome of every job; what an earlier run has left in the cache is not done again."""
    cache = json.loads(CACHE.read_text()) if CACHE.exists() else {}
    mark = version()
    keys = {job: json.dumps([mark, *job]) for job in jobs}
    todo = [job for job in jobs if keys[job] not in cache]
    print(f"{len(jobs)} runs, {len(jobs) - len(todo)} of them from {CACHE}", flush=True)
    OUT.mkdir(exist_ok=True)

    def keep(job: Job, outcome: dict[str, Any], seconds: float) -> None:
        cache[keys[job]] = outcome
        CACHE.write_text(json.dumps(cache))
        print(f"  {' '.join(str(part) for part in job if part != '')}: {seconds:.1f} s", flush=True)

    if processes == 1:
        for job in todo:
            keep(job, *perform(job))
    elif todo:
        os.environ["SHOAL_THREADS"] = "1"  # for the workers: the processes fill the cores
        with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
            futures = {pool.submit(perform, job): job for job in todo}
            for future in as_completed(futures):
                keep(futures[future], *future.result())
    return {job: json.loads(json.dumps(cache[keys[job]])) for job in jobs}
