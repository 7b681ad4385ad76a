"""Measures: pure functions of the original and the released table. utility: what was lost; risk: what is left."""
