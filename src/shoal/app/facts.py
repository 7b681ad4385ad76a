"""What the page shows of a table and of a release, as plain values fit for JSON. Made in the worker."""

from dataclasses import asdict
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow.compute as pc
import pyarrow.types as types

from shoal.frame.frame import Frame
from shoal.frame.guess import guess_roles
from shoal.frame.types import stored_kind
from shoal.io.files import as_arrow
from shoal.measures.measure import digits, plain
from shoal.measures.pair import Pair, pair
from shoal.measures.utility import deviations
from shoal.release import Release
from shoal.report import build
from shoal.report.audit import sentences
from shoal.report.drawing import day
from shoal.report.pictures import distributions

PREVIEW = 8  # rows shown of a table
LEVELS = 8  # categories drawn of a column
ORDERED = 60  # levels that are dragged into order: more are typed
CHANGES = 12  # largest changes listed


def table_facts(frame: Frame) -> dict[str, Any]:
    """Records, the first rows, and what each column is guessed to be, with its picture."""
    table = as_arrow(frame.native)
    guesses = guess_roles(frame)
    columns = [
        {
            **asdict(guess),
            "name": str(guess.name),
            "kind": stored_kind(frame, guess.name),
            "stored": str(table.schema.field(j).type),
            **_picture(frame, guess.name, table.column(j)),
        }
        for j, guess in enumerate(guesses)
    ]
    first = table.slice(0, PREVIEW).to_pylist()
    rows = [[_cell(row[name]) for name in table.column_names] for row in first]
    return plain({"records": len(frame), "columns": columns, "preview": rows})


def _cell(value: Any) -> str:
    """A cell as people read it; a gap is empty."""
    if value is None or value != value:
        return ""
    if isinstance(value, float):
        return f"{value:.10g}"
    text = str(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _picture(frame: Frame, name: Any, cells: Any) -> dict[str, Any]:
    """The range of a column in words, and a small histogram: how many records in which class."""
    facts = {"range": "", "classes": [], "counts": [], "levels": []}
    kind = cells.type
    if types.is_dictionary(kind):
        cells, kind = cells.cast(kind.value_type), kind.value_type
    numeric = types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind)
    if numeric or types.is_date(kind) or types.is_timestamp(kind):
        try:
            shapes = distributions(pair(frame.native, frame.native, [name]))
        except (ValueError, TypeError):
            shapes = []
        if shapes and len(cells) > cells.null_count:
            (shape,) = shapes
            said = [day(edge) if shape["moment"] else digits(edge, 6) for edge in shape["edges"]]
            counts = np.rint(np.asarray(shape["before"]) * (len(cells) - cells.null_count))
            classes = [f"{a} to {b}" for a, b in pairwise(said)]
            return facts | {"range": f"{said[0]} to {said[-1]}", "classes": classes, "counts": counts}
    if types.is_nested(kind):
        return facts
    levels = sorted(pc.value_counts(cells.drop_null()).to_pylist(), key=lambda pair: -pair["counts"])
    shown = [_cell(entry["values"]) for entry in levels[:LEVELS]]
    return {
        "range": ", ".join(shown[:3]) + (", ..." if len(levels) > 3 else ""),
        "classes": shown,
        "counts": [entry["counts"] for entry in levels[:LEVELS]],
        "levels": sorted(str(entry["values"]) for entry in levels) if len(levels) <= ORDERED else [],
    }


def release_facts(release: Release) -> dict[str, Any]:
    """The report's own model, the largest changes, and the audit in words; the bound comes later."""
    from shoal.comparison import Run

    both = release.measured.pair()  # read once for the model and the changes
    model = build(release, "internal", bound_time=None)
    facts = {key: model[key] for key in ("outcome", "utility", "risk", "distributions", "map", "notes")}
    facts["audit"] = sentences(model["audit"], model["outcome"]["records"])
    return plain({**facts, "changes": _changes(both), "run": asdict(Run.of(release))})


def _changes(both: Pair) -> list[dict[str, Any]]:
    """The cells that moved furthest, in standard deviations of their column."""
    if not both.numbers:
        return []
    X, Y = (np.stack([column[side] for column in both.numbers], axis=1) for side in (1, 2))
    moves = np.nan_to_num((Y - X) / deviations(X))  # what is a gap has not moved
    size = np.abs(moves).ravel()
    order = np.argpartition(-size, min(CHANGES, size.size - 1))[:CHANGES]
    changes = []
    for place in order[np.argsort(-size[order], kind="stable")]:
        i, j = divmod(int(place), X.shape[1])
        column = both.numbers[j]
        written = day if column.moment else lambda value: digits(value, 6)
        changes.append(
            {
                "record": i + 1,
                "column": str(column.name),
                "before": written(X[i, j]),
                "after": written(Y[i, j]),
                "sd": float(moves[i, j]),
            }
        )
    return [change for change in changes if change["sd"]]
