"""Tables in files of DuckDB."""

import sys

import pyarrow as pa
import pytest

import shoal
from shoal import writing
from shoal.errors import CheckFailed, InputError
from shoal.io.databases.address import Address
from shoal.io.databases.duckdb import DuckDB

duckdb = pytest.importorskip("duckdb")


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "office.duckdb"
    with duckdb.connect(path) as made:
        made.execute("CREATE TYPE town AS ENUM ('Rust', 'Linz', 'Graz', 'nobody')")
        made.execute(
            "CREATE TABLE firms AS SELECT i AS nr, (i * 7919 % 1000)::DECIMAL(12, 2) AS turnover, "
            "(i * 31 % 97)::SMALLINT AS staff, (['Rust', 'Linz', 'Graz'])[1 + i % 3]::town AS town, "
            "DATE '2020-01-01' + (i % 50)::INTEGER AS founded, uuid() AS key FROM range(60) t(i)"
        )
    return path


@pytest.fixture
def release(path):
    return shoal.microaggregate(
        f"duckdb:///{path}#firms",
        4,
        columns=["turnover", "staff"],
        roles={"key": "identifier"},
        keep=["nr", "founded"],
    )


def test_a_release_goes_into_a_new_table_of_the_same_types(path, release, tmp_path):
    url = f"duckdb:///{path}"
    release.write(f"{url}#safe")
    kept = "SELECT nr, town::VARCHAR, founded FROM {} ORDER BY nr"
    with duckdb.connect(path, read_only=True) as made:
        find = "SELECT column_name, data_type FROM duckdb_columns() WHERE table_name = 'safe'"
        kinds = dict(made.execute(find).fetchall())
        counts = made.execute("SELECT count(*) FROM safe GROUP BY turnover, staff").fetchall()
        assert made.execute(kept.format("safe")).fetchall() == made.execute(kept.format("firms")).fetchall()
    assert kinds == {
        "nr": "BIGINT",
        "turnover": "DECIMAL(12,2)",
        "staff": "SMALLINT",
        "town": "VARCHAR",  # an enumeration would tell levels that nobody has
        "founded": "DATE",
    }
    assert sum(count for (count,) in counts) == 60
    assert min(counts)[0] >= 4
    with pytest.raises(InputError, match="table 'safe' exists already"):
        release.write(f"{url}#safe")
    release.write(f"{url}#safe", replace=True)
    with pytest.raises(InputError, match="never overwritten"):
        release.write(f"{url}#firms", replace=True)
    with pytest.raises(InputError, match="not into a query"):
        release.write(f"{url}#SELECT 1")
    release.write(f"duckdb:///{tmp_path / 'new.duckdb'}#safe")
    release.write(tmp_path / "safe.parquet")
    stored = shoal.read(f"duckdb:///{tmp_path / 'new.duckdb'}#safe")
    assert stored.equals(shoal.read(f"{url}#safe"))
    assert stored["turnover"].to_pylist() == shoal.read(tmp_path / "safe.parquet")["turnover"].to_pylist()
    assert shoal.read(f"{url}#SELECT nr FROM firms WHERE nr < 9").num_rows == 9


def test_all_or_nothing(path, release, tmp_path, monkeypatch):
    def refuse(*found, **options):
        raise CheckFailed("no")

    monkeypatch.setattr(writing, "_verify", refuse)
    for target in (path, tmp_path / "new.duckdb"):
        with pytest.raises(CheckFailed):
            release.write(f"duckdb:///{target}#safe")
    assert [file.name for file in tmp_path.iterdir()] == ["office.duckdb"]
    with pytest.raises(InputError, match=r"the database cannot answer: .*safe"):
        shoal.read(f"duckdb:///{path}#safe")
    with pytest.raises(InputError, match="names that differ only in capitals are the same"):
        shoal.write(pa.table({"a": [1], "A": [2]}), f"duckdb:///{path}#twice")


@pytest.mark.parametrize("part", ["", ".wal"])
def test_nothing_is_opened_through_what_was_planted(path, release, part, tmp_path):
    (tmp_path / f"out.duckdb{part}").symlink_to(path)
    before = path.read_bytes()
    with pytest.raises(InputError, match=r"cannot be opened as a database: .* is a link, a folder or a pipe"):
        release.write(f"duckdb:///{tmp_path / 'out.duckdb'}#safe")
    assert path.read_bytes() == before


def test_a_file_from_outside_reads_no_other_file_and_has_an_end(path, tmp_path):
    secret = tmp_path / "secret.csv"
    secret.write_text("a,b\n1,2\n")
    with duckdb.connect(path) as made:
        made.execute(f"CREATE VIEW outside AS SELECT * FROM read_csv('{secret}')")
        made.execute(
            "CREATE VIEW endless AS WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT 1 - x FROM c) "
            "SELECT x FROM c WHERE x < 0"
        )
        made.execute("CREATE VIEW much AS SELECT i AS a, i + 1 AS b FROM range(1000000000000) t(i)")
    with pytest.raises(InputError, match=r"the database cannot answer: .* disabled by configuration"):
        shoal.read(f"duckdb:///{path}#outside")
    database = DuckDB(Address("duckdb", str(path), "endless"), read_only=True)
    with pytest.raises(InputError, match="gave no row for 0 seconds: is it a view without an end"):
        database.read(Address("duckdb", str(path), "endless"), patience=0.2)
    database.connection.close()


def test_a_view_larger_than_the_memory_is_refused(path, monkeypatch):
    with duckdb.connect(path) as made:
        made.execute("CREATE VIEW much AS SELECT i AS a, i + 1 AS b FROM range(1000000000000) t(i)")
    monkeypatch.setattr("shoal.io.limits.memory", lambda: 1 << 26)
    with pytest.raises(InputError, match="more than half of the memory there is"):
        shoal.read(f"duckdb:///{path}#much")


def test_what_is_wrong_in_one_sentence(path, tmp_path, monkeypatch):
    (tmp_path / "text.duckdb").write_text("no database " * 1000)
    for url, sentence in (
        (f"duckdb:///{tmp_path / 'nowhere.duckdb'}#t", "there is no file"),
        (f"duckdb:///{tmp_path / 'text.duckdb'}#t", "cannot be opened as DuckDB"),
        (f"duckdb:///{path}", "which table"),
        ("duckdb://x#t", "a URL of DuckDB is duckdb:///file.db#table"),
        (f"duckdb:///{path}#SELECT 1 AS a, 2 AS a", "a"),
    ):
        with pytest.raises(InputError, match=sentence) as told:
            shoal.read(url)
        assert "\n" not in str(told.value)
    monkeypatch.setitem(sys.modules, "duckdb", None)
    with pytest.raises(InputError, match="DuckDB needs the extra 'duckdb'"):
        shoal.read(f"duckdb:///{path}#firms")
