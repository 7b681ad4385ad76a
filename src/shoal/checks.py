"""The former name of `shoal.testing`."""

from shoal.testing import CHECKS, brute_force, check_method

__all__ = ["CHECKS", "brute_force", "check_method"]
