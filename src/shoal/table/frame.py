"""Any kind of table (numpy, pandas, polars, pyarrow) seen alike: columns out as arrays, columns replaced."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.errors import InputError, did_you_mean
from shoal.table.files import read


class Frame:
    """A table as its user gave it. `source` is the file it came from, if any."""

    def __init__(self, data: Any):
        self.source: Path | None = None
        if isinstance(data, (str, os.PathLike)):
            self.source = Path(data)
            data = read(data)
        self.native = data
        self._array: NDArray | None = None
        if hasattr(data, "__dataframe__") or hasattr(data, "schema") or hasattr(data, "columns"):
            import narwhals as nw

            try:
                self._frame = nw.from_native(data, eager_only=True)
            except nw.exceptions.DuplicateError:
                raise InputError("two columns of the table have the same name: rename one of them") from None
            except TypeError:
                raise _unknown_kind(data) from None
            self.names: list[Any] = list(self._frame.columns)
        else:
            self._array = _as_array(data)
            self.names = list(range(self._array.shape[1]))

    def __len__(self) -> int:
        return len(self._frame if self._array is None else self._array)

    def numeric(self) -> list[Any]:
        """The names of all columns that hold numbers."""
        if self._array is not None:
            return list(self.names)
        dtypes = self._frame.schema
        return [name for name in self.names if dtypes[name].is_integer() or dtypes[name].is_float()]

    def choose(self, columns: Sequence[Any] | Any | None) -> list[Any]:
        """The columns asked for, or every numeric one; each must exist and hold numbers."""
        if columns is None:
            chosen = self.numeric()
            if not chosen:
                raise InputError("the table has no numeric column: shoal groups records by numbers")
            return chosen
        chosen = [columns] if isinstance(columns, (str, int)) else list(columns)
        if not chosen:
            raise InputError(
                "no column was chosen: name at least one, or leave `columns` out for all numeric"
            )
        for name in chosen:
            if name not in self.names:
                hint = did_you_mean(str(name), map(str, self.names))
                raise InputError(f"there is no column {name!r}: {hint}")
            if chosen.count(name) > 1:
                raise InputError(f"column {name!r} is named twice: name it once")
        return chosen

    def values(self, name: Any) -> NDArray:
        """A numeric column as a one-dimensional array of its own number type, without gaps."""
        if self._array is not None:
            values = self._array[:, name]
        else:
            column = self._frame[name]
            kind = column.dtype
            if not (kind.is_integer() or kind.is_float()):
                raise _not_numeric(name, column)
            if column.is_null().any():
                raise _gap(name, int(np.argmax(column.is_null().to_numpy())))
            values = column.to_numpy()
        if values.dtype.kind == "f" and not np.isfinite(values).all():
            row = int(np.argmin(np.isfinite(values)))
            if np.isnan(values[row]):
                raise _gap(name, row)
            raise InputError(
                f"column {name!r} has the value {values[row]} in row {row + 1}: "
                "an infinite value has no distance; replace it, or leave the column out"
            )
        return values

    def replace(self, columns: Mapping[Any, NDArray]) -> Any:
        """A new table of the same kind in which these columns hold these values; the rest is untouched."""
        if self._array is not None:
            if self._array.shape[1] == len(columns) == 1:
                (values,) = columns.values()
                return values.astype(self._array.dtype, copy=False).reshape(np.shape(self.native))
            table = self._array.copy()
            for name, values in columns.items():
                table[:, name] = values
            return table.reshape(np.shape(self.native))
        import narwhals as nw

        dtypes = self._frame.schema
        backend = self._frame.implementation
        new = [nw.new_series(name, v, dtypes[name], backend=backend) for name, v in columns.items()]
        if not backend.is_pandas():
            return self._frame.with_columns(*new).to_native()
        table = self.native.copy()
        for series in new:
            table[series.name] = series.to_native().array.astype(self.native[series.name].dtype)
        return table


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


def _gap(name: Any, row: int) -> InputError:
    return InputError(
        f"column {name!r} has a gap in row {row + 1}: fill or drop such rows first, or leave the column out"
    )


def _not_numeric(name: Any, column: Any) -> InputError:
    """An error that shows the first cell that is not a number."""
    for row, cell in enumerate(column.to_list()):
        try:
            float(cell if cell is not None else "nan")
        except (TypeError, ValueError):
            return InputError(
                f"column {name!r} holds text, first {cell!r} in row {row + 1}: "
                "choose numeric columns, or mend it"
            )
    return InputError(
        f"column {name!r} is stored as {column.dtype}, not as numbers: convert it or leave it out"
    )
