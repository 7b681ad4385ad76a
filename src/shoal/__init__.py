"""shoal: publish microdata safely. The public names, nothing else; heavy parts load when first used."""

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

_names = {
    "Bound": "shoal.bounds",
    "Microaggregator": "shoal.estimator",
    "Plan": "shoal.plan",
    "Release": "shoal.release",
    "ShoalError": "shoal.errors",
    "compare": "shoal.comparison",
    "lower_bound": "shoal.bounds",
    "methods": "shoal.grouping.registry",
    "microaggregate": "shoal.pipeline",
    "protect_files": "shoal.engines.disk.engine",
    "read": "shoal.io.files",
    "risk": "shoal.measures.risk",
    "suggest": "shoal.suggestion",
    "utility": "shoal.measures.utility",
    "write": "shoal.io.files",
}
_modules = ("check", "checks", "datasets", "spark")
__all__ = ["__version__", *_names, *_modules]


def __getattr__(name: str) -> Any:
    if name in _names:
        value = getattr(import_module(_names[name]), name)
        globals()[name] = value
        return value
    if name in _modules:
        return import_module(f"shoal.{name}")
    raise AttributeError(f"module 'shoal' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
