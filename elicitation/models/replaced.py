"""What of other packages is replaced at run time, and why; nothing else of theirs is.

It may move with any version: a test goes through the list.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Replaced:
    """A name of another package in whose place something of ours goes."""

    name: str  # module, a colon, and the name in it
    by: str  # module of ours that replaces it
    reason: str


REPLACED = (
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
