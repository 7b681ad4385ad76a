"""What a measure is: a number for the table, one for each column, and a sentence that says what it means."""

import math
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any, SupportsFloat

import numpy as np
from numpy.typing import NDArray

from shoal.display import Tabular, card
from shoal.errors import did_you_mean


@dataclass(frozen=True)
class Measure:
    """One measure: `columns` has its value by column, where it has one, `detail` the figures behind it."""

    key: str
    title: str
    meaning: str
    overall: float
    columns: Mapping[Any, float] = field(default_factory=dict)
    unit: str = ""  # "%" for percent; "share" for 0..1; "sd" for standard deviations; "" for a plain number
    detail: Mapping[str, Any] = field(default_factory=dict)

    def facts(self) -> dict[str, Any]:
        """As plain values, fit for JSON."""
        told = ("title", "meaning", "unit", "overall", "columns", "detail")
        return plain({name: getattr(self, name) for name in told})


@cache
def _words() -> dict[str, dict[str, str]]:
    return tomllib.loads((files("shoal.measures") / "words.toml").read_text("utf-8"))


def measure(
    key: str, overall: SupportsFloat, columns: Mapping[Any, float], detail: Mapping[str, Any], **said: str
) -> Measure:
    """A measure with its words from `words.toml`; `said` fills what is open in its meaning."""
    words = {"unit": "", **_words()[key]}
    meaning = words["meaning"].format(**said)
    return Measure(key, words["title"], meaning, float(overall), columns, words["unit"], detail)


def by_column(key: str, names: Sequence[Any], values: NDArray, /, **detail: Any) -> Measure:
    """A measure with a value for each column; overall it is their mean absolute value."""
    columns = {name: float(value) for name, value in zip(names, values)}
    return measure(key, np.abs(values).mean(), columns, detail)


class Measures(Tabular, Mapping[str, Measure]):
    """Measures by their key; what `shoal.utility` and `shoal.risk` give back.

    Attributes
    ----------
    records : int
        How many records were measured.
    notes : tuple of str
        What could not be measured, and why.

    Examples
    --------
    >>> import shoal
    >>> table = shoal.datasets.survey(60)
    >>> release = shoal.microaggregate(table, k=3, columns=["turnover", "wages"], method="mdav")
    >>> risks = release.risk()
    >>> risks["k"].overall
    3.0
    >>> risks["k"].columns["wages"] >= 3
    True
    """

    def __init__(self, measures: Iterable[Measure], records: int, notes: Iterable[str]):
        self._measures = {measure.key: measure for measure in measures}
        self.records = records
        self.notes = tuple(notes)

    def __getitem__(self, key: str) -> Measure:
        if key not in self._measures:
            raise KeyError(f"no measure {key!r} here: {did_you_mean(str(key), self._measures)}")
        return self._measures[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._measures)

    def __len__(self) -> int:
        return len(self._measures)

    def __repr__(self) -> str:
        values = ", ".join(f"{key} {shown(m.overall, m.unit)}" for key, m in self.items())
        return f"Measures({self.records:,} records: {values})"

    def __str__(self) -> str:
        return "\n".join(f"{m.title}: {shown(m.overall, m.unit)}. {m.meaning}" for m in self.values())

    def records_of(self) -> list[dict[str, Any]]:
        """One row for each measure and column; the measure of the whole table has no column."""
        return [
            {"measure": key, "column": name, "value": float(value), "unit": m.unit, "title": m.title}
            for key, m in self.items()
            for name, value in [(None, m.overall), *((str(n), v) for n, v in m.columns.items())]
        ]

    def _repr_html_(self) -> str:
        rows = [(m.title, shown(m.overall, m.unit), m.meaning) for m in self.values()]
        return card(f"{len(self)} measures of {self.records:,} records", rows)

    def facts(self) -> dict[str, Any]:
        """Every measure as plain values, fit for JSON."""
        return {key: measure.facts() for key, measure in self.items()}


def shown(value: float | None, unit: str = "") -> str:
    """A value with its unit, as people read it; a share in percent, a loss with one digit more."""
    if value is None:
        return "not defined"
    if unit == "share":
        return f"{digits(100 * value)} %"
    return digits(value, 4 if unit == "%" else 3) + {"%": " %", "sd": " sd"}.get(unit, "")


def digits(value: float, most: int = 3) -> str:
    """As many digits as mean something; no exponent for what people read."""
    size = abs(value)
    if size < 1e-9:
        return "0"
    if size < 1e-4:
        return f"{'−' if value < 0 else ''}0.0000"
    if 1000 <= size < 1e15:
        return f"{value:,.0f}"
    return f"{value:.{most}g}"


def plain(value: Any) -> Any:
    """Numpy numbers and arrays as Python's own, and what is not finite as None, so that JSON can carry it."""
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, np.ndarray)):
        return [plain(item) for item in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if value is None or isinstance(value, (bool, int, float, str)) else str(value)
