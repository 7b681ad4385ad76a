"""Every figure in README and docs is one that a command printed: `make figures` (python -m tools.figures).

Each benchmark writes benchmarks/out/NAME.json. This takes them over into docs/figures.json, by the command
that was run, beside what stands there, and writes docs/figures.md from it. docs/figures.toml holds what was
read off a terminal, and numbers that nobody measures (versions, defaults, limits).

`stale` looks at a page: a figure must be among the numbers that a command named in its section (or in the one
above it) printed, to as many digits as the page shows. A test asks it of every page.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
OUT, STORE, PAGE = ROOT / "benchmarks" / "out", ROOT / "docs" / "figures.json", ROOT / "docs" / "figures.md"
BY_HAND = ROOT / "docs" / "figures.toml"
RESULTS = ROOT / "docs" / "results.md"

#: Pages that a command writes as a whole, and those that tell of the past.
MADE = {
    "results.md",
    "commands.md",
    "dependencies.md",
    "methods.md",
    "figures.md",
    "changelog.md",
    "migration.md",
}

INTRO = """# Figures

Collected by `make figures`. Each is measured anew by the command above it; README and the other pages quote
them, and a test compares every figure there with these. What papers print, and what shoal measures beside it,
is in [results](results.md)."""
TERMINAL = "## Read off a terminal\n\nRuns of which the output was kept, and no file."

NUMBER = r"\d+(?:,\d{3})*(?:\.\d+)?"
UNIT = r"(?:%|(?:s|ms|ns|MB|GB|GiB|min|seconds|minutes|CPU|processor|core hours|times as)\b)"
ALONE = r"(?<![\w.,/=:^-])"  # part of a name, a version, a power, an option is no figure
ANY = re.compile(rf"{ALONE}{NUMBER}(?![\w]|\.\d)")
FIGURE = re.compile(rf"{ALONE}(?:\d+(?:,\d{{3}})*\.\d+(?![\w]|\.\d)|{NUMBER}(?=\s?{UNIT}))")


def pages() -> list[Path]:
    found = [ROOT / "README.md", *(ROOT / "docs").glob("*.md"), *(ROOT / "docs" / "tutorials").glob("*.md")]
    return sorted(path for path in found if path.name not in MADE)


def collected(out: Path = OUT, store: Path = STORE) -> dict[str, Any]:
    """What is stored, with what was measured since, by command."""
    known: dict[str, Any] = json.loads(store.read_text()) if store.exists() else {}
    for path in sorted(out.glob("*.json")):
        measured = json.loads(path.read_text())
        known[measured.pop("command")] = measured
    return dict(sorted(known.items()))


def printed(known: Mapping[str, Any], by_hand: Mapping[str, Any]) -> dict[str, list[float]]:
    """All numbers that each benchmark printed."""
    found: dict[str, list[float]] = {"reproduce": numbers(RESULTS.read_text())}
    for command, facts in known.items():
        found.setdefault(benchmark(command), []).extend(numbers(facts["outcome"]))
    for facts in by_hand["taken"]:
        found.setdefault(benchmark(facts["command"]), []).extend(numbers(facts["figures"]))
    return found


def benchmark(command: str) -> str:
    return command.removeprefix("python -m benchmarks.").split()[0]


def numbers(outcome: Any) -> list[float]:
    """Every number in an outcome, in its texts too."""
    if isinstance(outcome, Mapping):
        outcome = [*outcome, *outcome.values()]
    if isinstance(outcome, list):
        return [x for part in outcome for x in numbers(part)]
    if isinstance(outcome, str):
        return [float(x.replace(",", "")) for x in re.findall(NUMBER, outcome)]
    return [] if outcome is None or isinstance(outcome, bool) else [float(outcome)]


def sections(text: str) -> Iterator[tuple[str, set[str]]]:
    """The text of each section without code blocks, and the benchmarks named in it or in the one above it."""
    text = re.sub(r"^(```|~~~).*?^\1", "", text, flags=re.M | re.S)
    above: dict[int, set[str]] = {}
    for part in re.split(r"(?m)^(?=#+ )", text):
        level = len(part) - len(part.lstrip("#"))
        named = set(re.findall(r"benchmarks\.(\w+)", part))
        named |= {"reproduce"} if "make reproduce" in part else set()
        above = {depth: names for depth, names in above.items() if depth < level}
        yield part, named or next((names for depth, names in sorted(above.items())[::-1] if names), set())
        above[level] = named


def figures(text: str, measured: bool) -> list[str]:
    """The figures in a section; where a benchmark is named, all numbers in its tables are."""
    lines = [
        re.sub(r"`[^`]*`|\]\([^)]*\)|\*\*\d+\*\*", "`", line)
        for line in text.splitlines()
        if line[:4] != "    "
    ]
    prose = " ".join(line for line in lines if line[:1] != "|" or not measured)
    rows = " ".join(line for line in lines if line[:1] == "|" and measured)
    return FIGURE.findall(prose) + ANY.findall(rows)


def stale(page: Path, known: Mapping[str, Any], by_hand: Mapping[str, Any]) -> list[str]:
    """What stands on a page and was printed by no command that it names."""
    said = set(by_hand["said"].get(str(page.relative_to(ROOT)), []))
    found, wrong = printed(known, by_hand), []
    for text, named in sections(page.read_text()):
        there = [x for name in named for x in found.get(name, [])]
        for figure in figures(text, bool(named)):
            value, digits = float(figure.replace(",", "")), len(figure.partition(".")[2])
            near = 0.5 * 10**-digits * (1 + 1e-6)
            if figure not in said and not any(
                abs(x * unit - value) <= near for x in there for unit in (1, 100)
            ):
                title = text.strip().splitlines()[0]
                wrong.append(
                    f"{page.relative_to(ROOT)}, {title}: {figure} was not printed by {sorted(named)}"
                )
    return wrong


def page(known: Mapping[str, Any], by_hand: Mapping[str, Any]) -> str:
    """The collected figures as a page."""
    parts = [INTRO, "## Written by benchmarks"]
    for command, facts in known.items():
        shown = json.dumps(facts["outcome"], indent=1)
        parts.append(f"`{command}`, {facts['date']}, {facts['machine']}.\n\n```json\n{shown}\n```")
    parts.append(TERMINAL)
    for facts in by_hand["taken"]:
        told = f"`{facts['command']}`, {facts['date']}, {by_hand['machine']}. {facts.get('note', '')}"
        parts.append(f"{told.strip()}\n\n```text\n{facts['figures'].strip()}\n```")
    return "\n\n".join(parts) + "\n"


def main() -> None:
    known, by_hand = collected(), tomllib.loads(BY_HAND.read_text())
    STORE.write_text(json.dumps(known, indent=1) + "\n")
    PAGE.write_text(page(known, by_hand))
    for path in pages():
        for wrong in stale(path, known, by_hand):
            print(wrong)


if __name__ == "__main__":
    main()
