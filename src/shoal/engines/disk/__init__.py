"""Tables larger than memory on this machine's disk."""
