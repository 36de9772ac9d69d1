"""Networks with exact posteriors, cases drawn from them, and their evidence in words.

The public names load their modules on first use, so that `import bayesnets` costs nothing.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
