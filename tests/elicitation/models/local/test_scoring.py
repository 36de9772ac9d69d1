"""Log-probabilities of sequences: breaks if sharing, batching or the kind of network matters."""

import numpy as np
import pytest
from tokenizers import decoders

from coherence import InputError
from elicitation.models.local.forward import ALONE, ReadingMode
from elicitation.spelling.forms import Spelling

from ...tiny_tokenizers import BYTE_LEVEL, tokenizer_of
from .tiny_networks import (
    LLAMA,
    SIZE,
    HeedsNoMask,
    Watched,
    model_of,
    network_of,
    one_by_one,
    untrained,
)


@pytest.mark.parametrize("kind", ["llama", "gpt2", "mistral", "bloom"])
@pytest.mark.parametrize("batch_size", [1, None])
def test_scores_equal_one_forward_pass_per_continuation(kind, batch_size, requests):
    texts, continuations = requests
    network = network_of(kind)
    model = model_of(network, None, batch_size=batch_size)
    expected = one_by_one(network, texts, continuations)
    for scored, own in zip(model.log_probabilities(texts, continuations), expected, strict=True):
        np.testing.assert_allclose(scored, own, atol=1e-4)
    order = np.random.default_rng(5).permutation(len(texts))
    shuffled = model.log_probabilities(
        [texts[i] for i in order], [continuations[i][::-1] for i in order]
    )
    for position, i in enumerate(order):
        np.testing.assert_allclose(shuffled[position][::-1], expected[i], atol=1e-4)


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


def test_what_is_shared_or_will_follow_is_read_once():
    """Breaks if a chain takes a pass for each token, or counts what was read before its parent."""
    network = Watched(network_of("llama"))
    tokenizer = tokenizer_of(BYTE_LEVEL, decoders.ByteLevel())
    model, alone = (model_of(network, tokenizer, **options) for options in ({}, {"reading": ALONE}))
    model.reading_at(1)
    text = list(range(3, 13))
    for endings, shapes in (
        ([[5], [6], [7]], [(1, 10)]),  # single tokens cost the text alone
        # 5 and 5 6: the last tokens are never read.
        ([[5, 6, 7], [5, 6, 8], [5, 9], [4]], [(1, 10), (1, 2)]),
    ):
        network.shapes = []
        model.log_probabilities([text], [endings])
        assert network.shapes == shapes
    texts = model.encode(["a", "12"])
    spellings = [Spelling("chain", b"0a1a2"), Spelling("short", b"0a2")]
    network.shapes = []
    read = model.spelling_masses(texts, spellings, tolerance=0)
    assert [rows for rows, _ in network.shapes] == [2, 2]  # the texts, and all that follows
    expected = alone.spelling_masses(texts, spellings, tolerance=0)
    np.testing.assert_allclose(read.masses, expected.masses, rtol=1e-3)
    assert (read.masses > 0).all()


CHAIN = [Spelling("chain", b"0a1a2"), Spelling("short", b"0a2"), Spelling("1", b"1")]


@pytest.mark.parametrize(("columns", "cells"), [(4, 1 << 27), (5, 1 << 27), (4096, 150)])
def test_trees_that_are_cut_back_to_their_texts_give_the_same(
    columns, cells, requests, monkeypatch
):
    """Breaks if a node is read without one that it grows from, or if memory has no bound."""
    texts, continuations = requests
    network = Watched(network_of("llama"))
    model = model_of(network, tokenizer_of(BYTE_LEVEL, decoders.ByteLevel()), reading=ReadingMode())
    expected = one_by_one(network.network, texts, continuations)
    starts = model.encode(["a", "12"])
    read = model.spelling_masses(starts, CHAIN, tolerance=0)
    monkeypatch.setattr("elicitation.models.local.forward._MOST_COLUMNS", columns)
    monkeypatch.setattr("elicitation.models.local.forward._MOST_CELLS", cells)
    for scored, own in zip(model.log_probabilities(texts, continuations), expected, strict=True):
        np.testing.assert_allclose(scored, own, atol=1e-4)
    network.shapes = []
    again = model.spelling_masses(starts, CHAIN, tolerance=0)
    np.testing.assert_allclose(again.masses, read.masses, rtol=1e-3)
    assert len(network.shapes) > 2
    assert all(width <= columns for _, width in network.shapes[1:])


@pytest.mark.parametrize("n_text", [10, 74, 78])
def test_trees_within_the_window_of_a_network_are_read_as_trees(n_text):
    """Texts of 74 lie with all that follows in a window of 80, those of 78 do not."""
    network = untrained("Mistral", "MistralForCausalLM", {**LLAMA, "sliding_window": 80})
    watched = Watched(network)
    model = model_of(watched, None)
    assert [model.reading_at(n).takes_trees for n in (14, 78, 79, 80)] == [True] * 3 + [False]
    text = np.random.default_rng(0).integers(3, SIZE, n_text).tolist()
    endings = [[5, 6, 7], [5, 6, 8], [5, 9, 3, 4]]
    watched.shapes = []
    (scores,) = model.log_probabilities([text], [endings])
    np.testing.assert_allclose(scores, one_by_one(network, [text], [endings])[0], atol=1e-4)
    assert (watched.shapes[1][0] == 1) == (n_text < 78)


@pytest.mark.parametrize(
    ("texts", "endings", "message"),
    [
        ([[1], [2]], [[[1]]], "one entry per text; received 1 for 2 texts"),
        ([[1] * 127], [[[1, 2]]], "of 127 tokens with a continuation of 2 .*context of 128"),
        # Breaks if -1 is read as the last token of the vocabulary.
        ([[5, -1]], [[[4]]], f"from 0 to {SIZE - 1}.*received .-1"),
        ([[5]], [[[4, SIZE]]], f"from 0 to {SIZE - 1}.*received .{SIZE}"),
    ],
)
def test_scores_that_cannot_be_had(texts, endings, message):
    model = model_of(network_of("llama"), None)
    with pytest.raises(InputError, match=message):
        model.log_probabilities(texts, endings)
    assert model.log_probabilities([], []) == []
    assert [scores.tolist() for scores in model.log_probabilities([[1]], [[]])] == [[]]
