"""The former name of `shoal.grouping.registry`, for methods written for 0.1; ends with shoal 0.3."""

import warnings

from shoal.grouping.registry import MethodInfo, get_method, method, methods

__all__ = ["MethodInfo", "get_method", "method", "methods"]

warnings.warn(
    "shoal.method is shoal.grouping.registry since 0.2, and ends with shoal 0.3",
    DeprecationWarning,
    stacklevel=2,
)
