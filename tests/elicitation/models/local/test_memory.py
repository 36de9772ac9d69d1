"""Portions of work: breaks if a lack of memory changes a number, or hides another error."""

import numpy as np
import pytest
import torch

from coherence import CoherenceError
from elicitation import Request

from .tiny_networks import Watched, model_of, network_of

OUT_OF_MEMORY = {
    "accelerator": torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB"),
    "processor": RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate"),
}


def limited(network, tokenizer, *, limit, error=None):
    """A model that has been looked at, and then has little memory."""
    model = model_of(Watched(network, error=error), tokenizer)
    model.reading_at(1)
    model.network.limit = limit
    return model


@pytest.mark.lengthy
@pytest.mark.parametrize("error", OUT_OF_MEMORY.values(), ids=OUT_OF_MEMORY)
def test_batches_are_halved_where_memory_does_not_suffice(requests, error, model):
    texts, continuations = requests
    network = network_of("llama")
    expected = model_of(network, None).log_probabilities(texts, continuations)
    tight = limited(network, None, limit=70, error=error)
    for mine, other in zip(tight.log_probabilities(texts, continuations), expected, strict=True):
        np.testing.assert_allclose(mine, other, atol=1e-4)
    failures = tight.network.failures
    assert 0 < failures < 6
    tight.log_probabilities(texts, continuations)
    assert tight.network.failures == failures  # what was learnt is kept
    # Answers too are the same, whatever the batch.
    said = ["Does a patient cough?", "Why?", "Consider a patient."] * 4
    asked = [Request(text, seed, 6) for seed, text in enumerate(said)]
    small = limited(model.network, model.tokenizer, limit=30, error=error)
    assert [each.text for each in small.generate(asked)] == [
        each.text for each in model.generate(asked)
    ]
    assert small.network.failures > 0


@pytest.mark.parametrize(
    ("error", "raised", "message"),
    [
        (None, CoherenceError, "does not suffice for a single text of"),
        (RuntimeError("shapes do not match"), RuntimeError, "shapes do not match"),
    ],
)
def test_a_text_that_fits_in_no_way_is_named_and_other_errors_pass(error, raised, message):
    model = limited(network_of("llama"), None, limit=8, error=error)
    with pytest.raises(raised, match=message):
        model.log_probabilities([list(range(48))], [[[1, 2]]])
