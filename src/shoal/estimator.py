"""Microaggregator: the one scikit-learn estimator."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import validate_data

from shoal.errors import InputError
from shoal.pipeline import microaggregate


class Microaggregator(ClusterMixin, BaseEstimator):
    """Groups of at least k similar records, as a scikit-learn clusterer.

    There is no `transform` and no `predict`: new rows carry no promise of k.

    Attributes after `fit`: `labels_`, `information_loss_` (percent), `release_` (the whole outcome).
    """

    def __init__(
        self,
        k: int = 5,
        *,
        method: str = "auto",
        random_state: Any = 0,
        time_limit: float | None = None,
        parameters: dict[str, Any] | None = None,
    ):
        self.k = k
        self.method = method
        self.random_state = random_state
        self.time_limit = time_limit
        self.parameters = parameters

    def fit(self, X: Any, y: Any = None) -> Microaggregator:
        """Group the rows of X."""
        X = validate_data(self, X, dtype=np.float64)
        if len(X) < self.k:
            raise InputError(f"k={self.k} needs at least {self.k} records, but n_samples={len(X)}: lower k")
        seed = self.random_state
        if not isinstance(seed, (int, np.integer)):
            seed = check_random_state(seed).randint(2**31 - 1)
        release = microaggregate(
            X,
            self.k,
            method=self.method,
            seed=int(seed),
            time_limit=self.time_limit,
            **(self.parameters or {}),
        )
        self.release_ = release
        self.labels_ = release.labels
        self.information_loss_ = release.information_loss
        return self
