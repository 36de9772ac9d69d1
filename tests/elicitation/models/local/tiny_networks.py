"""Very small networks with random weights, and what they give by definition."""

import numpy as np
import torch
import transformers
from tokenizers import Tokenizer, models
from transformers import PreTrainedTokenizerFast

from elicitation import CausalModel

SIZE = 50
ENDS = {"vocab_size": SIZE, "bos_token_id": 1, "eos_token_id": 2}
LLAMA = {
    **{"vocab_size": SIZE, "hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2},
    **{"num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 128},
}
GPT2 = {"n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 128, **ENDS}
NETWORKS = {
    "llama": ("Llama", "LlamaForCausalLM", LLAMA),
    "gpt2": ("GPT2", "GPT2LMHeadModel", GPT2),
    "mistral": ("Mistral", "MistralForCausalLM", {**LLAMA, "sliding_window": 4}),
    "bloom": ("Bloom", "BloomForCausalLM", {"hidden_size": 32, "n_layer": 2, "n_head": 4, **ENDS}),
}


def untrained(config, network, sizes):
    torch.manual_seed(1)
    config = getattr(transformers, f"{config}Config")(**sizes)
    return getattr(transformers, network)(config).eval()


def network_of(kind):
    network = untrained(*NETWORKS[kind])
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.mul_(4)
    return network


def model_of(network, tokenizer, **options):
    # Token ids need no words.
    tokenizer = tokenizer or PreTrainedTokenizerFast(
        tokenizer_object=Tokenizer(models.WordLevel({"?": 0}, unk_token="?"))
    )
    return CausalModel(network, tokenizer, name="tiny", fingerprint="f", **options)


def one_by_one(network, texts, continuations):
    """The definition: one forward pass per continuation, no padding, no cache."""

    def score(text, tokens):
        with torch.inference_mode():
            logits = network(torch.tensor([[*text, *tokens]])).logits[0].double()
        chances = logits.log_softmax(-1)[len(text) - 1 :]
        return sum(float(chances[k, token]) for k, token in enumerate(tokens))

    pairs = zip(texts, continuations, strict=True)
    return [np.array([score(text, tokens) for tokens in endings]) for text, endings in pairs]


class Watched(torch.nn.Module):
    """A network that counts the tokens it reads and runs out of memory above a limit."""

    def __init__(self, network, limit=None, error=None):
        super().__init__()
        self.network, self.limit = network, limit
        self.config, self.generation_config = network.config, network.generation_config
        self.device, self.dtype = network.device, network.dtype
        self.tokens, self.failures, self.shapes = 0, 0, []
        self.error = error or torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 1 GiB")

    def get_input_embeddings(self):
        return self.network.get_input_embeddings()

    def get_output_embeddings(self):
        return self.network.get_output_embeddings()

    def forward(self, input_ids, **options):
        if self.limit is not None and input_ids.numel() > self.limit:
            self.failures += 1
            raise self.error
        self.tokens += input_ids.numel()
        self.shapes.append(tuple(input_ids.shape))
        return self.network(input_ids=input_ids, **options)


class HeedsNoMask(Watched):
    """A network whose attention drops the mask that it is given, as some kernels do."""

    def forward(self, input_ids, attention_mask=None, **options):
        if attention_mask is not None and attention_mask.dim() == 4:
            attention_mask = None
        return super().forward(input_ids, attention_mask=attention_mask, **options)
