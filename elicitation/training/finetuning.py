"""Training of multiple-choice models on questions with one right option.

As in Tang and Kejriwal, section 4.2: every option is joined with the question and scored by itself,
the loss is the cross-entropy over a question's options, and training ends as soon as the share of
right answers on development questions reaches a goal. After every epoch the state is kept, so that
a run that was cut short goes on and ends with the same weights as one that was not. Weights and the
optimiser's moments are safetensors.
"""

import hashlib
import json
import os
import shutil
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from coherence.errors import InputError, MissingExtraError

os.environ.setdefault(
    "HF_HUB_OFFLINE", "1"
)  # before transformers is imported: it reads the variable once
try:
    import torch
    from safetensors import SafetensorError
    from safetensors.torch import load_file, save_file
    from transformers import AutoModelForMultipleChoice, AutoTokenizer

    from elicitation.models.local.loading import choose_device, quiet_transformers
    from elicitation.models.local.multiple_choice import longest_input
except ImportError as error:  # pragma: no cover - needs an environment without the extra
    raise MissingExtraError("elicit", "Fine-tuning a model") from error

Progress = Callable[[int, int, int, float], None]
"""Called with the epoch, the batch, the number of batches, and the batch's loss in nats."""
_STATE, _MOMENTS = "state.json", "optimiser.safetensors"


@dataclass(frozen=True)
class Lessons:
    """Questions with their options and the right one.

    Parameters
    ----------
    texts : tuple of str
        Questions.
    options : tuple of tuple of str
        For every question its options, equally many.
    right : tuple of int
        For every question the place of the right option.
    """

    texts: tuple[str, ...]
    options: tuple[tuple[str, ...], ...]
    right: tuple[int, ...]

    def __post_init__(self) -> None:
        if not self.texts or len({len(self.texts), len(self.options), len(self.right)}) != 1:
            raise InputError(
                f"texts, options and right must have one equal length of at least 1; received {len(self.texts)}, {len(self.options)} and "
                f"{len(self.right)}."
            )
        widths = {len(own) for own in self.options}
        if len(widths) != 1 or min(widths) < 2:
            raise InputError(
                f"options must be equally many for all questions, at least 2; received {sorted(widths)}."
            )
        for number, place in enumerate(self.right):
            if not 0 <= place < min(widths):
                raise InputError(
                    f"right must name an option from 0 to {min(widths) - 1}; received {place} at position {number}."
                )

    def pairs(self) -> list[tuple[str, str]]:
        """Return every question with each of its options."""
        return [
            (text, option)
            for text, own in zip(self.texts, self.options, strict=True)
            for option in own
        ]


@dataclass(frozen=True)
class Recipe:
    """Course of the training.

    Parameters
    ----------
    batch_size : int
        Questions per update.
    learning_rate : float
        Of AdamW, constant; the paper's 5e-5 suits pretrained models, one with random weights needs
        about 2e-3.
    goal : float
        Share of right answers to the development questions at which training ends, in (0, 1].
    max_epochs : int
        Training ends here in any case.
    weight_decay : float
        Of matrices; vectors have none.
    """

    batch_size: int = 32
    learning_rate: float = 5e-5
    goal: float = 0.9
    max_epochs: int = 20
    weight_decay: float = 0.01

    def __post_init__(self) -> None:
        if self.batch_size < 1 or self.max_epochs < 1:
            raise InputError(
                f"batch_size and max_epochs must be positive; received {self.batch_size} and {self.max_epochs}."
            )
        if not (self.learning_rate > 0 and 0 < self.goal <= 1 and self.weight_decay >= 0):
            raise InputError(
                "learning_rate must be positive, goal in (0, 1] and weight_decay at least 0; "
                f"received {self.learning_rate}, {self.goal} and {self.weight_decay}."
            )


def fine_tune(
    folder: str | os.PathLike[str],
    out: str | os.PathLike[str],
    train: Lessons,
    dev: Lessons,
    *,
    recipe: Recipe | None = None,
    seed: int = 0,
    device: str = "auto",
    resume: bool = True,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Train a multiple-choice model and save it as a model folder.

    Parameters
    ----------
    folder : path-like
        Model to begin with, as written by ``save_pretrained``. It may lack a multiple-choice head,
        which then begins with random weights.
    out : path-like
        Where the result goes. While training is under way the state after the last epoch is in its
        subfolder ``checkpoint``.
    train, dev : Lessons
        Questions to learn from, and to tell when to stop.
    recipe : Recipe, optional
        Course of the training.
    seed : int
        Of the order of the questions, of dropout and of a new head, at least 0. Equal seeds give
        equal weights on the same machine and threads.
    device : str
        A torch device; "auto" is the first CUDA device, else the processor. Training is in single
        precision.
    resume : bool
        Whether to go on from a checkpoint in `out`, or to take a finished training of the same
        model, questions, recipe and seed as it is.
    progress : callable, optional
        See `Progress`.

    Returns
    -------
    dict
        What is also written to ``training.json``: ``epochs``, ``reached`` (the goal), ``history``
        (per epoch the mean loss and the share of right development answers), ``seed``, ``recipe``,
        ``seconds`` of processor time, ``digest`` of all that shaped the result.

    Raises
    ------
    InputError
        The folder is no model, a question does not fit into it, or `out` holds something else.
    """
    recipe, source, target = recipe or Recipe(), Path(folder), Path(out)
    if seed < 0:
        raise InputError(f"seed must be at least 0; received {seed}.")
    place, _ = choose_device(device, "float32")
    torch.manual_seed(seed)
    network, tokenizer = _load(source)
    digest = _digest(source, train, dev, recipe, seed)
    if (done := _finished(target, digest, resume=resume)) is not None:
        return done
    network.to(place)
    encoded = {
        name: _encode(network, tokenizer, lessons)
        for name, lessons in (("train", train), ("dev", dev))
    }
    optimiser = torch.optim.AdamW(_groups(network, recipe), lr=recipe.learning_rate)
    state = _restore(target / "checkpoint", network, optimiser, digest) if resume else None
    state = state or {
        "digest": digest,
        "epochs": 0,
        "reached": False,
        "history": [],
        "seconds": 0.0,
    }
    while state["epochs"] < recipe.max_epochs and not state["reached"]:
        begun = time.process_time()
        epoch = state["epochs"] + 1
        loss = _epoch(
            network, optimiser, encoded["train"], recipe.batch_size, seed, epoch, progress
        )
        share = _share_right(network, encoded["dev"])
        state["history"].append({"epoch": epoch, "loss": loss, "dev": share})
        state |= {
            "epochs": epoch,
            "reached": share >= recipe.goal,
            "seconds": round(state["seconds"] + time.process_time() - begun, 2),
        }
        _checkpoint(target, network, optimiser, state)
    record = state | {
        "seed": seed,
        "recipe": asdict(recipe),
        "base": source.resolve().name,
        "questions": len(train.texts),
    }
    with quiet_transformers():
        network.eval().save_pretrained(target)
        tokenizer.save_pretrained(target)
    (target / "training.json").write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
    shutil.rmtree(target / "checkpoint")
    return record


def _load(path: Path) -> tuple[Any, Any]:
    if not path.is_dir() or not (path / "config.json").is_file():
        raise InputError(
            f"model must be a folder with config.json and safetensors weights; {path} is none."
        )
    with quiet_transformers():
        try:
            tokenizer = AutoTokenizer.from_pretrained(
                path, local_files_only=True, trust_remote_code=False
            )
            network, loading = AutoModelForMultipleChoice.from_pretrained(
                path,
                local_files_only=True,
                trust_remote_code=False,
                use_safetensors=True,
                dtype=torch.float32,
                output_loading_info=True,
            )
        except (OSError, ValueError, KeyError, RuntimeError, SafetensorError) as error:
            raise InputError(
                f"model folder {path} could not be loaded as a multiple-choice model: {' '.join(str(error).split())}"
            ) from error
    # A new head is what fine-tuning is for; anything else that is missing would be random numbers
    # in the middle of the model.
    body = network.base_model_prefix + "."
    missing = sorted(
        key for key in loading["missing_keys"] if key.startswith(body) and "pooler" not in key
    )
    if missing:
        raise InputError(
            f"model folder {path} lacks weights for {', '.join(missing[:3])}. Use a complete copy of the model."
        )
    if tokenizer.pad_token_id is None:
        raise InputError(
            f"model folder {path} needs a tokenizer with a padding token; it has none. Set pad_token in its tokenizer_config.json."
        )
    return network, tokenizer


def _rows(
    network: Any, tokenizer: Any, pairs: Sequence[tuple[str, str]]
) -> list[dict[str, list[int]]]:
    encoded = tokenizer([text for text, _ in pairs], [option for _, option in pairs])
    longest = max(map(len, encoded["input_ids"]), default=0)
    room = longest_input(network, tokenizer)
    if longest > room:
        raise InputError(
            f"a question with its option has {longest} tokens and exceeds the {room} of the model. Use shorter texts."
        )
    return [{name: encoded[name][i] for name in encoded} for i in range(len(pairs))]


def _encode(
    network: Any, tokenizer: Any, lessons: Lessons
) -> tuple[dict[str, torch.Tensor], torch.Tensor]:
    """Return tensors of shape (questions, options, tokens), and the right options."""
    batch = tokenizer.pad(_rows(network, tokenizer, lessons.pairs()), return_tensors="pt")
    width = len(lessons.options[0])
    inputs = {name: values.view(len(lessons.texts), width, -1) for name, values in batch.items()}
    return inputs, torch.tensor(lessons.right)


def _groups(network: Any, recipe: Recipe) -> list[dict[str, Any]]:
    matrices = [weight for weight in network.parameters() if weight.dim() >= 2]
    vectors = [weight for weight in network.parameters() if weight.dim() < 2]
    return [
        {"params": matrices, "weight_decay": recipe.weight_decay},
        {"params": vectors, "weight_decay": 0.0},
    ]


def _epoch(
    network: Any,
    optimiser: torch.optim.Optimizer,
    encoded: Any,
    batch_size: int,
    seed: int,
    epoch: int,
    progress: Progress | None,
) -> float:
    """Go through all questions once, in an order that depends on the seed and the number of the epoch alone; return the mean loss."""
    inputs, right = encoded
    torch.manual_seed(int(np.random.SeedSequence([seed, epoch]).generate_state(1)[0]))
    order = torch.randperm(len(right))
    n_batches, total = -(-len(right) // batch_size), 0.0
    network.train()
    for number in range(n_batches):
        rows = order[number * batch_size : (number + 1) * batch_size]
        loss = network(
            **{name: values[rows].to(network.device) for name, values in inputs.items()},
            labels=right[rows].to(network.device),
        ).loss
        optimiser.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
        optimiser.step()
        total += float(loss.detach()) * len(rows)
        if progress:
            progress(epoch, number + 1, n_batches, float(loss.detach()))
    return total / len(right)


def _share_right(network: Any, encoded: Any, batch_size: int = 64) -> float:
    inputs, right = encoded
    network.eval()
    count = 0
    with torch.inference_mode():
        for start in range(0, len(right), batch_size):
            rows = slice(start, start + batch_size)
            logits = network(
                **{name: values[rows].to(network.device) for name, values in inputs.items()}
            ).logits.cpu()
            count += int((logits.argmax(dim=1) == right[rows]).sum())
    return count / len(right)


def _digest(source: Path, train: Lessons, dev: Lessons, recipe: Recipe, seed: int) -> str:
    """Return a digest of all that shapes the result, so that a checkpoint of another training is not mistaken for this one's."""
    told = [[asdict(train), asdict(dev)], asdict(recipe), seed]
    digest = hashlib.sha256(json.dumps(told).encode())
    for file in sorted([*source.glob("*.safetensors"), *source.glob("*.json")]):
        if file.name != "training.json":
            digest.update(file.name.encode() + hashlib.sha256(file.read_bytes()).digest())
    return digest.hexdigest()


def _finished(target: Path, digest: str, *, resume: bool) -> dict[str, Any] | None:
    """Return the record of a finished training in `target`; raise where it holds another, or some other model."""
    note, checkpoint = target / "training.json", target / "checkpoint"
    if not any(path.exists() for path in (note, checkpoint, target / "config.json")):
        return None
    if not resume:
        raise InputError(
            f"{target} already holds a model or a checkpoint. Name another folder, or let the training resume."
        )
    if not note.is_file():
        if (target / "config.json").exists() and not checkpoint.exists():
            raise InputError(
                f"{target} holds a model that was not trained here. Name another folder."
            )
        return None
    record: dict[str, Any] = _read_json(note)
    if record.get("digest") != digest:
        raise InputError(
            f"{target} holds the result of another training (other model, questions, recipe or seed). Name another folder."
        )
    return record


def _checkpoint(
    target: Path, network: Any, optimiser: torch.optim.Optimizer, state: dict[str, Any]
) -> None:
    """Keep weights, moments and history; a crash leaves the old state or the new one."""
    fresh, last = target / "checkpoint.new", target / "checkpoint"
    shutil.rmtree(fresh, ignore_errors=True)
    fresh.mkdir(parents=True)
    save_file(
        {name: values.contiguous() for name, values in _weights(network).items()},
        fresh / "model.safetensors",
    )
    moments = {
        f"{number}.{name}": value
        for number, own in optimiser.state_dict()["state"].items()
        for name, value in own.items()
    }
    save_file({name: value.contiguous() for name, value in moments.items()}, fresh / _MOMENTS)
    (fresh / _STATE).write_text(json.dumps(state), encoding="utf-8")
    # What is being removed must not look complete.
    (last / _STATE).unlink(missing_ok=True)
    shutil.rmtree(last, ignore_errors=True)
    fresh.rename(last)


def _restore(
    folder: Path, network: Any, optimiser: torch.optim.Optimizer, digest: str
) -> dict[str, Any] | None:
    if not (folder / _STATE).is_file():
        # Between removing the old state and renaming the new one there is only the new one.
        fresh = folder.with_name("checkpoint.new")
        if not (fresh / _STATE).is_file():
            return None
        shutil.rmtree(folder, ignore_errors=True)
        fresh.rename(folder)
    state: dict[str, Any] = _read_json(folder / _STATE)
    if state.get("digest") != digest:
        raise InputError(
            f"{folder} belongs to another training (other model, questions, recipe or seed). Name another folder, or remove it."
        )
    try:
        weights, moments = load_file(folder / "model.safetensors"), load_file(folder / _MOMENTS)
        own = _weights(network)
        for name, values in weights.items():
            own[name].copy_(values)
    except (OSError, SafetensorError, KeyError, RuntimeError) as error:
        raise InputError(
            f"{folder} cannot be read ({' '.join(str(error).split())}). Remove it to begin anew."
        ) from error
    found: dict[int, dict[str, torch.Tensor]] = {}
    for key, value in moments.items():
        number, name = key.split(".", 1)
        found.setdefault(int(number), {})[name] = value
    optimiser.load_state_dict(optimiser.state_dict() | {"state": found})
    return state


def _weights(network: Any) -> dict[str, torch.Tensor]:
    """Return every weight once; a shared one under its first name."""
    return {name: weight.detach() for name, weight in network.named_parameters()}


def _read_json(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(
            f"{path} cannot be read ({str(error).splitlines()[0]}). Remove it to begin anew."
        ) from error
    if not isinstance(found, dict):
        raise InputError(f"{path} must hold a JSON object. Remove it to begin anew.")
    return found
