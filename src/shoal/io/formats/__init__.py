"""One file for each family of file formats: functions that read a path into an Arrow table, and back."""
