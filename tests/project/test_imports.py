"""Kernels import little, and the light parts stay light. Who may import whom: pyproject.toml, `make lint`."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

SRC = Path(__file__).parents[2] / "src" / "shoal"


def test_kernels_import_only_numpy_and_numba():
    for path in (SRC / "kernels").rglob("*.py"):
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


@pytest.mark.parametrize(
    "command", ["protect firms.csv -k 5 --accept-guesses", "check safe.csv -k 3", "inspect firms.csv"]
)
def test_a_small_table_loads_no_library_that_it_does_not_use(command, tmp_path):
    rows = [f"{i % 7},{i * i % 31},{i % 3}.5,{'ab'[i % 2]}" for i in range(60)]
    (tmp_path / "firms.csv").write_text("a,b,c,d\n" + "\n".join(rows) + "\n")
    (tmp_path / "safe.csv").write_text("a,b\n" + "1,2\n" * 5)
    code = (
        f"import sys, shoal.cli; sys.argv = ['shoal', *{command.split()!r}]\n"
        "try:\n    shoal.cli.main()\nexcept SystemExit as stop:\n    assert not stop.code\n"
        "heavy = {'pandas', 'polars', 'sklearn', 'matplotlib', 'nicegui', 'pyspark', 'jinja2', 'fastexcel'}\n"
        "heavy |= {'xlsxwriter', 'scipy.linalg', 'coverage', 'shoal.report', 'shoal.comparison'}\n"
        "heavy |= {'pyarrow.dataset', 'ssl'} if 'protect' in sys.argv else set()\n"
        "assert not heavy & set(sys.modules), heavy & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, cwd=tmp_path)


def test_a_small_table_compiles_few_kernels(tmp_path):
    """Each takes a fraction of a second, once: what is compiled for a first small table is counted here."""
    rows = [f"{i % 7},{i * i % 31},{i % 3}.5" for i in range(200)]
    (tmp_path / "firms.csv").write_text("a,b,c\n" + "\n".join(rows) + "\n")
    cache = tmp_path / "cache"
    code = "import sys, shoal.cli; sys.argv = 'shoal protect firms.csv -k 3'.split(); shoal.cli.main()"
    with_cache = os.environ | {"NUMBA_CACHE_DIR": str(cache), "NUMBA_DISABLE_JIT": "0", "NUMBA_OPT": "0"}
    subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, cwd=tmp_path, env=with_cache
    )
    compiled = [path.name for path in cache.rglob("*.nbc")]
    assert 0 < len(compiled) <= 18, sorted(compiled)
    assert not [name for name in compiled if name.startswith(("pool.", "kd_tree."))]


def test_one_trial_file_for_each_folder_of_compiled_kernels(tmp_path):
    """numba would write one for each kernel: a hundred before the first small table."""
    from shoal.kernels.runtime.jit import _once_a_folder

    class Locator:
        def get_cache_path(self):
            return str(tmp_path / "cache")

    made = []

    def ensure(locator):
        made.append((tmp_path / "cache").mkdir())

    once = _once_a_folder(ensure)
    for _ in range(3):
        once(Locator())
    (tmp_path / "cache").rmdir()
    once(Locator())
    assert len(made) == 2
