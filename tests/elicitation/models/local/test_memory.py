"""Portions of work: breaks if a lack of memory changes a number, or hides another error."""

import numpy as np
import pytest
import torch

from coherence import CoherenceError
from elicitation import Request

from .tiny_networks import Watched, model_of, network_of

OUT_OF_MEMORY = [
    torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB"),
    RuntimeError(
        "[enforce fail at alloc_cpu.cpp:121] err == 0. DefaultCPUAllocator: "
        "can't allocate memory: you tried to allocate 9 bytes."
    ),
]


def limited(network, tokenizer, *, limit, error=None):
    """A model that has been looked at, and then has little memory."""
    model = model_of(Watched(network, error=error), tokenizer)
    model.check()
    model.network.limit = limit
    return model


@pytest.mark.parametrize("error", OUT_OF_MEMORY, ids=["accelerator", "processor"])
def test_batches_are_halved_where_memory_does_not_suffice(requests, error, model):
    texts, continuations = requests
    network = network_of("llama")
    expected = model_of(network, None).log_probabilities(texts, continuations)
    tight = limited(network, None, limit=70, error=error)
    watched = tight.network
    for mine, other in zip(tight.log_probabilities(texts, continuations), expected, strict=True):
        np.testing.assert_allclose(mine, other, atol=1e-4)
    assert 0 < watched.failures < 6
    failures = watched.failures
    tight.log_probabilities(texts, continuations)
    assert watched.failures == failures  # what was learnt is kept
    # Answers too are the same, whatever the batch.
    asked = [
        Request(text, seed, 6)
        for seed, text in enumerate(["Does a patient cough?", "Why?", "Consider a patient."] * 4)
    ]
    small = limited(model.network, model.tokenizer, limit=30, error=error)
    assert [answer.text for answer in small.generate(asked)] == [
        answer.text for answer in model.generate(asked)
    ]
    assert small.network.failures > 0


def test_a_text_that_fits_in_no_way_is_named():
    model = limited(network_of("llama"), None, limit=8)
    with pytest.raises(CoherenceError, match="does not suffice for a single text of"):
        model.log_probabilities([list(range(48))], [[[1, 2]]])


def test_other_errors_are_not_taken_for_a_lack_of_memory():
    other = RuntimeError("shapes do not match")
    model = limited(network_of("llama"), None, limit=8, error=other)
    with pytest.raises(RuntimeError, match="shapes do not match"):
        model.log_probabilities([list(range(48))], [[[1, 2]]])
