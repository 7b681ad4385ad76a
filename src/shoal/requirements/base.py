"""A requirement: a question about one group, asked slowly and obviously by `holds`, quickly by `kernel`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from shoal.arrays import Floats, Ints
from shoal.errors import CheckFailed
from shoal.frame.column import Column

registry: dict[str, type[Requirement]] = {}
#: What is asked for may be missed by this part of it: less is rounding.
SLACK = 1e-9


def levels_of(column: Column) -> Ints:
    """The place of each value among those that occur, in their order; a gap is a value after all others."""
    codes = np.unique(column.values, return_inverse=True)[1].astype(np.int64)
    if column.gaps is None or not column.gaps.any():
        return codes
    codes[column.gaps] = codes.max() + 1
    return np.unique(codes, return_inverse=True)[1].astype(np.int64)


def shares_of(column: Column) -> tuple[Ints, Floats]:
    """The levels of the records, and the share of each level in the whole table."""
    if column.whole is None:
        codes = levels_of(column)
        return codes, np.bincount(codes) / len(codes)
    values, counts = column.whole.values, column.whole.counts
    codes = np.searchsorted(values, column.values).astype(np.int64)
    if column.gaps is not None:
        codes[column.gaps] = len(values)
    counts = counts if counts[-1] else counts[:-1]
    if codes.max(initial=0) >= len(counts):
        raise CheckFailed(f"column {column.name!r} has changed meanwhile: protect it again")
    return codes, counts / counts.sum()


def rounded(figure: float, up: bool) -> str:
    """Four digits of a figure, rounded so that who asks for them asks for less."""
    last = 10.0 ** (np.floor(np.log10(abs(figure))) - 3) if figure else 1.0
    steps = figure / last
    return f"{(np.ceil(steps - SLACK) if up else np.floor(steps + SLACK)) * last:.4g}"


@dataclass(frozen=True, eq=False)
class Requirement(ABC):
    """What each group must hold.

    A stratum that does not hold it as a whole cannot be divided so that every group does; one that holds it
    can, as a single group.
    """

    codes: Ints  # one for each record
    values: Floats  # one for each record
    parameters: Floats
    remedy: str = ""  # what is wrong with a stratum that cannot hold it, and what to do
    asked: str = ""  # in words, what each group has

    name: ClassVar[str]
    title: ClassVar[str]
    needs: ClassVar[str]  # of the table
    of_cells: ClassVar[bool] = (
        False  # a cell that fails can be a gap: no stratum is refused that cannot hold it
    )

    def __init_subclass__(cls) -> None:
        registry[cls.name] = cls

    @abstractmethod
    def holds(self, members: Ints) -> bool:
        """Whether the group of these records holds it: the reference, written in the obvious way."""

    def ranks(self) -> Ints | Floats | None:
        """Numbers that rank records, if groups with one record of each part of the ranks tend to hold it."""
        return None

    def nearest(self, members: Ints) -> str | None:
        """What these records can be asked for instead, as a plan writes it."""
        return None

    def fault(self, members: Ints) -> str:
        """Why records that do not hold it as a whole cannot be divided into groups that do."""
        if self.remedy:
            return f"has {self.remedy}"
        near = self.nearest(members)
        do = "leave that out" if near is None else f"the nearest that can be had is {self.name} {near}"
        return f"cannot have {self.asked} in each group: {do}"

    @staticmethod
    @abstractmethod
    def kernel(members: Ints, count: int, codes: Ints, values: Floats, parameters: Floats) -> bool:
        """The same of the first `count` members, in what numba compiles. It may reorder them."""
