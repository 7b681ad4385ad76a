"""What is published as it is, and what it gives away: identifiers, and columns that tell protected ones."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.arrays import Floats, Ints
from shoal.errors import InputError
from shoal.frame.column import Column
from shoal.frame.frame import Frame
from shoal.frame.guess import identifier_reason, named_like_identifier, notes_on_codes
from shoal.frame.types import read_column, stored_kind
from shoal.plan import Plan

#: A kept column that gives back this share of a protected one is named.
TELLING = 0.5
#: Numbers are given back that are met within this part of a standard deviation.
NEAR = 0.01
#: Records that columns are compared on, at the most; and in all pairs of columns together.
SAMPLE, PAIRS = 20_000, 4_000_000
#: Fewer records may tell each other by chance.
ENOUGH = 10


class Suspect(NamedTuple):
    """A column that is published as it is, and why that should be somebody's decision."""

    name: Any
    reason: str


def look(
    plan: Plan, frame: Frame, columns: Mapping[Any, Column], changed: Collection[Any] = ()
) -> tuple[tuple[Suspect, ...], tuple[str, ...]]:
    """Suspects among what is published beside the protected columns, none of which has a role; and notes.

    `changed` are columns of which some cells are replaced.
    """
    dropped = {*plan.named("identifier"), *plan.named("unit")}
    names = [name for name in frame.names if name not in columns and name not in dropped]
    found = [
        Suspect(name, f"looks like an identifier ({reason})")
        for name in names
        if name not in plan.roles and (reason := identifier_reason(frame, name)) is not None
    ]
    found += _telling(plan.k, frame, [n for n in names if n not in {name for name, _ in found}], columns)
    suspects = tuple(suspect for suspect in found if suspect.name not in plan.roles)
    as_before = [str(name) for name in names if name not in changed]
    notes = [f"published as they are: {', '.join(as_before)}"] if as_before else []
    notes += [f"column {name!r} {reason}, and is published as it is" for name, reason in found]
    return suspects, (*notes_on_codes(columns.values()), *notes)


def refuse(suspects: Sequence[Suspect], keep: Iterable[Any] = ()) -> None:
    """Raise unless somebody decided to publish these columns as they are."""
    decided = {str(name) for name in ([keep] if isinstance(keep, str) else keep)}
    left = [suspect for suspect in suspects if str(suspect.name) not in decided]
    if left:
        first = left[0].name
        said = "; ".join(f"column {name!r} {reason}" for name, reason in left)
        raise InputError(
            f"{said}: drop such a column (--role {first}=identifier, roles={{{first!r}: 'identifier'}}) "
            f"or decide to publish it as it is (--keep {first}, keep=[{first!r}], "
            "on the page the role 'other' in step 1)"
        )


def repeated_units(
    plan: Plan,
    names: Sequence[Any],
    columns: Collection[Any],
    labels: Sequence[Any],
    ids_of: Callable[[Any], Ints | None],
) -> list[str]:
    """A note on each identifier beside these columns that repeats, where groups hold few of its values.

    `ids_of` gives a number for each record of a column, the same for the same cells; None if it cannot.
    """
    notes = []
    for name in identifiers(plan, names, columns):
        ids = ids_of(name)
        if ids is not None:
            few = sum(few_units(ids, part, plan.k) for part in labels)
            groups = sum(len(np.unique(part)) for part in labels)
            notes += repeating(plan.k, name, few, groups, len(np.unique(ids)), len(ids))
    return notes


def identifiers(plan: Plan, names: Sequence[Any], columns: Collection[Any]) -> list[Any]:
    """Which names beside these columns tell whom k may protect, where the plan does not say it."""
    return [
        name
        for name in (() if plan.unit else names)
        if name not in columns and (plan.roles.get(name) == "identifier" or named_like_identifier(name))
    ]


def repeating(k: int, name: Any, few: int, groups: int, distinct: int, records: int) -> list[str]:
    """A note on an identifier of which `few` groups hold fewer than k values, if it repeats at all."""
    if not few or not k <= distinct < records:
        return []
    return [
        f"column {name!r} repeats, and {few:,} of {groups:,} groups hold fewer than k={k} of "
        f"its values: if it tells whom you protect, say so (--unit {name}, unit={name!r})"
    ]


def few_units(ids: Ints, labels: Any, k: int) -> int:
    """How many groups hold fewer than k different ids."""
    pairs = np.unique(np.stack([labels, ids]), axis=1)
    return int((np.unique(pairs[0], return_counts=True)[1] < k).sum())


def codes_of_cells(frame: Frame, name: Any) -> Ints | None:
    """A column as whole numbers, the same for the same cells; None if its cells cannot be compared."""
    try:
        cells = frame.arrow(name)
        encoded = cells if pa.types.is_dictionary(cells.type) else cells.dictionary_encode()
    except (InputError, pa.ArrowException):
        return None
    return encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)


def _telling(k: int, frame: Frame, names: Sequence[Any], columns: Mapping[Any, Column]) -> list[Suspect]:
    """The columns that give back a protected one, with the share of its records."""
    most = max(1000, min(SAMPLE, PAIRS // max(1, len(names) * len(columns))))
    if names and len(frame) > most:
        chosen = np.zeros(len(frame), bool)
        chosen[np.random.default_rng(0).choice(len(frame), most, replace=False)] = True
        frame, columns = frame.rows(chosen), {n: column.rows(chosen) for n, column in columns.items()}
    found = []
    for name in names:
        try:
            text = stored_kind(frame, name) in ("text", "other")
            kept = read_column(frame, name, "nominal" if text else None)
        except (InputError, pa.ArrowException):
            continue
        shares = {other: given_back(kept, column, k) for other, column in columns.items()}
        told = [f"{other!r} in {100 * share:.0f} %" for other, share in shares.items() if share >= TELLING]
        if told:
            found.append(Suspect(name, f"gives back {', '.join(told)} of the records"))
    return found


def given_back(kept: Column, protected: Column, k: int) -> float:
    """The share of a protected column's values that the other column tells; 0 if it tells too little.

    A guess is made for each record from the others: the most frequent value among those of the same level,
    where at least k are, and of two numbers also the line between its neighbours, or their mean. It counts
    as little if guessing one value for all records does half as well.
    """
    there = kept.there & protected.there
    x, y = kept.values[there], protected.values[there]
    records = len(protected.present)
    if len(x) < ENOUGH or (y == y[0]).all():
        return 0.0
    outcomes = [_by_level(x, y, k)]
    if not (kept.categorical or protected.categorical):
        outcomes.append(_by_neighbours(x.astype(float), y.astype(float)))
    good = [hits for hits, plain in outcomes if hits - plain >= TELLING * (len(x) - plain)]
    return max(good, default=0) / records


def _by_level(x: NDArray, y: NDArray, k: int) -> tuple[int, int]:
    """How many values the most frequent other one of their level meets; how many one value for all meets."""
    levels, sizes = np.unique(x, return_inverse=True, return_counts=True)[1:]
    values, often = np.unique(y, return_inverse=True, return_counts=True)[1:]
    pairs, counts = np.unique(levels * len(often) + values, return_counts=True)
    level = pairs // len(often)
    order = np.lexsort([-counts, level])
    counts, level = counts[order], level[order]
    begins = np.flatnonzero(np.r_[True, level[1:] != level[:-1]])
    second = np.zeros(len(begins), np.int64)
    several = np.diff(np.r_[begins, len(level)]) > 1
    second[several] = counts[begins[several] + 1]
    met = (counts[begins] - 1 > second) & (sizes >= k)
    return int(counts[begins][met].sum()), int(often.max())


def _by_neighbours(x: Floats, y: Floats) -> tuple[int, int]:
    """How many values their neighbours in the other column meet; how many one value for all meets."""
    order = np.random.default_rng(0).permutation(len(x))  # the order of the rows tells nothing about ties
    order = order[np.argsort(x[order], kind="stable")]
    x, y = (values[order] / (np.abs(values).max() or 1.0) for values in (x, y))  # no sum can be infinite
    near = NEAR * y.std()
    before, after = np.r_[y[1], y[:-1]], np.r_[y[1:], y[-2]]
    left, both = np.r_[0.0, np.diff(x)], np.r_[0.0, x[2:] - x[:-2], 0.0]
    line = before + np.divide(left, both, out=np.full(len(x), 0.5), where=both > 0) * (after - before)
    mean = np.convolve(np.pad(y, 3, "reflect"), np.array([1, 1, 1, 0, 1, 1, 1]) / 6, "valid")
    hits = max(int((np.abs(guess - y) <= near).sum()) for guess in (line, mean))
    ordered = np.sort(y)
    plain = np.searchsorted(ordered, ordered + 2 * near, "right") - np.arange(len(y))
    return hits, int(plain.max())
