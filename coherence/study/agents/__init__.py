"""Simulated agents whose coherence is known, and the world that they live in."""
