"""Batteries from the literature: scores, tables, words and figures of each, side by side."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
