"""How a text can be cut into tokens."""
