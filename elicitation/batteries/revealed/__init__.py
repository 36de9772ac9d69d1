"""Unfinished texts about dice, coins, choices and preferences, with their exact probabilities."""
