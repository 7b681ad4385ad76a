"""What a file says beside its cells (its dialect, its labels), carried in the Arrow schema's metadata."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa

_KEY = b"shoal"


def details_of(table: pa.Table) -> dict[str, Any]:
    """What is carried with the table, by kind of file."""
    return json.loads((table.schema.metadata or {}).get(_KEY, b"{}"))


def with_details(table: pa.Table, **details: Any) -> pa.Table:
    """The same table, carrying these as well."""
    metadata = dict(table.schema.metadata or {})
    metadata[_KEY] = json.dumps({**details_of(table), **details}).encode()
    return table.replace_schema_metadata(metadata)
