"""Any kind of table (numpy, pandas, polars, Arrow, streams) seen alike: columns as arrays, out and in."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from shoal.arrays import Bools
from shoal.errors import InputError, did_you_mean
from shoal.frame.column import Column
from shoal.frame.large import LargeTable, OneByOne
from shoal.frame.levels import arrow_levels, enum_levels, pandas_levels
from shoal.frame.metadata import foreign, published
from shoal.frame.series import as_table, index_names

if TYPE_CHECKING:
    import pandas as pd
    from narwhals.dtypes import DType


class Frame:
    """A table as its user gave it. `origin` is where it came from, if that was a file or a database."""

    def __init__(self, data: Any, origin: Any = None, first_row: int | None = 0):
        self.origin = origin
        self._first_row = first_row  # its place in a larger table; None where rows have no place
        self.notes = foreign(data)
        self.index = index_names(data)
        data, self._give_back = as_table(data)
        self.native = data
        self._array: NDArray | None = None
        if hasattr(data, "__dataframe__") or hasattr(data, "schema") or hasattr(data, "columns"):
            try:
                whole = not isinstance(data, LargeTable)
                self._frame: Any = nw.from_native(data, eager_only=True) if whole else OneByOne(data)
            except nw.exceptions.DuplicateError:
                raise InputError("two columns of the table have the same name: rename one of them") from None
            except TypeError:
                raise _unknown_kind(data) from None
            self._schema = dict(self._frame.schema)
            self.names: list[Any] = list(self._frame.columns)
        else:
            self._array = _as_array(data)
            self.names = list(range(self._array.shape[1]))
            kind = nw.Int64() if self._array.dtype.kind in "iu" else nw.Float64()
            self._schema = dict.fromkeys(self.names, kind)

    def __len__(self) -> int:
        return len(self._frame if self._array is None else self._array)

    @property
    def is_pandas(self) -> bool:
        return self._array is None and self._frame.implementation.is_pandas()

    def in_row(self, row: int) -> str:
        """ " in row 7", for messages; nothing where rows have no place."""
        return "" if self._first_row is None else f" in row {self._first_row + row + 1}"

    def numeric(self) -> list[Any]:
        """The names of all columns that hold numbers."""
        return [name for name, kind in self._schema.items() if kind.is_integer() or kind.is_float()]

    def choose(self, columns: Sequence[Any] | Any | None, besides: Collection[Any] = ()) -> list[Any]:
        """The columns asked for, or every numeric one `besides` those that have another role."""
        if columns is None:
            chosen = [n for n, kind in self._schema.items() if kind.is_numeric() and n not in besides]
            if not chosen:
                raise InputError("the table has no numeric column: shoal groups records by numbers")
            return chosen
        chosen = self.find([columns] if isinstance(columns, (str, int)) else list(columns))
        if not chosen:
            raise InputError(
                "no column was chosen: name at least one, or leave `columns` out for all numeric"
            )
        for name, count in Counter(chosen).items():
            if count > 1:
                raise InputError(f"column {name!r} is named twice: name it once")
        return chosen

    def find(self, names: Iterable[Any]) -> list[Any]:
        """These columns by the names the table has for them: a plan writes the number 0 as "0"."""
        by_text, present = {str(name): name for name in reversed(self.names)}, set(self.names)
        chosen = []
        for name in names:
            if name not in present and str(name) not in by_text:
                raise InputError(f"there is no column {name!r}: {self._hint(str(name))}")
            chosen.append(name if name in present else by_text[str(name)])
        return chosen

    def _hint(self, name: str) -> str:
        """Where a column may be that is not here: quoted, spelled otherwise, or on another sheet."""
        for other in map(str, self.names):
            if other.partition(",")[0] == name:
                return f"a name with a comma stands in double quotes, such as -c '\"{other}\"'"
        sheets = [note for note in self.notes if note.startswith("only sheet")]
        return "; ".join([did_you_mean(name, map(str, self.names)), *sheets])

    def numbers(self, name: Any) -> tuple[NDArray, Bools | None]:
        """A numeric column as an array of its own number type, and where its gaps are (there it holds 0)."""
        gaps = None
        if self._array is not None:
            values = self._array[:, name]
            values = values.astype(values.dtype.newbyteorder("="), copy=False)
        else:
            column = self._frame.get_column(name)
            if not (column.dtype.is_integer() or column.dtype.is_float()):
                raise _not_numeric(name, column)
            if column.null_count():
                gaps = column.is_null().to_numpy()
                column = column.fill_null(0)
            values = column.to_numpy()
        if values.dtype == np.float16:  # kernels begin at 32 bits
            values = values.astype(np.float32)
        if values.dtype.kind == "f" and not np.isfinite(values).all():
            infinite, nan = np.isinf(values), np.isnan(values)
            if infinite.any():
                row = int(np.argmax(infinite))
                raise InputError(
                    f"column {name!r} has the value {values[row]}{self.in_row(row)}: "
                    "an infinite value has no distance; replace it, or leave the column out"
                )
            gaps = nan if gaps is None else gaps | nan
            values = np.where(gaps, values.dtype.type(0), values)
        return values, gaps

    def arrow(self, name: Any) -> pa.Array:
        """A column as one Arrow array; NaN counts as a gap."""
        if self._array is not None:
            return pa.array(np.ascontiguousarray(self._array[:, name]), from_pandas=True)
        try:
            column = self._frame.get_column(name).to_arrow()
        except (pa.ArrowInvalid, pa.ArrowTypeError):
            raise InputError(
                f"column {name!r} mixes kinds of values: make them all texts or all numbers, or leave it out"
            ) from None
        column = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
        if pa.types.is_null(column.type):
            column = column.cast(pa.string())
        if pa.types.is_floating(column.type):
            column = pc.if_else(pc.is_nan(column), pa.scalar(None, column.type), column)
        return column

    def series(self, name: Any) -> nw.Series:
        """A column as narwhals has it."""
        return self._frame.get_column(name)

    def dtype(self, name: Any) -> DType:
        """How narwhals calls the type of a column."""
        return self._schema[name]

    def rows(self, chosen: Bools) -> Frame:
        """The table with only some of its rows."""
        if self._array is not None:
            rows = self._array[chosen].reshape(-1, *np.shape(self.native)[1:])
        else:
            rows = self._frame[np.flatnonzero(chosen)].to_native()
        part = Frame(rows, self.origin and self.origin.rows(chosen))
        part._give_back = self._give_back
        return part

    def recoded(self, numbers: Mapping[Any, Column], cells: Mapping[Any, pa.Array]) -> Frame:
        """The same table in which columns hold other numbers, or other `cells` with levels of their own."""
        table = self._replaced(numbers, (), {}) if numbers or self._array is not None else self.native
        for name, new in cells.items():
            table = self._with_cells(table, name, new)
        made = Frame(table, self.origin)
        made._give_back = self._give_back
        return made

    def _with_cells(self, table: Any, name: Any, cells: pa.Array) -> Any:
        if self._array is not None:
            table = np.reshape(table, self._array.shape).astype(np.result_type(table, cells.to_numpy()))
            table[:, name] = cells.to_numpy()
            return table
        same = cells.type == self.arrow(name).type
        if self.is_pandas:
            new, table = cells.to_pandas().array, table.copy()
            levels = pa.types.is_dictionary(cells.type)
            table[name] = new.astype(table[name].dtype) if same and not levels else new
            return table
        if self._frame.implementation.is_pyarrow():
            place = table.column_names.index(name)
            return table.set_column(place, table.schema.field(place).with_type(cells.type), cells)
        series = nw.from_arrow(pa.table({"new": cells}), backend=self._frame.implementation)["new"]
        if isinstance(self._schema[name], nw.Enum):
            series = series.cast(nw.String()).cast(nw.Enum(cells.dictionary.to_pylist()))
        return nw.from_native(table).with_columns(series.alias(name)).to_native()

    def replace(
        self,
        columns: Mapping[Any, Column],
        dropped: Collection[Any] = (),
        levels: Mapping[Any, Collection[Any]] | None = None,
    ) -> Any:
        """A new table of the same kind in which these columns hold these cells; the rest is untouched.

        Categories have the `levels` declared for them, else those that occur; what stands beside the cells
        is left out.
        """
        return self._give_back(self._replaced(columns, dropped, levels or {}))

    def _replaced(
        self, columns: Mapping[Any, Column], dropped: Collection[Any], levels: Mapping[Any, Collection[Any]]
    ) -> Any:
        if self._array is not None:
            gaps = any(c.gaps is not None and c.code is None and c.first is None for c in columns.values())
            kind = np.dtype(float) if gaps and self._array.dtype.kind != "f" else self._array.dtype
            if self._array.shape[1] == len(columns) == 1:  # nothing to copy
                (column,) = columns.values()
                return self._cells(column).astype(kind, copy=False).reshape(np.shape(self.native))
            whole = len(columns) == self._array.shape[1]
            table = np.empty_like(self._array, kind) if whole else self._array.astype(kind)
            for name, column in columns.items():
                table[:, name] = self._cells(column)
            left = [j for j in self.names if j not in dropped]
            return table[:, left] if dropped else table.reshape(np.shape(self.native))
        if self.is_pandas:
            table = self.native.copy()
            for name, column in columns.items():
                table[name] = self._pandas_array(column)
            table, table.attrs = table.drop(columns=list(dropped)), {}
            for name in table.columns:
                made = pandas_levels(old := table[name], levels.get(name))
                if made is not old:
                    table[name] = made.array
            return table
        new = [self._series(column) for column in columns.values()]
        made = self._frame.with_columns(*new).drop(list(dropped))
        if not self._frame.implementation.is_pyarrow():
            new = [enum_levels(made[name], levels.get(name)) for name in made.columns]
            return made.with_columns(*new).to_native()
        table, schema = made.to_native(), self.native.schema
        for place, name in enumerate(table.column_names):
            column = arrow_levels(table[name].cast(schema.field(name).type), levels.get(name))
            table = table.set_column(place, schema.field(name).with_type(column.type), column)
        return published(table.replace_schema_metadata(schema.metadata))

    def _cells(self, column: Column) -> NDArray:
        """The cells of a column of an array: gaps as NaN, or as the code that whole numbers have for them."""
        if column.first is not None:
            return self._array[column.rows_of_levels(), column.name]  # type: ignore[index]
        if column.gaps is None:
            return column.values
        gap = np.nan if column.values.dtype.kind == "f" or column.code is None else column.code
        return np.where(column.gaps, gap, column.values)

    def _series(self, column: Column) -> nw.Series:
        old = self._frame.get_column(column.name)
        if column.first is not None:
            return old[column.rows_of_levels()]
        if column.stored is None and column.gaps is None:
            return nw.new_series(column.name, column.values, old.dtype, backend=old.implementation)
        table = nw.from_arrow(pa.table({"new": column.to_arrow()}), backend=old.implementation)
        return table["new"].cast(old.dtype).alias(column.name)

    def _pandas_array(self, column: Column) -> pd.api.extensions.ExtensionArray:
        """Set into the old type, which for pandas says more than narwhals knows of it."""
        old = self.native[column.name]
        if column.first is not None:
            return old.array.take(column.rows_of_levels())
        if column.stored is not None:
            return column.to_arrow().to_pandas().array.astype(old.dtype)
        kind, backend = self._frame.schema[column.name], self._frame.implementation
        new = nw.new_series(column.name, column.values, kind, backend=backend).to_native()
        array = new.array.astype(old.dtype)
        whole = old.dtype.kind in "iu" and isinstance(old.dtype, np.dtype)
        if column.gaps is not None and whole and column.code is None:
            import pandas as pd

            array = pd.array(column.values.astype(old.dtype))  # one that takes gaps
            array[column.gaps] = pd.NA
        elif column.gaps is not None:
            array[column.gaps] = column.code if whole else getattr(old.dtype, "na_value", np.nan)
        return array


def _as_array(data: Any) -> NDArray:
    try:
        array = np.asarray(data)
    except ValueError:
        raise _unknown_kind(data) from None
    if array.ndim == 0:
        raise _unknown_kind(data)
    if array.ndim == 1:
        array = array.reshape(-1, 1)
    if array.ndim != 2:
        raise InputError(f"an array of records has one or two dimensions, not {array.ndim}")
    if array.dtype.kind not in "iuf" or array.dtype.itemsize > 8:
        raise InputError(f"an array of {array.dtype} cannot be grouped: give whole or floating-point numbers")
    return array


def _unknown_kind(data: Any) -> InputError:
    return InputError(
        f"a {type(data).__name__} is not a table: "
        "give a numpy array, a pandas, polars or pyarrow table, or a path"
    )


def _not_numeric(name: Any, column: nw.Series) -> InputError:
    """An error that names the first row whose cell is not a number."""
    for row, cell in enumerate(column.to_list() if column.dtype in (nw.String, nw.Object) else ()):
        try:
            float(cell if cell is not None else "nan")
        except (TypeError, ValueError):
            return holds_text(name, row)
    return InputError(
        f"column {name!r} is stored as {column.dtype}, not as numbers: convert it or leave it out"
    )


def holds_text(name: Any, row: int) -> InputError:
    """A column of numbers has a text in this row."""
    return InputError(
        f"column {name!r} holds text, first in row {row + 1}: mend it, name it if it stands for a gap "
        f"(--missing-code {name}=TEXT), or say that the column is 'nominal' (types=, --type)"
    )
