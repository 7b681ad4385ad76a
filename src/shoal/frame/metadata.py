"""What a table says beside its cells, carried in the Arrow schema's metadata: its dialect, its labels."""

import contextlib
import json
import re
from collections.abc import Callable
from typing import Any

import pyarrow as pa

from shoal.errors import InputError

_KEY = b"shoal"
#: All that is written beside cells, by kind of file: some words, and what is told of each column.
_KNOWN = {
    "text": "dialect gaps",
    "excel": "sheet",
    "stats": "kind file_label column_labels variable_value_labels variable_format variable_measure "
    "variable_display_width missing_ranges missing_user_values",
}
_WORDS = ("kind", "file_label", "sheet")
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
    metadata = {key: text for key, text in (table.schema.metadata or {}).items() if key != _KEY}
    unnamed = [name for name in table.column_names if _UNNAMED.fullmatch(name)]
    metadata |= {_NO_NAME.encode(): b""} if unnamed else {}
    return table.drop_columns(unnamed).replace_schema_metadata(metadata or None)


def foreign(data: Any) -> tuple[str, ...]:
    """A note on what a table carries beside its cells, which is not published; none if there is nothing."""
    told = _foreign(data)
    notes = [f"not published, for it stands beside the cells: {', '.join(told)}"] if told else []
    if type(data).__module__ == "pyarrow.lib" and hasattr(data, "schema"):  # which a single column lacks
        facts = details_of(data).get("excel", {})
        if unread := facts.get("unread"):
            names = ", ".join(map(str, unread))
            notes.append(f"only sheet {facts['sheet']!r} was read; there are also {names}: FILE.xlsx#NAME")
    return tuple(notes)


def _foreign(data: Any) -> list[str]:
    library = type(data).__module__.partition(".")[0]
    if library == "pandas":
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
    schema = pa.schema([field.remove_metadata() for field in table.schema], table.schema.metadata)
    return described(pa.Table.from_arrays(table.columns, schema=schema), *kinds)


def described(table: pa.Table, *kinds: str) -> pa.Table:
    """The same; what single columns carry stays."""
    details = {}
    try:
        for kind, facts in details_of(table).items():
            if kind in (kinds or _KNOWN):
                known = [name for name in _KNOWN[kind].split() if name in facts]
                details[kind] = {name: _of_columns(table, name, facts[name]) for name in known}
    except (TypeError, KeyError, IndexError):
        raise _malformed() from None
    table = table.replace_schema_metadata(None)
    return with_details(table, **details) if details else table


def _of_columns(table: pa.Table, name: str, fact: Any) -> Any:
    """A word as it is; what is told of columns for those that are there, and for values that occur."""
    if not isinstance(fact, str if name in _WORDS else dict):
        raise TypeError
    if name in (*_WORDS, "dialect"):
        return fact
    told = {column: fact[column] for column in table.column_names if column in fact}
    if name not in _VALUES:
        return told
    value, there = _VALUES[name], {column: _present(table[column]) for column in told}
    return {c: [i for i in told[c] if value(i) is None or _key(value(i)) in there[c]] for c in told}


def _present(column: pa.ChunkedArray) -> set[Any]:
    """The values that occur; numbers that stand as texts, beside Stata's letters, count as numbers."""
    values = {_key(value) for value in column.unique().to_pylist()}
    for text in [value for value in values if isinstance(value, str)]:
        with contextlib.suppress(ValueError):
            values.add(float(text))
    return values


def _key(value: Any) -> Any:
    return value.rstrip() if isinstance(value, str) else value
