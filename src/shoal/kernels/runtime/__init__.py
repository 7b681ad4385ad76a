"""How kernels are compiled, and how threads run them."""
