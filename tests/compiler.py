"""Whether kernels are compiled here: with NUMBA_DISABLE_JIT=1 they run as plain Python, on smaller tables."""

import os

COMPILED = os.environ.get("NUMBA_DISABLE_JIT", "0") != "1"
