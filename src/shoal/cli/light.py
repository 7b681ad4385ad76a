"""A small table should not wait for libraries that it does not use."""

import importlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from threading import get_ident
from types import ModuleType
from typing import Any


def without_pandas() -> None:
    """Keep pyarrow from loading pandas, which it does at its first conversion wherever pandas is installed.

    It looks for pandas once: this makes it look now, and find nothing. Whoever asks for pandas by name
    (`to_pandas`, `import pandas`) still gets it.
    """
    if "pandas" not in sys.modules:
        import pyarrow as pa

        with _hidden("pandas"):
            pa.array([0])


def without_scipy() -> None:
    """Keep numba from loading what our kernels do not use: they multiply no matrices and call no C.

    It looks once, like pyarrow: for scipy's linear algebra and cffi when it first compiles, for the others
    at its start. All of them can be imported as ever.
    """
    if "numba" not in sys.modules:
        extensions = "numba.core.entrypoints"  # of other packages; to look for them loads packages of mail
        sys.modules[extensions] = blank = ModuleType(extensions)
        blank.init_all = lambda: None  # type: ignore[attr-defined]
        with _hidden("coverage", "yaml", "scipy"):
            context = importlib.import_module("numba.core.cpu").CPUContext
        importlib.import_module("numba.core").entrypoints = blank  # type: ignore[attr-defined]
        _without_sources()
        rules = context.load_additional_registries

        def first(self: Any) -> None:
            context.load_additional_registries = rules
            with _hidden("scipy.linalg", "cffi"):
                rules(self)

        context.load_additional_registries = first


def _without_sources() -> None:
    """Keep numba from loading the Python source of its own code in a kernel that was compiled before.

    That source is of use to an interpreter; a kernel reads constants alone.
    """
    environments: Any = importlib.import_module("numba.core.environment")
    with_source = environments._rebuild_env

    def without(module: str, constants: list[Any], name: str) -> Any:
        if not module.startswith("numba.") or module in sys.modules or name in environments.Environment._memo:
            return with_source(module, constants, name)
        made = environments.Environment({"__name__": module})
        made.consts[:], made.env_name = constants, name
        environments.Environment._memo[name] = made
        return made

    environments._rebuild_env = without


def light_arrow() -> None:
    """Keep pyarrow from loading its readers of datasets, and from composing the help of 300 functions.

    For tables in memory only: its joins and counts then take no dataset.
    """
    reader = "pyarrow.vendored.docscrape"
    if not {"pyarrow.compute", "pyarrow.acero", reader} & {*sys.modules}:
        sys.modules[reader] = blank = ModuleType(reader)
        blank.NumpyDocString = lambda text: {"Parameters": []}  # type: ignore[attr-defined]
        with _hidden("pyarrow.dataset"):
            importlib.import_module("pyarrow.acero")
        del sys.modules[reader]


@contextmanager
def _hidden(*names: str) -> Iterator[None]:
    hider = _Hider(names)
    sys.meta_path.insert(0, hider)
    try:
        yield
    finally:
        sys.meta_path.remove(hider)


class _Hider:
    def __init__(self, names: tuple[str, ...]):
        self.names, self.thread = names, get_ident()

    def find_spec(self, name: str, *place: Any) -> None:
        if name in self.names and get_ident() == self.thread:
            raise ModuleNotFoundError(name)
