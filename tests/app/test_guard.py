"""Who may talk to the page, told by plain HTTP."""

import json
import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

pytest.importorskip("nicegui")

from shoal.app.guard import Codes
from shoal.cli.commands import app
from tests.app_server import PATIENCE, Server
from tests.ports import free_port


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    server = Server(tmp_path_factory.mktemp("app"), "--upload-limit", "1")
    yield server
    ends(server, 2)  # what it said of bad requests does not matter


@pytest.fixture(scope="module")
def entered(server):
    """One browser for all uploads that need none of their own: its reader is started once."""
    return server.enter()


@pytest.fixture
def tab(server, entered):
    return server.tab(entered)


def shake_hands(server, client, **headers):
    """Ask for a websocket; the status of the answer."""
    return server.ask(
        f"/_nicegui_ws/socket.io/?EIO=4&transport=websocket&client_id={client}",
        Connection="Upgrade",
        Upgrade="websocket",
        Sec_WebSocket_Version="13",
        Sec_WebSocket_Key="dGhlIHNhbXBsZSBub25jZQ==",
        **headers,
    ).status


def test_the_first_line_is_the_address(server):
    assert server.line == f"http://127.0.0.1:{server.port}/#{server.code}\n"
    assert len(server.code) >= 32


def test_only_the_loopback_interface_listens(server):
    sockets = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    listening = [place for _, place, _, state, *_ in sockets if state == "0A"]  # others may share the number
    own = [place for place in listening if place.endswith(f":{server.port:04X}")]
    assert own
    assert all(place.startswith("0100007F:") for place in own)
    with pytest.raises(OSError):
        socket.create_connection(("::1", server.port), timeout=5)


@pytest.mark.parametrize("path", ["/", "/?page=", "/?page=wrong", "/shoal/page.js", "/upload", "/nowhere"])
def test_without_a_code_nothing_is_served(server, path):
    answer = server.ask(path)
    assert answer.status == 403
    assert "set-cookie" not in answer.headers
    assert "shoal app" in answer.text
    assert "client_id" not in answer.text


def enter(server, **headers):
    return server.ask("/enter", "POST", **headers)


def test_a_code_works_once(server):
    code = server.address.split("#")[1]
    answer = enter(server, X_Code=code)
    crumbs = answer.headers["set-cookie"].split("; ")
    assert {"HttpOnly", "SameSite=strict"} <= set(crumbs)
    told = json.loads(answer.text)
    assert code not in (told["key"], told["page"])
    for again in (code, "", "wrong", "\xff"):
        refused = enter(server, X_Code=again, Cookie=crumbs[0])
        assert (refused.status, "set-cookie" in refused.headers) == (403, False)
    assert server.address.split("#")[1] != code  # the next browser finds another
    page = f"/?page={told['page']}"
    assert server.ask(page, Cookie='shoal=1; "').status == 403
    assert server.ask("/", Cookie=crumbs[0] + "x").status == 403


def test_a_code_is_soon_too_old():
    codes = Codes()
    late, timely = codes.new(0, "door"), codes.new(60, "door")
    assert (codes.take(late), codes.take(timely), codes.take(timely)) == (None, "door", None)


def test_the_page_of_a_ticket_is_given_once_and_to_its_own_browser(server):
    mine, other = server.enter(), server.enter()
    assert "client_id" not in server.ask(f"/?page={mine['page']}", Cookie=other["cookie"]).text
    ticket = json.loads(enter(server, Cookie=mine["cookie"], X_Key=mine["key"]).text)["page"]
    assert "client_id" in server.ask(f"/?page={ticket}", Cookie=mine["cookie"]).text
    assert "client_id" not in server.ask(f"/?page={ticket}", Cookie=mine["cookie"]).text


def test_the_cookie_alone_opens_nothing(server):
    """A browser shows it to every port of this machine, and so to the server of another user."""
    tab = server.tab()
    stolen = {"Cookie": tab["Cookie"]}
    name = {"X_Name": "a.csv"}
    assert "client_id" not in server.ask("/", **stolen).text
    for key in ("", "wrong", server.tab()["X_Tab"], server.enter()["key"]):
        assert enter(server, X_Key=key, **stolen).status == 403
        assert server.ask("/upload", "POST", b"a\n1\n", X_Tab=key, **stolen, **name).status == 403
        assert shake_hands(server, key, Origin=server.origin, **stolen) == 403
        polled = f"/_nicegui_ws/socket.io/?EIO=4&transport=polling&client_id={key}"
        assert server.ask(polled, **stolen).status == 403
    for path in ("/nowhere", "/_nicegui_ws", "//", "/%2f", "/upload/", "/_nicegui/auto/static/x/release.csv"):
        assert server.ask(path, **stolen).status in (403, 404)
    own = server.ask("/upload", "POST", b"a,b\n1,2\n3,4\n", **tab, **name)
    assert own.status == 200, own.text
    assert shake_hands(server, tab["X_Tab"], Origin=server.origin, **stolen) == 101


def test_the_letter_posts_its_code(server):
    """It lies in the private folder, and keeps the code from the browser's command line and history."""
    assert server.letter.stat().st_mode & 0o777 == 0o600
    assert server.letter.parent.stat().st_mode & 0o777 == 0o700
    code = server.address.split("#")[1]
    form = {"Origin": "null", "Content_Type": "application/x-www-form-urlencoded"}
    assert server.ask("/open", "POST", b"code=wrong", **form).status == 403
    assert server.ask("/open", "POST", b"x" * 100_000, **form).status == 403
    answer = server.ask("/open", "POST", f"code={code}".encode(), **form)
    assert (answer.status, answer.headers["location"][:2]) == (303, "/#")
    assert code not in answer.headers["location"]
    assert server.ask("/open", "POST", f"code={code}".encode(), **form).status == 403
    next_code = answer.headers["location"][2:]
    assert enter(server, Origin="null", X_Code=next_code).status == 403
    assert server.enter(next_code)["key"]


def until(true):
    """Wait for what happens in another process."""
    for _ in range(10 * PATIENCE):
        if true():
            return
        time.sleep(0.1)
    pytest.fail("it did not happen")


def test_the_browser_may_load_nothing_from_elsewhere(server):
    policy = server.ask("/").headers["content-security-policy"]
    assert policy.startswith("default-src 'self'")
    assert "frame-ancestors 'none'" in policy


@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", "127.0.0.1", "127.0.0.1:1", ""])
def test_a_foreign_host_is_refused(server, host):
    code = server.address.split("#")[1]
    assert enter(server, Host=host, X_Code=code).status == 403
    assert server.ask("/open", "POST", f"code={code}".encode(), Host=host).status == 403
    entered = server.enter(code)  # which nobody has used
    assert server.ask(f"/?page={entered['page']}", Host=host, Cookie=entered["cookie"]).status == 403


@pytest.mark.parametrize("hosts", [["127.0.0.1:{}", "evil.example"], ["evil.example", "127.0.0.1:{}"], []])
def test_one_host_is_named(server, hosts):
    lines = "".join(f"Host: {host.format(server.port)}\r\n" for host in hosts)
    with socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE) as line:
        line.sendall(f"GET /shoal/page.js HTTP/1.1\r\n{lines}Cookie: {server.cookie()}\r\n\r\n".encode())
        assert line.recv(100).split()[1] in (b"400", b"403")


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://127.0.0.1:1"])
def test_a_foreign_origin_is_refused(server, origin):
    tab = server.tab()
    assert enter(server, Origin=origin, X_Code=server.address.split("#")[1]).status == 403
    assert server.ask("/shoal/page.js", Origin=origin, Cookie=tab["Cookie"]).status == 403
    assert server.ask("/upload", "POST", b"a\n1\n", Origin=origin, X_Name="a.csv", **tab).status == 403
    assert shake_hands(server, tab["X_Tab"], Origin=origin, Cookie=tab["Cookie"]) == 403
    polled = f"/_nicegui_ws/socket.io/?EIO=4&transport=polling&client_id={tab['X_Tab']}"
    assert server.ask(polled, Origin=origin, Cookie=tab["Cookie"]).status == 403


def test_the_socket_is_guarded_too(server):
    own = f"http://127.0.0.1:{server.port}"
    tab = server.tab()
    assert shake_hands(server, tab["X_Tab"]) == 403
    assert shake_hands(server, tab["X_Tab"], Origin=own) == 403
    assert shake_hands(server, tab["X_Tab"], Origin=own, Cookie=tab["Cookie"], Host="evil.example") == 403


def tables(server):
    """The uploads that the server holds; other tests leave some."""
    return set(server.folder.glob("**/table-*"))


def test_uploads_are_limited_in_size(server, tab):
    before = tables(server)
    answer = server.ask("/upload", "POST", b"a\n" * 500_001, X_Name="a.csv", **tab)
    assert answer.status == 413
    assert "1 MB" in answer.text
    assert tables(server) == before


def test_the_size_is_counted_whatever_the_request_says(server, tab):
    before = tables(server)
    with socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE) as line:
        head = (
            f"POST /upload HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nCookie: {tab['Cookie']}\r\n"
            f"X-Tab: {tab['X_Tab']}\r\nX-Name: a.csv\r\nTransfer-Encoding: chunked\r\n\r\n"
        )
        line.sendall(head.encode())
        piece = b"1,2\n" * 25_000
        chunk = f"{len(piece):x}\r\n".encode() + piece + b"\r\n"
        for _ in range(11):
            line.sendall(chunk)
        line.sendall(b"0\r\n\r\n")
        assert b" 413 " in line.recv(100)
    assert tables(server) == before


def test_a_name_is_never_a_path(server, tab):
    before = set(server.folder.rglob("*"))
    name = "..%2F..%2Fescaped.csv"
    answer = server.ask("/upload", "POST", b"a,b\n1,2\n3,4\n", X_Name=name, **tab)
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
def test_a_bad_file_is_a_sentence(server, tab, name, body, sentence):
    answer = server.ask("/upload", "POST", body, X_Name=name, **tab)
    assert answer.status in (415, 422)
    assert sentence in answer.text
    assert str(server.folder) not in answer.text


def test_an_interrupted_upload_leaves_nothing(server, tab):
    before = tables(server)
    with socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE) as line:
        head = f"POST /upload HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nX-Name: a.csv\r\n"
        head += f"Content-Length: 99\r\nX-Tab: {tab['X_Tab']}\r\nCookie: {tab['Cookie']}\r\n\r\n"
        line.sendall(head.encode() + b"a,b\n")
        until(lambda: tables(server) != before)
    until(lambda: tables(server) == before)


def ends(server, number):
    """By any signal, cleanly: 1, the terminal is closed, 2, Ctrl-C, or 15, a polite kill. What it said."""
    (private,) = server.folder.glob(".shoal-app.*")
    assert private.stat().st_mode & 0o777 == 0o700
    started = server.workers()
    said = server.stop(number)
    assert server.process.returncode == 0
    assert not private.exists()
    assert not [number for number in started if Path(f"/proc/{number}").exists()]
    return said


def test_all_uploads_together_are_limited_and_a_module_lying_around_is_not_run(tmp_path):
    """Neither by the page nor by its workers, which read the tables."""
    for name in ("json", "shoal", "numpy"):
        (tmp_path / f"{name}.py").write_text(f"open({str(tmp_path / 'hacked')!r}, 'w')")
    server = Server(tmp_path, "--upload-limit", "1", cwd=tmp_path)
    entered, table = server.enter(), b"a,b\n" + b"1,2\n" * 240_000

    def upload(table):  # in a tab of its own: how long each takes does not matter
        return server.ask("/upload", "POST", table, X_Name="a.csv", **server.tab(entered))

    assert [upload(table).status for _ in range(5)] == [200] * 5
    answer = upload(table)
    assert (answer.status, "All tables together are larger than the 5 MB" in answer.text) == (413, True)
    assert len(tables(server)) == 5
    assert upload(b"a,b\n1,2\n").status == 200
    assert ends(server, 1) == ("", "")
    assert not (tmp_path / "hacked").exists()


def test_the_outer_address_is_let_in_if_it_is_named(tmp_path):
    port = free_port()
    server = Server(tmp_path, "--port", str(port), "--origin", "https://hub.example:9000/user/me/")
    assert server.line.startswith("https://hub.example:9000/user/me/#")
    assert 'action="https://hub.example:9000/user/me/open"' in server.letter.read_text()
    outer, server.port = {"Host": "hub.example:9000", "Origin": server.origin}, port
    answer = enter(server, X_Code=server.code, **outer)
    assert answer.headers["set-cookie"].endswith("; Secure")
    cookie, ticket = answer.headers["set-cookie"].split(";")[0], json.loads(answer.text)["page"]
    page = server.ask(f"/user/me/?page={ticket}", Cookie=cookie, X_Forwarded_Prefix="/evil", **outer).text
    assert 'src="/user/me/shoal/page.js"' in page
    assert "evil" not in page
    assert server.ask("/shoal/page.js", Cookie=cookie).status == 200  # as itself, or through a proxy
    for host, origin in (
        ("hub.example", "https://hub.example:9000"),
        ("hub.example:9000", "http://hub.example:9000"),
        ("hub.example:9000", "https://hub.example"),
        ("evil.example", "https://evil.example"),
    ):
        assert server.ask("/shoal/page.js", Cookie=cookie, Host=host, Origin=origin).status == 403
    assert ends(server, 15) == ("", "")


def test_an_origin_that_is_none_is_a_sentence():
    for origin in (
        "9000",
        "ftp://a",
        "http://",
        "http://a:999999",
        "http://a/?b",
        "http://u@a",
        "http://a/'",
    ):
        said = CliRunner().invoke(app, ["app", "--no-browser", "--origin", origin])
        assert (said.exit_code, said.stdout) == (2, "")
        assert said.stderr.startswith("shoal: --origin is what the browser's address begins with")
        assert said.stderr.count("\n") == 1


def test_no_code_on_the_command_line_of_the_browser_and_a_killed_page_leaves_nothing_for_good(
    server, tmp_path
):
    seen, browser = tmp_path / "seen", tmp_path / "browser.sh"
    browser.write_text(f'#!/bin/sh\necho "$@" > {seen}.part && mv {seen}.part {seen}\n')
    browser.chmod(0o700)
    living = set(server.folder.glob(".shoal-app.*"))
    killed = Server(server.folder, "--browser", BROWSER=str(browser))
    (folder,) = set(server.folder.glob(".shoal-app.*")) - living
    until(seen.exists)
    assert seen.read_text() == killed.line == f"{(folder / 'open.html').as_uri()}\n"
    killed.stop(9)
    assert folder.exists()
    assert Server(server.folder).stop() == ("", "")
    assert set(server.folder.glob(".shoal-app.*")) == living
    assert server.tab()  # whose folder is still there


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
