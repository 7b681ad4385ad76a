"""Where compiled kernels are kept: never where somebody else could put others in their place."""

import os
import pickle
import subprocess
import sys
import warnings

import pytest

pytest.importorskip("grp")
import grp

from shoal.kernels.runtime import jit

MODULE = """
from shoal.kernels.runtime.jit import kernel

@kernel
def next_to(x):
    return x + 1
"""


class Evil:
    """What another user may have left in the folder."""

    def __init__(self, path):
        self.path = str(path)

    def __reduce__(self):
        return open, (self.path, "w")


def call(folder):
    """Compile and call a kernel; what was said."""
    done = run(folder, "from near import next_to; print(next_to(1))")
    assert done.stdout == "2\n" or done.returncode != 0, done.stderr
    return done.stderr


def run(folder, program):
    """Run a program that finds the folder's modules, and keeps its kernels there."""
    environment = {
        **os.environ,
        "NUMBA_CACHE_DIR": str(folder / "cache"),
        "NUMBA_DISABLE_JIT": "0",
        "PYTHONPATH": os.pathsep.join([str(folder), *filter(None, sys.path)]),
    }
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment)


def test_code_that_others_can_have_planted_is_not_loaded(tmp_path):
    tmp_path.chmod(0o700)
    (tmp_path / "near.py").write_text(MODULE)
    assert call(tmp_path) == ""
    (index,) = (tmp_path / "cache").rglob("*.nbi")
    hacked = tmp_path / "hacked"
    index.write_bytes(pickle.dumps(Evil(hacked)))
    call(tmp_path)
    assert hacked.exists()  # whatever lies there is run
    hacked.unlink()
    index.parent.chmod(0o777)
    said = call(tmp_path)
    assert f"others can write to {str(index.parent)!r}" in said
    assert "set NUMBA_CACHE_DIR" in said
    index.parent.chmod(0o700)
    (tmp_path / "cache").chmod(0o777)  # or the folder can be exchanged for another
    assert f"others can write to {str(tmp_path / 'cache')!r}" in call(tmp_path)
    assert not hacked.exists()


CALLER = """
from near import next_to
from shoal.kernels.runtime.jit import kernel
from sizes import STEP

@kernel
def twice(x):
    return next_to(next_to(x)) + STEP
"""


def test_a_kernel_is_compiled_anew_when_what_it_calls_or_a_number_it_names_has_changed(tmp_path):
    tmp_path.chmod(0o700)
    for name, text in (("near", MODULE), ("far", CALLER), ("sizes", "STEP = 10")):
        (tmp_path / f"{name}.py").write_text(text)
    program = "from far import twice; print(twice(1), sum(twice.stats.cache_hits.values()))"
    assert run(tmp_path, program).stdout == "13 0\n"
    assert run(tmp_path, program).stdout == "13 1\n"
    (tmp_path / "near.py").write_text(MODULE.replace("x + 1", "x + 100"))
    assert run(tmp_path, program).stdout == "211 0\n"
    (tmp_path / "sizes.py").write_text("STEP = 20")
    assert run(tmp_path, program).stdout == "221 0\n"
    os.utime(tmp_path / "far.py", (1, 1))  # the same code, of another time: as in a container, or a copy
    assert run(tmp_path, program).stdout == "221 1\n"
    change = f"import far; open(far.__file__, 'w').write({CALLER.replace('+ STEP', '')!r}); "
    assert run(tmp_path, change + "print(far.twice(1.0))").stdout == "221.0\n"  # what it had read
    assert run(tmp_path, "import far; print(far.twice(1.0))").stdout == "201.0\n"


def test_code_for_other_types_under_a_kernels_name_is_not_called(tmp_path):
    """Two processes that compile at once choose the same name for their files; the last one's code stays."""
    tmp_path.chmod(0o700)
    (tmp_path / "near.py").write_text(MODULE)
    program = "from near import next_to; import numpy as np; print(next_to({}))"
    whole, real = (program.format(f"np.arange(3, dtype='{kind}')") for kind in ("i8", "f8"))
    assert run(tmp_path, whole).stdout == "[1 2 3]\n"
    assert run(tmp_path, real).stdout == "[1. 2. 3.]\n"
    first, second = sorted((tmp_path / "cache").rglob("*.nbc"))
    first.write_bytes(second.read_bytes())
    assert run(tmp_path, whole).stdout == "[1 2 3]\n"
    assert run(tmp_path, whole).stdout == "[1 2 3]\n"


@pytest.fixture
def judge(tmp_path):
    """Whether kernels may be kept in a folder of this mode, in one of that mode."""
    tmp_path.chmod(0o700)

    def judged(outer, inner):
        (tmp_path / "outer" / "inner").mkdir(parents=True, exist_ok=True)
        (tmp_path / "outer" / "inner").chmod(inner)
        (tmp_path / "outer").chmod(outer)
        jit._is_private.cache_clear()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return jit._is_private(str(tmp_path / "outer" / "inner"))

    yield judged
    jit._is_private.cache_clear()


def test_who_can_write_to_a_folder(judge, monkeypatch):
    assert judge(0o755, 0o755)
    assert judge(0o1777, 0o755)  # as /tmp: nobody else can rename what is ours
    assert not judge(0o777, 0o755)
    assert not judge(0o755, 0o1777)
    monkeypatch.setattr(jit, "_is_own_group", lambda number: False)
    assert not judge(0o755, 0o775)
    monkeypatch.setattr(jit, "_is_own_group", lambda number: True)
    assert judge(0o775, 0o775)
    me = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: me + 12345)
    assert judge(0o755, 0o755) == (me == 0)  # root could anyway
    monkeypatch.delattr(os, "geteuid")
    assert judge(0o777, 0o777)  # Windows has other means


def test_a_group_of_ones_own(monkeypatch):
    import pwd

    name = pwd.getpwuid(os.geteuid()).pw_name
    groups = {
        0: grp.struct_group(("root", "x", 0, ["somebody"])),
        7: grp.struct_group((name, "x", 7, [])),
        8: grp.struct_group((name, "x", 8, [name, "somebody"])),
        9: grp.struct_group(("users", "x", 9, [])),
    }
    monkeypatch.setattr(grp, "getgrgid", groups.__getitem__)
    assert [jit._is_own_group(number) for number in (0, 7, 8, 9, 10)] == [True, True, False, False, False]


def test_where_no_folder_can_be_written_to_kernels_work_all_the_same():
    names = {}
    exec("def next_to(x):\n    return x + 1", names)  # numba has no folder for what has no file
    assert jit.kernel(names["next_to"])(1) == 2
