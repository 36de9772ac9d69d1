"""Portions of work: breaks if a lack of memory changes a number, or hides another error."""

import numpy as np
import pytest
import torch

from coherence import CoherenceError
from elicitation import Request
from elicitation.models.local.memory import Portions, is_out_of_memory
from elicitation.models.local.trees import MaskedTrees

from .tiny_networks import Watched, model_of, network_of

OUT_OF_MEMORY = [
    torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB"),
    RuntimeError(
        "[enforce fail at alloc_cpu.cpp:121] err == 0. DefaultCPUAllocator: "
        "can't allocate memory: you tried to allocate 9 bytes."
    ),
]


def work(portions, sizes, do, **options):
    """Work in portions whose results nobody wants."""
    portions.results(sizes, lambda rows: [do(rows)] + [None] * (len(rows) - 1), **options)


@pytest.mark.lengthy
@pytest.mark.parametrize("error", OUT_OF_MEMORY, ids=["accelerator", "processor"])
def test_batches_are_halved_where_memory_does_not_suffice(requests, error, model):
    texts, continuations = requests
    network = network_of("llama")
    expected = model_of(network, None).log_probabilities(texts, continuations)
    watched = Watched(network, limit=70, error=error)
    tight = model_of(watched, None)
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
    small = model_of(Watched(model.network, limit=30, error=error), model.tokenizer)
    assert [answer.text for answer in small.generate(asked)] == [
        answer.text for answer in model.generate(asked)
    ]
    assert small.network.failures > 0


def test_a_text_that_fits_in_no_way_is_named(requests):
    model = model_of(Watched(network_of("llama"), limit=8), None)
    model._trees = lambda texts: MaskedTrees(model.network, texts)
    with pytest.raises(CoherenceError, match="does not suffice for a single text of 50 tokens"):
        model.log_probabilities([list(range(48))], [[[1, 2]]])


def test_other_errors_are_not_taken_for_a_lack_of_memory():
    portions = Portions(None, grows=False)

    def do(rows):
        raise RuntimeError("shapes do not match")

    with pytest.raises(RuntimeError, match="shapes do not match"):
        work(portions, [1, 2], do)
    assert not is_out_of_memory(ValueError("out of memory"))


def test_portions_grow_until_memory_says_no_and_no_further():
    portions = Portions(None, grows=True)
    start, seen = portions.cells, []

    def do(rows):
        seen.append(len(rows))
        if len(rows) > 3 * start:
            raise torch.OutOfMemoryError("no")

    work(portions, [1] * (12 * start), do)
    assert seen[:3] == [start, 2 * start, 4 * start]
    assert max(seen[3:]) == 2 * start
    assert sum(size for size in seen if size <= 3 * start) == 12 * start


def test_the_largest_items_come_first_and_rows_are_limited():
    seen = []
    work(Portions(2, grows=False), [3, 9, 1, 7], seen.append)
    assert seen == [[1, 3], [0, 2]]


def test_items_that_belong_together_are_worked_on_together():
    portions = Portions(None, grows=False)
    portions.cells = 6
    seen = []
    # Padded to the largest of all that are left, for any may share a portion with it.
    work(portions, [1, 3, 2, 2], seen.append, order=[2, 0, 3, 1])
    assert seen == [[2, 0], [3, 1]]
    assert portions.results([1, 1], lambda rows: [10 * i for i in rows], order=[1, 0]) == [0, 10]


def test_portions_may_be_kept_smaller_than_what_fits():
    portions, seen = Portions(None, grows=False), []
    work(portions, [10] * 7, seen.append, most_cells=30)
    assert list(map(len, seen)) == [3, 3, 1]
    work(portions, [40, 40], seen.append, most_cells=30)  # a single item is never refused
    assert list(map(len, seen[3:])) == [1, 1]
