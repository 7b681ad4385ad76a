"""Metadata of files from outside are never believed, and what is published carries a known list of them."""

import json
import sqlite3

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import shoal
from shoal.errors import InputError
from shoal.io.databases.sql import _TYPE

from .test_databases import people, server  # noqa: F401 - fixtures

EVIL = "int); DROP TABLE people; CREATE TABLE evil (x int"


def hostile(path, kind):
    """A Parquet file whose metadata claim a type of column x that ends a command and begins more."""
    details = {"sql": {"kind": kind, "types": {"x": EVIL}}}
    table = pa.table({"x": [1, 2, 3, 4]}).replace_schema_metadata({b"shoal": json.dumps(details).encode()})
    pq.write_table(table, path)
    return table


def test_sql_types_are_never_taken_from_a_file(tmp_path):
    table = hostile(tmp_path / "evil.parquet", "sqlite")
    url = f"sqlite:///{tmp_path / 'new.db'}"
    shoal.microaggregate(tmp_path / "evil.parquet", 2).write(f"{url}#a")
    shoal.microaggregate(table, 2).write(f"{url}#b")
    shoal.write(table, f"{url}#c")
    database = sqlite3.connect(tmp_path / "new.db")
    made = [text for (text,) in database.execute("SELECT sql FROM sqlite_master")]
    database.close()
    assert made == [f'CREATE TABLE "{name}" ("x" INTEGER)' for name in "abc"]


def test_a_file_cannot_run_commands_on_postgresql(tmp_path, people):  # noqa: F811
    url, cursor = people
    table = hostile(tmp_path / "evil.parquet", "postgresql")
    shoal.microaggregate(tmp_path / "evil.parquet", 2).write(f"{url}#a_safe")
    shoal.write(table, f"{url}#b_safe")
    cursor.execute("SELECT count(*) FROM people")
    assert cursor.fetchone()[0] > 0
    cursor.execute("SELECT to_regclass('evil')")
    assert cursor.fetchone()[0] is None


def test_a_type_of_a_hostile_database_is_not_repeated(tmp_path):
    database = sqlite3.connect(tmp_path / "old.db")
    odd = "INTEGER DEFAULT (abs(-1)), evil TEXT"
    database.execute(f'CREATE TABLE t (x "{odd}", y VARCHAR(20), z "")')
    database.executemany("INSERT INTO t VALUES (?, ?, ?)", [(j, str(j), j) for j in range(4)])
    database.commit()
    database.close()
    url = f"sqlite:///{tmp_path / 'old.db'}"
    shoal.microaggregate(f"{url}#t", 2, columns=["x"]).write(f"{url}#safe")
    database = sqlite3.connect(tmp_path / "old.db")
    ((made,),) = database.execute("SELECT sql FROM sqlite_master WHERE name = 'safe'")
    database.close()
    assert made == 'CREATE TABLE "safe" ("x" INTEGER, "y" VARCHAR(20), "z" )'


@pytest.mark.parametrize(
    "word",
    [
        "integer",
        "numeric(10,2)",
        "character varying(20)",
        "timestamp(3) without time zone",
        "interval day to second(3)",
        'other."My type"[]',
        "UNSIGNED BIG INT",
    ],
)
def test_types_that_databases_have_are_known(word):
    assert _TYPE.fullmatch(word)


@pytest.mark.parametrize(
    "word", [EVIL, "int, y int", "int DEFAULT x", "int Not Null", "int(random())", 'a"b"; --', "int\n)"]
)
def test_types_that_no_column_has_are_refused(word):
    assert not _TYPE.fullmatch(word)


@pytest.mark.parametrize("content", [b"{", b"[1]", b'{"stats": 3}', b"[" * 100_000, b"\xff"])
def test_malformed_metadata_are_one_sentence(content, tmp_path):
    table = pa.table({"x": [1.0, 2.0]}).replace_schema_metadata({b"shoal": content})
    with pytest.raises(InputError, match="not what shoal writes"):
        shoal.write(table, tmp_path / "out.csv")
    pq.write_table(table, tmp_path / "in.parquet")
    assert shoal.read(tmp_path / "in.parquet").schema.metadata is None
