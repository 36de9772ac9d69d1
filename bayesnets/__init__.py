"""Networks with exact posteriors, cases drawn from them, and their evidence in words.

The public names load their modules on first use, so that `import bayesnets` costs nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bayesnets.cases import coverage, sample_cases
    from bayesnets.catalog import NetworkFacts, describe, load_network, network_names
    from bayesnets.datasets import dataset_names, load_dataset
    from bayesnets.drawing import draw
    from bayesnets.files import read_network, write_network
    from bayesnets.fitting import Fit, fit
    from bayesnets.inference import evidence_probability, marginals, posterior, posterior_by_state
    from bayesnets.network import Network, Node
    from bayesnets.phrases import Phrases, load_phrases, plain_phrases
    from bayesnets.record_cases import sample_record_cases
    from bayesnets.records import RecordTask, strata
    from bayesnets.sampling import sample

__all__ = [
    "Fit",
    "Network",
    "NetworkFacts",
    "Node",
    "Phrases",
    "RecordTask",
    "coverage",
    "dataset_names",
    "describe",
    "draw",
    "evidence_probability",
    "fit",
    "load_dataset",
    "load_network",
    "load_phrases",
    "marginals",
    "network_names",
    "plain_phrases",
    "posterior",
    "posterior_by_state",
    "read_network",
    "sample",
    "sample_cases",
    "sample_record_cases",
    "strata",
    "write_network",
]

_MODULES = {
    "Fit": "fitting",
    "Network": "network",
    "NetworkFacts": "catalog",
    "Node": "network",
    "Phrases": "phrases",
    "RecordTask": "records",
    "coverage": "cases",
    "dataset_names": "datasets",
    "describe": "catalog",
    "draw": "drawing",
    "evidence_probability": "inference",
    "fit": "fitting",
    "load_dataset": "datasets",
    "load_network": "catalog",
    "load_phrases": "phrases",
    "marginals": "inference",
    "network_names": "catalog",
    "plain_phrases": "phrases",
    "posterior": "inference",
    "posterior_by_state": "inference",
    "read_network": "files",
    "sample": "sampling",
    "sample_cases": "cases",
    "sample_record_cases": "record_cases",
    "strata": "records",
    "write_network": "files",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module 'bayesnets' has no attribute {name!r}")
    value = getattr(import_module(f"bayesnets.{_MODULES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
