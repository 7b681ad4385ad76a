"""Memory that is free in this process but that the system does not have back."""

import ctypes
import os

import pyarrow as pa


def give_back() -> None:
    """Let the system have what arrays took that are gone.

    The C library keeps what each thread freed for later; block after block of a table of ten million records
    that came to nearly 1 GiB.
    """
    pa.default_memory_pool().release_unused()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None) if os.name == "posix" else None
    if trim is not None:  # GNU's C library has it
        trim(0)
