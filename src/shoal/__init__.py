"""shoal: microdata in groups of at least k. The public names, nothing else; heavy parts load when used."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from shoal import datasets as datasets
    from shoal import spark as spark
    from shoal import testing as testing
    from shoal.bounds import Bound as Bound
    from shoal.bounds import lower_bound as lower_bound
    from shoal.comparison import Comparison as Comparison
    from shoal.comparison import compare as compare
    from shoal.comparison import price as price
    from shoal.errors import CheckFailed as CheckFailed
    from shoal.errors import InputError as InputError
    from shoal.errors import MachineError as MachineError
    from shoal.errors import ShoalError as ShoalError
    from shoal.estimator import Microaggregator as Microaggregator
    from shoal.grouping.registry import methods as methods
    from shoal.io.files import read as read
    from shoal.io.files import write as write
    from shoal.measurement import Measurement as Measurement
    from shoal.measurement import measure as measure
    from shoal.measures.measure import Measures as Measures
    from shoal.measures.risk import risk as risk
    from shoal.measures.utility import utility as utility
    from shoal.optimise.optimum import Optimum as Optimum
    from shoal.optimise.optimum import optimum as optimum
    from shoal.outcome import Outcome as Outcome
    from shoal.pipeline import microaggregate as microaggregate
    from shoal.pipeline import protect_files as protect_files
    from shoal.plan import Plan as Plan
    from shoal.release import Release as Release
    from shoal.requirements import requirements as requirements  # at run time a module that is called like it
    from shoal.suggestion import Suggestion as Suggestion
    from shoal.suggestion import suggest as suggest
    from shoal.verify.files import check as check  # at run time a module that is called like it

__version__ = "0.2.0"

#: name -> where it comes from; the imports above say the same to editors and type checkers.
_NAMES = {
    "Bound": "shoal.bounds",
    "CheckFailed": "shoal.errors",
    "Comparison": "shoal.comparison",
    "InputError": "shoal.errors",
    "MachineError": "shoal.errors",
    "Measurement": "shoal.measurement",
    "Measures": "shoal.measures.measure",
    "Microaggregator": "shoal.estimator",
    "Optimum": "shoal.optimise.optimum",
    "Outcome": "shoal.outcome",
    "Plan": "shoal.plan",
    "Release": "shoal.release",
    "ShoalError": "shoal.errors",
    "Suggestion": "shoal.suggestion",
    "compare": "shoal.comparison",
    "lower_bound": "shoal.bounds",
    "measure": "shoal.measurement",
    "methods": "shoal.grouping.registry",
    "microaggregate": "shoal.pipeline",
    "optimum": "shoal.optimise.optimum",
    "price": "shoal.comparison",
    "protect_files": "shoal.pipeline",
    "read": "shoal.io.files",
    "risk": "shoal.measures.risk",
    "suggest": "shoal.suggestion",
    "utility": "shoal.measures.utility",
    "write": "shoal.io.files",
}
_MODULES = ("check", "datasets", "requirements", "spark", "testing")
_FORMER = ("checks",)  # warns, and ends with 0.3
__all__ = ["__version__", *_NAMES, *_MODULES]

if not TYPE_CHECKING:  # a type checker would take every name for known

    def __getattr__(name):
        if name in _NAMES:
            value = getattr(import_module(_NAMES[name]), name)
            globals()[name] = value
            return value
        if name in _MODULES or name in _FORMER:
            return import_module(f"shoal.{name}")
        raise AttributeError(f"module 'shoal' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
