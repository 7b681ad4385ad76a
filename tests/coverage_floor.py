"""How much of each room the tests must run; `make test` fails below. `python -m tests.coverage_floor`.

Reads the .coverage that `pytest --cov` left. To hold another room to account, add a line to FLOORS: a path
below src/shoal (a file, or a folder with all it holds), and the least percentage of lines and of decisions
(branches) that the tests must have taken. The most specific path counts. Where a floor is 100, each decision
has a test of its own: tests that draw their tables do not count, nor do those marked `no_cover`, which run
long through what others reach (counting takes as long as running; tests/conftest.py marks whole files).
Kernels are compiled, and no tracer sees them: they are left out, and run once more with the compiler off (see
Makefile).
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from tests.missing import missing

SRC = Path(__file__).resolve().parents[1] / "src" / "shoal"

#: path -> (lines, decisions), in percent.
FLOORS = {
    "": (95.0, 90.0),
    "pipeline.py": (100.0, 100.0),
    "frame": (100.0, 100.0),
    "io": (100.0, 100.0),
    "stages": (100.0, 100.0),
    "verify": (100.0, 100.0),
    "release.py": (100.0, 100.0),
    "writing.py": (100.0, 100.0),
}


def room_of(path: str) -> str:
    """The floor that a file stands on."""
    return max((r for r in FLOORS if not r or path == r or path.startswith(f"{r}/")), key=len)


def measured() -> dict[str, dict[str, Any]]:
    """What coverage knows of each file of the package, by its path below src/shoal."""
    from coverage import Coverage

    covered = Coverage()
    covered.load()
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        covered.json_report(outfile=file.name)
        files = json.load(file)["files"]
    found = {Path(name).resolve(): facts for name, facts in files.items()}
    return {path.relative_to(SRC).as_posix(): facts for path, facts in found.items() if SRC in path.parents}


def percent(part: int, whole: int) -> float:
    """A room without any decision has taken all of them."""
    return 100 * part / whole if whole else 100.0


def main() -> None:
    files = measured()
    short = []
    for room, floors in FLOORS.items():
        mine = {path: facts for path, facts in files.items() if room_of(path) == room}
        total = lambda key: sum(facts["summary"][key] for facts in mine.values())  # noqa: B023, E731
        lines = percent(total("covered_lines"), total("num_statements"))
        decisions = percent(total("covered_branches"), total("num_branches"))
        print(f"{room or 'the rest':12} lines {lines:6.2f} % (floor {floors[0]:.0f})", end="   ")
        print(f"decisions {decisions:6.2f} % (floor {floors[1]:.0f})")
        if lines < floors[0] or decisions < floors[1]:
            short.append(room or "the rest")
            for path, facts in mine.items():
                if facts["missing_lines"] or facts["missing_branches"]:
                    print(f"  {path}: lines {facts['missing_lines']}, decisions {facts['missing_branches']}")
    if short and missing():  # their tests were skipped, so the floors cannot hold
        print("\n".join(missing()))
    elif short:
        sys.exit(f"the tests run too little of {', '.join(short)}")


if __name__ == "__main__":
    main()
