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
from elicitation.models.local.forward import ALONE, ReadingMode

from .tiny_networks import SIZE, HeedsNoMask, Watched, model_of, network_of, one_by_one, untrained

WIDE = {"vocab_size": SIZE, "hidden_size": 32, "num_hidden_layers": 2}
ENCODER = {**WIDE, "num_attention_heads": 4, "intermediate_size": 64}
DECODER = {**ENCODER, "is_decoder": True}
GROUPED = {**ENCODER, "num_key_value_heads": 2}
SHORT, ENDS = {"vocab_size": SIZE, "n_layer": 2}, {"bos_token_id": 1, "eos_token_id": 2}
ROPE = {"rope_type": "longrope", "rope_theta": 1e4, "short_factor": [1.0] * 4}
KINDS = {
    "rwkv": ("Rwkv", "RwkvForCausalLM", {**WIDE, "attention_hidden_size": 32}),
    "mamba": ("Mamba", "MambaForCausalLM", {**WIDE, "state_size": 8}),
    # A window of 40 tokens: more than a look at these weights reads, less than a text below.
    "gpt_neo": ("GPTNeo", "GPTNeoForCausalLM", {
        "vocab_size": SIZE, "hidden_size": 32, "num_layers": 2, "num_heads": 4, "window_size": 40,
        "attention_types": [[["global", "local"], 1]], **ENDS,
    }),
    # Other positions in texts of more than 44 tokens: some of those below, and not all.
    "phi3": ("Phi3", "Phi3ForCausalLM", {
        **GROUPED, "pad_token_id": 0, "eos_token_id": 2, "max_position_embeddings": 99,
        "original_max_position_embeddings": 44,
        "rope_parameters": {**ROPE, "long_factor": [1.5, 2.0, 4.0, 8.0]},
    }),
    # Chunks of 44 columns, padding behind a common beginning included.
    "llama4": ("Llama4Text", "Llama4ForCausalLM", {
        **GROUPED, "head_dim": 8, "intermediate_size_mlp": 64, "attention_chunk_size": 44,
        "num_local_experts": 2, "num_hidden_layers": 4, "pad_token_id": 0, **ENDS,
    }),
    # Its cached step leaves out a bound that a pass heeds: a little more is wrong with every token.
    "nemotron_h": ("NemotronH", "NemotronHForCausalLM", {
        **GROUPED, "head_dim": 8, "eos_token_id": 2, "hybrid_override_pattern": "M*",
        "mamba_num_heads": 8, "mamba_head_dim": 8, "time_step_min": 0.05, "ssm_state_size": 16,
        "n_groups": 1, "chunk_size": 16,
    }),
    "roberta": ("Roberta", "RobertaForCausalLM", DECODER),
    "openai-gpt": ("OpenAIGPT", "OpenAIGPTLMHeadModel", {**SHORT, "n_embd": 32, "n_head": 4}),
    "bert": ("Bert", "BertLMHeadModel", ENCODER),
    "masked roberta": ("Roberta", "RobertaForCausalLM", ENCODER),
}  # fmt: skip
BY_THEMSELVES = ("rwkv", "nemotron_h", "roberta", "openai-gpt", "phi3")
"""Whose numbers are right without padding and cache alone, some beyond a length."""


def made(kind, **options):
    """A tiny random network whose weights are large enough for a token more to matter."""
    config, network, sizes = KINDS[kind]
    network = untrained(config, network, {**sizes, **options})
    with torch.no_grad():
        for weight in network.parameters():
            if weight.dim() > 1:
                weight.mul_(weight.shape[-1] ** -0.5 / weight.std())
    network.generation_config.eos_token_id = 2
    return network


def tokenizer():
    """A word per token."""
    words = Tokenizer(models.WordLevel({f"w{k}": k for k in range(SIZE)}, unk_token="w0"))
    words.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return PreTrainedTokenizerFast(tokenizer_object=words)


def asking(text, seed, n_new, temperature):
    return Request(" ".join(f"w{token}" for token in text), seed, n_new, temperature)


@pytest.fixture(scope="module")
def long_texts():
    """Texts of unequal length with a beginning in common, beyond the window of a network above."""
    rng = np.random.default_rng(3)
    common = rng.integers(3, SIZE, 36).tolist()
    texts = [[*common, *rng.integers(3, SIZE, n).tolist()] for n in (2, 21, 9)]
    endings = [rng.integers(3, SIZE, n).tolist() for n in (1, 4, 2)]
    return texts, [[*endings, [*endings[2], 7, 8]] for _ in texts]


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in ("bert", "masked roberta")])
def test_scores_and_answers_are_those_of_plain_passes(kind, long_texts, caplog):
    texts, continuations = long_texts
    network = made(kind)
    drawing = [
        asking(text, seed, *how) for seed, text in enumerate(texts) for how in ((5, 0.0), (3, 1.0))
    ]
    with caplog.at_level(logging.WARNING):
        model = model_of(network, tokenizer())
        scores = model.log_probabilities(texts, continuations)
        answers = model.generate(drawing)
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
    assert model.reading_at(64).batched == (kind not in BY_THEMSELVES)


def test_an_answer_that_grows_beyond_where_positions_turn_is_that_of_plain_passes(
    long_texts, monkeypatch
):
    """Breaks if what was read in a batch is read on there."""
    monkeypatch.setattr("elicitation.models.local.causal._FIRST_REACH", 4)
    network = made("phi3", original_max_position_embeddings=64, max_position_embeddings=160)
    requests = [asking(text[:57], 0, 40, 1.0) for text in long_texts[0]]
    models = [model_of(network, tokenizer(), reading=how) for how in (None, ALONE)]
    assert [models[0].reading_at(n).batched for n in (64, 65)] == [True, False]
    for answer, expected in zip(*(model.generate(requests) for model in models), strict=True):
        assert answer.text == expected.text
        assert answer.logprob == pytest.approx(expected.logprob, abs=1e-3)


@pytest.mark.parametrize("kind", ["bert", "masked roberta"])
def test_a_masked_language_model_is_refused_also_where_it_hardly_heeds_what_follows(kind, tmp_path):
    """Breaks if half precision, on accelerators the default, or small weights hide what it is."""
    folder = tmp_path / "masked"
    made(kind).save_pretrained(folder)
    tokenizer().save_pretrained(folder)
    with pytest.raises(InputError, match="masked is a masked language model"):
        load_causal_model(folder)
    for dtype, scale in ((torch.bfloat16, 1.0), (torch.float32, 0.05)):
        network = made(kind)
        with torch.no_grad():
            for weight in network.parameters():
                if weight.dim() > 1:
                    weight.mul_(scale)
        with pytest.raises(InputError, match="is a masked language model"):
            model_of(network.to(dtype), None).check()


class Breaks(Watched):
    def forward(self, input_ids, **options):
        raise KeyError("segment_ids")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (Breaks, r"tiny cannot be asked: .* KeyError: 'segment_ids'"),
        (lambda network: network.train(), r"network\.eval\(\)"),
    ],
)
def test_a_network_that_cannot_be_read_or_is_in_training_is_refused(change, message):
    with pytest.raises(InputError, match=message):
        model_of(change(network_of("gpt2")), None).check()


class Overflows(Watched):
    """A network that gives no numbers after token 7."""

    def forward(self, input_ids, **options):
        output = super().forward(input_ids, **options)
        output.logits[(input_ids == 7).any(-1)] = float("nan")
        return output


def test_what_is_not_a_number_is_neither_handed_out_nor_drawn_from():
    model = model_of(Overflows(network_of("llama")), tokenizer(), reading=ReadingMode())
    assert np.isfinite(model.log_probabilities([[5, 6]], [[[4]]])[0]).all()
    with pytest.raises(CoherenceError, match="not numbers.*float16"):
        model.log_probabilities([[5, 7]], [[[4]]])
    with pytest.raises(CoherenceError, match="not numbers.*float16"):
        model.generate([asking([5, 7], 0, 2, 1.0)])


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_what_can_be_read_fast_is(dtype):
    """Breaks where the look itself fails: every network would be read alone."""
    for kind in ("llama", "gpt2"):
        network = network_of(kind).to(dtype)
        state = torch.random.get_rng_state()
        assert model_of(network, None).reading_at(64) == ReadingMode()
        assert torch.equal(torch.random.get_rng_state(), state)  # nothing is drawn from the user's
    assert not model_of(network_of("mistral"), None).reading_at(64).takes_trees
    # Half precision has a bound that an unheeded mask exceeds.
    reading = model_of(HeedsNoMask(network_of("llama").to(dtype)), None).reading_at(64)
    assert reading == ReadingMode(takes_trees=False)


def test_what_half_precision_would_hide_is_seen_and_weights_stay_as_they_were():
    network = made("nemotron_h").to(torch.bfloat16)
    before = {name: weight.clone() for name, weight in network.state_dict().items()}
    assert not model_of(network, None).reading_at(64).batched
    for name, weight in network.state_dict().items():
        assert weight.dtype == torch.bfloat16
        assert torch.equal(weight, before[name])


def texts_and_pictures():
    seen = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "patch_size": 14}
    text = {**GROUPED, "head_dim": 8, "max_position_embeddings": 64, "pad_token_id": 0, **ENDS}
    config = transformers.Gemma3Config(
        text_config=text,
        vision_config={**seen, "intermediate_size": 16, "image_size": 28},
        mm_tokens_per_image=4,
    )
    return transformers.Gemma3ForConditionalGeneration(config).eval()


@pytest.mark.parametrize(
    ("make", "context"),
    [
        (texts_and_pictures, 64),  # that of its text
        # Positions kept for padding are not promised.
        (lambda: made("roberta", max_position_embeddings=60), 58),
    ],
)
def test_texts_are_read_at_positions_that_the_network_was_made_for(make, context):
    model = model_of(make(), None)
    assert np.isfinite(model.log_probabilities([[5] * (context - 1)], [[[6]]])[0]).all()
    with pytest.raises(InputError, match=f"exceeds the model's context of {context} tokens"):
        model.log_probabilities([[5] * context], [[[6]]])
