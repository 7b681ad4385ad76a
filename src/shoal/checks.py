"""The former name of `shoal.testing`; ends with shoal 0.3."""

import warnings

from shoal.testing import CHECKS, brute_force, check_method

__all__ = ["CHECKS", "brute_force", "check_method"]

warnings.warn(
    "shoal.checks is shoal.testing since 0.2, and ends with shoal 0.3", DeprecationWarning, stacklevel=2
)
