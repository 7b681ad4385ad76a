"""From what a user names (a table in memory, a file, a table of a database) to a Frame."""

import os
from dataclasses import replace
from typing import Any

from shoal.frame.frame import Frame
from shoal.io import stores
from shoal.io.databases import sql
from shoal.io.databases.address import is_remote
from shoal.io.origin import load


def frame_of(data: Any) -> Frame:
    """The table itself, or the one that the path or the URL names; a Frame stays what it is."""
    if isinstance(data, Frame):
        return data
    if not isinstance(data, (str, os.PathLike)):
        return Frame(data)
    if is_remote(data):
        with stores.speaking_of(near := stores.kept(str(data)), str(data)):
            table, copy = load(near)
        return Frame(table, replace(copy, address=str(data)))
    table, origin = sql.load(str(data)) if sql.is_url(data) else load(data)
    return Frame(table, origin)
