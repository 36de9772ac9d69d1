"""A GGUF file made into a model folder: full weights in safetensors, tokenizer, chat template."""

import copy
from pathlib import Path

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from coherence.errors import CoherenceError
from elicitation.models.local.loading import BROKEN, reading
from elicitation.models.local.sources import GgufSource


def convert_gguf(file: Path, folder: Path) -> None:
    """Write the model in a GGUF file as ``save_pretrained`` does, in float32.

    Parameters
    ----------
    file : Path
        The GGUF file of a causal language model.
    folder : Path
        An existing folder, empty.

    Raises
    ------
    CoherenceError
        transformers cannot read the file, or weights are missing.
    """
    source = GgufSource(file)
    source.check()
    options = {**source.options, "trust_remote_code": False}
    with reading(source):
        try:
            tokenizer = AutoTokenizer.from_pretrained(source.location, **options)
            network, report = AutoModelForCausalLM.from_pretrained(
                source.location, **options, dtype=torch.float32, output_loading_info=True
            )
        except BROKEN as error:
            reason = " ".join(str(error).split())
            raise CoherenceError(
                f"{file.name} could not be read by transformers: {reason}. "
                "Install another version of transformers and gguf."
            ) from error
        if report["missing_keys"]:
            missing = ", ".join(sorted(report["missing_keys"])[:3])
            raise CoherenceError(f"{file.name} lacks weights for {missing}.")
        # The weights are full ones by now, but what was loaded remembers that they were not, and
        # refuses to be saved.
        config = copy.deepcopy(network.config)
        if "quantization_config" in vars(config):
            del config.quantization_config
        full = type(network)(config)
        full.load_state_dict(network.state_dict())
        full.generation_config = network.generation_config
        full.save_pretrained(folder)
        tokenizer.save_pretrained(folder)
