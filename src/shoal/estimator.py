"""Microaggregator: the one scikit-learn estimator."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator, ClusterMixin, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from shoal.arrays import Ints
from shoal.errors import InputError
from shoal.pipeline import microaggregate

if TYPE_CHECKING:
    from shoal.release import Release


class Microaggregator(OneToOneFeatureMixin, TransformerMixin, ClusterMixin, BaseEstimator):
    """Groups of at least k similar records, as a scikit-learn transformer and clusterer.

    It is transductive: `transform` returns the release of the rows that were fitted, and refuses any others,
    because new rows carry no promise of k. So it stands at the end of a `Pipeline`, or in a
    `ColumnTransformer`, and is asked with `fit_transform`; `set_output` says which kind of table comes back.
    There is no `predict`.

    Parameters
    ----------
    k : int
        How many records each group has, at least.
    method : str
        How to group: a key of `shoal.methods()`.
    random_state : int, RandomState or None
        As scikit-learn has it; a number is the seed.
    time_limit : float, optional
        Seconds after which the method returns the best it has found.
    parameters : mapping of str to value, optional
        The method's own parameters.

    Attributes
    ----------
    labels_ : array of int
        The group of each record.
    information_loss_ : float
        In percent.
    release_ : Release
        The protected table, and all that is known of it.

    Examples
    --------
    >>> import numpy as np
    >>> import shoal
    >>> X = np.arange(20.0).reshape(10, 2)
    >>> shoal.Microaggregator(k=5, method="mdav").fit(X).labels_
    array([0, 0, 0, 0, 0, 1, 1, 1, 1, 1])
    >>> shoal.Microaggregator(k=5, method="mdav").fit_transform(X)[0]
    array([4., 5.])
    """

    labels_: Ints
    information_loss_: float
    release_: Release

    def __init__(
        self,
        k: int = 5,
        *,
        method: str = "auto",
        random_state: int | np.random.RandomState | None = 0,
        time_limit: float | None = None,
        parameters: Mapping[str, Any] | None = None,
    ) -> None:
        self.k = k
        self.method = method
        self.random_state = random_state
        self.time_limit = time_limit
        self.parameters = parameters

    def fit(self, X: Any, y: Any = None) -> Microaggregator:
        """Group the rows of X.

        Parameters
        ----------
        X : array or table of numbers
            One row for each record.
        y : None
            Not used; scikit-learn's pipelines pass it.

        Returns
        -------
        Microaggregator
            Itself.

        Raises
        ------
        InputError
            If there are fewer than k records, or a parameter is wrong.
        """
        X = validate_data(self, X, dtype=np.float64)
        if len(X) < self.k:
            raise InputError(f"k={self.k} needs at least {self.k} records, but n_samples={len(X)}: lower k")
        fields = self.get_params(deep=False)
        seed = fields.pop("random_state")
        if not isinstance(seed, (int, np.integer)):
            seed = check_random_state(seed).randint(2**31 - 1)
        self.release_ = microaggregate(X, seed=int(seed), **fields)
        self.labels_ = self.release_.labels
        self.information_loss_ = self.release_.information_loss
        return self

    def transform(self, X: Any) -> Any:
        """The release of the fitted rows.

        Parameters
        ----------
        X : array or table of numbers
            The rows that were fitted, in the same order.

        Returns
        -------
        array or table
            One row for each record, as `set_output` asks.

        Raises
        ------
        InputError
            If X has other rows: they belong to no group.
        """
        check_is_fitted(self)
        if not np.array_equal(validate_data(self, X, dtype=np.float64, reset=False), self.release_.original):
            raise InputError("transform knows only the rows that were fitted: call fit_transform on these")
        return np.array(self.release_.table)
