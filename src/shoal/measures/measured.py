"""The measures of one release: its columns are read once, and each measure is computed once."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import Any

from shoal.measures.measure import Measures
from shoal.measures.pair import Names, Pair, pair
from shoal.measures.risk import risk_of, with_groups
from shoal.measures.utility import utility_of, with_further


class Measured:
    """What is known of a release's utility and risk; report, comparison and page ask here.

    `results` holds what was measured. It can be carried to another process, where the columns are not read
    again.
    """

    def __init__(self, original: Any, released: Any, columns: Sequence[Any], seed: int):
        self._tables = original, released, columns
        self._seed = seed
        self._pair: Callable[[], Pair | None] = lambda: None
        self.results: dict[str, Measures] = {}

    def pair(self) -> Pair:
        """The columns of both tables. They are as large as the table: kept while somebody uses them."""
        both = self._pair()
        if both is None:
            both = pair(*self._tables)
            self._pair = weakref.ref(both)
        return both

    def utility(self, formula: str | None = None, subgroups: Names | None = None) -> Measures:
        """What was lost. Only the model and the subgroups are computed anew."""
        both = self.pair() if formula is not None or subgroups is not None else None
        if "utility" not in self.results:
            self.results["utility"] = utility_of(self.pair(), seed=self._seed)
        return (
            with_further(self.results["utility"], both, formula, subgroups)
            if both
            else self.results["utility"]
        )

    def risk(self, confidential: Names | None, per_column: bool, before: bool = False) -> Measures:
        """What is at risk; with `before`, what would be if the original were published."""
        alone = "risk before" if before else "risk"
        key = f"{alone}, {confidential!r}, {per_column}"
        if key not in self.results:
            both = self.pair().unprotected() if before else self.pair()
            if alone not in self.results:
                self.results[alone] = risk_of(both, seed=self._seed)
            self.results[key] = with_groups(self.results[alone], both, confidential, per_column)
        return self.results[key]
