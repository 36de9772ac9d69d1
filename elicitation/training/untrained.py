"""A transformer of one layer with random weights: it knows nothing, and is there at once.

For examples, and for trying a session out before weights are had.
"""

import os
from pathlib import Path

from coherence.errors import MissingExtraError
from elicitation.models.local.saving import save_network
from elicitation.training.organisms.tokenizer import train_tokenizer

try:
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM
except ImportError as error:  # pragma: no cover - needs an environment without the extra
    raise MissingExtraError("elicit", "Making a blank model") from error


def make_untrained_model(folder: str | os.PathLike[str], *, seed: int = 0) -> Path:
    """Write a causal model with random weights and a tokenizer of single bytes."""
    tokenizer = train_tokenizer(["0123456789"], [], vocabulary_size=259)
    torch.manual_seed(seed)
    network = LlamaForCausalLM(
        LlamaConfig(
            vocab_size=len(tokenizer),
            hidden_size=16,
            intermediate_size=16,
            num_hidden_layers=1,
            num_attention_heads=2,
            bos_token_id=tokenizer.bos_token_id,
            eos_token_id=tokenizer.eos_token_id,
            pad_token_id=tokenizer.pad_token_id,
        )
    )
    save_network(network, tokenizer, Path(folder))
    return Path(folder)
