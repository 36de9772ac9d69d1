"""A GGUF file of a very small Llama, as llama.cpp lays one out, and a wheel around it."""

import zipfile

import gguf
import numpy as np
import torch
from transformers import LlamaConfig, LlamaForCausalLM

TEMPLATE = "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}{% endfor %}<|assistant|>"
PIECES = ["<unk>", "<s>", "</s>", *"abcdefghijklmnopqrstuvwxyzĠ.:01?NY", "ab", "no", "es"]
MERGES = ["a b", "n o", "e s"]
PARTS = {
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
    "input_layernorm": "attn_norm",
    "post_attention_layernorm": "ffn_norm",
}
HEADS, LAYERS, WIDTH = 4, 2, 32


def tiny_llama():
    torch.manual_seed(3)
    config = LlamaConfig(
        vocab_size=len(PIECES),
        hidden_size=WIDTH,
        intermediate_size=64,
        num_hidden_layers=LAYERS,
        num_attention_heads=HEADS,
        num_key_value_heads=HEADS,
        max_position_embeddings=256,
        tie_word_embeddings=True,
        bos_token_id=1,
        eos_token_id=2,
    )
    network = LlamaForCausalLM(config).eval()
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


def write_gguf(path, network, *, template=TEMPLATE):
    writer = gguf.GGUFWriter(str(path), "llama")
    writer.add_context_length(256)
    writer.add_embedding_length(WIDTH)
    writer.add_feed_forward_length(64)
    writer.add_block_count(LAYERS)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(HEADS)
    writer.add_layer_norm_rms_eps(network.config.rms_norm_eps)
    writer.add_rope_freq_base(10_000.0)
    writer.add_rope_dimension_count(WIDTH // HEADS)
    writer.add_vocab_size(len(PIECES))
    writer.add_tokenizer_model("gpt2")
    writer.add_token_list(PIECES)
    writer.add_token_types([3, 3, 3, *[1] * (len(PIECES) - 3)])
    writer.add_token_merges(MERGES)
    for add, number in (
        (writer.add_unk_token_id, 0),
        (writer.add_bos_token_id, 1),
        (writer.add_eos_token_id, 2),
        (writer.add_pad_token_id, 2),
    ):
        add(number)
    if template:
        writer.add_chat_template(template)
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
