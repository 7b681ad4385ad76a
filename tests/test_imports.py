"""The arrows of import point one way, and the light parts stay light."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

SRC = Path(__file__).parents[1] / "src" / "shoal"

#: room -> the rooms it may import from; a room is a top-level module or folder of the package
ALLOWED = {
    "__init__": set(),
    "__main__": {"cli"},
    "errors": set(),
    "plan": {"errors", "table", "plan_file"},
    "plan_file": {"", "errors", "plan"},
    "partition": {"errors", "kernels"},
    "method": {"errors", "partition", "algorithms", "optimise"},
    "kernels": set(),
    "algorithms": {"kernels", "partition", "method", "errors"},
    "optimise": {"kernels", "partition", "method", "errors", "algorithms", "bounds"},
    "bounds": {"kernels", "partition", "errors", "algorithms", "table"},
    "table": {"errors", "partition", "kernels"},
    "check": {"errors", "kept", "table", "kernels"},
    "kept": set(),
    "measures": {"errors", "table"},
    "report": {"", "errors", "measures", "method", "table", "bounds"},
    "release": {"bounds", "errors", "kept", "plan", "check", "table", "report"},
    "pipeline": {"", "errors", "plan", "check", "table", "release", "method", "partition"},
    "comparison": {
        "errors",
        "plan",
        "table",
        "method",
        "measures",
        "pipeline",
        "release",
        "report",
        "bounds",
    },
    "engines": {"", "errors", "plan", "table", "method", "kernels"},
    "spark": {"engines"},
    "estimator": {"errors", "pipeline"},
    "checks": {"method", "partition", "pipeline", "table"},
    "datasets": {"errors"},
    "cli": {"", "errors", "pipeline", "table", "check", "datasets", "release", "plan", "method"}
    | {"comparison", "report", "engines", "app"},
    "app": {
        "",
        "errors",
        "pipeline",
        "plan",
        "method",
        "table",
        "measures",
        "report",
        "comparison",
        "datasets",
    },
}


def rooms_imported(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module]
            if node.module == "shoal":
                names = [f"shoal.{alias.name}" for alias in node.names]
        found |= {[*name.split("."), ""][1] for name in names if name.split(".")[0] == "shoal"}
    return found


def test_every_import_follows_an_arrow():
    for path in SRC.rglob("*.py"):
        room = path.relative_to(SRC).parts[0].removesuffix(".py")
        extra = rooms_imported(path) - ALLOWED[room] - {room}
        assert not extra, f"{path.relative_to(SRC)} imports {sorted(extra)}, which {room} may not"


def test_kernels_import_only_numpy_and_numba():
    for path in (SRC / "kernels").glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
            names += [node.module] if isinstance(node, ast.ImportFrom) else []
            for name in names:
                top = name.split(".")[0]
                assert top in {"numpy", "numba", "shoal"} or top in sys.stdlib_module_names, f"{path}: {name}"


@pytest.mark.parametrize("command", ["import shoal; dir(shoal)", "import shoal.cli; shoal.cli.main()"])
def test_light_parts_import_nothing_heavy(command):
    code = (
        "import sys; sys.argv = ['shoal', '--help']\n"
        f"try:\n    {command}\nexcept SystemExit as stop:\n    assert not stop.code\n"
        "heavy = {'numba', 'sklearn', 'matplotlib', 'pandas', 'pyarrow', 'scipy', 'nicegui', 'pyspark'}\n"
        "heavy &= set(sys.modules)\n"
        "assert not heavy, heavy"
    )
    subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.DEVNULL)


@pytest.mark.parametrize("command", ["protect firms.csv -k 5", "check safe.csv -k 3", "inspect firms.csv"])
def test_a_small_table_loads_no_library_that_it_does_not_use(command, tmp_path):
    rows = [f"{i % 7},{i * i % 31},{i % 3}.5,{'ab'[i % 2]}" for i in range(60)]
    (tmp_path / "firms.csv").write_text("a,b,c,d\n" + "\n".join(rows) + "\n")
    (tmp_path / "safe.csv").write_text("a,b\n" + "1,2\n" * 5)
    code = (
        f"import sys, shoal.cli; sys.argv = ['shoal', *{command.split()!r}]\n"
        "try:\n    shoal.cli.main()\nexcept SystemExit as stop:\n    assert not stop.code\n"
        "heavy = {'pandas', 'polars', 'sklearn', 'matplotlib', 'nicegui', 'pyspark', 'openpyxl', 'jinja2'}\n"
        "heavy |= {'scipy.linalg', 'coverage', 'shoal.report', 'shoal.comparison'}\n"
        "assert not heavy & set(sys.modules), heavy & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, cwd=tmp_path)


def test_a_small_table_compiles_few_kernels(tmp_path):
    """Each takes a fraction of a second, once: what is compiled for a first small table is counted here."""
    rows = [f"{i % 7},{i * i % 31},{i % 3}.5" for i in range(200)]
    (tmp_path / "firms.csv").write_text("a,b,c\n" + "\n".join(rows) + "\n")
    cache = tmp_path / "cache"
    code = "import sys, shoal.cli; sys.argv = 'shoal protect firms.csv -k 3'.split(); shoal.cli.main()"
    with_cache = os.environ | {"NUMBA_CACHE_DIR": str(cache), "NUMBA_DISABLE_JIT": "0"}
    subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, cwd=tmp_path, env=with_cache
    )
    compiled = [path.name for path in cache.rglob("*.nbc")]
    assert 0 < len(compiled) <= 28, sorted(compiled)
    assert not [name for name in compiled if name.startswith(("pool.", "kd_tree."))]
