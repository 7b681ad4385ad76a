"""What `shoal.spark.protect` gives back, until it is written."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from shoal.engines.blocks.plan import BlockPlan
from shoal.engines.spark.fingerprint import Fingerprint


@dataclass(frozen=True, eq=False)
class SparkRelease:
    """A protected DataFrame that is not yet computed: `write` computes, checks and publishes it.

    `table` is the DataFrame. Other names are looked up there, so that a release can be used like one. The
    `original` is recoded as the plan says, `raw` is not.
    """

    table: Any
    plans: Sequence[BlockPlan]  # one for each part of columns that are grouped together
    original: Any
    raw: Any  # the original as it was, with the place of each record
    measured: Any  # the table with the facts of its blocks, and the place and the groups of each record
    untouched: Sequence[str]  # the columns that are published as they are
    before: Fingerprint  # of these, under the salts
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

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "table":
            raise AttributeError(name)
        return getattr(self.table, name)

    def __getitem__(self, name: Any) -> Any:
        return self.table[name]
