"""`shoal app`: one server on this machine, a private folder, a page in it that opens the door."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import socket
import tempfile
import threading
import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import SplitResult, urlsplit

from shoal.errors import InputError, MachineError, needs_extra
from shoal.io.private import private_folder

if TYPE_CHECKING:
    from shoal.app.guard import Guard


def serve(
    port: int = 0, *, browser: bool = True, upload_limit: int = 2000, origin: str | None = None
) -> None:
    """Serve the page until Ctrl-C. The first line on stdout opens it. The limit is in megabytes."""
    origins = r"https?://([\w.-]+|\[[\da-f:]+\])(:\d{1,5})?(/[\w./~-]*)?"
    if origin is not None and not re.fullmatch(origins, origin, re.ASCII):
        words = "--origin is what the browser's address begins with, such as http://127.0.0.1:9000"
        raise InputError(f"{words}, not {origin!r}")
    outer = None if origin is None else urlsplit(origin)  # where a tunnel or a proxy shows the page
    listener = _listen(port)
    try:
        with private_folder("shoal-app") as folder:
            tempfile.tempdir = str(folder)
            os.environ["NICEGUI_STORAGE_PATH"] = str(folder)
            _serve(listener, folder, browser, upload_limit, outer)
    finally:
        tempfile.tempdir = None
        listener.close()


def _serve(
    listener: socket.socket, folder: Path, browser: bool, upload_limit: int, outer: SplitResult | None
) -> None:
    with needs_extra("the page needs NiceGUI, of", "app"):
        from nicegui import ui
    from fastapi import FastAPI

    from shoal.app.guard import Guard
    from shoal.app.office import Office
    from shoal.app.page import add_page
    from shoal.app.uploads import add_uploads

    office = Office(folder)
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None, lifespan=office.open)
    add_uploads(app, office, upload_limit)
    add_page(office, upload_limit)
    ui.run_with(
        app, title="shoal", favicon="🐟", tailwind=False, show_welcome_message=False, reconnect_timeout=30.0
    )
    _run(Guard(app, office, listener.getsockname()[1], outer), listener, browser)


def _run(guard: Guard, listener: socket.socket, browser: bool) -> None:
    import uvicorn

    from shoal.app.guard import CODE_LIVES

    class Server(uvicorn.Server):
        """Says how the page is opened once it listens; Ctrl-C ends it without an exception."""

        def handle_exit(self, sig: int, frame: Any) -> None:
            self.force_exit = self.should_exit
            self.should_exit = True

        async def startup(self, sockets: Any = None) -> None:
            await super().startup(sockets)
            code = guard.write_letter()
            self.renewing = asyncio.create_task(self.renew())
            print(guard.letter.as_uri() if browser else f"{guard.address}/#{code}", flush=True)
            if browser:  # no code on its command line
                threading.Thread(target=webbrowser.open, args=(guard.letter.as_uri(),), daemon=True).start()

        async def renew(self) -> None:
            """A new code before the old one is too old."""
            while True:
                await asyncio.sleep(CODE_LIVES / 2)
                guard.write_letter()

    config = uvicorn.Config(
        guard, log_level="critical", lifespan="on", timeout_graceful_shutdown=1, server_header=False
    )
    server = Server(config)
    hang_up = getattr(signal, "SIGHUP", None)
    if hang_up and signal.getsignal(hang_up) != signal.SIG_IGN:  # as `nohup` asks
        signal.signal(hang_up, server.handle_exit)
    server.run(sockets=[listener])
    if not server.started:
        raise MachineError("the page could not be started: see the messages above")


def _listen(port: int) -> socket.socket:
    """A socket on the loopback interface only; 0 takes a free port."""
    if not 0 <= port <= 65535:
        raise InputError(f"a port is a number from 1 to 65535, not {port}")
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(("127.0.0.1", port))
    except OSError as error:
        listener.close()
        raise MachineError(
            f"port {port} cannot be used ({error.strerror}): name another with --port, or none for a free one"
        ) from None
    return listener
