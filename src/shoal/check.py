"""`shoal.check(release, k)`, and the names that `from shoal.check import ...` always had."""

import inspect
import sys
from types import ModuleType
from typing import Any

from shoal.verify.count import Finding
from shoal.verify.files import check, check_original
from shoal.verify.requirements import Held

__all__ = ["Finding", "Held", "check", "check_original"]
__signature__ = inspect.signature(check)  # what editors show of the module that is called


class _CallableModule(ModuleType):
    """A module that is called like its function: both spellings are in use."""

    def __call__(self, *arguments: Any, **options: Any) -> list[Finding | Held]:
        return check(*arguments, **options)


sys.modules[__name__].__class__ = _CallableModule
