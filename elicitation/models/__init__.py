"""Backends that answer texts; each is imported by its own module, so that only the one in use is loaded."""

from elicitation.models.base import Answer, Model, Request, ScoringModel

__all__ = ["Answer", "Model", "Request", "ScoringModel"]
