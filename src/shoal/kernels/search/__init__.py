"""Moves between groups, covers, prices."""
