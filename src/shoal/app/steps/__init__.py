"""The five steps, one file each."""
