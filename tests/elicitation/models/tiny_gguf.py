"""A GGUF file of a very small Llama, as llama.cpp lays one out, and a wheel around it."""

import zipfile

import gguf
import numpy as np
import torch
from transformers import LlamaConfig, LlamaForCausalLM

TEMPLATE = "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}{% endfor %}<|assistant|>"
PIECES = ["<unk>", "<s>", "</s>", *"abcdefghijklmnopqrstuvwxyzĠ.:01?NY", "ab", "no", "es"]
PARTS = {
    **{f"self_attn.{name}_proj": f"attn_{name}" for name in "qkv"},
    **{f"mlp.{name}_proj": f"ffn_{name}" for name in ("gate", "up", "down")},
    **{"self_attn.o_proj": "attn_output", "input_layernorm": "attn_norm"},
    "post_attention_layernorm": "ffn_norm",
}
HEADS, LAYERS, WIDTH, INNER, CONTEXT = 4, 2, 32, 64, 256
SIZES = {
    **{"hidden_size": WIDTH, "intermediate_size": INNER, "num_hidden_layers": LAYERS},
    **{"num_attention_heads": HEADS, "num_key_value_heads": HEADS, "vocab_size": len(PIECES)},
    **{"max_position_embeddings": CONTEXT, "bos_token_id": 1, "eos_token_id": 2},
}


def tiny_llama():
    torch.manual_seed(3)
    network = LlamaForCausalLM(LlamaConfig(tie_word_embeddings=True, **SIZES)).eval()
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.mul_(4)
    return network


def in_file(name, weight):
    """Return a tensor as llama.cpp keeps it: heads' halves of queries and keys interleaved."""
    values = weight.detach().numpy()
    if name in ("attn_q", "attn_k"):
        halves = values.reshape(HEADS, 2, WIDTH // HEADS // 2, WIDTH)
        values = halves.swapaxes(1, 2).reshape(WIDTH, WIDTH)
    return np.ascontiguousarray(values.astype(np.float32))


def write_gguf(path, network):
    writer = gguf.GGUFWriter(str(path), "llama")
    fields = {
        **{"context_length": CONTEXT, "embedding_length": WIDTH, "feed_forward_length": INNER},
        **{"block_count": LAYERS, "head_count": HEADS, "head_count_kv": HEADS},
        **{"layer_norm_rms_eps": network.config.rms_norm_eps, "rope_freq_base": 10_000.0},
        **{"rope_dimension_count": WIDTH // HEADS, "vocab_size": len(PIECES)},
        **{"tokenizer_model": "gpt2", "token_list": PIECES},
        **{"token_types": [3] * 3 + [1] * (len(PIECES) - 3), "token_merges": ["a b", "n o", "e s"]},
        **{"unk_token_id": 0, "bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 2},
        "chat_template": TEMPLATE,
    }
    for name, value in fields.items():
        getattr(writer, f"add_{name}")(value)
    state = network.state_dict()
    writer.add_tensor("token_embd.weight", in_file("", state["model.embed_tokens.weight"]))
    writer.add_tensor("output_norm.weight", in_file("", state["model.norm.weight"]))
    for layer in range(LAYERS):
        for part, name in PARTS.items():
            weight = state[f"model.layers.{layer}.{part}.weight"]
            writer.add_tensor(f"blk.{layer}.{name}.weight", in_file(name, weight))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def write_wheel(path, gguf_file):
    with zipfile.ZipFile(path, "w") as archive:
        archive.write(gguf_file, "tiny_model/tiny.gguf")
        archive.writestr("tiny_model-1.0.dist-info/LICENSE", "Anyone may do anything.\n")
        archive.writestr("../escaped.txt", "outside")
        archive.writestr("tiny_model/__init__.py", "raise SystemExit('run')\n")
    return path
