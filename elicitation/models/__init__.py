"""Backends that answer texts; each is imported by its own module, so that only the one in use is loaded."""

from elicitation.models.base import Answer, Model, Request

__all__ = ["Answer", "Model", "Request"]
