"""What columns look like: guesses with their reasons, shown to a person and never acted on unasked."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from shoal.errors import InputError
from shoal.frame.column import Column
from shoal.frame.frame import Frame
from shoal.frame.types import read_column, stored_kind

_IDENTIFIER = re.compile(r"(^|[^a-z])(id|uid|uuid|key|ssn|pin|nr|no)$|[a-z](ID|Id)$|[A-Z]{3,}ID$|^id[^a-z]")
_NAMED = re.compile(
    r"(^|[^a-z])(hid|pid|name|surname|e-?mail|phone|address|iban|passport)($|[^a-z])", re.IGNORECASE
)
_WEIGHT = re.compile(r"weight|wgt|(^|[^a-z])wt($|[^a-z])", re.IGNORECASE)
_STRATUM = re.compile(r"strat(um|a)", re.IGNORECASE)
_CONFIDENTIAL = re.compile(
    r"diagnos|disease|illness|religio|criminal|convict|sexual|hiv|disab|politic|union_?member", re.IGNORECASE
)
_FEW = 12  # whole numbers with no more distinct values than this may be codes
_ENOUGH = 10  # of fewer records each may have a value of its own by chance
_OWN = 0.9  # texts of which at least this share are distinct look like identifiers
_PART = 100_000  # records that are looked at before all
_CODE = re.compile(r"9+[78]?|7+|8+")
_RARE = 0.1  # zeros that are more than this share are amounts
_MANY = 0.5  # texts of which more than this share are distinct are no categories


@dataclass(frozen=True)
class Guess:
    """What one column looks like."""

    name: Any
    role: str
    type: str | None
    reason: str
    distinct: int
    gaps: int


def guess_roles(frame: Frame) -> list[Guess]:
    """A guess for each column of the table, in order."""
    guesses = [_guess(frame, name) for name in frame.names]
    weights = [guess.name for guess in guesses if guess.role == "weight"]
    return [
        replace(guess, role="other", reason=f"a second weight beside {weights[0]!r}")
        if guess.name in weights[1:]
        else guess
        for guess in guesses
    ]


def named_like_identifier(name: Any) -> bool:
    return bool(_IDENTIFIER.search(str(name)) or _NAMED.search(str(name)))


def identifier_reason(frame: Frame, name: Any) -> str | None:
    """Why a column of texts or whole numbers looks like an identifier; None if it does not."""
    try:
        kind = stored_kind(frame, name)
        if kind in ("boolean", "date"):
            return None
        if kind == "continuous":  # whole numbers with gaps come as fractions
            values = read_column(frame, name).present
            return "its name says so" if named_like_identifier(name) and _all_whole(values) else None
        if named_like_identifier(name):
            return "its name says so"
        cells = frame.arrow(name).drop_null()
        distinct = len(pc.unique(cells))
    except (InputError, pa.ArrowException):
        return None
    alike = len(cells) - distinct
    if len(cells) < _ENOUGH or alike > (0 if kind == "integer" else (1 - _OWN) * len(cells)):
        return None
    return "each record has a value of its own" if not alike else "nearly each record has a value of its own"


def suspected_codes(column: Column) -> list[tuple[Any, int]]:
    """Repeated extremes that look like codes for gaps, far outside the rest; and how often each occurs.

    They are made of nines, sevens or eights (a 7 or 8 may stand after nines), or are -1 to -9 or 0.
    """
    if column.type not in ("integer", "continuous") or column.stored is not None:
        return []
    present = column.present
    ends = (present.min().item(), present.max().item()) if len(present) else ()
    if not any(map(_looks_like_code, ends)):
        return []
    values, counts = np.unique(present, return_counts=True)
    found: list[tuple[Any, int]] = []
    for step in (-1, 1):
        ordered, often = values[::step], counts[::step]
        codes = next((j for j, value in enumerate(ordered.tolist()) if not _looks_like_code(value)), 0)
        for many in range(codes, 0, -1):
            if _far(ordered, often, many):
                found += zip(ordered[:many].tolist(), often[:many].tolist())
                break
    return found


def notes_on_codes(columns: Iterable[Column]) -> list[str]:
    """One sentence for each suspected code."""
    return [
        f"column {column.name!r} has {value:.15g} in {records:,} records, far outside the rest: if it stands "
        f"for a gap, name it (--missing-code {column.name}={value:.15g})"
        for column in columns
        for value, records in suspected_codes(column)
    ]


def _looks_like_code(value: float) -> bool:
    digits = f"{abs(value):.15g}".replace(".", "")
    return value == 0 or bool(_CODE.fullmatch(digits)) or value in range(-9, 0)


def _far(values: NDArray, counts: NDArray, codes: int) -> bool:
    """Whether the first `codes` of these values, sorted from them inwards, lie far from the rest.

    The way to the rest is twice the longest between neighbours in the nearer half of the rest, but for its
    outermost hundredth; or each code is three times as frequent as any value near it. Few digits are
    more often a value: they must occur five times. 0 must be rare, and three times as far away as the
    quartiles are apart, because many amounts are 0.
    """
    code, often = float(values[codes - 1]), int(counts[:codes].min())
    rest, counts = np.abs(values[codes:].astype(float) - code), counts[codes:]
    if len(rest) < 2 or often < (5 if 0 < code < 10 else 2):
        return False
    share = np.cumsum(counts) / counts.sum()
    if code == 0:
        low, high = rest[np.searchsorted(share, [0.25, 0.75])]
        return bool(often < _RARE * counts.sum() and low > 3 * (high - low) > 0)
    ways = np.diff(rest)
    inner = ways[np.searchsorted(share, 0.01) : max(1, np.searchsorted(share, 0.5))]
    spike = often >= max(5, 3 * counts[:10].max()) and rest[0] >= 3 * ways.min()
    return bool(spike or rest[0] >= 2 * inner.max(initial=ways.min()))


def index_roles(frame: Frame, known: Mapping[Any, str]) -> dict[Any, str]:
    """The parts of the table's index that look like identifiers and have no role yet: they are dropped."""
    looks = {name: _guess(frame, name).role for name in frame.index if name not in known}
    return {name: role for name, role in looks.items() if role == "identifier"}


def notes_on_columns(columns: Mapping[Any, Column]) -> list[str]:
    """Columns that were protected though they look like something else."""
    notes = []
    for name, column in columns.items():
        if _IDENTIFIER.search(str(name)) or _counts_records(column):
            notes.append(f"column {name!r} looks like an identifier but was averaged like the rest")
        elif _WEIGHT.search(str(name)):
            notes.append(f"column {name!r} looks like a survey weight but was averaged like the rest")
        elif column.type == "integer" and column.gaps is None and _all_differ(column.values):
            notes.append(f"each record has its own value in column {name!r}: is it an identifier?")
    return notes


def _guess(frame: Frame, name: Any) -> Guess:
    stored = stored_kind(frame, name)
    try:
        column = read_column(frame, name, None if stored not in ("text", "other") else "nominal")
    except InputError as error:
        return Guess(name, "other", None, f"cannot be grouped: {error}", 0, 0)
    distinct = len(np.unique(column.present))
    gaps = 0 if column.gaps is None else int(column.gaps.sum())
    kind, why = _kind(frame, column, stored, distinct)
    role, reason = _role(column, stored, kind, distinct, why)
    return Guess(name, role, kind, reason, distinct, gaps)


def _kind(frame: Frame, column: Column, stored: str, distinct: int) -> tuple[str, str]:
    """The type, and what speaks for it."""
    if stored == "text":
        if distinct <= 2:
            return "boolean", "a text with two values"
        try:
            return read_column(frame, column.name, "date").type, "texts like 2031-12-24"
        except InputError:
            return "nominal", f"a text with {distinct:,} values"
    if stored in ("boolean", "nominal", "ordinal", "date"):
        return stored, f"stored as {stored}"
    if stored == "other":
        return "nominal", "stored as neither number nor text"
    whole = stored == "integer" or _all_whole(column.values)
    kind = "integer" if whole else "continuous"
    if whole and distinct <= _FEW and len(column.values) > 4 * distinct:
        return "nominal", f"{distinct} whole numbers, codes? (ordinal, if in order)"
    return kind, "whole numbers" if whole else "numbers"


def _all_whole(values: NDArray) -> bool:
    return bool((values == np.rint(values)).all())


def _role(column: Column, stored: str, kind: str, distinct: int, why: str) -> tuple[str, str]:
    name = str(column.name)
    records = len(column.present)
    if named_like_identifier(name):
        return "identifier", "its name says so"
    text = stored == "text" and kind != "date"
    if distinct == records > 2 and (text or _counts_records(column)):
        return "identifier", "each record has a value of its own"
    if _WEIGHT.search(name):
        return "weight", "its name says so"
    if _STRATUM.search(name) and kind in ("nominal", "integer", "boolean"):
        return "stratum", "its name says so"
    if _CONFIDENTIAL.search(name):
        return "confidential", "its name sounds sensitive; published as it is"
    if distinct <= 1:
        return "other", "the same for all records"
    if (text or stored == "other") and distinct > _MANY * records:
        return "other", f"free text? {distinct:,} different values; published as it is"
    if distinct == records > 2 and kind == "integer":
        why += "; each record has its own: an identifier?"
    return "quasi", why


def _counts_records(column: Column) -> bool:
    """Whole numbers that run from first to last without a gap or a repeat."""
    values = column.values
    if column.type != "integer" or values.dtype.kind not in "iu":
        return False
    return int(values.max()) - int(values.min()) == len(values) - 1 and _all_differ(values)


def _all_differ(values: NDArray) -> bool:
    """Whether three or more whole numbers are all different. A few records show most repeats."""
    if len(values) < 3 or int(values.max()) - int(values.min()) < len(values) - 1:
        return False
    return all((np.diff(np.sort(part)) != 0).all() for part in (values[:_PART], values))
