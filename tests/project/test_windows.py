"""What only POSIX has is not needed: a Python without it makes and writes a release."""

import subprocess
import sys

WITHOUT = """
import importlib, os, pkgutil, sys, tempfile
for name in ("fcntl", "grp", "pwd", "resource", "termios"):
    sys.modules[name] = None
del os.geteuid
import shoal
former = ("shoal.check", "shoal.method", "shoal.__main__")  # these warn, or run
for module in pkgutil.walk_packages(shoal.__path__, "shoal."):
    if not module.name.startswith(former):
        importlib.import_module(module.name)
from shoal.datasets import survey
release = shoal.microaggregate(survey(60), 3, columns=["turnover", "wages"], method="mdav")
with tempfile.TemporaryDirectory() as folder:
    release.write(os.path.join(folder, "safe.csv"))
    assert os.listdir(folder) == ["safe.csv"]
    assert shoal.read(os.path.join(folder, "safe.csv")).num_rows == 60
"""


def test_a_python_without_posix_imports_every_module_and_writes_a_release():
    subprocess.run([sys.executable, "-c", WITHOUT], check=True)
