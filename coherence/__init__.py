"""Statistical tests of belief-action coherence.

A model states a probability and, asked in a separate context, acts. Could that probability be the
belief it acts on? Every check takes arrays (or a runs table) and returns a `CheckResult`; `analyze`
runs all of them. Names are loaded on first use, so that importing the package costs next to
nothing.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
