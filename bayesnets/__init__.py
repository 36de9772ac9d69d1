"""Networks with exact posteriors, cases drawn from them, and their evidence in words.

The public names load their modules on first use, so that `import bayesnets` costs nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bayesnets.cases import coverage, sample_cases
    from bayesnets.catalog import NetworkFacts, describe, load_network, network_names
    from bayesnets.inference import evidence_probability, posterior
    from bayesnets.network import Network, Node
    from bayesnets.phrases import Phrases, load_phrases, plain_phrases
    from bayesnets.sampling import sample

__all__ = [
    "Network",
    "NetworkFacts",
    "Node",
    "Phrases",
    "coverage",
    "describe",
    "evidence_probability",
    "load_network",
    "load_phrases",
    "network_names",
    "plain_phrases",
    "posterior",
    "sample",
    "sample_cases",
]

_MODULES = {
    "Network": "network",
    "NetworkFacts": "catalog",
    "Node": "network",
    "Phrases": "phrases",
    "coverage": "cases",
    "describe": "catalog",
    "evidence_probability": "inference",
    "load_network": "catalog",
    "load_phrases": "phrases",
    "network_names": "catalog",
    "plain_phrases": "phrases",
    "posterior": "inference",
    "sample": "sampling",
    "sample_cases": "cases",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module 'bayesnets' has no attribute {name!r}")
    value = getattr(import_module(f"bayesnets.{_MODULES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
