"""Protect Spark DataFrames: `protect` gives one back, `write` checks it and publishes it as a whole.

The workers' Python needs shoal installed; see docs/scaling.md.
"""

from shoal.engines.blocks.plan import BlockPlan
from shoal.engines.spark.engine import protect
from shoal.engines.spark.release import SparkRelease
from shoal.engines.spark.write import write

__all__ = ["BlockPlan", "SparkRelease", "protect", "write"]
