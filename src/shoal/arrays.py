"""Names for arrays, as signatures use them."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


def numbers_to(most: int) -> Any:
    """The type for whole numbers up to `most`: the narrow one, where it is enough, takes half the room."""
    return np.int32 if most < 2**31 else np.int64
