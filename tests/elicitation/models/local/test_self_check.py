"""How a model is read is found out by a look: breaks if a number differs from that of plain passes.

Every network here is one that a name would not give away: it ignores padding, has a window that its
cache does not show, counts columns, or reads what follows.
"""

import logging

import numpy as np
import pytest
import torch
import transformers
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from coherence import CoherenceError, InputError
from elicitation import Request, load_causal_model
from elicitation.models.local.forward import ALONE, Reading

from .tiny_networks import SIZE, Watched, model_of, network_of, one_by_one

WIDE = {"vocab_size": SIZE, "hidden_size": 32, "num_hidden_layers": 2}
ENCODER = {**WIDE, "num_attention_heads": 4, "intermediate_size": 64}
KINDS = {
    "rwkv": ("Rwkv", "RwkvForCausalLM", {**WIDE, "attention_hidden_size": 32}),
    "mamba": ("Mamba", "MambaForCausalLM", {**WIDE, "state_size": 8}),
    # A window of 40 tokens: more than a look at these weights reads, less than a text below.
    "gpt_neo": (
        "GPTNeo",
        "GPTNeoForCausalLM",
        {
            **{"vocab_size": SIZE, "hidden_size": 32, "num_layers": 2, "num_heads": 4},
            **{"window_size": 40, "attention_types": [[["global", "local"], 1]]},
            **{"bos_token_id": 1, "eos_token_id": 2},
        },
    ),
    # Other positions in texts of more than 44 tokens: some of those below, and not all.
    "phi3": (
        "Phi3",
        "Phi3ForCausalLM",
        {
            **{**ENCODER, "num_key_value_heads": 2, "pad_token_id": 0, "eos_token_id": 2},
            **{"max_position_embeddings": 99, "original_max_position_embeddings": 44},
            "rope_parameters": {
                **{"rope_type": "longrope", "rope_theta": 1e4},
                **{"short_factor": [1.0] * 4, "long_factor": [1.5, 2.0, 4.0, 8.0]},
            },
        },
    ),
    "mpt": (
        "Mpt",
        "MptForCausalLM",
        {"vocab_size": SIZE, "d_model": 32, "n_layers": 2, "n_heads": 4},
    ),
    "jamba": (
        "Jamba",
        "JambaForCausalLM",
        {
            **ENCODER,
            **{"num_key_value_heads": 2, "attn_layer_period": 2, "attn_layer_offset": 1},
            **{"use_mamba_kernels": False, "num_experts": 1, "num_experts_per_tok": 1},
        },
    ),
    # Chunks of 44 columns, padding behind a common beginning included.
    "llama4": (
        "Llama4Text",
        "Llama4ForCausalLM",
        {
            **{**ENCODER, "num_key_value_heads": 2, "head_dim": 8, "intermediate_size_mlp": 64},
            **{"attention_chunk_size": 44, "num_local_experts": 2, "num_hidden_layers": 4},
            **{"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2},
        },
    ),
    # Its cached step leaves out a bound that a pass heeds: a little more is wrong with every token.
    "nemotron_h": (
        "NemotronH",
        "NemotronHForCausalLM",
        {
            **{**ENCODER, "num_key_value_heads": 2, "head_dim": 8, "eos_token_id": 2},
            **{"hybrid_override_pattern": "M*", "mamba_num_heads": 8, "mamba_head_dim": 8},
            "time_step_min": 0.05,
            **{"ssm_state_size": 16, "n_groups": 1, "chunk_size": 16},
        },
    ),
    "roberta": ("Roberta", "RobertaForCausalLM", {**ENCODER, "is_decoder": True}),
    "camembert": ("Camembert", "CamembertForCausalLM", {**ENCODER, "is_decoder": True}),
    "data2vec": ("Data2VecText", "Data2VecTextForCausalLM", {**ENCODER, "is_decoder": True}),
    "openai-gpt": (
        "OpenAIGPT",
        "OpenAIGPTLMHeadModel",
        {"vocab_size": SIZE, "n_embd": 32, "n_layer": 2, "n_head": 4},
    ),
    "bert": ("Bert", "BertLMHeadModel", ENCODER),
    "masked roberta": ("Roberta", "RobertaForCausalLM", ENCODER),
}
BY_THEMSELVES = ("rwkv", "nemotron_h", "roberta", "camembert", "data2vec", "openai-gpt")
"""Whose numbers are right without padding and cache alone."""


def made(kind, **options):
    """A tiny random network whose weights are large enough for a token more to matter."""
    config, network, sizes = KINDS[kind]
    torch.manual_seed(1)
    network = getattr(transformers, network)(
        getattr(transformers, f"{config}Config")(**sizes, **options)
    )
    with torch.no_grad():
        for weight in network.parameters():
            if weight.dim() > 1:
                weight.mul_(weight.shape[-1] ** -0.5 / weight.std())
    network.generation_config.eos_token_id = 2
    return network.eval()


def tokenizer():
    """A word per token."""
    words = Tokenizer(models.WordLevel({f"w{k}": k for k in range(SIZE)}, unk_token="w0"))
    words.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return PreTrainedTokenizerFast(tokenizer_object=words)


@pytest.fixture(scope="module")
def long_texts():
    """Texts of unequal length with a beginning in common, beyond the window of a network above."""
    rng = np.random.default_rng(3)
    common = rng.integers(3, SIZE, 36).tolist()
    texts = [[*common, *rng.integers(3, SIZE, n).tolist()] for n in (2, 21, 9)]
    endings = [rng.integers(3, SIZE, n).tolist() for n in (1, 4, 2)]
    return texts, [[*endings, [*endings[2], 7, 8]] for _ in texts]


@pytest.mark.parametrize(
    "kind", [kind for kind in KINDS if "bert" not in kind or kind in BY_THEMSELVES]
)
def test_scores_and_answers_are_those_of_plain_passes(kind, long_texts, caplog):
    texts, continuations = long_texts
    network = made(kind)
    with caplog.at_level(logging.WARNING):
        model = model_of(network, tokenizer())
        scores = model.log_probabilities(texts, continuations)
        answers = model.generate(
            [
                Request(" ".join(f"w{token}" for token in text), seed, n_new, temperature)
                for seed, text in enumerate(texts)
                for n_new, temperature in ((5, 0.0), (3, 1.0))
            ]
        )
    for scored, expected in zip(scores, one_by_one(network, texts, continuations), strict=True):
        np.testing.assert_allclose(scored, expected, atol=1e-3)
    # An answer's own tokens, drawn ones too, have the probabilities of plain passes.
    for text, of_text in zip(texts, zip(answers[::2], answers[1::2], strict=True), strict=True):
        for answer in of_text:
            tokens = model.tokenizer(answer.text, add_special_tokens=False)["input_ids"]
            tokens += [2] * (answer.n_tokens - len(tokens))  # the end is no part of the text
            (expected,) = one_by_one(network, [text], [[tokens]])
            assert answer.logprob == pytest.approx(float(expected[0]), abs=2e-3)
    # Said once where it takes longer, and not at all elsewhere.
    said = [record.getMessage() for record in caplog.records if "by itself" in record.getMessage()]
    assert len(said) == (kind in BY_THEMSELVES)
    assert model.reading.batched == (kind not in BY_THEMSELVES)


def test_greedy_answers_of_mamba_are_those_of_transformers(long_texts):
    texts, _ = long_texts
    network = made("mamba")
    model = model_of(network, tokenizer())
    answers = model.generate(
        [Request(" ".join(f"w{token}" for token in text), 0, 12, 0.0) for text in texts]
    )
    for text, answer in zip(texts, answers, strict=True):
        with torch.inference_mode():
            whole = network.generate(
                torch.tensor([text]), max_new_tokens=12, do_sample=False, pad_token_id=0
            )
        assert answer.text == model.tokenizer.decode(
            whole[0, len(text) :], skip_special_tokens=True
        )


def test_an_answer_that_grows_beyond_where_positions_turn_is_that_of_plain_passes(long_texts):
    network = made("phi3")
    requests = [
        Request(" ".join(f"w{token}" for token in text[:41]), 0, 9, 1.0) for text in long_texts[0]
    ]
    answers, plain = (
        model_of(network, tokenizer(), reading=reading).generate(requests)
        for reading in (None, ALONE)
    )
    for answer, expected in zip(answers, plain, strict=True):
        assert answer.text == expected.text
        assert answer.logprob == pytest.approx(expected.logprob, abs=1e-3)


@pytest.mark.parametrize("kind", ["bert", "masked roberta"])
def test_a_masked_language_model_is_refused_when_it_is_loaded(kind, tmp_path):
    folder = tmp_path / "masked"
    made(kind).save_pretrained(folder)
    tokenizer().save_pretrained(folder)
    with pytest.raises(InputError, match="masked is a masked language model"):
        load_causal_model(folder)


@pytest.mark.parametrize("kind", ["bert", "masked roberta"])
@pytest.mark.parametrize(("dtype", "scale"), [(torch.bfloat16, 1.0), (torch.float32, 0.05)])
def test_a_masked_network_that_hardly_heeds_what_follows_is_refused_too(kind, dtype, scale):
    """Breaks if half precision, on accelerators the default, or small weights hide what it is."""
    network = made(kind)
    with torch.no_grad():
        for weight in network.parameters():
            if weight.dim() > 1:
                weight.mul_(scale)
    with pytest.raises(InputError, match="is a masked language model"):
        model_of(network.to(dtype), None).check()


def test_a_type_without_causal_models_is_one_short_line(tmp_path):
    folder = tmp_path / "t5"
    network = transformers.T5ForConditionalGeneration(
        transformers.T5Config(
            vocab_size=SIZE, d_model=16, d_kv=4, d_ff=16, num_layers=1, num_heads=2
        )
    )
    network.save_pretrained(folder)
    tokenizer().save_pretrained(folder)
    with pytest.raises(InputError, match="is of type t5, of which") as caught:
        load_causal_model(folder)
    said = str(caught.value).replace(str(folder), "FOLDER")  # however long its path is
    assert len(said) < 200
    assert "\n" not in said


def test_a_network_that_cannot_be_read_is_one_line_with_the_cause():
    class Breaks(Watched):
        def forward(self, input_ids, **options):
            raise KeyError("segment_ids")

    with pytest.raises(InputError, match=r"tiny cannot be asked: .* KeyError: 'segment_ids'"):
        model_of(Breaks(network_of("llama")), None).check()


def test_a_network_in_training_mode_is_refused_with_the_remedy():
    network = network_of("gpt2").train()
    with pytest.raises(InputError, match=r"network\.eval\(\)"):
        model_of(network, None).check()


class Overflows(Watched):
    """A network that gives no numbers after token 7."""

    def forward(self, input_ids, **options):
        output = super().forward(input_ids, **options)
        output.logits[(input_ids == 7).any(-1)] = float("nan")
        return output


def test_what_is_not_a_number_is_neither_handed_out_nor_drawn_from():
    model = model_of(Overflows(network_of("llama")), tokenizer(), reading=Reading())
    assert np.isfinite(model.log_probabilities([[5, 6]], [[[4]]])[0]).all()
    with pytest.raises(CoherenceError, match="not numbers.*float16"):
        model.log_probabilities([[5, 7]], [[[4]]])
    with pytest.raises(CoherenceError, match="not numbers.*float16"):
        model.generate([Request("w5 w7", 0, 2)])


@pytest.mark.parametrize("token", [-1, SIZE])
def test_a_token_that_the_network_does_not_have_is_refused(token):
    """Breaks if -1 is read as the last token of the vocabulary."""
    model = model_of(network_of("llama"), None)
    for text, ending in (([5, token], [4]), ([5], [4, token])):
        with pytest.raises(InputError, match=f"from 0 to {SIZE - 1}.*received .{token}"):
            model.log_probabilities([text], [[ending]])


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_what_can_be_read_fast_is(dtype):
    """Breaks where the look itself fails: every network would be read alone."""
    for kind in ("llama", "gpt2"):
        network = network_of(kind).to(dtype)
        state = torch.random.get_rng_state()
        assert model_of(network, None).reading == Reading()
        assert torch.equal(torch.random.get_rng_state(), state)  # nothing is drawn from the user's
    assert not model_of(network_of("mistral"), None).reading.takes_trees


def test_half_precision_has_a_bound_that_an_unheeded_mask_exceeds():
    class HeedsNoMask(Watched):
        def forward(self, input_ids, attention_mask=None, **options):
            if attention_mask is not None and attention_mask.dim() == 4:
                attention_mask = None
            return super().forward(input_ids, attention_mask=attention_mask, **options)

    reading = model_of(HeedsNoMask(network_of("llama").to(torch.bfloat16)), None).reading
    assert reading == Reading(takes_trees=False)


def test_the_context_of_a_network_of_texts_and_pictures_is_that_of_its_text():
    """Breaks if a text is read at positions that the network was not made for."""
    sizes = {**ENCODER, "num_key_value_heads": 2, "head_dim": 8, "max_position_embeddings": 64}
    config = transformers.Gemma3Config(
        text_config={**sizes, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2},
        vision_config={
            **{"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2},
            **{"intermediate_size": 16, "image_size": 28, "patch_size": 14},
        },
        mm_tokens_per_image=4,
    )
    model = model_of(transformers.Gemma3ForConditionalGeneration(config).eval(), None)
    assert np.isfinite(model.log_probabilities([[5] * 63], [[[6]]])[0]).all()
    with pytest.raises(InputError, match="exceeds the model's context of 64 tokens"):
        model.log_probabilities([[5] * 64], [[[6]]])


def test_positions_kept_for_padding_are_not_promised():
    model = model_of(made("roberta", max_position_embeddings=60), None)
    assert np.isfinite(model.log_probabilities([[5] * 57], [[[6]]])[0]).all()
    with pytest.raises(InputError, match="exceeds the model's context of 58 tokens"):
        model.log_probabilities([[5] * 58], [[[6]]])
