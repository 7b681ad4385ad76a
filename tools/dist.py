"""Build wheel and source archive of HEAD into dist/: `python -m tools.dist`.

Only what is committed is built, from a copy of it, with the time of the last commit (or `SOURCE_DATE_EPOCH`):
the same commit gives the same bytes on every machine. hatchling has to be installed, at the version that is
pinned.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def build(source: Path, to: Path, epoch: str, *kinds: str) -> list[Path]:
    """Build these kinds (`wheel`, `sdist`) of a folder."""
    facts = os.environ | {"SOURCE_DATE_EPOCH": epoch}
    targets = [word for kind in kinds for word in ("-t", kind)]
    command = [sys.executable, "-P", "-m", "hatchling", "build", "-d", str(to), *targets]
    subprocess.run(command, check=True, cwd=source, env=facts, stdout=subprocess.DEVNULL)
    return sorted(to.iterdir())


def export(to: Path) -> None:
    """A copy of what is committed, and of nothing else."""
    archive = to.with_suffix(".zip")
    subprocess.run(["git", "archive", "--output", str(archive), "HEAD"], check=True, cwd=ROOT)
    shutil.unpack_archive(archive, to)


def time_of_commit() -> str:
    log = ["git", "log", "-1", "--format=%ct"]
    return subprocess.run(log, check=True, cwd=ROOT, capture_output=True, text=True).stdout.strip()


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("--folder", type=Path, default=ROOT / "dist")
    folder = options.parse_args().folder.resolve()
    with tempfile.TemporaryDirectory() as place:
        export(Path(place, "head"))
        epoch = os.environ.get("SOURCE_DATE_EPOCH") or time_of_commit()
        made = build(Path(place, "head"), Path(place, "dist"), epoch, "sdist", "wheel")
        folder.mkdir(parents=True, exist_ok=True)
        for path in folder.glob("shoal_sdc-*"):  # of an older commit
            path.unlink()
        for path in made:
            print(hashlib.sha256(path.read_bytes()).hexdigest(), shutil.copy(path, folder))


if __name__ == "__main__":
    main()
