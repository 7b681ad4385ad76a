"""One file for each method or close family. Adding a method: one function, and its module's name here."""

from shoal.algorithms import density, fixed_size, igd, mdav, pairwise, tfrp, univariate

__all__ = ["density", "fixed_size", "igd", "mdav", "pairwise", "tfrp", "univariate"]
