"""Revealed beliefs: how far the probabilities of next tokens lie from the exact ones."""
