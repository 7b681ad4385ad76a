"""What a table says beside its cells, carried in the Arrow schema's metadata: its dialect, its labels."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from shoal.errors import InputError

if TYPE_CHECKING:
    import pyarrow as pa

_KEY = b"shoal"


def details_of(table: pa.Table) -> dict[str, Any]:
    """What is carried with the table, by kind of file."""
    try:
        details = json.loads((table.schema.metadata or {}).get(_KEY, b"{}"))
    except (ValueError, RecursionError):
        details = None
    if not isinstance(details, dict) or not all(isinstance(facts, dict) for facts in details.values()):
        raise InputError(
            "the table's metadata 'shoal' are not what shoal writes: drop them (replace_schema_metadata)"
        )
    return details


def with_details(table: pa.Table, **details: Any) -> pa.Table:
    """The same table, carrying these as well."""
    metadata = dict(table.schema.metadata or {})
    metadata[_KEY] = json.dumps({**details_of(table), **details}).encode()
    return table.replace_schema_metadata(metadata)


def from_outside(table: pa.Table) -> pa.Table:
    """A table as a file has it, without our own key: whoever made the file may have written it."""
    metadata = dict(table.schema.metadata or {})
    metadata.pop(_KEY, None)
    return table.replace_schema_metadata(metadata or None)
