"""Records in one order: sorting, paths, tours, and the best cut of an order."""
