"""Transformers models in this process: from folders, GGUF files, or by a name on the hub."""

from importlib.util import find_spec

from coherence.errors import MissingExtraError

if any(find_spec(name) is None for name in ("safetensors", "torch", "transformers")):
    raise MissingExtraError("elicit", "Asking a local model")
