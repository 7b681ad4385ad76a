"""Install the wheel of dist/ into an empty environment and protect a table there: `python -m tools.try_dist`.

What a stranger does: pinned packages of the core with their hashes, then the wheel alone, then `shoal demo`
and `shoal check`, away from the source tree. Needs the registry; ends with status 1 if anything fails.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CLEAN = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}


def run(*words: object, folder: Path | None = None) -> str:
    """What a command prints, in an environment without settings of Python."""
    done = subprocess.run(words, check=True, env=CLEAN, cwd=folder, stdout=subprocess.PIPE, text=True)
    return done.stdout


def environment(folder: Path) -> Path:
    """A new, empty environment; its folder of programs."""
    run(sys.executable, "-m", "venv", folder)
    return folder / "bin"


def install(wheel: Path, programs: Path) -> None:
    """Install the core with its hashes, and this wheel, which brings nothing along."""
    pip = [programs / "python", "-m", "pip", "--quiet", "--disable-pip-version-check", "install"]
    pins = ROOT / "constraints" / "core.txt"
    run(*pip, "--only-binary", ":all:", "--no-deps", "--require-hashes", "-r", pins)
    run(*pip, "--no-deps", "--no-index", wheel)


def demo(programs: Path, folder: Path) -> None:
    """Run the demo in this folder with what is installed and nothing else; check the file it wrote."""
    where = run(programs / "python", "-c", "import shoal; print(shoal.__file__)", folder=folder).strip()
    if not Path(where).is_relative_to(programs.parent):
        raise SystemExit(f"shoal came from {where}, not from the wheel")
    run(programs / "python", "-m", "pip", "--disable-pip-version-check", "check")
    run(programs / "shoal", "demo", "--folder", "demo", "-n", "200", folder=folder)
    run(programs / "shoal", "check", Path("demo", "firms.protected.csv"), "-k", "3", folder=folder)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("--folder", type=Path, default=ROOT / "dist", help="where the wheel lies")
    wheels = sorted(options.parse_args().folder.resolve().glob("shoal_sdc-*.whl"))
    if len(wheels) != 1:
        raise SystemExit(f"one wheel was expected, {len(wheels)} are there: `make dist` in a clean folder")
    with tempfile.TemporaryDirectory() as place:
        programs = environment(Path(place, "empty"))
        install(wheels[0], programs)
        demo(programs, Path(place))
    print(f"{wheels[0].name}: installed with hashes into an empty environment; demo and check ran")


if __name__ == "__main__":
    main()
