"""Scenarios: families of questions whose right answer is known exactly."""
