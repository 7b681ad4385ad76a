"""Databases: a table read by URL, a release in a new table, in one transaction, never over another."""

import datetime as dt
import json
import os
import shutil
import socket
import sqlite3
import subprocess
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest
from typer.testing import CliRunner

import shoal
from shoal.cli.commands import app
from shoal.errors import CheckFailed, InputError, MachineError
from shoal.io.databases.postgresql import _typed
from shoal.io.databases.sql import Address, _sql_type
from shoal.io.databases.sqlite import Sqlite

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
        f"{url}#people", 4, columns=["age", "pay"], strata="region", method="mdav", order="keep"
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
    release = shoal.microaggregate(f"{url}#people", 4, columns=["age", "pay"], method="mdav")
    monkeypatch.setattr(
        shoal.Release, "_verify", lambda self, *found, **options: (_ for _ in ()).throw(CheckFailed("no"))
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
    database.rollback()
    database.rollback()  # the database itself may have ended the transaction: nothing is left to undo
    assert not database.connection.in_transaction
    database.close()


def test_records_that_are_left_out_and_the_fingerprint_of_the_rest(lite, tmp_path):
    source = f"sqlite:///{lite}#people"
    release = shoal.microaggregate(source, 3, columns=["pay"], missing="drop", order="keep")
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
    with pytest.raises(InputError, match="cannot be opened as SQLite"):
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
        ("postgresql://nobody:secret@localhost:1/x#t", r"nobody:\.\.\.@localhost:1/x cannot be reached"),
        ("postgresql://localhost:1/x?color=red#t", "unknown part 'color'"),
    ],
)
def test_wrong_urls_in_one_sentence(lite, url, sentence):
    with pytest.raises(InputError, match=sentence):
        shoal.read(url.format(lite))


def refuse(release, table):
    raise CheckFailed("no")


def call(*words, status=0):
    outcome = CliRunner().invoke(app, [str(word) for word in words])
    assert outcome.exit_code == status, outcome.output
    return outcome


def test_command_line_with_sqlite(lite):
    url = f"sqlite:///{lite}#people"
    call("protect", url, "-k", 4, "-c", "age", "-c", "pay", "-m", "mdav")
    call("check", f"{url}_protected", "-k", 4, "-c", "age", "-c", "pay")
    assert "exists already" in call("protect", url, "-k", 4, "-c", "age", status=2).stderr
    call("protect", url, "-k", 5, "-c", "age", "-c", "pay", "-m", "mdav", "--replace")
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


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    folder = programs()
    if not (folder / "initdb").exists():
        pytest.skip("PostgreSQL is not installed: its tests did not run (apt-get install postgresql)")
    import tempfile

    with tempfile.TemporaryDirectory(prefix="shoal-pg-") as home, socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
        free.close()
        if os.geteuid() == 0:
            shutil.chown(home, "postgres")
        data = Path(home) / "data"
        as_postgres(folder / "initdb", "-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-sync")
        options = f"-p {port} -c listen_addresses=127.0.0.1 -c unix_socket_directories={home} -c fsync=off"
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
    release = shoal.microaggregate(f"{url}#people", 4, columns=["age", "pay"], method="mdav")
    release.write(f"{url}#safe")
    first = fetch(cursor, "safe")
    monkeypatch.setattr(
        shoal.Release, "_verify", lambda self, *found, **options: (_ for _ in ()).throw(CheckFailed("no"))
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
    call("protect", f"{url}#people", "-k", 4, "-c", "age", "-c", "pay", "-m", "mdav")
    call("check", f"{url}#people_protected", "-k", 4, "-c", "age", "-c", "pay")
    call("protect", f"{url}#people", "-k", 4, "-c", "age", status=2)


def test_sqlite_that_is_none(tmp_path):
    with pytest.raises(InputError, match="does not exist"):
        shoal.write(pa.table({"a": [1]}), f"sqlite:///{tmp_path}/no/t.db#t")
    (tmp_path / "bad.db").write_bytes(b"x" * 5000)
    with pytest.raises((InputError, shoal.errors.MachineError)):
        shoal.read(f"sqlite:///{tmp_path}/bad.db#t")
    place = tmp_path / "good.db"
    words = pa.array(["x", "y"]).dictionary_encode()
    shoal.write(
        pa.table({"w": words, "d": pa.array([1, 2], pa.int32()).cast(pa.date32())}), f"sqlite:///{place}#t"
    )
    assert sqlite3.connect(place).execute("SELECT w, d FROM t").fetchall() == [
        ("x", "1970-01-02"),
        ("y", "1970-01-03"),
    ]
