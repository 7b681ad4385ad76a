"""Protect Spark DataFrames: `protect` gives one back, `write` checks it and publishes it as a whole.

The workers' Python needs shoal installed; see docs/scaling.md.
"""

from shoal.engines.block_plan import BlockPlan
from shoal.engines.spark import protect
from shoal.engines.spark_write import write

__all__ = ["BlockPlan", "protect", "write"]
