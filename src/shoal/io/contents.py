"""What one reading of a file gives: its table, and its cells as they stand there."""

from typing import Any, NamedTuple

import pyarrow as pa


class Contents(NamedTuple):
    """The Arrow table in a file. `cells` has every cell as it stands there, where the table holds less."""

    table: pa.Table
    cells: Any = None  # an Arrow table, or nothing
