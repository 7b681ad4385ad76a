"""The plan's steps beside grouping, in tables that come batch by batch: what they take from the whole table
is found in readings of their own, then every batch is recoded as it is read."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from math import ceil
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.engines.blocks.columns import WAS, Needed, StoredColumn
from shoal.engines.blocks.facts import tally
from shoal.frame.column import Column
from shoal.frame.frame import Frame
from shoal.frame.order import row_ids
from shoal.frame.types import as_weights
from shoal.io.private import key_file
from shoal.plan import Plan
from shoal.stages.recode import (
    End,
    Steps,
    ends_of,
    joins_of,
    limits_of,
    numbered,
    numbers_note,
    place_of,
    refuse_same_numbers,
)
from shoal.stages.round import decimals_of
from shoal.stages.units import refuse_without_unit

#: Batches of a table, each with the place of its first row, if that is known.
Batches = Iterable[tuple[int | None, Any]]
#: Reads these columns of a table, and gives what a function finds in each part of its batches.
Gather = Callable[[Sequence[str], Callable[[Batches], Any]], list[Any]]


@dataclass(frozen=True, eq=False)
class Recoding:
    """Batches of a table as the plan's steps make them.

    Each column that changes stands beside the others as it was. `stored` are the numbers among them.
    """

    steps: Steps
    stored: Mapping[str, StoredColumn]

    @property
    def changed(self) -> list[str]:
        """The columns that change."""
        numbered = [] if self.steps.key is None else [self.steps.plan.unit[0]]
        return [*self.stored, *self.steps.levels, *numbered]

    @property
    def added(self) -> dict[str, str]:
        """The columns that stand beside the others, and of which each is made."""
        return {WAS + name: name for name in self.changed}

    def sources(self, names: Sequence[str]) -> list[str]:
        """The columns of the table that these are made of."""
        wanted = dict.fromkeys(name.removeprefix(WAS) for name in names)
        numbered = self.steps.key is not None and self.steps.plan.unit[0] in wanted
        return list(wanted | dict.fromkeys(self.steps.plan.unit if numbered else ()))

    def schema(self, schema: pa.Schema) -> pa.Schema:
        """That of the recoded table: new numbers of units have 64 bits."""
        for name in self.changed[-1:] if self.steps.key is not None else ():
            place = schema.get_field_index(name)
            schema = schema.set(place, pa.field(name, pa.int64()))
        return schema

    def apply(self, batch: Any, first_row: int | None = None) -> Any:
        """An Arrow batch or table, recoded, with the changed columns as they were."""
        there = [name for name in self.changed if name in batch.schema.names]
        needed = list(dict.fromkeys([*there, *(n for n in self.steps.plan.unit if n in batch.schema.names)]))
        frame = Frame(pa.table({name: batch.column(name) for name in needed}), first_row=first_row)
        numbers = self.steps.numbers(frame, lambda name: self.stored[name].of(batch, first_row))
        made = {name: new.to_arrow() for name, (_, new) in numbers.items()} | self.steps.cells(frame)
        for name in there:
            old, cells = batch.column(name), made[name]
            place = batch.schema.get_field_index(name)
            cells = cells if name in self.steps.plan.unit else cells.cast(old.type)
            batch = batch.set_column(place, pa.field(name, cells.type), cells).append_column(WAS + name, old)
        return batch


def find(
    plan: Plan, needed: Needed, gather: Gather, records: int
) -> tuple[Recoding | None, Needed, list[str]]:
    """What the steps make of each cell of a table of so many records; the columns with their decimals."""
    if plan.decimals:
        needed = _with_decimals(needed, gather)
    old = {c.name: c.before for c in (*needed.chosen, *needed.kept) if c.before is not None}
    if not old and plan.pseudonyms is None:
        return None, needed, []
    numbers = {name: replace(c, prefix="") for name, c in old.items() if name not in plan.regroup}
    tails = {name: c for name, c in numbers.items() if name in plan.top or name in plan.bottom}
    ends, notes = _ends(plan, needed.weight, tails, gather, records) if tails else ({}, [])
    levels = {}
    for name in plan.regroup:
        levels[name], said = joins_of(plan, name, *_holders(plan, old[name], gather))
        notes += said
    rounded = [column.name for column in needed.kept if column.name in plan.round]
    key = None if plan.pseudonyms is None else key_file(plan.pseudonyms)
    if key is not None:
        _refuse_same_numbers(plan, key, gather)
    return Recoding(Steps(plan, ends, rounded, levels, key), numbers), needed, notes + numbers_note(plan)


def _with_decimals(needed: Needed, gather: Gather) -> Needed:
    """The columns to protect with as many decimals as they show."""
    numbers = [column for column in needed.chosen if not column.categorical]

    def most(batches: Batches) -> list[list[int | None]]:
        return [[decimals_of(column.of(batch, begin)) for column in numbers] for begin, batch in batches]

    found = [row for part in gather([column.name for column in numbers], most) for row in part]
    digits = {c.name: None if None in each else max(each) for c, each in zip(numbers, zip(*found))}
    return replace(needed, chosen=tuple(replace(c, decimals=digits.get(c.name)) for c in needed.chosen))


class Outermost:
    """The value at a place in the order of a column that comes batch by batch: memory for the shorter end."""

    def __init__(self, word: str, records: int):
        self.word, self.present = word, 0
        self._low = Decimal(word[1:]) * 2 < 1
        share = Decimal(word[1:]) if self._low else 1 - Decimal(word[1:])
        self._most = ceil(share * records) + 1
        self.held: NDArray = np.zeros(0)  # in memory

    def add(self, values: NDArray, present: int) -> None:
        """More values, the outermost of so many."""
        self.present += present
        held = np.concatenate([self.held, values]) if len(self.held) else values
        if len(held) > self._most:
            place = self._most - 1 if self._low else len(held) - self._most
            held = np.partition(held, place)
            held = held[: place + 1] if self._low else held[place:]
        self.held = held

    def merge(self, other: "Outermost") -> None:
        self.add(other.held, other.present)

    def value(self, column: Column) -> Any:
        """The smallest value that a share of the values does not exceed."""
        place = place_of(column, self.word, self.present)
        return np.sort(self.held)[place if self._low else place - self.present + len(self.held)]


def _ends(
    plan: Plan, weight: StoredColumn | None, columns: Mapping[str, StoredColumn], gather: Gather, records: int
) -> tuple[dict[Any, list[End]], list[str]]:
    """What the tails of these columns become: one reading for shares of the values, one for what lies beyond.

    In memory lie the values beyond the limits, with weight and unit.
    """
    shares = {
        (name, str(given[name]))
        for given in (plan.bottom, plan.top)
        for name in columns
        if str(given.get(name, "")).startswith("q")
    }

    def outermost(batches: Batches) -> dict[tuple[str, str], Outermost]:
        seen = {(name, word): Outermost(word, records) for name, word in shares}
        for begin, batch in batches:
            for (name, _), one in seen.items():
                present = columns[name].of(batch, begin).present
                one.add(present, len(present))
        return seen

    found, *others = gather(sorted({name for name, _ in shares}), outermost) if shares else [{}]
    for other in others:
        for which, one in other.items():
            found[which].merge(one)

    def quantile(column: Column, word: str) -> Any:
        return found[column.name, word].value(column)

    limits = {name: limits_of(plan, column.empty, quantile) for name, column in columns.items()}

    def beyond(batches: Batches) -> dict[str, list[tuple[Any, ...]]]:
        tails: dict[str, list[tuple[Any, ...]]] = {name: [] for name in columns}
        for begin, batch in batches:
            refuse_without_unit(batch, plan.unit, begin or 0)
            units = row_ids(batch, plan.unit) if plan.unit else None
            weights = None if weight is None else as_weights(weight.of(batch, begin), begin)
            for name, stored in columns.items():
                column = stored.of(batch, begin)
                those = np.logical_or.reduce([End(v, s, v).beyond(column) for s, v in limits[name].items()])
                facts = (column.values, units, weights)
                tails[name].append(tuple(None if fact is None else fact[those] for fact in facts))
        return tails

    names = [*columns, *plan.unit, *([] if weight is None else [weight.name])]
    parts = gather(list(dict.fromkeys(names)), beyond)
    ends, notes = dict[Any, list[End]](), list[str]()
    for name, stored in columns.items():
        pieces = zip(*(piece for part in parts for piece in part[name]))
        facts: list[Any] = [None if fact[0] is None else np.concatenate(fact) for fact in pieces]
        ends[name], said = ends_of(plan, stored.empty.holding(facts[0], None), limits[name], *facts[1:])
        notes += said
    return ends, notes


def _holders(plan: Plan, column: StoredColumn, gather: Gather) -> tuple[pa.Array, list[tuple[int, int, int]]]:
    """The levels of a column, and who holds them, as `joins_of` takes it."""
    by_unit = bool(plan.unit) and "rare" in plan.regroup[column.name]

    def holders(batches: Batches) -> tuple[Counter[Any], dict[Any, set[int]]]:
        counts, units = Counter[Any](), defaultdict[Any, set[int]](set)
        for _, batch in batches:
            cells = Frame(pa.table({"cells": column.cells(batch.column(column.name))})).arrow("cells")
            tally(counts, cells.drop_null())
            if by_unit:
                pairs = pa.table({"level": cells, "unit": row_ids(batch, plan.unit)}).group_by(
                    ["level", "unit"], use_threads=False
                )
                for pair in pairs.aggregate([]).to_pylist():
                    units[pair["level"]].add(pair["unit"])
        return counts, units

    counts, units = Counter[Any](), defaultdict[Any, set[int]](set)
    for found_here, units_here in gather([column.name, *(plan.unit if by_unit else ())], holders):
        counts.update(found_here)
        for level, whose in units_here.items():
            units[level] |= whose
    found = list(counts)
    listed = pa.array(found, column.cells(pa.array([], column.stored)).type)
    if by_unit:
        return listed, [(place, unit, 1) for place, level in enumerate(found) for unit in units[level]]
    return listed, [(place, place, counts[level]) for place, level in enumerate(found)]


def _refuse_same_numbers(plan: Plan, key: bytes, gather: Gather) -> None:
    """Look at the number of every unit; 16 bytes each."""

    def pairs(batches: Batches) -> NDArray:
        seen = np.zeros((0, 2), np.int64)
        for begin, batch in batches:
            refuse_without_unit(batch, plan.unit, begin or 0)
            frame = Frame(pa.table({name: batch.column(name) for name in plan.unit}))
            new = np.stack([row_ids(batch, plan.unit), np.asarray(numbered(plan, frame, key))], axis=1)
            seen = np.unique(np.concatenate([seen, new]), axis=0)
        return seen

    found = np.unique(np.concatenate(gather(list(plan.unit), pairs)), axis=0)
    refuse_same_numbers(plan, found[:, 1])
