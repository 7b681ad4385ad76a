"""Partitions, the registry of methods, and the one door through which every method is called."""
