"""Measures: pure functions of original and release. utility: what was lost; risk: what is left to learn."""
