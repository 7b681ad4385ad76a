"""Tables on a Spark cluster."""
