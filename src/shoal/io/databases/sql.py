"""Tables in databases, by URL: sqlite:///file.db#table, duckdb:///file.duckdb#table, postgresql://host/db#table.

After the # stands a table (schema.table), or a query to read from. A release goes into a new table in one
transaction: it is read back and checked before it is committed.
"""

import hashlib
import io
import os
import re
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.types as t

from shoal.arrays import Bools
from shoal.errors import InputError, MachineError, never_overwritten
from shoal.frame.metadata import details_of
from shoal.io.atomic import first_sentence
from shoal.io.databases.address import Address, column_name, parted, shown
from shoal.io.databases.duckdb import DuckDB
from shoal.io.databases.postgresql import Postgresql
from shoal.io.databases.sqlite import Sqlite, refuse_planted
from shoal.io.formats import text

_SCHEMES = ("sqlite", "duckdb", "postgresql", "postgres")
_FILES = {"sqlite": "SQLite", "duckdb": "DuckDB"}
#: What a column's type may look like: words and lengths, and nothing that begins a constraint or a command.
_WORD = r'(?:[A-Za-z_][A-Za-z0-9_]*|"[^"]+")'
_TYPE = re.compile(
    r"(?!(?i:.*\b(?:as|check|collate|constraint|default|generated|key|not|null|primary|references|unique)\b))"
    rf"{_WORD}(?:\.{_WORD})?(?: {_WORD}){{0,3}}(?:\(\d+(?:, ?-?\d+)?\))?(?: {_WORD}){{0,3}}(?:\[\])*"
)
_DATABASES: dict[str, type[Sqlite | DuckDB | Postgresql]] = {
    "sqlite": Sqlite,
    "duckdb": DuckDB,
    "postgresql": Postgresql,
}


def is_url(data: Any) -> bool:
    """Whether this names a table of a database; an address of any other kind is refused, as it was given."""
    found = re.match(r"([A-Za-z][A-Za-z0-9+.-]+)://", data) if isinstance(data, str) else None
    if found and found[1] not in _SCHEMES:
        raise InputError(
            f"{shown(data)!r} is an address that shoal does not open: it reads files of this machine, "
            "s3://, gs://, abfs://, sqlite:///, duckdb:/// and postgresql://; bring the file here first"
        )
    return found is not None


def address(url: str) -> Address:
    """The URL taken apart; a sentence says what is missing."""
    database, _, table = url.partition("#")
    scheme, _, rest = database.partition("://")
    if scheme not in _FILES:
        _, database, table = parted(url)
    table = unquote(table).strip()
    if not table:
        raise InputError(f"which table? end the URL with #table, such as {shown(database)}#firms")
    if scheme in _FILES:
        if not rest.startswith("/") or len(rest) < 2:
            raise InputError(
                f"a URL of {_FILES[scheme]} is {scheme}:///file.db#table, or {scheme}:////folder/file.db#table"
            )
        return Address(scheme, unquote(rest[1:]), table)
    return Address("postgresql", database, table)


@dataclass(frozen=True)
class SqlOrigin:
    """The table of a database that a table came from, with its cells as the database wrote them."""

    address: Address
    cells: pa.Table
    chosen: Bools | None = None  # the records that the table has, if some were left out
    path: None = None

    def types(self, kind: str) -> dict[str, str]:
        """The types of the columns as the database told them, for a table in a database of the same kind."""
        types = details_of(self.cells)["sql"]["types"] if kind == self.address.kind else {}
        return {name: word for name, word in types.items() if not word or _TYPE.fullmatch(word)}

    def rows(self, chosen: Bools) -> "SqlOrigin":
        """The origin of a table with only some of the records."""
        return replace(self, chosen=chosen)

    def columns(self, names: Collection[str]) -> "SqlOrigin":
        """All cells stay: their fingerprint is taken of all columns."""
        return self

    def sha256(self) -> str:
        """A fingerprint of the cells."""
        content = io.BytesIO()
        text.render(self.cells, content, text.Dialect())
        return hashlib.sha256(content.getvalue()).hexdigest()

    def own_cells(self, target: Any) -> pa.Table | None:
        """The database's own cells, for a target of the same kind; else None."""
        if getattr(target, "kind", None) != self.address.kind:
            return None
        return self.cells if self.chosen is None else self.cells.filter(self.chosen)

    def restore(
        self, table: pa.Table, cells: pa.Table, protected: Collection[str], coded: Collection[str]
    ) -> pa.Table:
        """A table that has the database's own `cells`, with what is told beside them."""
        return table.replace_schema_metadata(cells.schema.metadata)


def load(url: str) -> tuple[pa.Table, SqlOrigin]:
    """The table or query at a URL, as an Arrow table; and where it came from."""
    place = address(url)
    if place.kind in _FILES and not os.path.isfile(place.database):
        raise InputError(f"there is no file {place.database!r}")
    database = _DATABASES[place.kind](place, read_only=True)
    try:
        table, cells = database.read(place)
    except database.errors as error:
        raise InputError(f"the database cannot answer: {first_sentence(error)}") from None
    finally:
        database.connection.close()
    return table, SqlOrigin(place, cells)


def refuse_target(url: str, replacing: bool, source: Any = None) -> None:
    """Say before the work what would fail after it."""
    place = address(url)
    if place.is_query:
        raise InputError(
            f"a release goes into a table, not into a query: end the URL with #table, not {place.table!r}"
        )
    if isinstance(source, SqlOrigin) and _same(place, source.address):
        raise never_overwritten(f"table {place.table!r}")
    if place.kind in _FILES:
        refuse_planted(place.database)
        if not os.path.exists(place.database):
            return
    with _transaction(place) as database:
        _refuse_existing(database, place, replacing)


def write(
    url: str,
    table: pa.Table,
    replacing: bool,
    check: Callable[[pa.Table, pa.Table], None],
    origin: Any = None,
) -> None:
    """Put the table into a new table, check what is then there, and only then commit.

    Types come from the database that the table came from, or from those of Arrow; never from metadata.
    """
    place = address(url)
    new = place.kind in _FILES and not os.path.lexists(place.database)
    try:
        with _transaction(place) as database:
            _refuse_existing(database, place, replacing)
            if replacing:
                database.execute(f"DROP TABLE IF EXISTS {place.name}")
            if place.kind != "duckdb":  # which knows Arrow's types
                types = origin.types(place.kind) if isinstance(origin, SqlOrigin) else {}
                made = ", ".join(
                    f"{column_name(field.name)} {types.get(field.name, _sql_type(field.type, place.kind))}"
                    for field in table.schema
                )
                database.execute(f"CREATE TABLE {place.name} ({made})")
            database.fill(place, table)
            check(*database.read(place))
    except BaseException:
        if new and os.path.exists(place.database):
            os.unlink(place.database)
        raise


def _same(one: Address, other: Address) -> bool:
    if one.kind != other.kind or other.is_query:
        return False
    if one.kind in _FILES:
        same = os.path.exists(one.database) and os.path.samefile(one.database, other.database)
        return same and one.table.lower() == other.table.lower()
    plain = [a.table.removeprefix("public.") for a in (one, other)]
    servers = [parted(a.database)[0][:3] for a in (one, other)]  # whoever asks
    return plain[0] == plain[1] and servers[0] == servers[1]


def _refuse_existing(database: Sqlite | DuckDB | Postgresql, place: Address, replacing: bool) -> None:
    if not replacing and database.has(place.table):
        raise InputError(f"table {place.table!r} exists already: name another, or allow it with --replace")


def _sql_type(kind: pa.DataType, database: str) -> str:
    """The SQL type for an Arrow type."""
    if t.is_timestamp(kind) and kind.tz:
        return "timestamp with time zone"
    for is_such, sqlite, postgresql in (
        (t.is_boolean, "boolean", "boolean"),
        (t.is_integer, "INTEGER", "bigint"),
        (t.is_floating, "REAL", "double precision"),
        (t.is_decimal, "numeric", "numeric"),
        (t.is_date, "date", "date"),
        (t.is_timestamp, "timestamp", "timestamp"),
        (t.is_binary, "BLOB", "bytea"),
    ):
        if is_such(kind):
            return sqlite if database == "sqlite" else postgresql
    return "text"


@contextmanager
def _transaction(place: Address) -> Iterator[Sqlite | DuckDB | Postgresql]:
    database = _DATABASES[place.kind](place)
    try:
        yield database
        database.connection.commit()
    except BaseException as error:
        database.connection.rollback()
        if isinstance(error, database.errors):
            raise MachineError(f"the database refused: {first_sentence(error)}") from None
        raise
    finally:
        database.connection.close()
