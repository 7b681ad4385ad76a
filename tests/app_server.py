"""A running `shoal app` for the tests, and what can be known of it from outside."""

import atexit
import http.client
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

SETTINGS = Path(__file__).resolve().parents[1] / "pyproject.toml"
PATIENCE = 600  # seconds; only ever waited for in full if something is broken
#: `python -m shoal`, whose own processes count no lines: they are killed in the end, and would tell nobody.
SHOAL = """
import os, runpy
os.environ.pop("COVERAGE_PROCESS_START", None)
runpy.run_module("shoal", run_name="__main__", alter_sys=True)
"""


def chromium():
    """Debian's browser, if it is there."""
    return shutil.which("chromium") or shutil.which("chromium-browser")


def traced():
    """What makes a child process tell the lines that it ran, as long as ours are counted (`pytest --cov`)."""
    try:
        from coverage import Coverage
    except ImportError:
        return {}
    return {"COVERAGE_PROCESS_START": str(SETTINGS)} if Coverage.current() else {}


class Server:
    """`shoal app` in a process of its own, whose temporary files lie in `folder`."""

    def __init__(self, folder, *options, cwd=None, **environment):
        self.folder = Path(folder)
        browser = [] if "--browser" in options else ["--no-browser"]
        self.process = subprocess.Popen(
            [sys.executable, "-P", "-c", SHOAL, "app", *browser, *options],  # -P as the command `shoal` does
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=cwd,
            env={**os.environ, **traced(), "TMPDIR": str(folder), **environment},
        )
        atexit.register(self.process.kill)  # a test that failed has left it running
        self.line = self.process.stdout.readline()
        parts = urlsplit(self.line.strip())
        self.code = parts.fragment
        if browser:
            self.port, self.origin = parts.port, f"{parts.scheme}://{parts.netloc}"

    @property
    def letter(self):
        """The page that opens the door."""
        (private,) = self.folder.glob(".shoal-app.*")
        return private / "open.html"

    @property
    def address(self):
        """An address that works once, with the newest code."""
        code = re.search('value="([^"]+)"', self.letter.read_text())[1]
        return f"{self.origin}/#{code}"

    def ask(self, path="/", method="GET", body=None, **headers):
        """A plain request; the answer with its body read."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        connection.putrequest(method, path, skip_host=True)
        headers = {"Host": f"127.0.0.1:{self.port}", **headers}
        if body is not None:
            headers["Content-Length"] = str(len(body))
        for name, value in headers.items():
            connection.putheader(name.replace("_", "-"), value)
        connection.endheaders(body)
        answer = connection.getresponse()
        answer.text = answer.read().decode(errors="replace")
        connection.close()
        return answer

    def enter(self, code=None):
        """What a browser does with a code: a cookie, a key, and the ticket of a page."""
        answer = self.ask("/enter", "POST", Origin=self.origin, X_Code=code or self.address.split("#")[1])
        assert answer.status == 200
        return {"cookie": answer.headers["set-cookie"].split(";")[0], **json.loads(answer.text)}

    def cookie(self):
        """The cookie that a code is exchanged for."""
        return self.enter()["cookie"]

    def tab(self, entered=None):
        """What a new tab shows when it uploads: the cookie, and the name of its client.

        Its browser is new, or the one that has entered. A tab that opens no socket is soon forgotten.
        """
        if entered is None:
            entered = self.enter()
            ticket = entered["page"]
        else:
            asked = {"Cookie": entered["cookie"], "X_Key": entered["key"], "Origin": self.origin}
            ticket = json.loads(self.ask("/enter", "POST", **asked).text)["page"]
        page = self.ask(f"/?page={ticket}", Cookie=entered["cookie"])
        assert page.status == 200
        return {
            "Cookie": entered["cookie"],
            "X_Tab": re.search(r"['\"]client_id['\"]: *['\"]([\w-]{36})", page.text)[1],
        }

    def workers(self):
        """The processes that it started, by their number."""
        found = set()
        for entry in Path("/proc").glob("[0-9]*/stat"):
            try:
                facts = entry.read_text().rpartition(")")[2].split()
            except OSError:  # it has just ended
                continue
            if int(facts[1]) == self.process.pid and facts[0] != "Z":
                found.add(int(entry.parent.name))
        return found

    def stop(self, number=signal.SIGINT):
        """End it as Ctrl-C does; what it said meanwhile on stdout and stderr."""
        if self.process.poll() is None:
            self.process.send_signal(number)
        return self.process.communicate(timeout=PATIENCE)
