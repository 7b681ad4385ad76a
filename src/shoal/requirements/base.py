"""A requirement: a question about one group, asked slowly and obviously by `holds`, quickly by `kernel`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

registry: dict[str, type[Requirement]] = {}


@dataclass(frozen=True, eq=False)
class Requirement(ABC):
    """What each group must hold.

    A stratum that does not hold it as a whole cannot be divided so that every group does; one that holds it
    can, as a single group.
    """

    codes: NDArray[np.int64]  # one for each record
    values: NDArray[np.float64]  # one for each record
    parameters: NDArray[np.float64]
    remedy: str = ""  # what is wrong with a stratum that cannot hold it, and what to do

    name: ClassVar[str]
    title: ClassVar[str]
    needs: ClassVar[str]  # of the table
    of_cells: ClassVar[bool] = (
        False  # a cell that fails can be a gap: no stratum is refused that cannot hold it
    )

    def __init_subclass__(cls) -> None:
        registry[cls.name] = cls

    @abstractmethod
    def holds(self, members: NDArray[np.int64]) -> bool:
        """Whether the group of these records holds it: the reference, written in the obvious way."""

    @staticmethod
    @abstractmethod
    def kernel(
        members: NDArray[np.int64],
        count: int,
        codes: NDArray[np.int64],
        values: NDArray[np.float64],
        parameters: NDArray[np.float64],
    ) -> bool:
        """The same of the first `count` members, in what numba compiles. It may reorder them."""
