"""The training loop: updates of the weights, with AdamW and gradients of bounded length.

What a batch is, how the learning rate goes and when training ends differ, and stay with
`elicitation.training.finetuning` (epochs over a fixed list of questions, until a goal is reached)
and `elicitation.training.organisms.curriculum` (steps on questions drawn anew, at a falling rate).
Nothing is kept under way: a training takes minutes, and one that was cut short begins anew and ends
with the same weights.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from coherence.errors import MissingExtraError

try:
    import torch
except ImportError as error:  # pragma: no cover - needs an environment without the extra
    raise MissingExtraError("elicit", "Training a model") from error

_LONGEST_GRADIENT = 1.0


def make_optimiser(
    network: Any,
    *,
    learning_rate: float,
    weight_decay: float,
    betas: tuple[float, float] = (0.9, 0.999),
) -> torch.optim.AdamW:
    """Return the optimiser of a network."""
    # Vectors are biases and the gains of normalisations, whose resting value is not 0: decay would
    # pull a gain of 1 towards a layer that passes nothing on.
    matrices = [weight for weight in network.parameters() if weight.dim() >= 2]
    vectors = [weight for weight in network.parameters() if weight.dim() < 2]
    groups = [
        {"params": matrices, "weight_decay": weight_decay},
        {"params": vectors, "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(groups, lr=learning_rate, betas=betas)


def update_weights(
    network: Any,
    optimiser: torch.optim.Optimizer,
    batches: Iterable[Iterable[torch.Tensor]],
    *,
    schedule: torch.optim.lr_scheduler.LRScheduler | None = None,
) -> Iterator[float]:
    """Update the weights once per batch."""
    network.train()
    for losses in batches:
        total = 0.0
        for loss in losses:
            total += float(loss.detach())
            loss.backward()  # type: ignore[no-untyped-call]
        # One batch of unusual questions must not throw away what all before it taught.
        torch.nn.utils.clip_grad_norm_(network.parameters(), _LONGEST_GRADIENT)
        optimiser.step()
        if schedule:
            schedule.step()
        optimiser.zero_grad(set_to_none=True)
        yield total
