"""Asking models for beliefs and, in separate contexts, for actions.

The public names load their modules on first use, so that `import elicitation` costs nothing and
needs no torch.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
