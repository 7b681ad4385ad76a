"""One file for each method or close family. Adding a method: one function, and its module's name here."""

from shoal.algorithms import (
    density,
    fixed_size,
    fuzzy,
    igd,
    imhm,
    k_ward,
    mdav,
    mhm,
    mu_approx,
    pairwise,
    repordmic,
    tfrp,
    trees,
    univariate,
)

__all__ = [
    "density",
    "fixed_size",
    "fuzzy",
    "igd",
    "imhm",
    "k_ward",
    "mdav",
    "mhm",
    "mu_approx",
    "pairwise",
    "repordmic",
    "tfrp",
    "trees",
    "univariate",
]
