"""Very small networks with random weights, and what they give by definition."""

import numpy as np
import torch
from tokenizers import Tokenizer, models
from transformers import (
    BloomConfig,
    BloomForCausalLM,
    GPT2Config,
    GPT2LMHeadModel,
    LlamaConfig,
    LlamaForCausalLM,
    MistralConfig,
    MistralForCausalLM,
    PreTrainedTokenizerFast,
)

from elicitation import CausalModel

SIZE = 50


LLAMA = {
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "max_position_embeddings": 128,
}


def network_of(kind):
    torch.manual_seed(1)
    network = {
        "llama": lambda: LlamaForCausalLM(
            LlamaConfig(vocab_size=SIZE, num_key_value_heads=2, **LLAMA)
        ),
        "gpt2": lambda: GPT2LMHeadModel(
            GPT2Config(
                vocab_size=SIZE,
                n_embd=32,
                n_layer=2,
                n_head=4,
                n_positions=128,
                bos_token_id=1,
                eos_token_id=2,
            )
        ),
        "mistral": lambda: MistralForCausalLM(
            MistralConfig(vocab_size=SIZE, num_key_value_heads=2, sliding_window=4, **LLAMA)
        ),
        "bloom": lambda: BloomForCausalLM(
            BloomConfig(
                vocab_size=SIZE, hidden_size=32, n_layer=2, n_head=4, bos_token_id=1, eos_token_id=2
            )
        ),
    }[kind]()
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.mul_(4)
    return network.eval()


def model_of(network, tokenizer, **options):
    # Token ids need no words.
    tokenizer = tokenizer or PreTrainedTokenizerFast(
        tokenizer_object=Tokenizer(models.WordLevel({"?": 0}, unk_token="?"))
    )
    return CausalModel(network, tokenizer, name="tiny", fingerprint="f", **options)


def one_by_one(network, texts, continuations):
    """The definition: one forward pass per continuation, no padding, no cache."""
    results = []
    for text, endings in zip(texts, continuations, strict=True):
        values = []
        for tokens in endings:
            with torch.inference_mode():
                logprobs = (
                    network(torch.tensor([[*text, *tokens]])).logits[0].double().log_softmax(-1)
                )
            values.append(
                sum(float(logprobs[len(text) - 1 + k, token]) for k, token in enumerate(tokens))
            )
        results.append(np.array(values))
    return results


class Watched(torch.nn.Module):
    """A network that counts the tokens it reads and runs out of memory above a limit."""

    def __init__(self, network, limit=None, error=None):
        super().__init__()
        self.network, self.limit, self.config, self.generation_config = (
            network,
            limit,
            network.config,
            network.generation_config,
        )
        self.device, self.dtype, self.tokens, self.failures, self.shapes = (
            network.device,
            network.dtype,
            0,
            0,
            [],
        )
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
