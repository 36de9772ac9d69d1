"""Bets: whether a model's choices follow the values and chances that it knows of."""
