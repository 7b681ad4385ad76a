"""One file for each method or close family. Adding a method: one function, and its module's name here."""

from importlib import import_module

FAMILIES = (
    *("density", "fixed_size", "fuzzy", "igd", "imhm", "k_ward", "mdav", "mhm", "mu_approx"),
    *("pairwise", "repordmic", "tclose", "tfrp", "trees", "univariate"),
)
for _family in FAMILIES:
    import_module(f"{__name__}.{_family}")
