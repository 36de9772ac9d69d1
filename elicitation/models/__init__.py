"""Backends that answer texts, each in a module of its own: only the one in use is loaded."""
