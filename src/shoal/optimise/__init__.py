"""Our own search: `optimise` improves a partition, `auto` chooses what to run."""

from shoal.optimise import auto, improve

__all__ = ["auto", "improve"]
