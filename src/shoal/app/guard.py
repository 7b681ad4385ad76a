"""Who may talk to the page: this machine, this page, and whoever was given a code."""

import os
import secrets
import time
from pathlib import Path
from typing import Any
from urllib.parse import SplitResult, parse_qs

from starlette.requests import HTTPConnection, Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response

from shoal.app.office import Office, Session

CODE_NEEDED = "This page opens with a code, once: open the file or the address that `shoal app` named."
FOREIGN_HOST = "This page answers only as 127.0.0.1 on its own port, or as `shoal app --origin` says."
FOREIGN_ORIGIN = "This page answers only to itself: another site asked for it."
NOT_THIS_TAB = "This answer is only for a tab of the page itself."

STATIC = Path(__file__).parent / "static"
CODE_LIVES = 600.0  # seconds
NO_STORE = {"cache-control": "no-store"}
AT_ONCE = 60.0  # seconds that a browser has for the next step of opening the page


class Codes:
    """Secrets that open something once, and only for a while."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[float, str]] = {}

    def new(self, seconds: float, what: str) -> str:
        now, code = time.monotonic(), secrets.token_urlsafe(24)
        self._known = {old: entry for old, entry in self._known.items() if entry[0] > now}
        self._known[code] = now + seconds, what
        return code

    def take(self, code: str) -> str | None:
        """What the code opens, if it is not yet used or too old."""
        until, what = self._known.pop(code, (0.0, ""))
        return what if time.monotonic() < until else None


class Guard:
    """Everything that reaches the page comes through here, sockets too; what may not pass gets a 403.

    A code opens the door once. It is exchanged for a cookie, which names a browser's session, and a key. A
    browser shows the cookie to every port of this machine, but the key only to this one. With both, a tab is
    given the page and the name of its client, which its socket and its uploads must show.
    """

    def __init__(self, app: Any, office: Office, port: int, outer: SplitResult | None = None):
        self.app, self.office, self.codes = app, office, Codes()
        self.letter = office.folder / "open.html"  # what the browser of this machine opens
        self.cookie = f"shoal_{port}"
        hosts = [f"127.0.0.1:{port}", f"localhost:{port}"]
        self.origins = {f"http://{host}" for host in hosts}
        self.address, self.prefix = f"http://{hosts[0]}", ""
        if outer is not None:
            hosts.append(outer.netloc)
            self.origins.add(f"{outer.scheme}://{outer.netloc}")
            self.prefix = outer.path.rstrip("/")
            self.address = f"{outer.scheme}://{outer.netloc}{self.prefix}"
        self.hosts = [[host] for host in hosts]  # one is named
        sockets = " ".join(f"ws://{host} wss://{host}" for host in hosts)
        policy = (
            "default-src 'self'; script-src 'self' 'unsafe-inline' 'unsafe-eval'; "
            "style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; "
            f"connect-src 'self' {sockets}; form-action 'self'; frame-ancestors 'none'; "
            "base-uri 'none'; object-src 'none'"
        )
        self.headers = [
            (b"content-security-policy", policy.encode()),
            (b"referrer-policy", b"no-referrer"),
            (b"x-content-type-options", b"nosniff"),
            (b"x-frame-options", b"DENY"),
        ]

    def write_letter(self) -> str:
        """Put a new code into the page that opens the door, for this user's eyes only; and give it back."""
        code, draft = self.codes.new(CODE_LIVES, "door"), self.letter.with_suffix(".new")
        with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write((STATIC / "letter.html").read_text().format(address=self.address, code=code))
        draft.replace(self.letter)
        return code

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self.app(scope, receive, send)
            return

        async def answer(message: Any) -> None:
            if message["type"] == "http.response.start":
                message = {**message, "headers": [*message.get("headers", []), *self.headers]}
            await send(message)

        path = scope["path"]
        if self.prefix and path.startswith(f"{self.prefix}/"):  # a proxy that has not taken it away
            path = path[len(self.prefix) :]
        app = await self._answer({**scope, "path": path, "raw_path": path.encode()}, receive)
        await app(scope, receive, answer)

    async def _answer(self, scope: Any, receive: Any) -> Any:
        """Who answers: the page itself, or one of us with a refusal or the next step of opening it."""
        asked, knock = HTTPConnection(scope), (scope.get("method"), scope["path"])
        if asked.headers.getlist("host") not in self.hosts:
            return PlainTextResponse(FOREIGN_HOST, 403)
        origin = asked.headers.get("origin")
        if origin not in (None, *self.origins) and (knock, origin) != (("POST", "/open"), "null"):  # a file
            return PlainTextResponse(FOREIGN_ORIGIN, 403)
        if knock == ("POST", "/open"):
            return await self._open(Request(scope, receive))
        name = asked.cookies.get(self.cookie, "")
        session = self.office.sessions.get(name)
        if knock == ("POST", "/enter"):
            return self._enter(asked, name, session)
        if session is not None and self._admits(asked, name, session):
            headers = [pair for pair in scope["headers"] if not pair[0].startswith(b"x-forwarded-")]
            headers.append((b"x-forwarded-prefix", self.prefix.encode()))  # the page's addresses begin so
            state = {**scope.get("state", {}), "session": name}
            inner = {**scope, "headers": headers, "state": state}
            return lambda scope, receive, send: self.app(inner, receive, send)
        if knock[1] == "/" and scope["type"] == "http":
            door = (STATIC / "door.html").read_bytes()
            return HTMLResponse(door, 403 if session is None else 200, NO_STORE)
        return PlainTextResponse(CODE_NEEDED if session is None else NOT_THIS_TAB, 403)

    def _admits(self, asked: HTTPConnection, name: str, session: Session) -> bool:
        """Whether the browser shows what is needed beside the cookie."""
        path = asked.scope["path"]
        if path == "/":
            return self.codes.take(asked.query_params.get("page", "")) == name
        if path.startswith("/_nicegui_ws/"):
            return asked.query_params.getlist("client_id")[:1] in [[tab] for tab in session.tabs]
        if path == "/upload":
            return asked.headers.get("x-tab") in session.tabs
        # files that are the same for everybody, and downloads at addresses that nobody can guess
        return path.startswith(("/_nicegui/", "/shoal/")) or path == "/favicon.ico"

    async def _open(self, asked: Request) -> Response:
        """Exchange a code that was posted for one that may stand in the browser's history, for it is used."""
        body = b""
        async for piece in asked.stream():
            body += piece
            if len(body) > 1000:
                break
        if not self._used(parse_qs(body.decode("latin-1")).get("code", [""])[0]):
            return PlainTextResponse(CODE_NEEDED, 403)
        place = f"{self.prefix}/#{self.codes.new(AT_ONCE, 'door')}"
        return Response(status_code=303, headers={"location": place, **NO_STORE})

    def _enter(self, asked: HTTPConnection, name: str, session: Session | None) -> Response:
        """Give a code a new session, and the key of an old one its next page."""
        key = asked.headers.get("x-key", "")
        if not self._used(asked.headers.get("x-code", "")):
            if session is None or not secrets.compare_digest(key.encode(), session.key.encode()):
                return PlainTextResponse(CODE_NEEDED, 403)
            return JSONResponse({"page": self.codes.new(AT_ONCE, name)}, headers=NO_STORE)
        name = self.office.new_session()
        told = {"key": self.office.sessions[name].key, "page": self.codes.new(AT_ONCE, name)}
        answer = JSONResponse(told, headers=NO_STORE)
        secure = asked.headers.get("origin", "").startswith("https:")
        answer.set_cookie(self.cookie, name, httponly=True, samesite="strict", secure=secure)
        return answer

    def _used(self, code: str) -> bool:
        """Whether the code opens the door. If so, the next browser gets a new one."""
        if self.codes.take(code) != "door":
            return False
        self.write_letter()
        return True
