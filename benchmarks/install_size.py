"""How much disk the core takes: `python -m benchmarks.install_size`, in a fresh environment of its own.

Installs this project with its pins and no extra, runs `shoal demo` there, and adds up what was written.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks import _common

ROOT = Path(__file__).resolve().parents[1]
MOST = 900  # megabytes


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        subprocess.run([sys.executable, "-m", "venv", folder / "core"], check=True)
        python = folder / "core" / "bin" / "python"
        before = size(folder)
        install = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*install, "-c", ROOT / "constraints.txt", ROOT], check=True)
        took = size(folder) - before
        clean = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
        demo = [folder / "core" / "bin" / "shoal", "demo", "--folder", folder / "demo", "-n", "200"]
        subprocess.run(demo, check=True, env=clean, stdout=subprocess.DEVNULL, cwd=folder)
        packages = subprocess.run(
            [python, "-m", "pip", "list", "--format=freeze"],
            check=True,
            capture_output=True,
            text=True,
            env=clean,
        ).stdout.splitlines()
    row = {"core MB": round(took / 1e6), "most MB": MOST, "packages": len(packages), "demo": "ran"}
    print(_common.table([row]))
    print(_common.save("install_size", row))
    sys.exit(0 if took < MOST * 1e6 else 1)


def size(folder: Path) -> int:
    """Bytes on disk, each file once."""
    facts = [path.lstat() for path in folder.rglob("*")]
    return sum({(fact.st_dev, fact.st_ino): fact.st_blocks * 512 for fact in facts}.values())


if __name__ == "__main__":
    main()
