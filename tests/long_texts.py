"""Texts whose columns are not what their first records say, and their releases."""

import gzip

import numpy as np

from shoal.io.formats.long_text import LongText
from shoal.pipeline import run
from shoal.plan import Plan

#: Each way to write them: delimiter, decimal mark, ending.
WAYS = {"commas": (",", ".", "csv"), "decimal commas": (";", ",", "csv"), "packed": ("\t", ".", "tsv.gz")}
COLUMNS = ["late", "gaps"]


def texts(folder, way, n=300, **fields):
    """A text, its release and the plan of that.

    Whole numbers become decimals, then text, after the first batches; some cells are gaps, some have a line
    break, a delimiter or a quote in them, some are spelled in an unusual way.
    """
    delimiter, decimal, ending = WAYS[way]
    rng = np.random.default_rng(5)
    late = [f"{x:.0f}" if j < n // 2 else f"{x:.2f}" for j, x in enumerate(rng.normal(50, 9, n))]
    rows = {
        "late": late,
        "gaps": ["NA" if j % 50 == 7 else f"{x:.3f}" for j, x in enumerate(rng.lognormal(1, 1, n))],
        "code": [f"{j % 9}" if j < n - 5 else f"A{j}" for j in range(n)],
        "said": [['"two\nlines"', f'"a{delimiter}b"', '"""so"""', "plain", ""][j % 5] for j in range(n)],
        "none": [""] * n,
        "nr": [f"{j}" for j in range(n)],
        "size": [["1", "1.0", "1e0", "NA"][j % 4] for j in range(n)],
    }
    lines = [delimiter.join(rows), *map(delimiter.join, zip(*rows.values()))]
    lines = [line if j == 0 else line.replace(".", decimal) for j, line in enumerate(lines)]
    content = ("\n".join(lines) + "\n").encode()
    was, safe = folder / f"was.{ending}", folder / f"safe.{ending}"
    was.write_bytes(packed(content, was))
    plan = Plan(4, columns=COLUMNS, missing="group", method="mdav", keep=["nr"], **fields)
    run(plan, was).write(safe)
    return was, safe, plan


def packed(content, path):
    return gzip.compress(content) if path.suffix == ".gz" else content


def content_of(path):
    return gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()


def read(path):
    """The same text column by column, some of its records at a time."""
    return LongText(path, block=300, chunk=1000).by_column()
