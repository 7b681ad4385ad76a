"""Who is near to whom: trees, lists, the spanning tree."""
