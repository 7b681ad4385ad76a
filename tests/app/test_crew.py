"""Worker processes as the page sees them."""

import asyncio

import pytest

pytest.importorskip("nicegui")

import shoal
from shoal.app.crew import Stopped, Worker
from shoal.datasets import survey
from shoal.errors import ShoalError


def test_a_worker_can_be_stopped_and_starts_again(tmp_path):
    path, plan = tmp_path / "t.csv", tmp_path / "plan.toml"
    shoal.write(survey(40_000).drop_columns(["region", "sector"]), path)
    plan.write_text(shoal.Plan(3, method="optimise").toml())  # takes minutes

    async def work():
        worker, heard = Worker(tmp_path), asyncio.Event()
        order = {"path": str(path), "plan": str(plan), "folder": str(tmp_path), "bound": False}
        task = asyncio.create_task(worker.do("run", lambda event, value: heard.set(), **order))
        await asyncio.wait({task, asyncio.create_task(heard.wait())}, return_when=asyncio.FIRST_COMPLETED)
        process = worker._process
        await worker.stop()
        with pytest.raises(Stopped):
            await task
        assert process.returncode == -9
        task = asyncio.create_task(worker.do("run", **order))
        await asyncio.sleep(0)  # the task has begun
        assert worker._process is None  # but not its process
        await worker.stop()
        with pytest.raises(Stopped):
            await task
        with pytest.raises(ShoalError, match="there is no file"):
            await worker.do("inspect", path=str(tmp_path / "none.csv"))
        await worker.stop()

    asyncio.run(work())


def test_a_worker_has_a_limit_of_memory_and_its_own_folder(tmp_path):
    (tmp_path / "long.csv").write_text("a,b\n" + f"1,{'x' * 999}\n" * 300_000)

    async def work():
        worker = Worker(tmp_path, memory=700_000_000)
        with pytest.raises(ShoalError, match="memory"):
            await worker.do("inspect", path="long.csv")
        (tmp_path / "short.csv").write_text("a,b\n1,2\n")
        assert (await worker.do("inspect", path="short.csv"))["records"] == 1
        await worker.stop()

    asyncio.run(work())
