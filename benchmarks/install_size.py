"""How much disk the core takes: `python -m benchmarks.install_size`, in a fresh environment of its own.

Installs this project's wheel with its pins and no extra, runs `shoal demo` there, and adds up what was
written.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from tools import dist, try_dist

from benchmarks import _common

MOST = 900  # megabytes


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        wheel = dist.build(dist.ROOT, folder / "dist", dist.time_of_commit(), "wheel")[0]
        programs = try_dist.environment(folder / "core")
        before = size(folder)
        try_dist.install(wheel, programs)
        took = size(folder) - before
        try_dist.demo(programs, folder)
        packages = try_dist.run(programs / "python", "-m", "pip", "list", "--format=freeze").splitlines()
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
