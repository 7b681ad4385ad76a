"""Protect Spark DataFrames: `protect` gives one back, `write` checks it and publishes it as a whole.

The workers' Python needs shoal installed; see docs/scaling.md.
"""

import os
from collections.abc import Sequence

from shoal.engines.blocks.plan import BlockPlan
from shoal.engines.spark import write as engine
from shoal.engines.spark.engine import protect
from shoal.engines.spark.release import SparkRelease
from shoal.errors import InputError
from shoal.outcome import Outcome
from shoal.pipeline import reporting

__all__ = ["BlockPlan", "SparkRelease", "protect", "write"]


def write(
    release: SparkRelease,
    path: str | os.PathLike[str],
    *,
    replace: bool = False,
    partition_by: str | Sequence[str] = (),
    report: str | os.PathLike[str] | None = None,
    public_report: str | os.PathLike[str] | None = None,
) -> Outcome:
    """Write what `protect` gave back as a folder of Parquet parts with a manifest, all or nothing.

    Rows are sorted by a salted hash: their order tells nothing. Spark writes to a hidden folder beside
    `path`; a failed task is tried again there. What only the owner may know goes to PATH.private.json. The
    parts are read again: every combination is counted, and the rows of all columns that are not protected
    are compared with the original's by fingerprints that do not depend on their order.

    Parameters
    ----------
    release : SparkRelease
        What `protect` gave back.
    path : str or path
        The folder to publish, where Spark can write.
    replace : bool
        Whether `path` may be a release; it is then replaced.
    partition_by : str or list of str
        Columns that are published as they are and name the folders of the release.
    report, public_report : str or path, optional
        Where on this machine to write the internal and the public report: files that end in .html, .json or
        .txt. For these, release and original are brought here, record by record.

    Returns
    -------
    Outcome
        What was lost, how large the groups are, what is promised.

    Raises
    ------
    CheckFailed
        If what was written does not keep its promise; nothing is published.

    Examples
    --------
    >>> outcome = shoal.spark.write(release, "safe", report="safe.html")  # doctest: +SKIP
    """
    if not isinstance(release, SparkRelease):
        raise InputError("only what shoal.spark.protect gave back can be checked: transform the data before")
    then = reporting(release.plan.plan, None, report, public_report)
    return engine.write(release, path, replace=replace, partition_by=partition_by, then=then)
