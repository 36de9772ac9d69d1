"""Training of multiple-choice models on questions with one right option, and the training loop.

As in Tang and Kejriwal, section 4.2: every option is joined with the question and scored by itself,
the loss is the cross-entropy over a question's options, and training ends as soon as the share of
right answers on development questions reaches a goal.

The loop updates weights with AdamW and gradients of bounded length; what a batch is, how the
learning rate goes and when training ends differ from that of `elicitation.training.organisms`.
Nothing is kept under way: one that was cut short begins anew and ends with the same weights.
"""

import hashlib
import json
import os
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from coherence.errors import InputError, MissingExtraError

try:
    import torch
    from transformers import AutoModelForMultipleChoice

    from elicitation.models.local.loading import (
        ModelSource,
        load_network,
        save_network,
        whole_folder,
    )
    from elicitation.models.local.multiple_choice import longest_input, require_padding
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


BatchProgress = Callable[[int, int, int, float], None]
"""Called with the epoch, the batch, the number of batches, and the batch's loss in nats."""
_RECORD = "training.json"
_Encoded = tuple[dict[str, torch.Tensor], torch.Tensor]


@dataclass(frozen=True)
class TrainingSet:
    """Questions with their options, equally many for all, and the place of the right one."""

    texts: tuple[str, ...]
    options: tuple[tuple[str, ...], ...]
    right: tuple[int, ...]

    def pairs(self) -> list[tuple[str, str]]:
        """Return every question with each of its options."""
        return [
            (text, option)
            for text, options in zip(self.texts, self.options, strict=True)
            for option in options
        ]


@dataclass(frozen=True)
class TuningRecipe:
    """Course of the training."""

    batch_size: int = 32  # questions per update
    # of AdamW, constant; the paper's 5e-5 suits pretrained models, one with random weights needs
    # about 2e-3
    learning_rate: float = 5e-5
    # share of right answers to the development questions at which training ends, in (0, 1]
    goal: float = 0.9
    max_epochs: int = 20  # training ends here in any case
    weight_decay: float = 0.01  # of matrices; vectors have none


def fine_tune(
    folder: str | os.PathLike[str],
    out: str | os.PathLike[str],
    train: TrainingSet,
    dev: TrainingSet,
    *,
    recipe: TuningRecipe | None = None,
    seed: int = 0,
    device: str = "auto",
    progress: BatchProgress | None = None,
) -> dict[str, Any]:
    """Train a multiple-choice model, save it in `out`, and return the record.

    The model of `folder` may lack a multiple-choice head, which then begins with random weights.
    Training is in single precision; `seed` is that of the order of the questions, of dropout and of
    a new head: equal seeds give equal weights on the same machine and threads. A finished training
    of the same model, questions, recipe and seed is taken as it is. The record, also in
    ``training.json``, has ``epochs``, ``reached`` (the goal), ``history`` (per epoch the mean loss
    and the share of right development answers), ``seed``, ``recipe``, ``seconds`` of processor
    time, and ``digest`` of all that shaped the result. Raises `InputError` for a folder that holds
    no model, a question that does not fit into it, or an `out` that holds something else.
    """
    recipe, source, target = recipe or TuningRecipe(), Path(folder), Path(out)
    if seed < 0:
        raise InputError(f"seed must be at least 0; received {seed}.")
    from_folder = ModelSource("folder", source)
    from_folder.check()
    torch.manual_seed(seed)  # a new head draws its weights while the model is loaded
    network, tokenizer, _ = load_network(
        from_folder,
        AutoModelForMultipleChoice,
        dtype="float32",
        device=device,
        as_what="multiple-choice model",
        new_head=True,  # it is what fine-tuning is for
    )
    require_padding(tokenizer, from_folder.label)
    digest = _digest(source, train, dev, recipe, seed)
    if (done := _finished(target, digest)) is not None:
        return done
    encoded_train, encoded_dev = (_encode(network, tokenizer, part) for part in (train, dev))
    optimiser = make_optimiser(
        network, learning_rate=recipe.learning_rate, weight_decay=recipe.weight_decay
    )
    history: list[dict[str, float]] = []
    begun, reached = time.process_time(), False
    while len(history) < recipe.max_epochs and not reached:
        epoch = len(history) + 1
        loss = _epoch(network, optimiser, encoded_train, recipe.batch_size, seed, epoch, progress)
        share = _share_right(network, encoded_dev)
        history.append({"epoch": epoch, "loss": loss, "dev": share})
        reached = share >= recipe.goal
    record = {
        "digest": digest,
        "epochs": len(history),
        "reached": reached,
        "history": history,
        "seconds": round(time.process_time() - begun, 2),
        "seed": seed,
        "recipe": asdict(recipe),
        "base": source.resolve().name,
        "questions": len(train.texts),
    }
    target.absolute().parent.mkdir(parents=True, exist_ok=True)
    with whole_folder(target) as made:
        save_network(network.eval(), tokenizer, made)
        (made / _RECORD).write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
    return record


def _encode(network: Any, tokenizer: Any, lessons: TrainingSet) -> _Encoded:
    """Return tensors of shape (questions, options, tokens), and the right options."""
    texts, options = zip(*lessons.pairs(), strict=True)
    rows = tokenizer(list(texts), list(options))
    longest = max(map(len, rows["input_ids"]))
    room = longest_input(network, tokenizer)
    # Cutting it would cut the option, which comes last and is what tells the rows apart.
    if longest > room:
        raise InputError(
            f"a question with its option has {longest} tokens and exceeds the {room} of the model. "
            "Use shorter texts."
        )
    shape = (len(lessons.texts), len(lessons.options[0]), -1)
    padded = tokenizer.pad(rows, return_tensors="pt")
    inputs = {name: values.view(shape) for name, values in padded.items()}
    return inputs, torch.tensor(lessons.right)


def _epoch(
    network: Any,
    optimiser: torch.optim.Optimizer,
    encoded: _Encoded,
    batch_size: int,
    seed: int,
    epoch: int,
    progress: BatchProgress | None,
) -> float:
    """Go through all questions once; return the mean loss."""
    right = encoded[1]
    # Order and dropout depend on the seed and the number of the epoch alone, whatever ran before.
    torch.manual_seed(int(np.random.SeedSequence([seed, epoch]).generate_state(1)[0]))
    batches = torch.randperm(len(right)).split(batch_size)  # type: ignore[no-untyped-call]

    def loss_of(rows: torch.Tensor) -> Iterator[torch.Tensor]:
        batch = {name: values[rows].to(network.device) for name, values in encoded[0].items()}
        yield network(**batch, labels=right[rows].to(network.device)).loss

    losses = update_weights(network, optimiser, map(loss_of, batches))
    total = 0.0
    for number, (rows, loss) in enumerate(zip(batches, losses, strict=True), start=1):
        total += loss * len(rows)  # the last batch may be shorter, and counts for less
        if progress:
            progress(epoch, number, len(batches), loss)
    return total / len(right)


def _share_right(network: Any, encoded: _Encoded, batch_size: int = 64) -> float:
    inputs, right = encoded
    network.eval()
    n_right = 0
    with torch.inference_mode():
        for start in range(0, len(right), batch_size):
            rows = slice(start, start + batch_size)
            batch = {name: values[rows].to(network.device) for name, values in inputs.items()}
            choices = network(**batch).logits.cpu().argmax(dim=1)
            n_right += int((choices == right[rows]).sum())
    return n_right / len(right)


def _digest(
    source: Path, train: TrainingSet, dev: TrainingSet, recipe: TuningRecipe, seed: int
) -> str:
    """Return a digest of all that shapes the result, to tell trainings apart."""
    shaping = [[asdict(train), asdict(dev)], asdict(recipe), seed]
    digest = hashlib.sha256(json.dumps(shaping).encode())
    for file in sorted([*source.glob("*.safetensors"), *source.glob("*.json")]):
        # The record holds times, which differ between trainings that give equal weights.
        if file.name != _RECORD:
            digest.update(file.name.encode() + hashlib.sha256(file.read_bytes()).digest())
    return digest.hexdigest()


def _finished(target: Path, digest: str) -> dict[str, Any] | None:
    """Return the record of this training if it is there; raise where the folder has another."""
    if not target.exists() or (target.is_dir() and not any(target.iterdir())):
        return None
    try:
        record: dict[str, Any] = json.loads((target / _RECORD).read_text(encoding="utf-8"))
        same = record["digest"] == digest
    except (OSError, ValueError, KeyError, TypeError):
        same = False
    if not same:
        raise InputError(
            f"{target} is there, and holds no training of this model with these questions, recipe "
            "and seed. Name another folder."
        )
    return record
