"""Small commands for people who release shoal: pins with hashes, distributions, bills of materials."""
