"""Transformers models in this process, from local folders alone: nothing is ever fetched."""

import os
from importlib.util import find_spec

from coherence.errors import MissingExtraError

# Before transformers is imported: it reads the variable once.
os.environ.setdefault("HF_HUB_OFFLINE", "1")
if any(find_spec(name) is None for name in ("safetensors", "torch", "transformers")):
    raise MissingExtraError("elicit", "Asking a local model")
