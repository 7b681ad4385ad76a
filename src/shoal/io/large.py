"""Which tables are read column by column: folders of Parquet files, and files of many records."""

import os
from pathlib import Path
from typing import Any

from shoal.frame.frame import Frame
from shoal.frame.large import LargeTable
from shoal.io.contents import Contents
from shoal.io.files import FORMATS
from shoal.io.formats.long_text import LongText
from shoal.io.parquet import ParquetTable, promised
from shoal.io.source import frame_of

#: Records of a Parquet file above which its columns are read one by one; those of folders always are.
LARGE = 1_000_000
#: Bytes of a text that count as a record: a text of more than 200 MB is large.
RECORD = 200
#: Endings of text files.
TEXTS = tuple(ending for ending, kind in FORMATS.items() if kind.family == "text")


def large_contents(source: Any, most: int = LARGE) -> Contents | None:
    """The table in a folder of Parquet files or in a large file; None for whatever else."""
    if not isinstance(source, (str, os.PathLike)):
        return None
    path = Path(source)
    if path.is_dir() or promised(path) > most:
        parts = ParquetTable(path)
        return Contents(parts.by_column(), keys=tuple(parts.keys))
    if path.name.lower().endswith(TEXTS) and path.is_file():
        text = LongText(path)
        return text.by_column() if text.longer_than(most * RECORD) else None
    return None


def large_table(source: Any, most: int = LARGE) -> LargeTable | None:
    """The same without the cells as they stand in a text."""
    contents = large_contents(source, most)
    return None if contents is None else contents.table


def large_frame(source: Any) -> Frame:
    """Any table; the columns of a large one are read one by one."""
    large = large_table(source)
    return frame_of(source) if large is None else Frame(large)
