"""What every group must hold beyond k records: one file for each requirement, found by its class."""

import importlib
import pkgutil
from collections.abc import Mapping
from types import MappingProxyType

from shoal.requirements.base import Requirement, registry

__all__ = ["Requirement", "requirements"]


def requirements() -> Mapping[str, type[Requirement]]:
    """Every requirement that can be asked for: name -> its class, which tells `title` and `needs`."""
    for module in pkgutil.iter_modules(__path__):
        importlib.import_module(f"{__name__}.{module.name}")
    return MappingProxyType(registry)
