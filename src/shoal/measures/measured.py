"""The measures of one release: its columns are read once, and each measure is computed once."""

import weakref
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from shoal.measures.measure import Measures
from shoal.measures.pair import Names, Pair, names_of, pair
from shoal.measures.risk import DOMINANCE, risk_of, with_groups
from shoal.measures.utility import utility_of, with_further


class Measured:
    """What is known of a release's utility and risk; report, comparison and page ask here.

    `results` holds what was measured. It can be carried to another process, where the columns are not read
    again.
    """

    def __init__(self, original: Any, released: Any, columns: Sequence[Any], seed: int, **facts: Any):
        """`facts` are the further keywords of `pair`: types, weight, labels and others."""
        self._tables, self._facts = (original, released, columns), facts
        self._seed = seed
        self._pair: Callable[[], Pair | None] = lambda: None
        self.results: dict[str, Measures] = {}

    def pair(self) -> Pair:
        """The columns of both tables. They are as large as the table: kept while somebody uses them."""
        both = self._pair()
        if both is None:
            both = pair(*self._tables, **self._facts)
            self._pair = weakref.ref(both)
        return both

    def utility(self, formula: str | None = None, subgroups: Names | None = None, **options: Any) -> Measures:
        """What was lost. Only the model and the subgroups are computed anew."""
        key = f"utility, {options}"
        both = self.pair() if formula is not None or subgroups is not None else None
        if key not in self.results:
            self.results[key] = utility_of(self.pair(), **{"seed": self._seed, **options})
        return with_further(self.results[key], both, formula, subgroups) if both else self.results[key]

    def risk(
        self,
        confidential: Names | None,
        before: bool = False,
        dominance: tuple[float, float] = DOMINANCE,
        interval: float = 0.05,
        **options: Any,
    ) -> Measures:
        """What is at risk; with `before`, what would be if the original were published."""
        hidden = [] if confidential is None else names_of(confidential)
        key = f"risk, {before}, {hidden}, {dominance}, {interval}, {options}"
        if key not in self.results:
            both = self.pair().unprotected() if before else self.pair()
            both = replace(both, hidden={*both.hidden, *hidden}, may_know=options.pop("known", both.may_know))
            measures = risk_of(both, interval=interval, **{"seed": self._seed, **options})
            self.results[key] = with_groups(measures, both, confidential, interval, dominance)
        return self.results[key]
