"""The independent check of a release. It shares no code with the grouping."""
