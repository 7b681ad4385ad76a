"""The words that plans may use."""

ROLES = ("identifier", "quasi", "confidential", "weight", "stratum", "other")
NUMBERS = ("continuous", "integer", "date")
CATEGORIES = ("ordinal", "nominal", "boolean")
TYPES = (*NUMBERS, *CATEGORIES)
SCALINGS = ("standard", "robust", "range", "rank", "none")
CENTROIDS = ("mean", "median", "trimmed", "mode")
MISSING = ("group", "impute", "error", "drop")
PRESERVE = ("totals",)
