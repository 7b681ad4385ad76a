"""Sessions, their tables, and who reads them."""

import asyncio
import sqlite3
from contextlib import closing

import pytest

pytest.importorskip("nicegui")

from shoal.app.office import Office
from shoal.errors import InputError


def endless(path):
    """A view without an end, and without a row."""
    with closing(sqlite3.connect(path)) as database:
        database.execute(
            "CREATE VIEW v AS WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) "
            "SELECT x FROM c WHERE x < 0"
        )
    return path


def test_reading_has_a_deadline_and_keeps_nobody_else_waiting(tmp_path):
    for name in ("a.csv", "b.csv"):
        (tmp_path / name).write_text("a,b\n1,2\n3,4\n")

    async def work():
        office = Office(tmp_path)
        async with office.open(None):
            slow, other = (office.sessions[office.new_session()] for _ in range(2))
            first = asyncio.create_task(office.take_in(slow, endless(tmp_path / "v.db"), "v.db"))
            assert (await office.take_in(other, tmp_path / "a.csv", "a.csv")).records == 2
            assert not first.done()
            first.cancel()  # as when the browser is gone
            with pytest.raises(asyncio.CancelledError):
                await first
            assert (await office.take_in(slow, tmp_path / "b.csv", "b.csv")).records == 2
            office.seconds = 0.01
            with pytest.raises(InputError, match=r"took longer than .* use `shoal protect`"):
                await office.take_in(slow, endless(tmp_path / "w.db"), "w.db")
            assert not (tmp_path / "w.db").exists()

    asyncio.run(work())
