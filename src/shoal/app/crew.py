"""Worker processes as the page sees them: hand in a task, hear of it, stop it for good."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import sys
from collections.abc import Callable
from typing import Any

from shoal.errors import MachineError, ShoalError

LONGEST_LINE = 1 << 28  # bytes of one answer


class Stopped(Exception):
    """The task was stopped before its end."""


class Worker:
    """One process, one task at a time; started when first needed, and again after it was stopped."""

    def __init__(self) -> None:
        self._process: asyncio.subprocess.Process | None = None
        self._turn = asyncio.Lock()
        self._stopping = False
        self._numbers = itertools.count()

    async def do(self, task: str, hear: Callable[[str, Any], None] | None = None, **order: Any) -> Any:
        """Carry out a task; `hear` is called with each event and its value."""
        async with self._turn:
            self._stopping = False
            process = await self._started()
            if self._stopping:  # while it was starting
                await self._kill(process)
            if process.stdin is None or process.stdout is None:
                raise MachineError("the computing process has no way to be talked to")
            number = next(self._numbers)
            process.stdin.write(json.dumps({"number": number, "task": task, **order}).encode() + b"\n")
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
                sys.executable,
                "-m",
                "shoal.app.worker",
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                limit=LONGEST_LINE,
                start_new_session=True,  # Ctrl-C is for the page, which then ends us
            )
        return self._process

    async def stop(self) -> None:
        """Kill the process, whatever it does; the next task gets a new one."""
        self._stopping = True
        if self._process is not None:
            await self._kill(self._process)

    async def _kill(self, process: asyncio.subprocess.Process) -> None:
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()
