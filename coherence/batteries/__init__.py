"""Batteries from the literature: scores, tables, words and figures of each, side by side."""

from coherence.public_names import attach as _attach

__getattr__, __dir__, __all__ = _attach(__name__, __file__)
