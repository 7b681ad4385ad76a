"""Where a table lies in a database, and words about it that are safe in SQL and in messages."""

import re
from typing import Any, NamedTuple
from urllib.parse import parse_qs, unquote

from shoal.errors import InputError

#: A password ends at the first @ after which the rest is a URL: it may hold any character, unless another @
#: is left then.
_URL = re.compile(
    r"postgres(?:ql)?://(?:(?P<user>[^:/?#]*?)(?::(?P<password>.*?))?@)??"
    r"(?P<host>\[[^\]]*\]|[^:/?#@\[\]]*)(?::(?P<port>\d{1,5}))?"
    r"(?:/(?P<database>[^?#]*))?(?:\?(?P<query>[^#]*))?(?:#(?P<table>.*))?",
    re.DOTALL,
)


class Address(NamedTuple):
    """A URL taken apart."""

    kind: str  # sqlite, duckdb or postgresql
    database: str  # a file, or the URL's part before the #
    table: str  # or a query

    def __repr__(self) -> str:
        return f"Address({shown(self.database)!r}, {self.table!r})"

    @property
    def is_query(self) -> bool:
        return len(self.table.split()) > 1

    @property
    def name(self) -> str:
        """The table's name as SQL takes it; a dot parts a schema from the table only in PostgreSQL."""
        return quoted(self.table) if self.kind == "postgresql" else column_name(self.table)

    @property
    def select(self) -> str:
        return self.table.rstrip("; \n") if self.is_query else f"SELECT * FROM {self.name}"


class Server(NamedTuple):
    """A database of a server of PostgreSQL, as a URL names it."""

    host: str
    port: int
    database: str
    user: str
    password: str | None
    options: dict[str, str]


def parted(url: str) -> tuple[Server, str, str]:
    """The server, the URL without the table, and the table of a URL of PostgreSQL."""
    found = _URL.fullmatch(url)
    if found is None:
        raise InputError(
            "a URL of PostgreSQL is postgresql://user:password@host:5432/database#table; "
            "in names and passwords, write odd characters as %23 and the like"
        )
    table = found["table"] or ""
    after = url[found.end("host") : len(url) - (len(table) if " " in table else 0)]  # a query may hold an @
    if found["password"] is not None and "@" in after:
        raise InputError(
            "this URL of PostgreSQL can be read in two ways: in the password, write @ as %40, # as %23 and / "
            "as %2F"
        )
    port = int(found["port"] or 5432)
    if not 0 < port < 1 << 16:
        raise InputError(f"a port is a number from 1 to 65535, not {port}")
    options = {name: values[-1] for name, values in parse_qs(found["query"] or "").items()}
    host = options.pop("host", unquote(found["host"].strip("[]")) or "localhost")
    words = [None if word is None else unquote(word) for word in found.group("database", "user", "password")]
    server = Server(host, port, words[0] or "", words[1] or "", words[2] or None, options)
    return server, url if found["table"] is None else url[: found.start("table") - 1], table


def shown(words: str) -> str:
    """A URL, or words with one, without the password and other secrets."""
    words = re.sub(r"(\w://[^:/?#\s]*:).*@", r"\1***@", words)
    return re.sub(r"(?i)([?&][^=&\s]*(?:key|secret|token|sig|password)[^=&\s]*=)[^&#\s]*", r"\1***", words)


def is_remote(data: Any) -> bool:
    """Whether this is the address of objects in a store: s3://, gs:// or abfs://."""
    return isinstance(data, str) and re.match("(s3|gs|gcs|abfss?)://", data) is not None


def quoted(name: str) -> str:
    """A table's name as SQL takes it; a dot parts the schema from the table."""
    return ".".join(f'"{part}"' for part in name.replace('"', '""').split("."))


def column_name(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
