"""Sizes, sums and means of groups."""
