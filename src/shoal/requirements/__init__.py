"""What every group must hold beyond k records: one file for each requirement, found by its class."""

import importlib
import pkgutil
import sys
from collections.abc import Mapping
from types import MappingProxyType, ModuleType

from shoal.requirements.base import Requirement, registry

__all__ = ["Requirement", "requirements"]


def requirements() -> Mapping[str, type[Requirement]]:
    """Every requirement that can be asked for: name -> its class, which tells `title` and `needs`.

    Examples
    --------
    >>> import shoal
    >>> shoal.requirements()["diversity"].title
    'Many values of a confidential column'
    """
    for module in pkgutil.iter_modules(__path__):
        importlib.import_module(f"{__name__}.{module.name}")
    return MappingProxyType(registry)


class _CallableModule(ModuleType):
    """A module that is called like its function: the folder has the function's name."""

    def __call__(self) -> Mapping[str, type[Requirement]]:
        return requirements()


sys.modules[__name__].__class__ = _CallableModule
