"""A small table should not wait for libraries that it does not use."""

from __future__ import annotations

import sys
from typing import Any


def without_pandas() -> None:
    """Keep pyarrow from loading pandas, which it does at its first conversion wherever pandas is installed.

    It looks for pandas once: this makes it look now, and find nothing. Whoever asks for pandas by name
    (`to_pandas`, `import pandas`) still gets it.
    """
    if "pandas" in sys.modules:
        return
    import pyarrow as pa

    hidden = _Hidden()
    sys.meta_path.insert(0, hidden)
    try:
        pa.array([0])
    finally:
        sys.meta_path.remove(hidden)


class _Hidden:
    def find_spec(self, name: str, *place: Any) -> None:
        if name == "pandas":
            raise ModuleNotFoundError(name)
