"""What holds for the whole run of the tests."""

import os
from collections import Counter
from pathlib import Path

from benchmarks._common import DATA
from hypothesis import settings

from tests.missing import missing

settings.register_profile("shoal", deadline=None)  # no test depends on the clock
settings.load_profile("shoal")

# Spark's small runs: Java compiles quickly rather than well, and collects garbage with one thread.
os.environ.setdefault("JAVA_TOOL_OPTIONS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")

PUBLISHED = Path(__file__).parent / "published"

#: Files that take longest start first, so that no core waits for the other at the end. The first one compiles
#: most kernels, so that Spark's workers need not.
LONGEST = [
    "algorithms/test_every_method.py",
    "app/test_browser.py",
    "engines/test_spark.py",
    "project/test_docs.py",
    "stages/test_require.py",
    "io/test_hostile_files.py",
    "stages/test_units.py",
    "bounds/test_bounds.py",
    "stages/test_mixed_types.py",
    "report/test_report.py",
]


def pytest_collection_modifyitems(items):
    """The longest files first; and each test in tests/published says how many printed figures it holds.

    That is one, or what its mark says.
    """
    place = {Path(__file__).parent / name: number for number, name in enumerate(LONGEST)}
    items.sort(key=lambda item: place.get(item.path, len(place)))
    for item in items:
        if PUBLISHED in item.path.parents:
            mark = item.get_closest_marker("figures")
            item.user_properties.append(("figures", mark.args[0] if mark else 1))


def published_figures(stats):
    """One line on the printed figures; nothing if no test of tests/published was run."""
    counts = Counter()
    for outcome in ("passed", "skipped", "failed", "error"):
        for report in stats.get(outcome, []):
            for key, figures in getattr(report, "user_properties", ()):
                counts[outcome] += figures if key == "figures" else 0
    if not counts:
        return ""
    broken = counts["failed"] + counts["error"]
    line = f"published figures: {counts['passed']} held, {counts['skipped']} skipped"
    if broken:
        line += f", {broken} NOT HELD"
    if counts["skipped"]:
        line += f": {'not all' if DATA.is_dir() else 'no'} benchmark data at {DATA}"
    return line


def pytest_terminal_summary(terminalreporter):
    """The last word: what was not tested, so that nobody takes silence for success."""
    if line := published_figures(terminalreporter.stats):
        terminalreporter.write_line(line, bold=True)
    for sentence in missing():
        terminalreporter.write_line(sentence, red=True, bold=True)
