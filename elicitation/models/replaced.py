"""What of other packages is replaced at run time, and why; nothing else of theirs is.

Most of it is private there and may move with any version. `original` says so in one line where it
is needed, and a test goes through the list.
"""

from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

from coherence.errors import InputError


@dataclass(frozen=True)
class Replaced:
    """A name of another package in whose place something of ours goes."""

    name: str  # module, a colon, and the name in it
    by: str  # module of ours that replaces it
    reason: str


REPLACED = (
    Replaced(
        "inspect_ai.model._providers.openai_compatible:OpenAICompatibleAPI._generate_completion",
        "elicitation.models.hosted.replies",
        "Replies that say less than the protocol, or say it otherwise, are completed before "
        "Inspect reads them; it has no hook between the two.",
    ),
    Replaced(
        "openai.resources.completions:AsyncCompletions.create",
        "elicitation.models.hosted.replies",
        "The same of continued texts, whose path in Inspect does not pass the function above.",
    ),
    Replaced(
        "torch.nn:Linear",
        "elicitation.models.local.loading",
        "On processors of AMD a linear layer by oneDNN takes half the time of MKL's; the op "
        "behind it, torch.ops.mkldnn._linear_pointwise, is private.",
    ),
    Replaced(
        "huggingface_hub.constants:HF_HUB_OFFLINE",
        "elicitation.models.local.sources",
        "What lies here is read without a look at the hub; the variable of this name is read once, "
        "on import.",
    ),
)


def original(owner: object, name: str, package: str) -> Any:
    """Return what is to be replaced; raise where a version of its package has moved it."""
    try:
        return getattr(owner, name)
    except AttributeError:
        raise InputError(
            f"{package} {version(package)} has no {type(owner).__name__}.{name}, which hosted "
            "models need: it has moved. Install the belief-coherence that goes with it, or an "
            f"earlier {package}."
        ) from None
