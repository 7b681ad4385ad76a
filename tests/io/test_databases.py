"""Databases: a table read by URL, a release in a new table, in one transaction, never over another."""

import datetime as dt
import json
import os
import shutil
import socket
import sqlite3
import subprocess
import threading
from contextlib import closing
from decimal import Decimal
from pathlib import Path
from urllib.parse import quote

import pyarrow as pa
import pytest
from typer.testing import CliRunner

import shoal
from shoal import writing
from shoal.cli.commands import app
from shoal.errors import CheckFailed, InputError, MachineError
from shoal.io.databases import sql
from shoal.io.databases.address import parted, shown
from shoal.io.databases.postgresql import _typed
from shoal.io.databases.sql import Address, _sql_type
from shoal.io.databases.sqlite import Sqlite
from tests.ports import free_port

ROWS = [
    (
        f"{i:04d}",
        "north" if i % 3 else "south",
        20 + (7 * i) % 40,
        None if i % 9 == 0 else 1000.5 * (i % 13),
        i,
    )
    for i in range(60)
]
COLUMNS = ("code", "region", "age", "pay", "big")
KEPT = ["code", "big"]  # each record has its own
SERVED = ["code", "id", "born"]


@pytest.fixture
def lite(tmp_path):
    path = tmp_path / "survey.db"
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE people (code TEXT, region VARCHAR(9), age INTEGER, pay REAL, big)")
        database.executemany("INSERT INTO people VALUES (?, ?, ?, ?, ?)", ROWS)
        database.execute("UPDATE people SET big = 'text' WHERE big = 3")
    database.close()
    return path


def rows(path, table):
    database = sqlite3.connect(path)
    found = database.execute(f'SELECT * FROM "{table}"').fetchall()
    kinds = database.execute(f'SELECT name, type FROM pragma_table_info("{table}")').fetchall()
    database.close()
    return found, kinds


def test_sqlite_release_goes_into_a_new_table_of_the_same_types(lite):
    url = f"sqlite:///{lite}"
    release = shoal.microaggregate(
        f"{url}#people", 4, columns=["age", "pay"], strata="region", method="mdav", order="keep", keep=KEPT
    )
    release.write(f"{url}#people_safe")
    before, kinds = rows(lite, "people")
    after, new_kinds = rows(lite, "people_safe")
    assert new_kinds == kinds
    assert [(*r[:2], r[4]) for r in after] == [(*r[:2], r[4]) for r in before]
    counts = {}
    for row in after:
        counts[row[1:4]] = counts.get(row[1:4], 0) + 1
    assert min(counts.values()) >= 4
    assert all(isinstance(row[2], int) for row in after)
    with pytest.raises(InputError, match="exists already"):
        release.write(f"{url}#people_safe")
    release.write(f"{url}#people_safe", replace=True)
    with pytest.raises(InputError, match="never overwritten"):
        release.write(f"{url}#people", replace=True)
    assert rows(lite, "people")[0] == before


@pytest.mark.parametrize(
    "address", ["hdfs://bucket//x.parquet", "https://me:secret@host/x.csv", "mysql://x/y"]
)
def test_an_address_that_is_not_opened_is_named_as_it_was_given(address, tmp_path):
    named = "is an address that shoal does not open"
    calls = {
        "read": lambda: shoal.read(address),
        "write": lambda: shoal.write(shoal.datasets.survey(5), address),
        "protect": lambda: shoal.microaggregate(address, 3),
        "check": lambda: shoal.check(address, k=3),
        "release": lambda: shoal.microaggregate([[1.0], [2.0], [3.0]], 3).write(address),
        "files": lambda: shoal.protect_files(address, tmp_path / "out", 3),
        "to files": lambda: shoal.protect_files(tmp_path / "in.parquet", address, 3),
    }
    for call in calls.values():
        with pytest.raises(InputError, match=named) as told:
            call()
        assert shown(address) in str(told.value)
        assert "secret" not in str(told.value)
    done = CliRunner().invoke(app, ["protect", address, "-k", "3", "-c", "x", "-o", str(tmp_path / "o.csv")])
    assert done.exit_code == 2
    assert not list(tmp_path.iterdir())


def test_files_are_not_made_of_databases(lite, tmp_path):
    with pytest.raises(InputError, match="is a table of a database: add --engine memory, or export it"):
        shoal.protect_files(f"sqlite:///{lite}#people", tmp_path / "out", 3)


def test_sqlite_query_and_other_formats(lite, tmp_path):
    url = f"sqlite:///{lite}#SELECT age, pay FROM people WHERE age > 25"
    release = shoal.microaggregate(url, 4, method="mdav")
    release.write(tmp_path / "out.csv")
    release.write(f"sqlite:///{tmp_path / 'new.db'}#out")
    assert len(rows(tmp_path / "new.db", "out")[0]) == len(shoal.read(url))
    with pytest.raises(InputError, match="not into a query"):
        release.write(url)


def test_a_release_that_fails_its_check_leaves_no_table(lite, tmp_path, monkeypatch):
    url = f"sqlite:///{lite}"
    release = shoal.microaggregate(f"{url}#people", 4, columns=["age", "pay"], method="mdav", keep=KEPT)
    monkeypatch.setattr(
        writing, "_verify", lambda *found, **options: (_ for _ in ()).throw(CheckFailed("no"))
    )
    with pytest.raises(CheckFailed):
        release.write(f"{url}#people_safe")
    with pytest.raises(CheckFailed):
        release.write(f"sqlite:///{tmp_path / 'new.db'}#out")
    assert not (tmp_path / "new.db").exists()
    with pytest.raises(sqlite3.OperationalError):
        rows(lite, "people_safe")


def test_every_kind_of_column_has_a_type_in_sql(tmp_path):
    moment = dt.datetime(2031, 12, 24, 18, 30)
    table = pa.table(
        {
            "d": pa.array([Decimal("1.50")], pa.decimal128(9, 2)),
            "t": pa.array([moment], pa.timestamp("s")),
            "z": pa.array([moment], pa.timestamp("s", "UTC")),
            "b": [b"\x00\xff"],
        }
    )
    shoal.write(table, f"sqlite:///{tmp_path / 'new.db'}#t")
    found, kinds = rows(tmp_path / "new.db", "t")
    assert found == [(1.5, "2031-12-24 18:30:00", "2031-12-24 18:30:00Z", b"\x00\xff")]
    types = ["numeric", "timestamp", "timestamp with time zone", "BLOB"]
    assert kinds == list(zip("dtzb", types))
    assert [_sql_type(field.type, "postgresql") for field in table.schema] == [*types[:3], "bytea"]


def test_a_database_that_refuses_keeps_what_it_had(lite):
    before = rows(lite, "people")
    with pytest.raises(MachineError, match="the database refused"):
        shoal.write(pa.table({"a": pa.array([2**63], pa.uint64())}), f"sqlite:///{lite}#big")
    assert rows(lite, "people") == before
    with pytest.raises(sqlite3.OperationalError):
        rows(lite, "big")
    database = Sqlite(Address("sqlite", str(lite), "people"))
    database.connection.rollback()
    database.connection.rollback()  # the database may have ended the transaction: nothing is left to undo
    assert not database.connection.in_transaction
    database.connection.close()


def test_records_that_are_left_out_and_the_fingerprint_of_the_rest(lite, tmp_path):
    source = f"sqlite:///{lite}#people"
    release = shoal.microaggregate(source, 3, columns=["pay"], missing="drop", order="keep", keep=KEPT)
    release.write(f"sqlite:///{lite}#safe")
    assert [row[0] for row in rows(lite, "safe")[0]] == [row[0] for row in ROWS if row[3] is not None]
    again = shoal.microaggregate(source, 3, columns=["age"])
    assert len(release.origin.sha256()) == 64
    assert again.origin.sha256() == release.origin.sha256()  # of all that was read
    with sqlite3.connect(lite) as database:
        database.execute("UPDATE people SET region = 'west' WHERE code = '0001'")
    database.close()
    assert shoal.microaggregate(source, 3, columns=["age"]).origin.sha256() != release.origin.sha256()


def test_a_folder_is_no_database(tmp_path):
    (tmp_path / "t.db").mkdir()
    with pytest.raises(InputError, match="cannot be opened as a database"):
        shoal.write(pa.table({"a": [1]}), f"sqlite:///{tmp_path / 't.db'}#t")


def test_dates_that_arrow_does_not_know_stay_texts():
    cells = pa.array(["2031-12-24", "infinity"])
    assert _typed(cells, "date") is cells
    assert _typed(cells.slice(0, 1), "date").to_pylist() == [dt.date(2031, 12, 24)]


@pytest.mark.parametrize(
    ("url", "sentence"),
    [
        ("sqlite:///{}", "which table"),
        ("sqlite:///{}x#t", "there is no file"),
        ("sqlite:///{}#nothing", "no such table"),
        ("sqlite://{}", "which table|sqlite:///file.db"),
        ("sqlite://file.db#t", "a URL of SQLite is sqlite:///file.db#table"),
        ("sqlite:///{}#SELECT 1 AS a, 2 AS a", "two columns"),
        ("postgresql://nobody:secret@localhost:1/x#t", r"nobody:\*\*\*@localhost:1/x cannot be reached"),
        ("postgresql://a:secret@localhost:0/x#t", "from 1 to 65535, not 0"),
        ("postgresql://a:secret@localhost:65536/x#t", "from 1 to 65535, not 65536"),
        ("postgresql://a:secret@localhost:123456/x#t", "a URL of PostgreSQL is"),
        ("postgresql://a:secret@localhost:x/x#t", "a URL of PostgreSQL is"),
        ("postgresql://a:secret@[::1/x#t", "a URL of PostgreSQL is"),
        ("postgresql://a:secret@localhost/x", r"postgresql://a:\*\*\*@localhost/x#firms"),
        ("postgresql://a:secret@db.example/x?sslmode=prefer#t", "require or disable .* not 'prefer'"),
        (
            "postgresql://a:secret@localhost/x?sslmode=verify_full#t",
            "require or disable .* not 'verify_full'",
        ),
        ("postgresql://a:secret@h/x?sslmode=disable&sslrootcert=x#t", "without sslrootcert"),
        ("postgresql://a:secret@h/x?sslrootcert=/nowhere#t", "'/nowhere' cannot be read as certificates"),
        ("postgresql://a:secret@h/x?sslrootcert={}#t", "cannot be read as certificates"),
        ("postgresql://localhost:1/x?color=red#t", "unknown part 'color'"),
    ],
)
def test_wrong_urls_in_one_sentence(lite, url, sentence):
    with pytest.raises(InputError, match=sentence) as error:
        shoal.read(url.format(lite))
    assert "secret" not in str(error.value)
    assert "secret" not in call("inspect", url.format(lite), status=2).output


@pytest.mark.parametrize(
    "password", ["p@ss", "a:b", "a/b", "a?b", "a#b", "a[b]", "100%", "a b", "ü", "@", "/#?"]
)
def test_any_password_can_be_given_and_none_is_shown(password):
    for written in (password.replace("%", "%25"), quote(password, safe="")):
        url = f"postgresql://me:{written}@db.example:5433/base?host=x"
        place = sql.address(f"{url}#other.table")
        server = parted(place.database)[0]
        assert server == ("x", 5433, "base", "me", password, {})
        assert (place.database, place.table) == (url, "other.table")
        assert shown(f"written to {url}") == "written to postgresql://me:***@db.example:5433/base?host=x"
        assert written not in repr(place).replace("postgresql://me:***@db.example", "")


@pytest.mark.parametrize("password", ["p@x#y", "p@x/y", "p@x?y", "p@5:5/#"])
def test_a_password_that_could_end_earlier_is_never_sent_to_a_part_of_it(password):
    """`me:p@x#y@db` could be the table y@db of a server x, which would be told the password p."""
    url = "postgresql://me:{}@db.example/base#t"
    with pytest.raises(InputError, match=r"two ways: in the password, write @ as %40, # as %23") as said:
        sql.address(url.format(password))
    assert password not in str(said.value)
    server = parted(sql.address(url.format(quote(password, safe=""))).database)[0]
    assert (server.host, server.password) == ("db.example", password)
    query = "SELECT * FROM t WHERE mail = 'a@b'"
    assert parted(f"postgresql://me:p@db/base#{query}")[2] == query


def test_urls_without_a_password():
    assert parted("postgresql://h:1/b#SELECT 'a@b'")[0][:4] == ("h", 1, "b", "")
    assert parted("postgres://me@there@h/b")[0][:4] == ("h", 5432, "b", "me@there")
    assert parted("postgresql://[::1]:7/")[0][:3] == ("::1", 7, "")
    assert parted("postgresql:///b")[0][:3] == ("localhost", 5432, "b")
    assert shown("postgresql://me@h:1/b#t") == "postgresql://me@h:1/b#t"
    assert shown("/folder/file.csv") == "/folder/file.csv"


@pytest.mark.parametrize("part", ["", "-journal", "-wal"])
@pytest.mark.parametrize("kind", ["link", "dangling", "pipe"])
def test_nothing_is_written_through_what_was_planted(tmp_path, lite, part, kind):
    """Somebody else has put a link or a pipe where the release is to be."""
    precious = tmp_path / "precious.db"
    shutil.copy(lite, precious)
    before, target = precious.read_bytes(), tmp_path / "out.db"
    planted = tmp_path / f"out.db{part}"
    if kind == "pipe":
        os.mkfifo(planted)
    else:
        planted.symlink_to(precious if kind == "link" else tmp_path / "new.db")
    source, url = f"sqlite:///{lite}#people", f"sqlite:///{target}#t"
    release = shoal.microaggregate(source, 4, columns=["age"], method="mdav")
    keep = ",".join(release.outcome.kept)
    said = call("protect", source, "-k", 4, "-c", "age", "--keep", keep, "-o", url, status=2).stderr
    assert "is a link, a folder or a pipe" in said
    kept = lambda: release.write(url, keep=release.outcome.kept)  # noqa: E731
    for write in (kept, lambda: shoal.write(pa.table({"a": [1]}), url)):
        with pytest.raises(InputError, match="is a link, a folder or a pipe"):
            write()
    assert precious.read_bytes() == before
    assert not (tmp_path / "new.db").exists()
    assert planted.is_symlink() or planted.is_fifo()


def test_a_dot_in_the_name_of_a_table(tmp_path):
    url = f"sqlite:///{tmp_path / 'a.db'}"
    shoal.write(pa.table({"a": [3, 1, 2, 9]}), f"{url}#my.table")
    shoal.microaggregate(f"{url}#my.table", 2).write(f"{url}#my.table.safe")
    assert shoal.read(f"{url}#my.table")["a"].to_pylist() == [3, 1, 2, 9]
    assert shoal.read(f"{url}#my.table.safe").num_rows == 4
    with pytest.raises(InputError, match="exists already"):
        sql.refuse_target(f"{url}#MY.table", False)


def view(tmp_path, select):
    path = tmp_path / "view.db"
    with closing(sqlite3.connect(path)) as database:
        database.execute(
            f"CREATE VIEW v AS WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) {select}"
        )
    return path


def test_a_view_without_an_end_is_a_sentence(tmp_path):
    place = Address("sqlite", str(view(tmp_path, "SELECT x FROM c WHERE x < 0")), "v")
    database = Sqlite(place, read_only=True)
    with pytest.raises(InputError, match="'v' gave no row for 0 seconds: is it a view without an end"):
        database.read(place, patience=0.05)
    assert database.execute("SELECT 1").fetchone() == (1,)  # no handler is left
    database.connection.close()


def test_a_view_with_rows_without_end_is_no_table(tmp_path):
    path = view(tmp_path, "SELECT x, hex(zeroblob(x)) FROM c")
    with pytest.raises(InputError, match="'v' unpacks to more than 200 times its size"):
        shoal.read(f"sqlite:///{path}#v")


def test_a_cell_that_no_record_has_is_refused(tmp_path):
    path = view(tmp_path, "SELECT hex(zeroblob(100000000)) FROM c")
    with pytest.raises(InputError, match="too big"):
        shoal.read(f"sqlite:///{path}#v")


def refuse(release, table):
    raise CheckFailed("no")


def call(*words, status=0):
    outcome = CliRunner().invoke(app, [str(word) for word in words])
    assert outcome.exit_code == status, outcome.output
    return outcome


def test_command_line_with_sqlite(lite):
    url = f"sqlite:///{lite}#people"
    call("protect", url, "-k", 4, "-c", "age", "-c", "pay", "-m", "mdav", "--keep", "code,big")
    call("check", f"{url}_protected", "-k", 4, "-c", "age", "-c", "pay")
    assert "exists already" in call("protect", url, "-k", 4, "-c", "age", status=2).stderr
    call("protect", url, "-k", 5, "-c", "age", "-c", "pay", "-m", "mdav", "--keep", "code,big", "--replace")
    call("check", f"{url}_protected", "-k", 5, "-c", "age", "-c", "pay")
    guesses = json.loads(call("inspect", url, "--json").stdout)["columns"]
    assert [guess["name"] for guess in guesses] == list(COLUMNS)
    query = url.replace("#people", "#SELECT * FROM people")
    assert "name the output with -o" in call("protect", query, "-k", 4, status=2).stderr


# --- a real server of PostgreSQL ---------------------------------------------------------------------


def programs():
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    return found[-1].parent if found else Path(shutil.which("initdb") or "/nowhere/x").parent


def as_postgres(*words):
    """Run as a user that is not root, which PostgreSQL refuses to be."""
    words = [str(word) for word in words]
    if os.geteuid() == 0:
        words = ["runuser", "-u", "postgres", "--", *words]
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd="/")


def certify(home, host):
    """A certificate for a host by an authority of our own: root.crt, server.crt and server.key."""
    short = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"]
    ca = ["-x509", "-subj", "/CN=authority", "-keyout", home / "root.key", "-out", home / "root.crt"]
    ca += ["-addext", "keyUsage=critical,keyCertSign"]  # without it, Python 3.13 trusts no authority
    ask = ["-subj", f"/CN={host}", "-addext", f"subjectAltName=DNS:{host}", "-keyout", home / "server.key"]
    ask += ["-x509", "-CA", home / "root.crt", "-CAkey", home / "root.key", "-out", home / "server.crt"]
    ask += ["-addext", "basicConstraints=critical,CA:FALSE"]
    for words in (ca, ask):
        subprocess.run(["openssl", "req", *short, *words], check=True, capture_output=True)
    if os.geteuid() == 0:
        shutil.chown(home / "server.key", "postgres")
    return home


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    folder = programs()
    if not (folder / "initdb").exists():
        pytest.skip("PostgreSQL is not installed: its tests did not run (apt-get install postgresql)")
    import tempfile

    with tempfile.TemporaryDirectory(prefix="shoal-pg-") as home:
        port = free_port()
        if os.geteuid() == 0:
            shutil.chown(home, "postgres")
        data = Path(home) / "data"
        as_postgres(folder / "initdb", "-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-sync")
        certify(Path(home), "db.example")
        rule = "host all odd 127.0.0.1/32 scram-sha-256\n"
        (data / "pg_hba.conf").write_text(rule + (data / "pg_hba.conf").read_text())
        options = f"-p {port} -c listen_addresses=127.0.0.1 -c unix_socket_directories={home} -c fsync=off"
        options += f" -c ssl=on -c ssl_cert_file={home}/server.crt -c ssl_key_file={home}/server.key"
        as_postgres(folder / "pg_ctl", "-D", data, "-w", "-o", options, "-l", Path(home) / "log", "start")
        try:
            yield f"postgresql://postgres@127.0.0.1:{port}/postgres", home, port
        finally:
            as_postgres(folder / "pg_ctl", "-D", data, "-m", "immediate", "-w", "stop")


@pytest.fixture
def people(server):
    from pg8000.dbapi import connect

    url, _, port = server
    connection = connect(user="postgres", host="127.0.0.1", port=port, database="postgres")
    connection.autocommit = True  # no lock is kept
    cursor = connection.cursor()
    cursor.execute("DROP SCHEMA public CASCADE; CREATE SCHEMA public; DROP SCHEMA IF EXISTS other CASCADE")
    cursor.execute(
        'CREATE TABLE people (code varchar(8), "Re""gion" text, age smallint, pay numeric(10,2), born date, '
        "open boolean, seen timestamptz, id uuid, tags text[], note text)"
    )
    for i, (code, region, age, pay, _) in enumerate(ROWS):
        cursor.execute(
            "INSERT INTO people VALUES (%s, %s, %s, %s, %s, %s, %s, %s::uuid, %s, %s)",
            (
                code,
                region,
                age,
                pay,
                dt.date(1950, 1, 1) + dt.timedelta(days=300 * i),
                i % 2 == 0,
                dt.datetime(2024, 1, 1, tzinfo=dt.UTC),
                f"00000000-0000-0000-0000-{i:012d}",
                ["a", 'b"c'],
                None if i % 5 else "",
            ),
        )
    yield url, cursor
    connection.close()


def fetch(cursor, table):
    cursor.execute(f"SELECT * FROM {table}")
    return cursor.fetchall()


def test_postgresql_release_goes_into_a_new_table_of_the_same_types(people):
    url, cursor = people
    release = shoal.microaggregate(
        f"{url}#people",
        4,
        columns=["age", "pay", "born", "open"],
        strata='Re"gion',
        method="mdav_generic",
        order="keep",
        keep=["code", "id"],
    )
    release.write(f"{url}#people_safe")
    before, after = fetch(cursor, "people"), fetch(cursor, "people_safe")
    kept = (0, 1, 6, 7, 8, 9)
    assert [[row[j] for j in kept] for row in after] == [[row[j] for j in kept] for row in before]
    counts = {}
    for row in after:
        key = tuple(row[1:6])
        counts[key] = counts.get(key, 0) + 1
    assert min(counts.values()) >= 4
    cursor.execute(
        "SELECT count(*) FROM (SELECT attname, format_type(atttypid, atttypmod) FROM pg_attribute "
        "WHERE attnum > 0 AND attrelid = 'people'::regclass EXCEPT "
        "SELECT attname, format_type(atttypid, atttypmod) FROM pg_attribute "
        "WHERE attrelid = 'people_safe'::regclass) AS differing"
    )
    assert cursor.fetchone()[0] == 0
    with pytest.raises(InputError, match="exists already"):
        release.write(f"{url}#people_safe")
    release.write(f"{url}#people_safe", replace=True)
    with pytest.raises(InputError, match="never overwritten"):
        release.write(f"{url}#public.people", replace=True)


def test_postgresql_is_all_or_nothing(people, monkeypatch):
    url, cursor = people
    release = shoal.microaggregate(f"{url}#people", 4, columns=["age", "pay"], method="mdav", keep=SERVED)
    release.write(f"{url}#safe")
    first = fetch(cursor, "safe")
    monkeypatch.setattr(
        writing, "_verify", lambda *found, **options: (_ for _ in ()).throw(CheckFailed("no"))
    )
    with pytest.raises(CheckFailed):
        release.write(f"{url}#safe", replace=True)
    with pytest.raises(CheckFailed):
        release.write(f"{url}#unsafe")
    assert fetch(cursor, "safe") == first
    cursor.execute("SELECT to_regclass('unsafe')")
    assert cursor.fetchone()[0] is None


def test_postgresql_query_socket_schema_and_other_formats(people, server, tmp_path):
    url, cursor = people
    _, home, port = server
    cursor.execute("CREATE SCHEMA other")
    query = f"postgresql://postgres@/postgres?host={home}#SELECT age, pay FROM people WHERE pay IS NOT NULL"
    query = query.replace("@/", f"@:{port}/")
    release = shoal.microaggregate(query, 4, method="mdav", order="keep")
    assert set(release.columns) == {"age", "pay"}
    release.write(f"{url}#other.out")
    assert len(fetch(cursor, "other.out")) == len(release.labels)
    release.write(tmp_path / "out.parquet")
    shoal.write(shoal.read(tmp_path / "out.parquet"), f"sqlite:///{tmp_path / 'x.db'}#t")
    assert shoal.read(f"sqlite:///{tmp_path / 'x.db'}#t").to_pydict() == release.table.to_pydict()
    with pytest.raises(InputError, match="does not exist"):
        shoal.read(f"{url}#nothing")


def test_command_line_with_postgresql(people):
    url, _ = people
    words = ("-k", 4, "-c", "age", "-c", "pay", "-m", "mdav", "--keep", ",".join(SERVED))
    call("protect", f"{url}#people", *words)
    call("check", f"{url}#people_protected", "-k", 4, "-c", "age", "-c", "pay")
    call("protect", f"{url}#people", "-k", 4, "-c", "age", status=2)


def test_sqlite_that_is_none(tmp_path):
    with pytest.raises(InputError, match="does not exist"):
        shoal.write(pa.table({"a": [1]}), f"sqlite:///{tmp_path}/no/t.db#t")
    (tmp_path / "bad.db").write_bytes(b"x" * 5000)
    with pytest.raises((InputError, shoal.errors.MachineError)):
        shoal.read(f"sqlite:///{tmp_path}/bad.db#t")
    with pytest.raises(InputError, match="cannot be opened as SQLite"):
        shoal.write(pa.table({"a": [1]}), f"sqlite:///{tmp_path}/bad.db#t")
    assert (tmp_path / "bad.db").read_bytes() == b"x" * 5000
    place = tmp_path / "good.db"
    words = pa.array(["x", "y"]).dictionary_encode()
    shoal.write(
        pa.table({"w": words, "d": pa.array([1, 2], pa.int32()).cast(pa.date32())}), f"sqlite:///{place}#t"
    )
    assert sqlite3.connect(place).execute("SELECT w, d FROM t").fetchall() == [
        ("x", "1970-01-02"),
        ("y", "1970-01-03"),
    ]


# --- who is at the other end -------------------------------------------------------------------------

ENCRYPTED = "SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()"


@pytest.fixture
def named(monkeypatch):
    """Two names of hosts that are not this machine's, and yet lead to it."""
    ask = socket.getaddrinfo

    def answer(host, *words, **options):
        return ask("127.0.0.1" if str(host).endswith(".example") else host, *words, **options)

    monkeypatch.setattr(socket, "getaddrinfo", answer)


def encrypted(url):
    return shoal.read(f"{url}#{ENCRYPTED}").to_pydict()["ssl"][0]


def test_a_server_beyond_this_machine_must_be_the_one_it_says(server, named, tmp_path):
    _, home, port = server
    root, other = f"sslrootcert={home}/root.crt", certify(tmp_path, "db.example") / "root.crt"
    right, wrong = (
        f"postgresql://postgres:secret@{name}.example:{port}/postgres" for name in ("db", "other")
    )
    assert encrypted(f"{right}?{root}")
    assert encrypted(f"{right}?{root}&sslmode=verify-full")
    for url, mode in ((right, "verify-ca"), (wrong, "verify-ca"), (wrong, "require")):
        assert encrypted(f"{url}?{root}&sslmode={mode}")
    assert encrypted(f"{wrong}?sslmode=require")
    assert not encrypted(f"{right}?sslmode=disable")
    for url in (
        right,  # no authority that this machine knows
        f"{right}?sslmode=verify-full",
        f"{right}?sslmode=verify-ca",
        f"{wrong}?{root}",  # another host
        f"{right}?sslrootcert={other}",  # another authority
        f"{right}?sslrootcert={other}&sslmode=verify-ca",
        f"{right}?sslrootcert={other}&sslmode=require",
        f"postgresql://postgres:secret@127.0.0.1:{port}/postgres?{root}",
    ):
        with pytest.raises(InputError, match=r"postgres:\*\*\*@.* is not to be trusted \(") as error:
            shoal.read(f"{url}#{ENCRYPTED}")
        assert "secret" not in str(error.value)


def test_on_this_machine_a_server_may_do_without(server):
    url, home, port = server
    assert encrypted(url)  # since it offers it
    assert not encrypted(f"{url}?sslmode=disable")
    assert not encrypted(f"postgresql://postgres@:{port}/postgres?host={home}")


@pytest.mark.parametrize("answer", [b"N", b"E", b"\xff", b""])
def test_an_impostor_without_encryption_hears_nothing(named, answer):
    heard = []
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def impostor():
            line, _ = listener.accept()
            with line:
                heard.append(line.recv(1000))
                line.sendall(answer)
                if answer:
                    heard.append(line.recv(1000))

        thread = threading.Thread(target=impostor, daemon=True)
        thread.start()
        port = listener.getsockname()[1]
        with pytest.raises(InputError, match="cannot be reached"):
            shoal.read(f"postgresql://me:secret@db.example:{port}/x#t")
        thread.join()
    assert [len(words) for words in heard] == [8, 0][: len(heard)]  # a request for encryption, and no more


def test_odd_passwords_reach_the_server(people):
    url, cursor = people
    for password in ("p@s:s/w?o#r[d] %41", "'\"\\ü"):
        cursor.execute("DROP ROLE IF EXISTS odd")
        cursor.execute("CREATE ROLE odd LOGIN PASSWORD '" + password.replace("'", "''") + "'")
        for written in (password.replace("%", "%25"), quote(password, safe="")):
            mine = url.replace("postgres@", f"odd:{written}@")
            assert shoal.read(f"{mine}#SELECT 1 AS a")["a"].to_pylist() == [1]
        with pytest.raises(InputError, match=r"odd:\*\*\*@.*password authentication failed"):
            shoal.read(f"{url.replace('postgres@', 'odd:wrong@')}#SELECT 1 AS a")


def test_no_password_is_printed(people):
    url, _ = people
    url = url.replace("postgres@", "postgres:secret@")
    words = ("protect", f"{url}#people", "-k", 4, "-c", "age", "-m", "mdav", "--keep", "code,id,born")
    said = call(*words)
    assert "postgresql://postgres:***@127.0.0.1" in "".join(said.output.split())
    output = json.loads(call(*words, "--replace", "--json").stdout)["output"]
    assert output.startswith("postgresql://postgres:***@")
    looked = call("inspect", f"{url}#people")
    for outcome in (said, call(*words, "--replace", "--json"), call(*words, status=2), looked):
        assert "secret" not in outcome.output
    assert "secret" not in call("inspect", url.replace("postgresql", "postgre"), status=2).output
