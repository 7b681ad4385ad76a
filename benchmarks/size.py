"""Where the lines of src lie, room by room, and which issues ask for it: `python -m benchmarks.size`.

Lines are all lines of all files; code are those that are no blank line, comment or docstring.
"""

from __future__ import annotations

import ast
from collections import Counter
from pathlib import Path

from benchmarks import _common

PACKAGE = Path(__file__).parents[1] / "src" / "shoal"
#: What issues ask of each room, by their numbers.
ASKED = {
    "kernels": "3, 4, 5, 7, 21, 22, 23",
    "io": "6, 9, 18, 19, 20, 23",
    "app": "10, 19, 20, 24",
    "engines": "7, 17, 23",
    "stages": "2, 6, 17, 18, 20, 21, 23",
    "bounds": "5, 22, 23",
    "measures": "8, 18, 20, 23",
    "algorithms": "2, 4, 21, 23",
    "cli": "2, 8, 17, 20",
    "frame": "2, 6, 18, 20, 23",
    "plan": "6, 17, 18, 20, 21",
    "verify": "9, 17, 18, 20, 21, 23",
    "report": "8, 18, 20, 24",
    "optimise": "5, 7, 21, 22",
    "requirements": "18, 21",
    "grouping": "2, 17",
    "single files": "2, 8, 17, 20, 21, 24",
}


def main() -> None:
    lines, code = Counter[str](), Counter[str]()
    for path in sorted(PACKAGE.rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts:
            place = path.relative_to(PACKAGE)
            room = place.parts[0] if len(place.parts) > 1 else "single files"
            text = path.read_text(encoding="utf-8")
            lines[room] += text.count("\n")
            code[room] += code_lines(text) if path.suffix == ".py" else text.count("\n")
    rows = [
        {"room": room, "lines": count, "code": code[room], "issues": ASKED[room]}
        for room, count in lines.most_common()
    ]
    rows.append({"room": "all", "lines": lines.total(), "code": code.total(), "issues": ""})
    print(_common.table(rows))
    print(_common.save("size", rows))


def code_lines(text: str) -> int:
    """Lines of Python that are neither blank, nor a comment, nor part of a docstring."""
    told = {at for at, line in enumerate(text.splitlines(), 1) if line.strip() and line.strip()[0] != "#"}
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            first = node.body[0] if node.body else None
            if isinstance(first, ast.Expr) and isinstance(getattr(first.value, "value", None), str):
                told -= {*range(first.lineno, (first.end_lineno or 0) + 1)}
    return len(told)


if __name__ == "__main__":
    main()
