"""What `shoal.spark.protect` gives back, until it is written."""

from dataclasses import dataclass
from typing import Any

from shoal.engines.blocks.plan import BlockPlan


@dataclass(frozen=True, eq=False)
class SparkRelease:
    """A protected DataFrame that is not yet computed: `write` computes, checks and publishes it.

    `table` is the DataFrame. Other names are looked up there, so that a release can be used like one.
    """

    table: Any
    plan: BlockPlan
    original: Any
    measured: Any  # the table with the facts of its blocks
    began: float
    notes: tuple[str, ...] = ()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "table":
            raise AttributeError(name)
        return getattr(self.table, name)

    def __getitem__(self, name: Any) -> Any:
        return self.table[name]
