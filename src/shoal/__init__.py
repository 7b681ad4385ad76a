"""shoal: publish microdata safely. The public names, nothing else; heavy parts load when first used."""

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

_home = {
    "methods": "shoal.method",
}
__all__ = [*_home]


def __getattr__(name: str) -> Any:
    if name in _home:
        value = getattr(import_module(_home[name]), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'shoal' has no attribute {name!r}")
