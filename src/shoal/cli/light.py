"""A small table should not wait for libraries that it does not use."""

import importlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
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

    It looks once, like pyarrow: scipy's linear algebra and cffi at its first kernel, the others at its
    start. All of them can be imported as ever.
    """
    if "numba" not in sys.modules:
        with _hidden("scipy.linalg", "cffi", "coverage", "yaml"):
            importlib.import_module("numba.np.arraymath")
            importlib.import_module("numba.core.typing.cffi_utils")
        entries = importlib.import_module("numba.core.entrypoints")
        entries._already_initialized = True  # type: ignore[attr-defined]  # nor extensions of other packages


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
        self.names = names

    def find_spec(self, name: str, *place: Any) -> None:
        if name in self.names:
            raise ModuleNotFoundError(name)
