"""Thinking in bets: what a model gains by the bets that it takes, and the probabilities that they act on."""
