"""Worker processes as the page sees them: hand in a task, hear of it, stop it for good."""

import asyncio
import contextlib
import itertools
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from shoal.errors import InputError, MachineError, ShoalError
from shoal.io import limits

Hear = Callable[[str, Any], None]
LONGEST_LINE = 1 << 28  # bytes of one answer


class Stopped(Exception):
    """The task was stopped before its end."""


class Worker:
    """One process, one task at a time; started when first needed, and again after it was stopped."""

    def __init__(self, folder: Path, memory: int | None = None) -> None:
        """Work in `folder`, with at most so many bytes of memory: three quarters of the machine's."""
        self.folder, self.memory = folder, memory or limits.memory() * 3 // 4
        self._process: asyncio.subprocess.Process | None = None
        self._turn = asyncio.Lock()
        self._stopping = False
        self._numbers = itertools.count()

    async def do(
        self, task: str, hear: Hear | None = None, seconds: float | None = None, **order: Any
    ) -> Any:
        """Carry out a task, in at most so many seconds; `hear` is called with each event and its value."""
        async with self._turn:
            self._stopping = False
            try:
                async with asyncio.timeout(seconds):
                    return await self._talk({"number": next(self._numbers), "task": task, **order}, hear)
            except (asyncio.CancelledError, TimeoutError) as end:
                await self.stop()
                if isinstance(end, asyncio.CancelledError):
                    raise
                words = f"this took longer than {seconds:.0f} seconds"
                raise InputError(f"{words}: use `shoal protect` on the command line") from None

    async def _talk(self, order: dict[str, Any], hear: Hear | None) -> Any:
        process = await self._started()
        if self._stopping:  # while it was starting
            await self._kill(process)
        if process.stdin is None or process.stdout is None:
            raise MachineError("the computing process has no way to be talked to")
        process.stdin.write(json.dumps(order).encode() + b"\n")
        while (line := await process.stdout.readline()).endswith(b"\n"):  # half a line: it was killed
            said = json.loads(line)
            if said["event"] == "done":
                return said["value"]
            if said["event"] == "failed":
                raise ShoalError(said["value"])
            if hear is not None:
                hear(said["event"], said["value"])
        await process.wait()  # it has closed its end, and is gone in a moment
        self._process = None
        if self._stopping:
            raise Stopped
        raise MachineError("the computing process ended unexpectedly: perhaps the memory did not suffice")

    async def _started(self) -> asyncio.subprocess.Process:
        if self._process is None or self._process.returncode is not None:
            self._process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-P", "-m", "shoal.app.worker", str(self.memory)),
                cwd=self.folder,  # nothing is imported from where the page was started
                env={**os.environ, **_absolute_path()},
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                limit=LONGEST_LINE,
                start_new_session=True,  # Ctrl-C is for the page, which then ends us
            )
        return self._process

    async def stop(self) -> None:
        """Kill the process, whatever it does; the next task gets a new one."""
        self._stopping = True
        process, self._process = self._process, None  # at once: whoever waits here may be cancelled too
        if process is not None:
            await self._kill(process)

    async def _kill(self, process: asyncio.subprocess.Process) -> None:
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()


def _absolute_path() -> dict[str, str]:
    """PYTHONPATH as it holds in another folder."""
    given = filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))
    return {"PYTHONPATH": path} if (path := os.pathsep.join(map(os.path.abspath, given))) else {}
