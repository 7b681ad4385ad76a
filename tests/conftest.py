"""What holds for the whole run of the tests."""

import gc
import os
import signal
from collections import Counter
from pathlib import Path

from benchmarks._common import DATA
from hypothesis import HealthCheck, settings

from tests.counting import count_own_lines_only
from tests.missing import missing

# No test depends on the clock, nor on the luck of a draw: the same commit draws the same tables everywhere.
# Who looks for others says `pytest --hypothesis-profile=explore`, and writes down as a test what that finds.
settings.register_profile("explore", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("shoal", settings.get_profile("explore"), derandomize=True)
settings.load_profile("shoal")

# Spark's small runs: Java compiles quickly rather than well, and collects garbage with one thread.
os.environ.setdefault("JAVA_TOOL_OPTIONS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")

# A run in the background, or under `nohup`, ignores these signals, and so would each process that a test
# starts and stops by them. Where they are handled, though in vain, such a process hears them.
for _name in ("SIGINT", "SIGHUP"):
    _number = getattr(signal, _name, None)
    if _number and signal.getsignal(_number) == signal.SIG_IGN:
        signal.signal(_number, lambda *given: None)

count_own_lines_only()

HERE = Path(__file__).parent
PUBLISHED = HERE / "published"

#: Files that take longest start first, so that no core waits for the other at the end. The first one compiles
#: most kernels; the second needs few meanwhile, so that none is compiled twice. The page and Spark find them.
#: Those of gaps are compiled where no line is counted, too: counting makes the compiler slower by half.
LONGEST = [
    "algorithms/test_every_method.py",
    "io/test_atomic.py",
    "io/test_hostile_files.py",
    "kernels/test_gaps.py",
    "app/test_browser.py",
    "engines/test_spark.py",
    "engines/test_parity.py",
    "engines/test_spark_cluster.py",
    "optimise/test_optimum.py",
    "project/test_docs.py",
    "stages/test_require.py",
    "app/test_guard.py",
    "report/test_report.py",
    "test_comparison.py",
    "kernels/test_line.py",
    "stages/test_units.py",
    "engines/test_disk.py",
    "golden/test_golden.py",
    "project/test_site.py",
    "verify/test_files.py",
]
#: Files and folders whose tests do not count for tests/coverage_floor.py: they run long through what other
#: tests reach too, and counting lines would nearly double their time. Nor do tests that draw their tables.
UNCOUNTED = [
    "algorithms/test_every_method.py",
    "kernels",
    "project",
    "test_determinism.py",
]


def pytest_collection_modifyitems(items):
    """The longest files first; lines are counted where that is needed.

    Each test in tests/published says how many printed figures it holds: one, or what its mark says.
    """
    place = {HERE / name: number for number, name in enumerate(LONGEST)}
    items.sort(key=lambda item: place.get(item.path, len(place)))
    uncounted = {HERE / name for name in UNCOUNTED}
    for item in items:
        drawn = getattr(getattr(item, "obj", None), "is_hypothesis_test", False)
        if drawn or uncounted & {item.path, *item.path.parents}:
            item.add_marker("no_cover")  # of pytest-cov
        if PUBLISHED in item.path.parents:
            mark = item.get_closest_marker("figures")
            item.user_properties.append(("figures", mark.args[0] if mark else 1))


def pytest_collection_finish():
    """What is imported by now stays for the whole run: the collector of garbage need not look at it again.

    It looks at the rest seldom. Otherwise it takes a tenth of the time in which kernels are compiled.
    """
    gc.freeze()
    gc.set_threshold(100_000, 50, 100)


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
