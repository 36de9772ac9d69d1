"""Log-probabilities of sequences: breaks if sharing, batching or the kind of network matters."""

import numpy as np
import pytest
import torch

from coherence import InputError
from elicitation import Request, load_causal_model, outcome_probabilities
from elicitation.models.local import scoring
from elicitation.models.local.scoring import continuation_logprobs
from elicitation.models.local.trees import MaskedTrees, PlainTrees, trees_for

from .tiny_networks import SIZE, Watched, model_of, network_of, one_by_one


@pytest.mark.parametrize(
    ("kind", "trees"),
    [("llama", MaskedTrees), ("gpt2", MaskedTrees), ("mistral", PlainTrees), ("bloom", PlainTrees)],
)
@pytest.mark.parametrize("batch_size", [1, 4, None])
def test_scores_equal_one_forward_pass_per_continuation(kind, trees, batch_size, requests):
    texts, continuations = requests
    network = network_of(kind)
    assert trees_for(network) is trees
    scores = model_of(network, None, batch_size=batch_size).log_probabilities(texts, continuations)
    for scored, expected in zip(scores, one_by_one(network, texts, continuations), strict=True):
        np.testing.assert_allclose(scored, expected, atol=1e-4)
    order = np.random.default_rng(5).permutation(len(texts))
    shuffled = model_of(network, None, batch_size=batch_size).log_probabilities(
        [texts[i] for i in order], [continuations[i][::-1] for i in order]
    )
    for position, i in enumerate(order):
        np.testing.assert_allclose(shuffled[position][::-1], scores[i], atol=1e-4)


def test_a_tree_in_many_portions_has_the_same_scores(requests, monkeypatch):
    texts, continuations = requests
    network = network_of("gpt2")
    expected = one_by_one(network, texts, continuations)
    monkeypatch.setattr(scoring, "_LOGITS", 3 * SIZE * len(texts))  # three nodes at a time
    with torch.inference_mode():
        scores = continuation_logprobs(MaskedTrees(network, texts), continuations)
    for scored, other in zip(scores, expected, strict=True):
        np.testing.assert_allclose(scored, other, atol=1e-4)


def test_what_is_shared_is_read_once(requests):
    text = list(range(3, 23))
    network = Watched(network_of("llama"))
    model = model_of(network, None)
    trees_for(network)
    model.log_probabilities([text], [[[5]]])  # the kind of tree is found out here
    network.tokens, network.shapes = 0, []
    model.log_probabilities([text], [[[5], [6], [7]]])
    assert network.shapes == [(1, 20)]  # single tokens cost the text alone
    network.tokens, network.shapes = 0, []
    model.log_probabilities([text], [[[5, 6, 7], [5, 6, 8], [5, 9], [4]]])
    assert network.shapes == [(1, 20), (1, 2)]  # 5 and 5 6: the last tokens are never read


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
    assert half._trees.func is MaskedTrees
    np.testing.assert_allclose(
        outcome_probabilities(half, texts, outcomes).probabilities, single.probabilities, atol=0.05
    )
    assert len(half.generate([Request("Why?", 0, 5)])) == 1
