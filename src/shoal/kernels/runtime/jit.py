"""The one decorator of all kernels: compiled on first use, cached on disk, without the interpreter lock.

Work is spread over cores by calling such kernels from ordinary threads on fixed chunks (see
`shoal.kernels.runtime.threads`), never by numba's own parallel layer: the outcome cannot depend on the number
of threads, and worker processes can be forked safely.
"""

from threading import Lock
from typing import Any

import numba

kernel: Any = numba.njit(cache=True, nogil=True)

#: Records up to which numpy is quicker than to load or compile the kernels of the k-d tree.
WORTH_COMPILING = 500

_one_at_a_time = Lock()


def run_packed(function: Any, *arguments: Any) -> Any:
    """Call a kernel that does the same to several numbers side by side, and was written for that.

    It is compiled to do them in one instruction each. The compiler's default is not to look for that.
    """
    if hasattr(function, "compile"):  # not where the compiler is switched off
        types = tuple(numba.typeof(argument) for argument in arguments)
        with _one_at_a_time:
            if types not in function.signatures:
                usual, numba.config.SLP_VECTORIZE = numba.config.SLP_VECTORIZE, 1
                try:
                    function.compile(types)
                finally:
                    numba.config.SLP_VECTORIZE = usual
    return function(*arguments)
