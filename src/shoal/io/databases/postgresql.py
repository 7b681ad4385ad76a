"""PostgreSQL, through pg8000."""

from __future__ import annotations

import io
import ipaddress
import os
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from shoal.errors import InputError, needs_extra
from shoal.frame.metadata import with_details
from shoal.io.atomic import first_sentence
from shoal.io.databases.address import Address, Server, parted, quoted, shown
from shoal.io.formats import text
from shoal.io.limits import refuse_names

if TYPE_CHECKING:
    import ssl

#: Types that are read as such; all others stay the text that PostgreSQL writes, and go back as that.
_POSTGRESQL = {
    "smallint": "int16",
    "integer": "int32",
    "bigint": "int64",
    "real": "float32",
    "double precision": "float64",
    "numeric": "float64",
    "boolean": "bool",
    "date": "date32",
    "timestamp without time zone": "timestamp[us]",
}


def _encryption(server: Server) -> ssl.SSLContext | bool | None:
    """How a connection is encrypted and the server known; None is as a server on this machine likes it."""
    import ssl

    options = dict(server.options)
    root = options.pop("sslrootcert", None)
    mode = options.pop("sslmode", None if root is None and _is_here(server.host) else "verify-full")
    if options:
        raise InputError(
            f"unknown part {next(iter(options))!r} of the URL: there are host, sslmode and sslrootcert"
        )
    if mode is None:
        return None
    if mode not in ("verify-full", "verify-ca", "require", "disable") or (mode == "disable" and root):
        raise InputError(
            f"sslmode is verify-full, verify-ca, require or disable (without sslrootcert), not {mode!r}"
        )
    if mode == "disable":
        return False
    try:
        context = ssl.create_default_context(cafile=root)
    except OSError as error:
        why = first_sentence(error)
        raise InputError(f"sslrootcert {root!r} cannot be read as certificates: {why}") from None
    context.check_hostname = mode == "verify-full"
    if mode == "require" and root is None:
        context.verify_mode = ssl.CERT_NONE
    return context


def _is_here(host: str) -> bool:
    """Whether a connection stays on this machine."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.startswith("/")


class Postgresql:
    """A server of PostgreSQL, within one transaction. Cells travel as the text that COPY writes."""

    def __init__(self, place: Address, read_only: bool = False):
        import ssl

        with needs_extra("PostgreSQL needs", "sql"):
            import pg8000.dbapi as driver
        server = parted(place.database)[0]
        way: dict[str, Any] = {"host": server.host, "port": server.port}
        way["ssl_context"] = _encryption(server)
        if server.host.startswith("/"):  # never leaves this machine
            way = {"unix_sock": f"{server.host}/.s.PGSQL.{server.port}", "ssl_context": False}
        self.errors = (driver.Error,)
        try:
            self.connection = driver.connect(
                user=server.user or os.environ.get("PGUSER", "postgres"),
                password=server.password or os.environ.get("PGPASSWORD"),
                database=server.database or None,
                application_name="shoal",
                **way,
            )
        except ssl.SSLError as error:
            why = getattr(error, "verify_message", "") or error.reason
            raise InputError(
                f"{shown(place.database)} is not to be trusted ({why}): name the certificate that vouches "
                "for it with sslrootcert=FILE, or mend the host's name"
            ) from None
        except (driver.Error, OSError, UnicodeDecodeError) as error:
            raise InputError(f"{shown(place.database)} cannot be reached: {first_sentence(error)}") from None
        if read_only:
            self.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
        self.execute("SET LOCAL lock_timeout = '10s'")  # another session's lock is told, not waited for

    def execute(self, command: str, values: tuple[Any, ...] = (), stream: Any = None) -> Any:
        cursor = self.connection.cursor()
        cursor.execute(command, values, stream=stream)
        return cursor

    def has(self, table: str) -> bool:
        return self.execute("SELECT to_regclass(%s)", (quoted(table),)).fetchone()[0] is not None

    def fill(self, place: Address, table: pa.Table) -> None:
        content = io.BytesIO()
        text.render(table, content, text.Dialect(), header=False)
        content.seek(0)
        self.execute(f"COPY {place.name} FROM STDIN WITH (FORMAT csv)", stream=content)

    def read(self, place: Address) -> tuple[pa.Table, pa.Table]:
        cursor = self.execute(f"SELECT * FROM ({place.select}) AS chosen LIMIT 0")
        names = [item[0] for item in cursor.description]
        refuse_names(names, place.table)
        types = self._types(place, {item[0]: item[1] for item in cursor.description})
        content = io.BytesIO()
        self.execute(f"COPY ({place.select}) TO STDOUT WITH (FORMAT csv, HEADER)", stream=content)
        cells = text.texts(content.getvalue(), text.Dialect(), place.table)
        cells = with_details(cells, sql={"types": types})
        columns = {name: _typed(cells[name], types[name].partition("(")[0]) for name in names}
        return pa.table(columns), cells

    def _types(self, place: Address, oids: dict[str, int]) -> dict[str, str]:
        """Each column's type as PostgreSQL writes it; of a table with its length or precision."""
        plain = "SELECT format_type(%s::oid, NULL)"
        types = {name: self.execute(plain, (oid,)).fetchone()[0] for name, oid in oids.items()}
        if not place.is_query:
            exact = (
                "SELECT attname, format_type(atttypid, atttypmod) FROM pg_attribute "
                "WHERE attrelid = to_regclass(%s) AND attnum > 0 AND NOT attisdropped"
            )
            types |= {row[0]: row[1] for row in self.execute(exact, (quoted(place.table),)).fetchall()}
        return types


def _typed(cells: pa.ChunkedArray, kind: str) -> pa.ChunkedArray:
    if kind not in _POSTGRESQL:
        return cells
    if kind == "boolean":
        return pc.equal(cells, "t")
    try:
        return cells.cast(pa.type_for_alias(_POSTGRESQL[kind]))
    except pa.ArrowInvalid:  # such as a date of infinity
        return cells
