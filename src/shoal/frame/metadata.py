"""What a table says beside its cells, carried in the Arrow schema's metadata: its dialect, its labels."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from shoal.errors import InputError

if TYPE_CHECKING:
    import pyarrow as pa

_KEY = b"shoal"
#: All that is written beside cells, by kind of file; a mapping has something for each column.
_KNOWN: dict[str, dict[str, type]] = {
    "text": {"dialect": dict, "gaps": dict},
    "excel": {"sheet": str},
    "stats": {
        "kind": str,
        "file_label": str,
        "column_labels": dict,
        "variable_value_labels": dict,
        "variable_format": dict,
        "variable_measure": dict,
        "variable_display_width": dict,
        "missing_ranges": dict,
        "missing_user_values": dict,
    },
}
#: Of these, those that tell of single values, and how to find the value; None for a range of them.
_VALUES: dict[str, Callable[[Any], Any]] = {
    "variable_value_labels": lambda pair: pair[0],
    "missing_ranges": lambda ends: ends["lo"] if ends["lo"] == ends["hi"] else None,
    "missing_user_values": lambda letter: letter,
}
#: What programs write beside a table for their own use, and nobody misses.
_TECHNICAL = (b"pandas", b"ARROW:schema", b"PARQUET:", b"_PL_", b"org.apache.spark")
_UNNAMED = re.compile(r"__index_level_\d+__")  # so pandas stores an index that has no name
_NO_NAME = "an index without a name"


def details_of(table: pa.Table) -> dict[str, Any]:
    """What is carried with the table, by kind of file."""
    try:
        details = json.loads((table.schema.metadata or {}).get(_KEY, b"{}"))
    except (ValueError, RecursionError):
        details = None
    if not isinstance(details, dict) or not all(isinstance(facts, dict) for facts in details.values()):
        raise _malformed()
    return details


def _malformed() -> InputError:
    return InputError(
        "the table's metadata 'shoal' are not what shoal writes: drop them (replace_schema_metadata)"
    )


def with_details(table: pa.Table, **details: Any) -> pa.Table:
    """The same table, carrying these as well."""
    metadata = dict(table.schema.metadata or {})
    metadata[_KEY] = json.dumps({**details_of(table), **details}).encode()
    return table.replace_schema_metadata(metadata)


def from_outside(table: pa.Table) -> pa.Table:
    """A table as a file has it, without our own key, which anybody may have written, and unnamed indexes."""
    metadata = dict(table.schema.metadata or {})
    metadata.pop(_KEY, None)
    unnamed = [name for name in table.column_names if _UNNAMED.fullmatch(name)]
    if unnamed:
        metadata[_NO_NAME.encode()] = b""
    return table.drop_columns(unnamed).replace_schema_metadata(metadata or None)


def foreign(data: Any) -> list[str]:
    """What a table carries beside its cells and is not published, in words."""
    library = type(data).__module__.partition(".")[0]
    if library == "pandas" and hasattr(data, "attrs"):
        unnamed = None in data.index.names and data.index.dtype.kind not in "iu"
        return [*map(repr, data.attrs), *([_NO_NAME] if unnamed else [])]
    if library != "pyarrow" or not hasattr(data, "schema"):
        return []
    keys = [*(data.schema.metadata or {}), *(key for field in data.schema for key in field.metadata or {})]
    told = [key for key in dict.fromkeys(keys) if key != _KEY and not key.startswith(_TECHNICAL)]
    return [_NO_NAME if key == _NO_NAME.encode() else repr(key.decode(errors="replace")) for key in told]


def published(table: pa.Table, *kinds: str) -> pa.Table:
    """The table with our own details of its columns and of values that occur, and with nothing else beside.

    `kinds` are those that are wanted; all if left out.
    """
    import pyarrow as pa

    schema = pa.schema([field.remove_metadata() for field in table.schema], table.schema.metadata)
    return described(pa.Table.from_arrays(table.columns, schema=schema), *kinds)


def described(table: pa.Table, *kinds: str) -> pa.Table:
    """The same; what single columns carry stays."""
    details = {}
    try:
        for kind, facts in details_of(table).items():
            if kind in (kinds or _KNOWN):
                known = [name for name, fact in facts.items() if isinstance(fact, _KNOWN[kind].get(name, ()))]
                details[kind] = {name: _of_columns(table, name, facts[name]) for name in known}
    except (TypeError, KeyError, IndexError):
        raise _malformed() from None
    table = table.replace_schema_metadata(None)
    return with_details(table, **details) if details else table


def _of_columns(table: pa.Table, name: str, fact: Any) -> Any:
    if name == "dialect" or not isinstance(fact, dict):
        return fact
    fact = {column: told for column, told in fact.items() if column in table.column_names}
    value = _VALUES.get(name)
    if value is None:
        return fact
    there = {column: _present(table[column]) for column in fact}
    return {
        column: [item for item in told if value(item) is None or _key(value(item)) in there[column]]
        for column, told in fact.items()
    }


def _present(column: pa.ChunkedArray) -> set[Any]:
    """The values that occur; numbers that stand as texts, beside Stata's letters, count as numbers."""
    values = {_key(value) for value in column.unique().to_pylist()}
    for text in [value for value in values if isinstance(value, str)]:
        with contextlib.suppress(ValueError):
            values.add(float(text))
    return values


def _key(value: Any) -> Any:
    return value.rstrip() if isinstance(value, str) else value
