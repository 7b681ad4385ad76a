"""One file for each method or close family. Adding a method: one function, and its module's name here."""

from shoal.algorithms import fixed_size, fuzzy, imhm, mdav, mhm, repordmic, univariate

__all__ = ["fixed_size", "fuzzy", "imhm", "mdav", "mhm", "repordmic", "univariate"]
