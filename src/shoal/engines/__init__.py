"""Tables larger than memory: one block plan, carried out on this machine's disk or on a Spark cluster."""
