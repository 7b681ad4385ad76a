"""The least loss itself: a partition, and the proof of how little any other could lose."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shoal.bounds import Bound, Certificate, bound_matrix, standardised
from shoal.bounds.certificate import PROVEN, fingerprint, priced_value, total_sum_of_squares
from shoal.bounds.cuts import Cuts
from shoal.bounds.program import Program
from shoal.bounds.tree import Tree
from shoal.errors import InputError
from shoal.optimise.search import SECONDS, renumber, tidy
from shoal.plan import Plan

#: The largest k for which prices and a tree are tried; above, `bound_matrix` proves what it can.
LARGEST_K = 6
#: The share of the time that the search for a partition takes above that.
SEARCH = 0.3


@dataclass(frozen=True, repr=False)
class Optimum:
    """A partition, and the proof of how little any other could lose.

    Attributes
    ----------
    labels : ndarray
        The group of each record.
    information_loss : float
        What the partition loses, in percent.
    least : Bound
        The proof: no partition of these records into groups of at least k loses less.
    """

    labels: NDArray[np.int64]
    information_loss: float
    least: Bound

    @property
    def bound(self) -> float:
        """What every partition loses at least, in percent."""
        return self.least.information_loss

    @property
    def gap(self) -> float:
        """How much more than the bound the partition loses, as a share of the bound."""
        return self.least.gap(self.information_loss)

    @property
    def proven(self) -> bool:
        """Whether no partition loses less, but for a share of 1e-9 (and rounding) of what this one loses."""
        return bool(self.bound >= self.information_loss * (1 - 2 * PROVEN))

    @property
    def certificate(self) -> Certificate:
        """Prices, private as they are; see `verify`."""
        return self.least.certificate

    def __repr__(self) -> str:
        state = "proven" if self.proven else f"at most {100 * self.gap:.2g} % above the least"
        return f"Optimum(k={self.certificate.k}: {self.information_loss:.6g} % is lost, {state})"

    def verify(self, data: Any = None, columns: Any = None, plan: Plan | None = None) -> bool:
        """Prove it again from the data and the certificate, by code that shares nothing with the search.

        Without `data`, from the records that it was made of; what was loaded from a file has none.
        """
        from shoal.bounds.verify_tree import cost_of

        X = self.least.records if data is None else standardised(data, columns, plan)
        if X is None:
            raise InputError("a loaded optimum knows no records: call verify(data) with the original data")
        try:
            cost, total = cost_of(X, self.certificate.k, self.labels), total_sum_of_squares(X)
        except ValueError:
            return False
        lost = 100 * cost / total if total > 0 else 0.0
        if not abs(lost - self.information_loss) <= 1e-8 * lost + 1e-10:
            return False
        return replace(self.least, records=X).verify()

    def save(self, path: str | Path) -> None:
        """Write labels, figures and certificate as a .npz file that only its owner may read.

        Labels and prices tell much about each record: never publish the file beside a release.
        """
        arrays = {**self.certificate.arrays, "labels": self.labels, "lost": np.array(self.information_loss)}
        replace(self.least, certificate=replace(self.certificate, arrays=arrays)).save(path)

    @classmethod
    def load(cls, path: str | Path) -> Optimum:
        """What `save` wrote; it proves nothing before `verify(data)` says so."""
        least = Bound.load(path)
        arrays = dict(least.certificate.arrays)
        labels, lost = arrays.pop("labels", None), arrays.pop("lost", None)
        if labels is None or labels.ndim != 1 or labels.dtype.kind != "i":
            raise InputError(f"{str(path)!r} is no certificate of an optimum: it has no labels")
        if lost is None or lost.shape != () or lost.dtype.kind != "f" or not 0 <= lost <= 100 * (1 + 1e-9):
            raise InputError(f"{str(path)!r} is no certificate of an optimum: it has no information loss")
        least = replace(least, certificate=replace(least.certificate, arrays=arrays))
        return cls(labels.astype(np.int64), float(lost), least)


def optimum(
    data: Any,
    k: int,
    *,
    columns: Sequence[Any] | None = None,
    time_limit: float = SECONDS,
    start: ArrayLike | None = None,
    plan: Plan | None = None,
    progress: Callable[[float], None] | None = None,
) -> Optimum:
    """The partition of least information loss, and the proof that it is; or how near to it we came.

    Parameters
    ----------
    data, k, columns
        As for `microaggregate`, without gaps and weights.
    time_limit : float
        Seconds after which the best partition and the best bound so far are returned.
    start : array_like, optional
        Labels of a partition to begin with.
    plan : Plan, optional
        Says which columns, with their types and levels, instead of `columns`.
    progress : callable, optional
        Gets the share of the time that is spent.

    Returns
    -------
    Optimum
        `labels`, `information_loss`, `bound`, `gap`, `proven` and the `certificate`.

    Examples
    --------
    >>> import shoal
    >>> best = shoal.optimum([[1.0], [2.0], [3.0], [10.0], [11.0], [12.0]], k=3)
    >>> best
    Optimum(k=3: 3.18725 % is lost, proven)
    >>> best.verify()
    True
    """
    return optimum_of(standardised(data, columns, plan), k, time_limit, start, progress)


def optimum_of(
    X: NDArray[np.float64],
    k: int,
    time_limit: float,
    start: ArrayLike | None = None,
    progress: Callable[[float], None] | None = None,
) -> Optimum:
    """`optimum` of the rows of a matrix."""
    from shoal.grouping.registry import get_method
    from shoal.grouping.runner import run_method
    from shoal.optimise.improve import optimise
    from shoal.optimise.prove import solve

    began = time.perf_counter()
    X = np.ascontiguousarray(X, np.float64)
    if not time_limit > 0:
        raise InputError(f"time_limit must be a number of seconds above 0, not {time_limit}")
    if k < 2 or len(X) < 2 * k:
        least = bound_matrix(X, k)
        return _found(X, np.arange(len(X)) if k == 1 else np.zeros(len(X), np.int64), least)
    rng = np.random.default_rng(0)
    if start is not None:
        labels = _checked(np.asarray(start), len(X), k)
    else:
        copies = np.unique(X, axis=0, return_inverse=True)[1].ravel()
        alike = np.bincount(copies).min() >= k
        labels = copies if alike else run_method(get_method("auto"), X, k).labels
    labels = tidy(X, labels, k)
    if k > LARGEST_K:
        labels = optimise(X, k, start=labels, rng=rng, time_limit=SEARCH * time_limit, progress=progress)
        left = time_limit - (time.perf_counter() - began)
        return _found(X, labels, bound_matrix(X, k, time_limit=left, start=labels))

    def report() -> None:
        if progress:
            progress(min(1.0, (time.perf_counter() - began) / time_limit))

    labels, program, tree = solve(X, k, labels, began + time_limit, report)
    labels = renumber(labels)
    seconds = time.perf_counter() - began
    if tree is None:
        prices = program.prices()
        value = priced_value(prices.records, prices.penalties * prices.cuts.limits)
        proof, method, arrays = "prices", "linear program with cuts", prices.arrays()
    else:
        value = float(min(tree.bound * program.scale**-2, _cost(X, labels) * (1 - PROVEN)))
        proof, method, arrays = "tree", "branch and bound", tree_arrays(program, tree)
    total = total_sum_of_squares(X)
    certificate = Certificate(proof, k, fingerprint(X, k), arrays)
    loss = 100 * value / total if total > 0 else 0.0
    return _found(X, labels, Bound(value, loss, method, certificate, seconds, X))


def _found(X: NDArray[np.float64], labels: NDArray[np.int64], least: Bound) -> Optimum:
    total = total_sum_of_squares(X)
    return Optimum(labels, 100 * _cost(X, labels) / total if total > 0 else 0.0, least)


def _cost(X: NDArray[np.float64], labels: NDArray[np.int64]) -> float:
    from shoal.grouping.partition import Partition

    return Partition(labels).sse(X)


def _checked(labels: NDArray, n: int, k: int) -> NDArray[np.int64]:
    """The labels of a start, one for each record, in groups of at least k."""
    from shoal.grouping.partition import Partition

    if labels.shape != (n,) or labels.dtype.kind not in "iu":
        raise InputError(
            f"start must be one whole number for each of the {n} records, the label of its group"
        )
    partition = Partition(labels)
    if partition.sizes.min() < k:
        raise InputError(f"start has a group of {partition.sizes.min()} records, fewer than k={k}")
    return partition.labels


def tree_arrays(program: Program, tree: Tree) -> dict[str, NDArray]:
    """A tree as a certificate holds it, in the numbers and units that the records came with."""
    walk, unit = tree.walk(), program.scale**-2
    nodes = [tree.listing, *walk]
    used = [node.penalties > 0 for node in nodes]
    cuts = Cuts.joined([node.cuts[paid] for node, paid in zip(nodes, used)]).renamed(program.order)
    first: dict[bytes, int] = {}
    owed_cut = np.array([first.setdefault(key, len(first)) for key in cuts.names()], np.int64)
    cuts = cuts[np.unique(owed_cut, return_index=True)[1]]
    pairs = np.array([node.pair for node in walk])
    return {
        "target": np.array(tree.cost * unit),
        "pairs": np.where(pairs >= 0, np.sort(program.order[pairs], axis=1), -1),
        "prices": np.stack([node.prices[program.back] for node in nodes]) * unit,
        "cuts": cuts.records,
        "weights": cuts.weights,
        "divisors": cuts.divisors,
        "owed_start": np.cumsum([0, *(int(paid.sum()) for paid in used)]),
        "owed_cut": owed_cut,
        "penalties": np.concatenate([node.penalties[paid] for node, paid in zip(nodes, used)]) * unit,
    }
