"""The training loop: updates of the weights, and the state after an epoch.

Every training here updates with AdamW on weights that decay, and gradients of bounded length. What
a batch is, how the learning rate goes and when training ends differ, and stay with
`elicitation.training.finetuning` (epochs over a fixed list of questions, until a goal is reached)
and `elicitation.training.organisms.curriculum` (steps on questions drawn anew, at a falling rate).

A state is weights and moments as safetensors and history as JSON. A training that was killed goes
on from it and ends with the same weights as one that was not: the order of the questions and
dropout depend on the seed and the number of the epoch alone, so that no state of a random generator
has to be kept.
"""

import json
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from coherence.errors import InputError, MissingExtraError

try:
    import torch
    from safetensors import SafetensorError
    from safetensors.torch import load_file, save_file
except ImportError as error:  # pragma: no cover - needs an environment without the extra
    raise MissingExtraError("elicit", "Training a model") from error

CHECKPOINT = "checkpoint"
"""Name of the state's folder, inside that of the model to be."""
_FRESH = "checkpoint.new"
_STATE, _WEIGHTS, _MOMENTS = "state.json", "model.safetensors", "optimiser.safetensors"
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


def keep_checkpoint(
    target: Path, network: Any, optimiser: torch.optim.Optimizer, state: dict[str, Any]
) -> None:
    """Keep weights, moments and history; a crash leaves the old state or the new one."""
    fresh, last = target / _FRESH, target / CHECKPOINT
    shutil.rmtree(fresh, ignore_errors=True)
    fresh.mkdir(parents=True)
    moments = {
        f"{number}.{name}": values
        for number, moments_of_weight in optimiser.state_dict()["state"].items()
        for name, values in moments_of_weight.items()
    }
    for name, tensors in ((_WEIGHTS, _weights(network)), (_MOMENTS, moments)):
        save_file({key: values.contiguous() for key, values in tensors.items()}, fresh / name)
    # Last, because its presence says that the other two are complete.
    (fresh / _STATE).write_text(json.dumps(state), encoding="utf-8")
    # What is being removed must not look complete.
    (last / _STATE).unlink(missing_ok=True)
    shutil.rmtree(last, ignore_errors=True)
    fresh.rename(last)


def restore_checkpoint(
    target: Path, network: Any, optimiser: torch.optim.Optimizer, digest: str
) -> dict[str, Any] | None:
    """Put the kept weights and moments back."""
    folder, fresh = target / CHECKPOINT, target / _FRESH
    if not (folder / _STATE).is_file():
        # Between removing the old state and renaming the new one there is only the new one.
        if not (fresh / _STATE).is_file():
            return None
        shutil.rmtree(folder, ignore_errors=True)
        fresh.rename(folder)
    state = read_record(folder / _STATE)
    if state.get("digest") != digest:
        raise InputError(
            f"{folder} belongs to another training (other model, questions, recipe or seed). "
            "Name another folder, or remove it."
        )
    try:
        saved_weights, saved_moments = load_file(folder / _WEIGHTS), load_file(folder / _MOMENTS)
        weights = _weights(network)
        for name, values in saved_weights.items():
            weights[name].copy_(values)
    except (OSError, SafetensorError, KeyError, RuntimeError) as error:
        raise InputError(
            f"{folder} cannot be read ({' '.join(str(error).split())}). Remove it to begin anew."
        ) from error
    moments: dict[int, dict[str, torch.Tensor]] = {}
    for key, values in saved_moments.items():
        number, name = key.split(".", 1)
        moments.setdefault(int(number), {})[name] = values
    optimiser.load_state_dict(optimiser.state_dict() | {"state": moments})
    return state


def read_record(path: Path) -> dict[str, Any]:
    """Return the JSON object in a file that a training wrote; InputError where there is none."""
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(
            f"{path} cannot be read ({str(error).splitlines()[0]}). Remove it to begin anew."
        ) from error
    if not isinstance(record, dict):
        raise InputError(f"{path} must hold a JSON object. Remove it to begin anew.")
    return record


def _weights(network: Any) -> dict[str, torch.Tensor]:
    # Named parameters, not state_dict: safetensors refuses a tensor that is shared under two names.
    return {name: weight.detach() for name, weight in network.named_parameters()}
