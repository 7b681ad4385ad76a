"""Files dropped on the page: streamed into the private folder, up to a limit."""

from __future__ import annotations

from typing import Any
from urllib.parse import unquote

from fastapi import Request
from fastapi.responses import JSONResponse

from shoal.app.markup import sentence
from shoal.app.office import DATABASES, Office
from shoal.errors import ShoalError
from shoal.io.files import FORMATS

ENDINGS = (*FORMATS, *DATABASES)


def too_large(limit: int) -> str:
    return (
        f"This file is larger than the {limit:,} MB that the page takes: "
        "start it with a higher --upload-limit, or use `shoal protect` on the command line."
    )


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
            return refuse(
                415,
                f"{name!r} has an ending that shoal does not know: use one of {', '.join(ENDINGS)}.",
            )
        if int(request.headers.get("content-length", 0)) > limit * 1_000_000:
            return refuse(413, too_large(limit))
        path, size = office.place(ending), 0
        try:
            with path.open("wb") as file:
                async for chunk in request.stream():
                    size += len(chunk)
                    if size > limit * 1_000_000:
                        path.unlink()
                        return refuse(413, too_large(limit))
                    file.write(chunk)
            work = await office.take_in(session, path, name)
        except ShoalError as error:
            return refuse(422, sentence(error))
        except OSError as error:
            path.unlink(missing_ok=True)
            return refuse(507, f"The file could not be kept: {error.strerror}.")
        return JSONResponse({"work": work.number})
