"""What `shoal.spark.protect` gives back, until it is written."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from shoal.engines.blocks.plan import BlockPlan
from shoal.engines.spark.fingerprint import Fingerprint
from shoal.plan import Plan


@dataclass(frozen=True, eq=False)
class SparkRelease:
    """A protected DataFrame that is not yet computed: `write` computes, checks and publishes it.

    `table` is the DataFrame. Other names are looked up there, so that a release can be used like one. The
    `original` is recoded as the plan says.
    """

    table: Any
    plans: Sequence[BlockPlan]  # one for each part of columns that are grouped together
    original: Any
    measured: Any  # the table with the facts of its blocks
    before: Fingerprint  # of what must stay as it is, under these salts
    salts: tuple[int, ...]
    began: float
    notes: tuple[str, ...] = ()
    recoding_loss: Mapping[str, float] = field(default_factory=dict)

    @property
    def plan(self) -> BlockPlan:
        return self.plans[0]

    @property
    def names(self) -> list[str]:
        """The columns that are protected."""
        return [name for blocks in self.plans for name in blocks.names]

    @property
    def untouched(self) -> list[str]:
        return untouched(self.plan.plan, self.original, self.names)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "table":
            raise AttributeError(name)
        return getattr(self.table, name)

    def __getitem__(self, name: Any) -> Any:
        return self.table[name]


def untouched(plan: Plan, df: Any, names: Sequence[str]) -> list[str]:
    """The columns that are published as they are, where these are protected."""
    dropped = {*plan.named("identifier"), *plan.unnumbered, *names}
    return [name for name in df.columns if name not in dropped]
