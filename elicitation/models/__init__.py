"""Backends that answer texts, each in a module of its own: only the one in use is loaded."""

from elicitation.models.base import Answer, Model, Request, ScoringModel

__all__ = ["Answer", "Model", "Request", "ScoringModel"]
