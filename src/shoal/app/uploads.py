"""Files dropped on the page: streamed into the private folder, up to a limit."""

import asyncio
import re
from typing import Any
from urllib.parse import unquote

from fastapi import Request
from fastapi.responses import JSONResponse
from starlette.requests import ClientDisconnect

from shoal.app.crew import Stopped
from shoal.app.markup import sentence
from shoal.app.office import LAYOUT, Office
from shoal.app.work import DATABASES
from shoal.errors import ShoalError
from shoal.io.files import FORMATS

ENDINGS = (*FORMATS, *DATABASES)
LOOK_AGAIN = 0.2  # seconds between two looks whether the browser is still there
QUOTA = 5  # times the largest file: so much may all tables of the page take


def too_large(limit: int, alone: bool) -> str:
    """Why a file is not taken: it is too large alone, or with those that are there."""
    words, remedy = f"All tables together are larger than the {QUOTA * limit:,} MB", "start it anew"
    if alone:
        remedy = "use `shoal protect` on the command line"
        words = f"This file is larger than the {limit:,} MB"
    return f"{words} that the page takes: start it with a higher --upload-limit, or {remedy}."


def ending_of(name: str) -> str | None:
    """The known ending of a file's name, or None."""
    return next((ending for ending in ENDINGS if name.lower().endswith(ending)), None)


def add_uploads(app: Any, office: Office, limit: int) -> None:
    """The route that takes a file: its bytes as the body, its name in a header."""

    def refuse(status: int, sentence: str) -> JSONResponse:
        return JSONResponse({"sentence": sentence}, status)

    @app.post("/upload")
    async def upload(request: Request) -> JSONResponse:
        session = office.sessions[request.state.session]
        name = unquote(request.headers.get("x-name", ""))[-200:] or "table"
        ending = ending_of(name)
        if ending is None:
            words = f"{name!r} has an ending that shoal does not know"
            return refuse(415, f"{words}: use one of {', '.join(ENDINGS)}.")
        most = limit * 1_000_000
        if int(request.headers.get("content-length", 0)) > most:
            return refuse(413, too_large(limit, True))
        path, size, kept = office.place(ending), 0, False
        try:
            with path.open("wb") as file:
                async for chunk in request.stream():
                    size += len(chunk)
                    office.held += len(chunk)
                    if size > most or office.held > QUOTA * most:
                        return refuse(413, too_large(limit, size > most))
                    file.write(chunk)
            if name.lower().endswith(LAYOUT[1:]):
                office.take_layout(session, path, name)
                return JSONResponse({"layout": True})
            row = request.headers.get("x-row", "")
            names_in = int(row) if re.fullmatch("[1-9][0-9]{0,6}", row) else 1
            reading = asyncio.create_task(office.take_in(session, path, name, row=names_in))
            while not reading.done():
                await asyncio.wait([reading], timeout=LOOK_AGAIN)
                if await request.is_disconnected():
                    reading.cancel()
            work = await reading
            kept = True
        except ShoalError as error:
            return refuse(422, sentence(error))
        except (ClientDisconnect, asyncio.CancelledError, Stopped):  # nobody hears this
            return refuse(400, "The file did not arrive whole.")
        except OSError as error:
            return refuse(507, f"The file could not be kept: {error.strerror}.")
        finally:
            if not kept:
                office.held -= size
                path.unlink(missing_ok=True)
        return JSONResponse({"work": work.number})
