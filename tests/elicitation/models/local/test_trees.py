"""Trees of tokens: breaks if a node sees what does not precede it, or a mask is believed unseen."""

import pytest
import torch

from elicitation.models.local.trees import ROOT, MaskedTrees, PlainTrees, trees_for

from .tiny_networks import SIZE, Watched, network_of

TEXTS = [[5, 3, 8, 7], [9, 4]]
# Children of the root, of nodes of the same call, and of nodes of the call before; the second tree
# has fewer nodes, and is filled up.
FIRST = [[(ROOT, 6), (0, 7), (1, 8), (ROOT, 9)], [(ROOT, 6), (0, 10)]]
SECOND = [[(2, 11), (3, 12)], [(1, 13), (4, 14)]]
PATHS = [[[6], [6, 7], [6, 7, 8], [9], [6, 7, 8, 11], [9, 12]], [[6], [6, 10], [6, 10, 13]]]


@pytest.mark.parametrize("kind", ["llama", "gpt2"])
@pytest.mark.parametrize("trees", [MaskedTrees, PlainTrees])
def test_a_node_is_read_after_its_text_and_its_ancestors(trees, kind):
    network = network_of(kind)
    with torch.inference_mode():
        grown = trees(network, TEXTS)
        first, second = grown.grow(FIRST), grown.grow(SECOND)
        for row, text in enumerate(TEXTS):
            nodes = [*first[row, : len(FIRST[row])], *second[row]]
            for path, logits in zip(PATHS[row], nodes, strict=False):
                alone = network(torch.tensor([text + path])).logits[0, -1]
                torch.testing.assert_close(logits, alone, atol=1e-4, rtol=1e-4)
    assert first.shape == (2, 4, SIZE)


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


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_masks_are_tried_and_not_believed(dtype):
    network = network_of("llama").to(dtype)
    assert trees_for(Watched(network)) is MaskedTrees
    for broken in (HeedsNoMask, TakesNoMask, HeedsNoPositions):
        assert trees_for(broken(network)) is PlainTrees
