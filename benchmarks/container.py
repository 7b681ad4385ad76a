"""A first `protect` in a fresh container, without a container engine: `python -m benchmarks.container`.

Every RUN line of packaging/Containerfile is run here, with a folder in the place of /opt/shoal and a copy of
what is committed in the place of /src. Then the folder goes through an archive that keeps whole seconds, as a
layer does, and `protect` runs on 200 records in a process and with a home of its own; as another user, where
this one is root. `--python` is the interpreter in the place of the image's. The base image is not tried.
"""

from __future__ import annotations

import argparse
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks import _common

ROOT = Path(__file__).resolve().parents[1]
MOST = 3.0  # seconds, for a first `protect` in a fresh container on an idle machine
USER = "nobody"


def steps(folder: Path, python: str) -> tuple[list[str], dict[str, str]]:
    """The RUN lines of the file and its variables, with the folder in the place of the image's."""
    text = (ROOT / "packaging" / "Containerfile").read_text().replace("\\\n", " ")
    text = text.replace("/opt/shoal", str(folder / "opt")).replace("RUN python ", f"RUN {python} ")
    text = text.replace("useradd --create-home shoal", "true").replace("chown -R shoal", f"chown -R {USER}")
    variables = dict(re.findall(r"(NUMBA_\w+)=(\S+)", text))
    return re.findall(r"^RUN (.+)$", text, re.M), variables


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--python", default=sys.executable)
    python = parser.parse_args().python
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        (folder / "src").mkdir()
        (folder / "home").mkdir()
        shell(f"git archive HEAD | tar x -C {folder}/src", ROOT)
        runs, variables = steps(folder, python)
        for step in runs[:-1]:
            shell(step, folder / "src", variables)
        shell("tar c --format=ustar -f layer.tar opt && rm -r opt && tar xf layer.tar", folder)
        other = os.geteuid() == 0
        if other:
            shell(f"{runs[-1]} && chown {USER} {folder}/home", folder, variables)
        made = "import shoal; from shoal.datasets import survey; shoal.write(survey(200), 'firms.csv')"
        shell(f'opt/bin/python -c "{made}"', folder)
        words = ["setpriv", f"--reuid={USER}", "--regid=nogroup", "--clear-groups"] if other else []
        words += [
            f"{folder}/opt/bin/shoal",
            "protect",
            f"{folder}/firms.csv",
            "-k",
            "5",
            "-o",
            "safe.csv",
        ]
        words += ["-c", "wages", "-c", "turnover"]
        home = {"PATH": os.environ["PATH"], "HOME": str(folder / "home")}
        cold = {**variables, "NUMBA_CACHE_DIR": str(folder / "home" / "kernels")}
        rows = [
            {"kernels": told, **timed(words, folder / "home", home | kernels)}
            for told, kernels in (("compiled beforehand", variables), ("compiled at the first run", cold))
        ]
    print(_common.table(rows))
    print(_common.save("container", rows))
    sys.exit(0 if rows[0]["processor s"] < MOST else 1)


def shell(command: str, folder: Path, variables: dict[str, str] | None = None) -> None:
    print(command, flush=True)
    subprocess.run(
        command,
        shell=True,
        check=True,
        cwd=folder,
        env=os.environ | (variables or {}),
        stdout=subprocess.DEVNULL,
    )


def timed(command: list[str], folder: Path, environment: dict[str, str]) -> dict[str, float]:
    (folder / "safe.csv").unlink(missing_ok=True)
    began, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, env=environment, cwd=folder, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
    return {"clock s": round(time.perf_counter() - began, 2), "processor s": round(used, 2)}


if __name__ == "__main__":
    main()
