"""The former name of `shoal.grouping.registry`, for methods that were written against 0.1."""

from shoal.grouping.registry import MethodInfo, get_method, method, methods

__all__ = ["MethodInfo", "get_method", "method", "methods"]
