"""The updates: breaks if gradients, decay or the schedule go another way than they say."""

import pytest
import torch

from elicitation.training.loop import make_optimiser, update_weights


class Line(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.matrix = torch.nn.Parameter(torch.ones(1, 1))
        self.vector = torch.nn.Parameter(torch.ones(1))


def losses_of(line, *slopes):
    """Yield losses whose gradients are the slopes, for matrix and vector alike."""
    for slope in slopes:
        yield slope * (line.matrix.sum() + line.vector.sum())


def test_matrices_decay_and_vectors_do_not():
    line = Line()
    optimiser = make_optimiser(line, learning_rate=0.1, weight_decay=0.5)
    assert list(update_weights(line, optimiser, [losses_of(line, 0.0)])) == [0]
    assert line.matrix.item() == pytest.approx(1 - 0.1 * 0.5)
    assert line.vector.item() == 1


def test_the_losses_of_a_batch_add_up_and_gradients_are_bounded():
    whole, parts, large = Line(), Line(), Line()
    for line, batches in ((whole, [(3.0,), (1e-4,)]), (parts, [(1.0, 2.0), (1e-4,)])):
        optimiser = torch.optim.SGD(line.parameters(), lr=0.1)
        steps = update_weights(line, optimiser, (losses_of(line, *batch) for batch in batches))
        assert next(steps) == pytest.approx(6)
        # A gradient of (3, 3) is cut to length 1; the next one is short, and stands alone.
        assert line.vector.item() == pytest.approx(1 - 0.1 / 2**0.5)
        next(steps)
        assert line.vector.item() == pytest.approx(1 - 0.1 / 2**0.5 - 0.1 * 1e-4, abs=1e-7)
    assert whole.matrix.item() == pytest.approx(parts.matrix.item())
    assert not list(update_weights(large, optimiser, []))


def test_the_rate_follows_the_schedule_per_update():
    line = Line()
    optimiser = torch.optim.SGD(line.parameters(), lr=1.0)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimiser, lambda step: 0.5**step)
    for _ in update_weights(line, optimiser, [losses_of(line, 0.1)] * 3, schedule=schedule):
        pass
    # Generators are spent: the second and third batch are empty, and change nothing but the rate.
    assert line.vector.item() == pytest.approx(1 - 0.1)
    assert optimiser.param_groups[0]["lr"] == 0.5**3
