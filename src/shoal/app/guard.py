"""Who may talk to the page: this machine, this page, and whoever was given the token."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qs

TOKEN_NEEDED = (
    "This page opens only with the address that `shoal app` printed: copy it whole, with its token."
)
FOREIGN_HOST = "This page answers only as 127.0.0.1 or localhost, on its own port."
FOREIGN_ORIGIN = "This page answers only to itself: another site asked for it."


class Guard:
    """Everything that reaches the page comes through here, sockets too; what may not pass gets a 403.

    The token opens the door once and is exchanged for a cookie, which names a browser's session. Every
    answer forbids the browser to load anything from elsewhere.
    """

    def __init__(self, app: Any, port: int, token: str, new_session: Callable[[], str]):
        self.app, self.token, self.new_session = app, token, new_session
        self.hosts = {f"127.0.0.1:{port}", f"localhost:{port}"}
        self.cookie = f"shoal_{port}"  # cookies do not tell ports apart
        self.sessions: set[str] = set()
        sockets = " ".join(f"ws://{host}" for host in sorted(self.hosts))
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

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self.app(scope, receive, send)
            return
        headers = {name.lower(): value.decode("latin-1") for name, value in scope["headers"]}
        session, fresh = self._session(scope, headers)
        refusal = self._refusal(headers, session)
        if refusal is not None:
            await _refuse(scope, send, refusal)
            return
        scope.setdefault("state", {})["session"] = session

        async def answer(message: Any) -> None:
            if message["type"] == "http.response.start":
                headers = [*message.get("headers", []), *self.headers]
                if fresh:
                    crumbs = f"{self.cookie}={session}; HttpOnly; SameSite=Strict; Path=/"
                    headers.append((b"set-cookie", crumbs.encode()))
                message = {**message, "headers": headers}
            await send(message)

        await self.app(scope, receive, answer)

    def _session(self, scope: Any, headers: dict[bytes, str]) -> tuple[str | None, bool]:
        """The session of this browser, and whether it begins with this request."""
        try:
            crumb = SimpleCookie(headers.get(b"cookie", "")).get(self.cookie)
        except CookieError:
            crumb = None
        if crumb is not None and crumb.value in self.sessions:
            return crumb.value, False
        given = parse_qs(scope.get("query_string", b"").decode("latin-1")).get("token", [""])[0]
        if scope["type"] != "http" or not secrets.compare_digest(given.encode(), self.token.encode()):
            return None, False
        if self._foreign(headers) is not None:
            return None, False
        session = self.new_session()
        self.sessions.add(session)
        return session, True

    def _refusal(self, headers: dict[bytes, str], session: str | None) -> str | None:
        return self._foreign(headers) or (TOKEN_NEEDED if session is None else None)

    def _foreign(self, headers: dict[bytes, str]) -> str | None:
        if headers.get(b"host") not in self.hosts:
            return FOREIGN_HOST
        origin = headers.get(b"origin")
        if origin is not None and origin not in {f"http://{host}" for host in self.hosts}:
            return FOREIGN_ORIGIN
        return None


async def _refuse(scope: Any, send: Any, sentence: str) -> None:
    if scope["type"] == "websocket":
        await send({"type": "websocket.close", "code": 4403, "reason": ""})  # before it opens: an HTTP 403
        return
    head = [(b"content-type", b"text/plain; charset=utf-8"), (b"cache-control", b"no-store")]
    await send({"type": "http.response.start", "status": 403, "headers": head})
    await send({"type": "http.response.body", "body": sentence.encode() + b"\n"})
