"""One file for each method or close family. Adding a method: one function, and its module's name here."""

#: In the order in which methods are listed. A module is loaded when one of its methods is asked for.
FAMILIES = (
    *("mdav", "density", "fixed_size", "fuzzy", "igd", "imhm", "k_ward", "mhm", "mu_approx"),
    *("pairwise", "repordmic", "tclose", "tfrp", "trees", "univariate"),
)
