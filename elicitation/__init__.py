"""Asking models for beliefs and, in separate contexts, for actions.

The public names load their modules on first use, so that `import elicitation` costs nothing and
needs no torch.
"""

from coherence.public_names import attach as _attach

__getattr__, __dir__, __all__ = _attach(__name__, __file__)
