"""The columns to protect, read batch by batch and written back in the type they are stored in."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.errors import InputError, did_you_mean
from shoal.frame.column import Column
from shoal.frame.frame import Frame
from shoal.frame.types import read_column, stored_kind
from shoal.stages.publish import GroupValues
from shoal.words import NUMBERS


@dataclass(frozen=True)
class StoredColumn:
    """A column to protect: its name, its type, the Arrow type that it is stored in, and codes for gaps."""

    name: str
    type: str
    stored: Any
    codes: tuple[Any, ...] = ()

    def read(self, cells: Any, first_row: int | None = None) -> Column:
        """The cells of one batch; `first_row` is the place of its first row in the whole table, if known."""
        frame = Frame(pa.table({self.name: cells}), first_row=first_row)
        return read_column(frame, self.name, self.type, codes=self.codes)

    @cached_property
    def empty(self) -> Column:
        """The column without records: it tells in which numbers values are held."""
        return self.read(pa.array([], self.stored))

    def published(self, groups: GroupValues, labels: NDArray) -> Any:
        """What the groups of these records publish, as Arrow cells of the column's own type."""
        gaps = None if groups.gaps is None else groups.gaps[labels]
        return self.empty.holding(groups.values[labels], gaps).to_arrow().cast(self.stored)


def stored_columns(
    schema: pa.Schema, chosen: Sequence[str] | None, besides: Collection[str], types: Mapping[str, str]
) -> list[StoredColumn]:
    """The columns to protect: those named, or every numeric one `besides` those that have another role."""
    frame = Frame(schema.empty_table())
    names = frame.choose(chosen, besides)
    columns = []
    for name in names:
        kind = stored_kind(frame, name)
        wanted = types.get(name, kind)
        if kind not in NUMBERS or wanted not in (kind, "integer") or (wanted, kind) == ("integer", "date"):
            raise InputError(
                f"column {name!r} is {wanted if name in types else schema.field(name).type}: blocks are made "
                "of numbers and dates; leave it out, or protect the table in memory (--engine memory)"
            )
        columns.append(StoredColumn(name, wanted, schema.field(name).type))
    for name in {*types, *besides} - set(schema.names):
        raise InputError(f"there is no column {name!r}: {did_you_mean(str(name), schema.names)}")
    return columns


def joined(parts: Sequence[Column]) -> Column:
    """The cells of several batches of one column, end to end."""
    gaps = None
    if any(part.gaps is not None for part in parts):
        gaps = np.concatenate([np.zeros(len(p.values), bool) if p.gaps is None else p.gaps for p in parts])
    return parts[0].holding(np.concatenate([part.values for part in parts]), gaps)
