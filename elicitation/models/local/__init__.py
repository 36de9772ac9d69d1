"""Transformers models in this process."""
