"""Log-probabilities of sequences: breaks if sharing, batching or the kind of network matters."""

import numpy as np
import pytest
import torch
from tokenizers import decoders

from coherence import InputError
from elicitation import Request, load_causal_model, outcome_probabilities
from elicitation.models.local.forward import ALONE
from elicitation.spelling.spellings import Spelling

from ...tiny_tokenizers import BYTE_LEVEL, tokenizer_of
from .tiny_networks import Watched, model_of, network_of, one_by_one


@pytest.mark.parametrize("kind", ["llama", "gpt2", "mistral", "bloom"])
@pytest.mark.parametrize("batch_size", [1, 4, None])
def test_scores_equal_one_forward_pass_per_continuation(kind, batch_size, requests):
    texts, continuations = requests
    network = network_of(kind)
    scores = model_of(network, None, batch_size=batch_size).log_probabilities(texts, continuations)
    for scored, expected in zip(scores, one_by_one(network, texts, continuations), strict=True):
        np.testing.assert_allclose(scored, expected, atol=1e-4)
    order = np.random.default_rng(5).permutation(len(texts))
    shuffled = model_of(network, None, batch_size=batch_size).log_probabilities(
        [texts[i] for i in order], [continuations[i][::-1] for i in order]
    )
    for position, i in enumerate(order):
        np.testing.assert_allclose(shuffled[position][::-1], scores[i], atol=1e-4)


class HeedsNoMask(Watched):
    """A network whose attention drops the mask that it is given, as some kernels do."""

    def forward(self, input_ids, attention_mask=None, **options):
        if attention_mask is not None and attention_mask.dim() == 4:
            attention_mask = None
        return super().forward(input_ids, attention_mask=attention_mask, **options)


class TakesNoMask(Watched):
    """A network that fails on a mask of four dimensions."""

    def forward(self, input_ids, attention_mask=None, **options):
        if attention_mask is not None and attention_mask.dim() == 4:
            raise ValueError("attention_mask must have two dimensions")
        return super().forward(input_ids, attention_mask=attention_mask, **options)


class HeedsNoPositions(Watched):
    """A network that counts positions by columns, whatever it is told."""

    def forward(self, input_ids, position_ids=None, **options):
        return super().forward(input_ids, **options)


@pytest.mark.parametrize("broken", [HeedsNoMask, TakesNoMask, HeedsNoPositions])
def test_masks_are_tried_and_not_believed(broken):
    """Continuations share a tree where masks are heeded, and are read one by one elsewhere."""
    network = network_of("llama")
    texts, continuations = [[5, 3, 8, 7]], [[[6, 7, 8], [6, 7, 9, 4], [9, 12, 3]]]
    expected = one_by_one(network, texts, continuations)
    (scores,) = model_of(broken(network), None).log_probabilities(texts, continuations)
    np.testing.assert_allclose(scores, expected[0], atol=1e-4)


def test_what_is_shared_is_read_once(requests):
    text = list(range(3, 23))
    network = Watched(network_of("llama"))
    model = model_of(network, None)
    model.log_probabilities([text], [[[5]]])  # the kind of tree is found out here
    network.tokens, network.shapes = 0, []
    model.log_probabilities([text], [[[5], [6], [7]]])
    assert network.shapes == [(1, 20)]  # single tokens cost the text alone
    network.tokens, network.shapes = 0, []
    model.log_probabilities([text], [[[5, 6, 7], [5, 6, 8], [5, 9], [4]]])
    assert network.shapes == [(1, 20), (1, 2)]  # 5 and 5 6: the last tokens are never read


def test_tokens_that_will_follow_are_read_in_the_same_pass():
    """Breaks if a chain takes a pass for each token, or counts what was read before its parent."""
    network = Watched(network_of("llama"))
    tokenizer = tokenizer_of(BYTE_LEVEL, decoders.ByteLevel())
    model, alone = (model_of(network, tokenizer, **options) for options in ({}, {"reading": ALONE}))
    model.check()
    texts = model.encode(["a", "12"])
    spellings = [Spelling("chain", b"0a1a2"), Spelling("short", b"0a2")]
    network.shapes = []
    read = model.spelling_masses(texts, spellings, tolerance=0)
    assert [rows for rows, _ in network.shapes] == [2, 2]  # the texts, and all that follows
    expected = alone.spelling_masses(texts, spellings, tolerance=0)
    np.testing.assert_allclose(read.masses, expected.masses, rtol=1e-3)
    assert (read.masses > 0).all()


def test_scores_that_cannot_be_had(requests):
    model = model_of(network_of("llama"), None)
    with pytest.raises(InputError, match="one entry per text; received 1 for 2 texts"):
        model.log_probabilities([[1], [2]], [[[1]]])
    with pytest.raises(
        InputError,
        match="a text of 127 tokens with a continuation of 2 exceeds the model's context of 128",
    ):
        model.log_probabilities([[1] * 127], [[[1, 2]]])
    assert model.log_probabilities([], []) == []
    assert [scores.tolist() for scores in model.log_probabilities([[1]], [[]])] == [[]]


def test_half_precision_is_near_single_precision(model_folder):
    texts, outcomes = ["Does a patient cough?", "Why?"], ["0", "1", "Yes", "No"]
    single = outcome_probabilities(
        load_causal_model(model_folder, dtype="float32"), texts, outcomes
    )
    half = load_causal_model(model_folder, dtype="bfloat16")
    assert half.network.dtype == torch.bfloat16
    np.testing.assert_allclose(
        outcome_probabilities(half, texts, outcomes).probabilities, single.probabilities, atol=0.05
    )
    assert len(half.generate([Request("Why?", 0, 5)])) == 1
