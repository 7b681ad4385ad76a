"""One block plan for every engine that works block by block."""
