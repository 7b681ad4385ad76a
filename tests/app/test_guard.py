"""Who may talk to the page, told by plain HTTP."""

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("nicegui")

from tests.app_server import PATIENCE, Server


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    server = Server(tmp_path_factory.mktemp("app"), "--upload-limit", "1")
    yield server
    server.stop()


def shake_hands(server, **headers):
    """Ask for a websocket; the status of the answer."""
    return server.ask(
        "/_nicegui_ws/socket.io/?EIO=4&transport=websocket&client_id=none",
        Connection="Upgrade",
        Upgrade="websocket",
        Sec_WebSocket_Version="13",
        Sec_WebSocket_Key="dGhlIHNhbXBsZSBub25jZQ==",
        **headers,
    ).status


def test_the_first_line_is_the_address(server):
    assert server.line == f"http://127.0.0.1:{server.port}/?token={server.token}\n"
    assert len(server.token) >= 32


def test_only_the_loopback_interface_listens(server):
    sockets = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    listening = [place for _, place, _, state, *_ in sockets if state == "0A"]  # others may share the number
    own = [place for place in listening if place.endswith(f":{server.port:04X}")]
    assert own
    assert all(place.startswith("0100007F:") for place in own)
    with pytest.raises(OSError):
        socket.create_connection(("::1", server.port), timeout=5)


@pytest.mark.parametrize("path", ["/", "/?token=", "/?token=wrong", "/shoal/page.js", "/upload", "/nowhere"])
def test_without_the_token_nothing_is_served(server, path):
    answer = server.ask(path)
    assert answer.status == 403
    assert "set-cookie" not in answer.headers
    assert "shoal app" in answer.text


def test_the_token_becomes_a_cookie(server):
    answer = server.ask(f"/?token={server.token}")
    assert answer.status == 200
    crumbs = answer.headers["set-cookie"].split("; ")
    assert {"HttpOnly", "SameSite=Strict"} <= set(crumbs)
    assert server.token not in answer.headers["set-cookie"]
    again = server.ask("/", Cookie=crumbs[0])
    assert again.status == 200
    assert "set-cookie" not in again.headers
    assert server.ask("/", Cookie=crumbs[0] + "x").status == 403


def test_the_browser_may_load_nothing_from_elsewhere(server):
    policy = server.ask(f"/?token={server.token}").headers["content-security-policy"]
    assert policy.startswith("default-src 'self'")
    assert "frame-ancestors 'none'" in policy


@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", "127.0.0.1", "127.0.0.1:1", ""])
def test_a_foreign_host_is_refused(server, host):
    assert server.ask(f"/?token={server.token}", Host=host).status == 403
    assert server.ask("/", Host=host, Cookie=server.cookie()).status == 403


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://127.0.0.1:1"])
def test_a_foreign_origin_is_refused(server, origin):
    cookie = server.cookie()
    assert server.ask(f"/?token={server.token}", Origin=origin).status == 403
    assert server.ask("/", Origin=origin, Cookie=cookie).status == 403
    assert (
        server.ask("/upload", "POST", b"a\n1\n", Origin=origin, Cookie=cookie, X_Name="a.csv").status == 403
    )
    assert shake_hands(server, Origin=origin, Cookie=cookie) == 403
    polled = "/_nicegui_ws/socket.io/?EIO=4&transport=polling"
    assert server.ask(polled, Origin=origin, Cookie=cookie).status == 403


def test_the_socket_is_guarded_too(server):
    own = f"http://127.0.0.1:{server.port}"
    assert shake_hands(server) == 403
    assert shake_hands(server, Origin=own) == 403
    assert shake_hands(server, Origin=own, Cookie=server.cookie(), Host="evil.example") == 403
    assert server.ask(f"/_nicegui_ws/socket.io/?EIO=4&transport=polling&token={server.token}x").status == 403


def tables(server):
    """The uploads that the server holds; other tests leave some."""
    return set(server.folder.glob("**/table-*"))


def test_uploads_are_limited_in_size(server):
    before = tables(server)
    answer = server.ask("/upload", "POST", b"a\n" * 500_001, Cookie=server.cookie(), X_Name="a.csv")
    assert answer.status == 413
    assert "1 MB" in answer.text
    assert tables(server) == before


def test_the_size_is_counted_whatever_the_request_says(server):
    before = tables(server)
    with socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE) as line:
        head = (
            f"POST /upload HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nCookie: {server.cookie()}\r\n"
            "X-Name: a.csv\r\nTransfer-Encoding: chunked\r\n\r\n"
        )
        line.sendall(head.encode())
        piece = b"1,2\n" * 25_000
        chunk = f"{len(piece):x}\r\n".encode() + piece + b"\r\n"
        for _ in range(11):
            line.sendall(chunk)
        line.sendall(b"0\r\n\r\n")
        assert b" 413 " in line.recv(100)
    assert tables(server) == before


def test_a_name_is_never_a_path(server):
    before = set(server.folder.rglob("*"))
    name = "..%2F..%2Fescaped.csv"
    answer = server.ask("/upload", "POST", b"a,b\n1,2\n3,4\n", Cookie=server.cookie(), X_Name=name)
    assert answer.status == 200, answer.text
    (new,) = set(server.folder.rglob("*")) - before
    assert new.name.startswith("table-")
    assert new.parent.stat().st_mode & 0o777 == 0o700
    assert not list(server.folder.parent.rglob("escaped*"))


@pytest.mark.parametrize(
    ("name", "body", "sentence"),
    [
        ("a.pdf", b"%PDF", "ending"),
        ("a.csv", b"", "empty"),
        ("a.csv", b"a,b\n", "no records"),
        ("a.parquet", b"no parquet", "cannot be read as Parquet"),
        ("a.xlsx", b"no workbook", "a.xlsx"),
        ("a.csv", b"a,a\n1,2\n", "Two columns"),
    ],
)
def test_a_bad_file_is_a_sentence(server, name, body, sentence):
    answer = server.ask("/upload", "POST", body, Cookie=server.cookie(), X_Name=name)
    assert answer.status in (415, 422)
    assert sentence in answer.text
    assert str(server.folder) not in answer.text


@pytest.mark.parametrize("number", [2, 15])  # Ctrl-C, and a polite kill
def test_it_ends_cleanly(tmp_path, number):
    server = Server(tmp_path)
    assert server.ask(f"/?token={server.token}").status == 200
    (private,) = tmp_path.glob("shoal-app-*")
    assert private.stat().st_mode & 0o777 == 0o700
    started = server.workers()
    out, err = server.stop(number)
    assert (server.process.returncode, out, err) == (0, "", "")
    assert not private.exists()
    assert not [number for number in started if Path(f"/proc/{number}").exists()]


def test_a_port_that_is_taken_is_a_sentence(server, tmp_path):
    other = Server(tmp_path, "--port", str(server.port))
    out, err = other.process.communicate(timeout=PATIENCE)  # it ends by itself
    assert other.process.returncode == 3
    assert out == ""
    assert err.count("\n") == 1
    assert f"port {server.port}" in err


def test_without_nicegui_it_says_what_to_install(tmp_path):
    code = (
        "import sys; sys.modules['nicegui'] = None; sys.argv = ['shoal', 'app', '--no-browser']\n"
        "from shoal.cli import main; main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env={**os.environ, "TMPDIR": str(tmp_path)},
    )
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr == "shoal: the page needs NiceGUI, of the extra 'app': pip install 'shoal-sdc[app]'\n"
