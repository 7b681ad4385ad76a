"""How much disk the core takes, by package: `python -m benchmarks.install_size`.

Installs this project's wheel with its pins and no extra into a fresh environment, runs `shoal demo` there,
and adds up what was written. With `--here` it adds up the core's packages as they are installed here, which
takes a second.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterable
from importlib import metadata
from pathlib import Path

from tools import dist, pins, try_dist

from benchmarks import _common

MOST = 900  # megabytes


def main() -> None:
    if "--here" in sys.argv:
        parts = by_package([])
        row = {"core MB": sum(parts.values()), "packages": len(parts), "how": "--here"}
    else:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            wheel = dist.build(dist.ROOT, folder / "dist", dist.time_of_commit(), "wheel")[0]
            programs = try_dist.environment(folder / "core")
            before = size(folder)
            try_dist.install(wheel, programs)
            took = size(folder) - before
            try_dist.demo(programs, folder)
            parts = by_package([str(next((folder / "core" / "lib").glob("python*")) / "site-packages")])
        row = {"core MB": round(took / 1e6), "packages": len(parts), "demo": "ran"}
    print(
        _common.table(
            [{"package": name, "MB": parts[name]} for name in sorted(parts, key=parts.get)[::-1][:12]]
        )
    )
    row |= {"most MB": MOST, "numba and llvmlite MB": parts["numba"] + parts["llvmlite"]}
    row |= {f"{name} MB": parts[name] for name in ("pyarrow", "scipy", "scikit-learn", "matplotlib", "numpy")}
    print(_common.table([row]))
    print(_common.save("install_size", row))
    sys.exit(0 if row["core MB"] < MOST else 1)


def by_package(path: list[str]) -> dict[str, int]:
    """Megabytes of each package of the core, as its own record lists its files."""
    found = {}
    for pin in pins.read("core"):
        for package in metadata.distributions(name=pin.name, **({"path": path} if path else {})):
            found[pin.name] = round(total(Path(package.locate_file(f)) for f in package.files or ()) / 1e6)
            break
    return found


def size(folder: Path) -> int:
    """Bytes on disk, each file once."""
    return total(folder.rglob("*"))


def total(paths: Iterable[Path]) -> int:
    facts = [path.lstat() for path in paths if path.is_symlink() or path.exists()]
    return sum({(fact.st_dev, fact.st_ino): fact.st_blocks * 512 for fact in facts}.values())


if __name__ == "__main__":
    main()
