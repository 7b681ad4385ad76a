"""Who may talk to the page: this machine, this page, and whoever was given a code."""

from __future__ import annotations

import json
import os
import secrets
import time
from http.cookies import CookieError, SimpleCookie
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import SplitResult, parse_qs

if TYPE_CHECKING:
    from shoal.app.office import Office

CODE_NEEDED = (
    "This page opens only once with each code: open the file that `shoal app` named, or the address with its "
    "code that `shoal app --no-browser` printed."
)
FOREIGN_HOST = (
    "This page answers only as 127.0.0.1 or localhost, on its own port; `shoal app --origin` names another."
)
FOREIGN_ORIGIN = "This page answers only to itself: another site asked for it."
NOT_THIS_TAB = "This answer is only for a tab of the page itself."

DOOR = (Path(__file__).parent / "static" / "door.html").read_bytes()
LETTER = """<!doctype html><meta charset=utf-8><title>shoal</title><meta name=referrer content=no-referrer>
<form method="post" action="{address}/open"><input type="hidden" name="code" value="{code}">
<button>Open shoal</button></form><script>document.forms[0].submit()</script>
"""
CODE_LIVES = 600.0  # seconds
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
        self.hosts = {host.encode() for host in hosts}
        sockets = " ".join(f"ws://{host} wss://{host}" for host in hosts)
        self.headers = [
            (
                b"content-security-policy",
                "default-src 'self'; script-src 'self' 'unsafe-inline' 'unsafe-eval'; "
                "style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; "
                f"connect-src 'self' {sockets}; form-action 'self'; frame-ancestors 'none'; "
                "base-uri 'none'; object-src 'none'".encode(),
            ),
            (b"referrer-policy", b"no-referrer"),
            (b"x-content-type-options", b"nosniff"),
            (b"x-frame-options", b"DENY"),
        ]

    def write_letter(self) -> str:
        """Put a new code into the page that opens the door, for this user's eyes only; and give it back."""
        code, draft = self.codes.new(CODE_LIVES, "door"), self.letter.with_suffix(".new")
        with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(LETTER.format(address=self.address, code=code))
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
        knock = (scope.get("method"), path)
        refusal = self._foreign(scope, knock)
        if refusal is not None:
            await _say(scope, answer, 403, refusal)
        elif knock == ("POST", "/open"):
            await self._open(scope, receive, answer)
        elif knock == ("POST", "/enter"):
            await self._enter(scope, answer)
        else:
            session, refusal = self._admitted(scope, path)
            if refusal is None:
                headers = [pair for pair in scope["headers"] if not pair[0].startswith(b"x-forwarded-")]
                headers.append((b"x-forwarded-prefix", self.prefix.encode()))  # the page's addresses begin so
                state = {**scope.get("state", {}), "session": session}
                scope = {**scope, "path": path, "raw_path": path.encode(), "headers": headers, "state": state}
                await self.app(scope, receive, answer)
            elif path == "/" and scope["type"] == "http":
                status = 403 if session is None else 200
                await _say(scope, answer, status, DOOR, (b"content-type", b"text/html; charset=utf-8"))
            else:
                await _say(scope, answer, 403, refusal)

    def _foreign(self, scope: Any, knock: tuple[str | None, str]) -> str | None:
        hosts = [value for name, value in scope["headers"] if name == b"host"]
        if len(hosts) != 1 or hosts[0] not in self.hosts:
            return FOREIGN_HOST
        known = (
            {*self.origins, "null"} if knock == ("POST", "/open") else self.origins
        )  # a file has no origin
        origin = _header(scope, b"origin")
        return None if origin == "" or origin in known else FOREIGN_ORIGIN

    def _admitted(self, scope: Any, path: str) -> tuple[str | None, str | None]:
        """The session of this browser, and why the request is refused; None if it is not."""
        session = self._session(scope)
        if session is None:
            return None, CODE_NEEDED
        query = parse_qs(scope.get("query_string", b"").decode("latin-1"))
        tabs = self.office.sessions[session].tabs
        if path == "/":
            shown = self.codes.take(query.get("page", [""])[0]) == session
        elif path.startswith("/_nicegui_ws/"):
            shown = query.get("client_id", [""])[-1] in tabs
        elif path == "/upload":
            shown = _header(scope, b"x-tab") in tabs
        else:  # files that are the same for everybody, and downloads at addresses that nobody can guess
            shown = path.startswith(("/_nicegui/", "/shoal/")) or path == "/favicon.ico"
        return session, None if shown else NOT_THIS_TAB

    def _session(self, scope: Any) -> str | None:
        try:
            crumb = SimpleCookie(_header(scope, b"cookie")).get(self.cookie)
        except CookieError:
            return None
        return crumb.value if crumb is not None and crumb.value in self.office.sessions else None

    async def _open(self, scope: Any, receive: Any, send: Any) -> None:
        """Exchange a code that was posted for one that may stand in the browser's history, for it is used."""
        body, more = b"", True
        while more and len(body) < 1000:
            message = await receive()
            body, more = body + message.get("body", b""), message.get("more_body", False)
        if not self._used(parse_qs(body.decode("latin-1")).get("code", [""])[0]):
            await _say(scope, send, 403, CODE_NEEDED)
            return
        place = f"{self.prefix}/#{self.codes.new(AT_ONCE, 'door')}"
        await _say(scope, send, 303, "", (b"location", place.encode()))

    async def _enter(self, scope: Any, send: Any) -> None:
        """Give a code a new session, and the key of an old one its next page."""
        session, key = self._session(scope), _header(scope, b"x-key")
        told, more = {}, []
        if self._used(_header(scope, b"x-code")):
            session = self.office.new_session()
            told["key"] = self.office.sessions[session].key
            secure = "; Secure" if _header(scope, b"origin").startswith("https:") else ""
            crumbs = f"{self.cookie}={session}; HttpOnly; SameSite=Strict; Path=/{secure}"
            more.append((b"set-cookie", crumbs.encode()))
        elif session is None or not secrets.compare_digest(
            key.encode(), self.office.sessions[session].key.encode()
        ):
            await _say(scope, send, 403, CODE_NEEDED)
            return
        told["page"] = self.codes.new(AT_ONCE, session)
        await _say(scope, send, 200, json.dumps(told), *more)

    def _used(self, code: str) -> bool:
        """Whether the code opens the door. If so, the next browser gets a new one."""
        if self.codes.take(code) != "door":
            return False
        self.write_letter()
        return True


def _header(scope: Any, name: bytes) -> str:
    return b"; ".join(value for key, value in scope["headers"] if key == name).decode("ascii", "replace")


async def _say(scope: Any, send: Any, status: int, words: str | bytes, *more: tuple[bytes, bytes]) -> None:
    if scope["type"] == "websocket":
        await send({"type": "websocket.close", "code": 4403, "reason": ""})  # before it opens: an HTTP 403
        return
    content = words.encode() + b"\n" if isinstance(words, str) else words
    head = [(b"cache-control", b"no-store"), (b"content-length", str(len(content)).encode()), *more]
    if b"content-type" not in dict(more):
        head.append((b"content-type", b"text/plain; charset=utf-8"))
    await send({"type": "http.response.start", "status": status, "headers": head})
    await send({"type": "http.response.body", "body": content})
