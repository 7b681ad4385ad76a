"""Numba only: arrays in, arrays out; no tables, no validation, no input or output."""
