"""A running `shoal app` for the tests, and what can be known of it from outside."""

import atexit
import http.client
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

SETTINGS = Path(__file__).resolve().parents[1] / "pyproject.toml"
PATIENCE = 120  # seconds; only ever waited for in full if something is broken


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

    def __init__(self, folder, *options):
        self.folder = Path(folder)
        self.process = subprocess.Popen(
            [sys.executable, "-m", "shoal", "app", "--no-browser", *options],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, **traced(), "TMPDIR": str(folder)},
        )
        atexit.register(self.process.kill)  # a test that failed has left it running
        self.line = self.process.stdout.readline()
        self.address = self.line.strip()
        parts = urlsplit(self.address)
        self.port, self.token = parts.port, parse_qs(parts.query).get("token", [""])[0]

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

    def cookie(self):
        """The cookie that the token is exchanged for."""
        return self.ask(f"/?token={self.token}").headers["set-cookie"].split(";")[0]

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
