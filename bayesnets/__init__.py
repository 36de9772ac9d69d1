"""Networks with exact posteriors, cases drawn from them, and their evidence in words.

The public names load their modules on first use, so that `import bayesnets` costs nothing.
"""

from coherence.public_names import attach as _attach

__getattr__, __dir__, __all__ = _attach(__name__, __file__)
