"""Files and databases: in, out, whole or not at all."""
