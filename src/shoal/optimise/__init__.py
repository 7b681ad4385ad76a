"""Our own search: `optimise` improves a partition, `exact` proves the least loss, `auto` chooses."""

from shoal.optimise import auto, exact, improve

__all__ = ["auto", "exact", "improve"]
