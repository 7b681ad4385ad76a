"""Implausible values: what a reader of the release would stumble over."""

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.errors import InputError, did_you_mean
from shoal.frame.frame import Frame
from shoal.measures.measure import digits
from shoal.measures.pair import Pair, column_values


def audit(both: Pair, sums: Sequence[str] = ()) -> dict[str, Any]:
    """Signs, zeros, ranges and whole numbers of each column, and the sums that were declared."""
    columns = {}
    for column in both.numbers:
        x, y = column.complete.before, column.complete.after
        columns[column.name] = {
            "sign_changes": int(((x < 0) & (y > 0) | (x > 0) & (y < 0)).sum()),
            "zeros_lost": int(((x == 0) & (y != 0)).sum()),
            "outside_range": int(((y < x.min(initial=np.inf)) | (y > x.max(initial=-np.inf))).sum()),
            "no_longer_whole": int((y != np.rint(y)).sum()) if (x == np.rint(x)).all() else 0,
        }
    return {"columns": columns, "sums": [declared_sum(both.original, both.released, text) for text in sums]}


def declared_sum(original: Frame, released: Frame, text: str) -> dict[str, Any]:
    """How many records keep a declared sum, before and after."""
    left, sign, right = text.partition("=")
    if not sign or not left.strip() or not right.strip():
        raise InputError(f"a sum reads 'total = a + b - c', not {text!r}")
    terms = re.findall(r"([+-]?)\s*(`[^`]+`|[^+\-`\s][^+\-`]*)", right)
    facts: dict[str, Any] = {"sum": text.strip()}
    for side, frame in (("before", original), ("after", released)):
        total = _summand(frame, left)
        parts = [(-1.0 if minus == "-" else 1.0) * _summand(frame, word) for minus, word in terms]
        gap = np.abs(total - np.sum(parts, axis=0))
        size = np.maximum(np.abs(total), np.sum(np.abs(parts), axis=0))
        gap = np.where(np.isnan(gap), 0, gap)
        broken = gap > 1e-6 * np.where(np.isnan(size), 0, size) + 1e-12
        facts[f"broken_{side}"] = int(broken.sum())
        facts[f"largest_gap_{side}"] = float(gap.max())
    return facts


def _summand(frame: Frame, word: str) -> NDArray:
    by_text = {str(name): name for name in frame.names}
    word = word.strip().strip("`")
    if word not in by_text:
        raise InputError(f"there is no column {word!r} for the sum: {did_you_mean(word, by_text)}")
    column = column_values(frame, by_text[word])
    if column.dtype.kind != "f":
        raise InputError(f"column {word!r} holds text: it cannot be part of a sum")
    return column


def sentences(facts: dict[str, Any], records: int) -> list[str]:
    """The audit in plain words; empty where there is nothing to say."""
    said = []
    words = {
        "sign_changes": "are published with the other sign",
        "zeros_lost": "had 0 and are published with another value",
        "outside_range": "are published outside the original range",
        "no_longer_whole": "are published with a fraction, though the column held whole numbers",
    }
    for name, counts in facts["columns"].items():
        for key, text in words.items():
            if counts[key]:
                said.append(f"{name}: {counts[key]:,} of {records:,} records {text}.")
    for entry in facts["sums"]:
        if entry["broken_after"] > entry["broken_before"]:
            said.append(
                f"{entry['sum']}: does not add up for {entry['broken_after']:,} records after, "
                f"{entry['broken_before']:,} before (largest gap {digits(entry['largest_gap_after'])}): "
                "leave the total out and add it up after release."
            )
        else:
            said.append(f"{entry['sum']}: holds as before.")
    return said
