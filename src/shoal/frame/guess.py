"""What columns look like: guesses with their reasons, shown to a person and never acted on unasked."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

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
        elif column.type == "integer" and len(np.unique(column.present)) == len(column.values) > 2:
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
    whole = stored == "integer" or bool((column.values == np.rint(column.values)).all())
    kind = "integer" if whole else "continuous"
    if whole and distinct <= _FEW and len(column.values) > 4 * distinct:
        return "nominal", f"{distinct} whole numbers, codes? (ordinal, if in order)"
    return kind, "whole numbers" if whole else "numbers"


def _role(column: Column, stored: str, kind: str, distinct: int, why: str) -> tuple[str, str]:
    name = str(column.name)
    records = len(column.present)
    if _IDENTIFIER.search(name) or _NAMED.search(name):
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
    if column.type != "integer" or values.dtype.kind not in "iu" or len(values) < 3:
        return False
    low, high = int(values.min()), int(values.max())
    return high - low == len(values) - 1 and len(np.unique(values)) == len(values)
