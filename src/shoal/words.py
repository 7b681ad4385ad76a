"""The words that plans may use."""

ROLES = ("identifier", "quasi", "confidential", "weight", "stratum", "unit", "other")
NUMBERS = ("continuous", "integer", "date")
CATEGORIES = ("ordinal", "nominal", "boolean")
TYPES = (*NUMBERS, *CATEGORIES)
SCALINGS = ("standard", "robust", "range", "rank", "none")
CENTROIDS = ("mean", "median", "trimmed", "mode")
MISSING = ("group", "impute", "error", "drop")
PRESERVE = ("totals",)
ZEROS = ("value", "group")
THIN = ("widen", "gap")
ORDERS = ("shuffle", "keep")
#: Fields of a plan that are one of these words.
WORDS = {"missing": MISSING, "zeros": ZEROS, "thin": THIN, "order": ORDERS}
