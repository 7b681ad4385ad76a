"""Flip comparison operators one at a time; a test must fail for each: `python -m benchmarks.mutate [MODULE]`.

Each flip (< to <= and >=, == to !=, `is` and `in` negated) is made in a forked child of a process that has
loaded everything: there the functions of one module get the code of its flipped source, and the tests of that
module run until the first fails. A flip that no test notices survives, and is told, unless SAME has a proof
that it changes no outcome.
"""

from __future__ import annotations

import ast
import importlib
import os
import signal
import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks import _common

ROOT = Path(__file__).resolve().parents[1]
#: module -> the tests that answer for it, quick ones first
TARGETS = {
    "grouping.partition": ["grouping/test_partition.py"],
    "verify.count": ["verify/test_count.py"],
    "verify.compare": ["verify/test_count.py"],
    "stages.publish": ["stages/test_publish.py", "stages/test_require.py", "stages/test_mixed_types.py"],
}
#: Flips that change no outcome, with the proof; by module, the text compared, and the new sign.
SAME = {
    ("grouping.partition", "high - low > 4 * len(given)", ">="): "both ways name labels as they appear",
    ("grouping.partition", "a < b", "<="): "an empty half adds nothing",
    ("stages.publish", "total >= 0", ">"): "zero times one is zero times minus one",
}
# Of two ways that give the same, the quicker: any border will do.
SAME |= {
    ("grouping.partition", text, sign): "a border between two ways of one outcome"
    for text, signs in (
        ("records >= tuning.two_threads", ("<", ">")),
        ("count > tuning.many_groups", (">=",)),
        ("len(self) > self._tuning.many_groups", (">=", "<=")),
    )
    for sign in signs
}
FLIPS: dict[type, list[type]] = {
    ast.Lt: [ast.LtE, ast.GtE],
    ast.LtE: [ast.Lt, ast.Gt],
    ast.Gt: [ast.GtE, ast.LtE],
    ast.GtE: [ast.Gt, ast.Lt],
    ast.Eq: [ast.NotEq],
    ast.NotEq: [ast.Eq],
    ast.Is: [ast.IsNot],
    ast.IsNot: [ast.Is],
    ast.In: [ast.NotIn],
    ast.NotIn: [ast.In],
}
SIGNS = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!="}
SIGNS |= {ast.Is: "is", ast.IsNot: "is not", ast.In: "in", ast.NotIn: "not in"}
PATIENCE = 300  # seconds for the tests of one flip; one that never ends is seen too


def flips(source: str) -> Iterator[tuple[int, str, str, ast.Module]]:
    """Every flip of a source: line, the comparison, the new sign, and the changed tree."""
    for place, node in enumerate(ast.walk(ast.parse(source))):
        for j, sign in enumerate(node.ops if isinstance(node, ast.Compare) else ()):
            for other in FLIPS[type(sign)]:
                tree = ast.parse(source)
                same: Any = list(ast.walk(tree))[place]
                same.ops[j] = other()
                yield node.lineno, ast.unparse(node), SIGNS[other], ast.fix_missing_locations(tree)


def functions(space: dict[str, Any], module: str) -> dict[str, types.FunctionType]:
    """Every function of a module, methods and properties too, by its full name."""
    found = {}
    for value in space.values():
        members = [value, *vars(value).values()] if isinstance(value, type) else [value]
        for member in members:
            member = getattr(member, "fget", None) or getattr(member, "__func__", member)
            if isinstance(member, types.FunctionType) and member.__module__ == module:
                found[member.__qualname__] = member
    return found


def apply(module: Any, tree: ast.Module) -> None:
    """Give the functions of a loaded module the code of a changed source, wherever they were imported."""
    fresh: dict[str, Any] = {"__name__": module.__name__}
    exec(compile(tree, str(module.__file__), "exec"), fresh)
    new = functions(fresh, module.__name__)
    for name, function in functions(vars(module), module.__name__).items():
        function.__code__ = new[name].__code__


def survives(module: Any, tree: ast.Module, tests: list[str]) -> bool:
    """Whether all tests pass with this tree; they run in a child, which is thrown away."""
    child = os.fork()
    if child == 0:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        os.dup2(1, 2)
        signal.alarm(PATIENCE)
        try:
            apply(module, tree)
            os._exit(int(run(tests)))
        except BaseException:
            os._exit(1)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def run(tests: list[str]) -> int:
    import pytest

    words = ["-x", "-q", "-p", "no:cacheprovider", "-p", "no:cov", "-p", "no:xdist"]
    return pytest.main([*words, *(str(ROOT / "tests" / name) for name in tests)])


def main(names: list[str]) -> None:
    rows, survivors = [], []
    for name in names or TARGETS:
        module = importlib.import_module(f"shoal.{name}")
        if run(TARGETS[name]):
            sys.exit(f"the tests of {name} fail without any flip")
        row = {"module": name, "flips": 0, "killed": 0, "equivalent": 0, "survived": 0}
        for line, text, sign, tree in flips(Path(str(module.__file__)).read_text()):
            row["flips"] += 1
            if not survives(module, tree, TARGETS[name]):
                row["killed"] += 1
            elif (name, text, sign) in SAME:
                row["equivalent"] += 1
            else:
                row["survived"] += 1
                survivors.append(f"{name}:{line}: `{text}` with {sign}")
                print("survived", survivors[-1], flush=True)
        rows.append(row)
    print(_common.header())
    print(_common.table(rows))
    for (name, text, sign), why in SAME.items():
        print(f"equivalent: {name}: `{text}` with {sign}: {why}")
    print(_common.save("mutate", {"rows": rows, "survivors": survivors}))
    sys.exit(1 if survivors else 0)


if __name__ == "__main__":
    main(sys.argv[1:])
