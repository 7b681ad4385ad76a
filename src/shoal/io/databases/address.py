"""Where a table lies in a database, and words about it that are safe in SQL and in messages."""

from __future__ import annotations

from typing import NamedTuple
from urllib.parse import urlsplit

from shoal.io.limits import refuse_names


class Address(NamedTuple):
    """A URL taken apart."""

    kind: str  # sqlite or postgresql
    database: str  # a file, or the URL's part before the #
    table: str  # or a query

    @property
    def is_query(self) -> bool:
        return len(self.table.split()) > 1

    @property
    def select(self) -> str:
        return self.table.rstrip("; \n") if self.is_query else f"SELECT * FROM {quoted(self.table)}"


def shown(url: str) -> str:
    """The URL without its password."""
    parts = urlsplit(url)
    if parts.password is None:
        return url
    return url.replace(f":{parts.password}@", ":...@", 1)


def quoted(name: str) -> str:
    """A table's name as SQL takes it; a dot parts the schema from the table."""
    return ".".join(f'"{part}"' for part in name.replace('"', '""').split("."))


def column_name(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def refuse_twice(names: list[str], place: Address) -> None:
    refuse_names(names, place.table)


def sentence(error: Exception) -> str:
    facts = error.args[0] if error.args else ""
    return str(facts.get("M", facts) if isinstance(facts, dict) else facts)
