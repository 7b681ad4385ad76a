"""`shoal app`: one server on this machine, a private folder, an address with a token."""

from __future__ import annotations

import os
import secrets
import socket
import tempfile
import threading
import webbrowser
from pathlib import Path
from typing import Any

from shoal.errors import InputError, MachineError, needs_extra


def serve(port: int = 0, *, browser: bool = True, upload_limit: int = 2000) -> None:
    """Serve the page until Ctrl-C. The first line on stdout is its address. The limit is in megabytes."""
    listener = _listen(port)
    with tempfile.TemporaryDirectory(prefix="shoal-app-") as folder:  # for this user's eyes only (0700)
        tempfile.tempdir = folder
        os.environ["NICEGUI_STORAGE_PATH"] = folder
        try:
            _serve(listener, Path(folder), browser, upload_limit)
        finally:
            tempfile.tempdir = None
            listener.close()


def _serve(listener: socket.socket, folder: Path, browser: bool, upload_limit: int) -> None:
    try:
        from nicegui import ui
    except ImportError:
        raise needs_extra("the page needs NiceGUI, of", "app") from None
    from fastapi import FastAPI

    from shoal.app.guard import Guard
    from shoal.app.office import Office
    from shoal.app.page import add_page
    from shoal.app.uploads import add_uploads

    port = listener.getsockname()[1]
    token = secrets.token_urlsafe(24)
    office = Office(folder)
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None, lifespan=office.open)
    add_uploads(app, office, upload_limit)
    add_page(office, upload_limit)
    ui.run_with(
        app, title="shoal", favicon="🐟", tailwind=False, show_welcome_message=False, reconnect_timeout=30.0
    )
    guard = Guard(app, port, token, office.new_session)
    _run(guard, listener, f"http://127.0.0.1:{port}/?token={token}", browser)


def _run(guard: Any, listener: socket.socket, address: str, browser: bool) -> None:
    import uvicorn

    class Server(uvicorn.Server):
        """Says the address once it listens; Ctrl-C ends it without an exception."""

        def handle_exit(self, sig: int, frame: Any) -> None:
            self.force_exit = self.should_exit
            self.should_exit = True

        async def startup(self, sockets: Any = None) -> None:
            await super().startup(sockets)
            print(address, flush=True)
            if browser:
                threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()

    config = uvicorn.Config(
        guard, log_level="critical", lifespan="on", timeout_graceful_shutdown=1, server_header=False
    )
    server = Server(config)
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
