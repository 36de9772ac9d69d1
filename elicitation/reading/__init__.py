"""Exact probabilities of outcomes and labels, read off a model."""
