"""The way a table takes, one file a stage. Engines run the stages; no stage knows an engine."""
