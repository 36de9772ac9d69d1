"""Texts before anything is drawn: breaks if sharing or padding changes what comes after them."""

import pytest
import torch

from coherence import InputError
from elicitation.models.local.forward import check_fits, read_texts, reading_order

from .tiny_networks import Watched, network_of


def test_a_common_beginning_and_equal_texts_are_read_once():
    text = list(range(3, 23))
    network = Watched(network_of("llama"))
    with torch.inference_mode():
        read_texts(network, [[*text, 5], [*text, 6, 7], [*text, 5]])
    assert network.shapes == [(1, 20), (2, 2)]  # the common beginning, then two distinct ends


@pytest.mark.parametrize("kind", ["llama", "gpt2", "mistral", "bloom"])
def test_logits_after_a_text_are_those_of_the_text_alone(kind):
    network = network_of(kind)
    shared = list(range(3, 23))
    texts = [[*shared, 7], [*shared, 8, 9], [*shared, 7], [4], [6, 5, 4]]
    # With a common beginning, with equal texts in any place, and with padding alone.
    for chosen in (texts[:3], texts):
        with torch.inference_mode():
            together = read_texts(network, chosen)
            alone = torch.stack([network(torch.tensor([text])).logits[0, -1] for text in chosen])
        assert together.lengths.tolist() == [len(text) for text in chosen]
        torch.testing.assert_close(together.logits, alone, atol=1e-4, rtol=1e-4)


def test_a_text_beyond_the_context_is_refused_and_one_that_fills_it_is_not():
    network = network_of("llama")
    check_fits(network, 128, "a text")
    with pytest.raises(InputError, match="a text exceeds the model's context of 128 tokens"):
        check_fits(network, 129, "a text")
    check_fits(network_of("bloom"), 10**6, "a text")  # states no limit


def test_neighbours_begin_alike_and_are_as_long():
    plain, framed = [7] * 20 + [1, 1], [7] * 20 + [2, 2]
    texts = [framed + [5] * 3, plain + [5] * 4, [*framed, 4], plain + [6] * 2, plain + [3] * 9]
    assert reading_order(texts) == [3, 1, 4, 2, 0]
    assert reading_order([]) == []
