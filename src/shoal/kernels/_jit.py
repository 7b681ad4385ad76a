"""The one decorator of all kernels: compiled on first use, cached on disk, without the interpreter lock.

Work is spread over cores by calling such kernels from ordinary threads on fixed chunks (see
`shoal.kernels._threads`), never by numba's own parallel layer: the outcome cannot depend on the number
of threads, and worker processes can be forked safely.
"""

from typing import Any

import numba

kernel: Any = numba.njit(cache=True, nogil=True)
