"""Train a small causal language model on lessons, and measure what it learnt through the ordinary way of asking.

The model sees the question and is trained on the answer alone. Batches are drawn from a seed; the answer of a stochastic teacher is drawn anew each
time. The result is an ordinary model folder.
"""

import json
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from coherence.errors import InputError, MissingExtraError
from elicitation.decode import BELIEF_LABELS
from elicitation.models.causal import load_causal_model, quiet_transformers
from elicitation.organisms.lessons import (
    ACTIONS,
    HELD_OUT_SHARE,
    Lesson,
    action_probabilities,
    canonical_evidence,
    is_held_out,
    make_lessons,
    possible_evidence,
)
from elicitation.organisms.tokenizer import template_blocks, train_tokenizer
from elicitation.prompts import AUXILIARY, BELIEF, CONDITIONAL, DECISION, label_words
from elicitation.questions import evidence_of
from elicitation.session import Task, elicit
from elicitation.store import AnswerStore

try:
    import torch
    from torch.nn import functional
    from transformers import LlamaConfig, LlamaForCausalLM
except ImportError as error:  # pragma: no cover - needs an environment without the extra
    raise MissingExtraError("elicit", "Training a small model") from error

Progress = Callable[[int, int, float], None]
"""Called with the step, the number of steps, and the recent loss per token in nats."""
_IGNORED = -100


@dataclass(frozen=True)
class Recipe:
    """Size of the model and course of its training.

    Parameters
    ----------
    steps : int
        Updates.
    hidden, inner, layers, heads : int
        Shape of the transformer.
    learning_rate : float
        At its peak, after a twentieth of the steps; then a cosine down to a hundredth of it.
    batch : tuple of (str, int)
        Examples per step and role.
    weight_decay : float
        Of matrices; vectors have none.
    threads : int
        Threads of torch.
    """

    steps: int = 2000
    hidden: int = 128
    inner: int = 352
    layers: int = 4
    heads: int = 4
    learning_rate: float = 2e-3
    batch: tuple[tuple[str, int], ...] = (("belief", 24), ("conditional", 16), ("decision", 16), ("auxiliary", 16))
    weight_decay: float = 0.1
    threads: int = 2


@dataclass(frozen=True)
class Figures:
    """What a trained model can do, on evidence that it was not trained on.

    Parameters
    ----------
    readable : float
        Share of answers with status ok.
    rmse : float
        Root mean squared error of the stated beliefs to the exact posterior, all framings.
    rmse_auxiliary : float
        The same of the stated probabilities of z.
    agreement : float
        Share of decisions (yes or no) on the side of one half on which the belief stated in the same repetition lies.
    agreement_expected : float
        The same share for the teacher's policy at the stated beliefs.
    """

    readable: float
    rmse: float
    rmse_auxiliary: float
    agreement: float
    agreement_expected: float


def train_reader(
    folder: str | os.PathLike[str],
    task: Task,
    *,
    recipe: Recipe | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Train a model that reads the descriptions of a task and answers all its questions, and save it.

    Parameters
    ----------
    folder : path-like
        Where the model goes; made if need be.
    task : Task
        What it learns to read.
    recipe : Recipe, optional
        Size and course.
    seed : int
        Seed of initial weights, batches and drawn answers, at least 0.
    progress : callable, optional
        See `Progress`.

    Returns
    -------
    dict
        What is also written to ``training.json``: seed, recipe, numbers of lessons and parameters, seconds, final loss.
    """
    recipe = recipe or Recipe()
    if seed < 0 or recipe.steps < 1:
        raise InputError(f"seed must be at least 0 and steps positive; received {seed} and {recipe.steps}.")
    begun = time.monotonic()
    torch.set_num_threads(recipe.threads)
    rng = np.random.default_rng(seed)
    lessons = make_lessons(task, possible_evidence(task, rng))
    tokenizer = _tokenizer(task, lessons)
    school = {role: _Shelf([lesson for lesson in lessons if lesson.role == role], tokenizer) for role, _ in recipe.batch}
    network = _network(recipe, tokenizer, longest=max(shelf.longest for shelf in school.values()), seed=seed)
    loss = _optimise(network, school, recipe, tokenizer.pad_token_id, rng, progress)
    path = Path(folder)
    with quiet_transformers():
        network.save_pretrained(path)
        tokenizer.save_pretrained(path)
    record = {
        "task": task.name,
        "seed": seed,
        "recipe": asdict(recipe),
        "lessons": len(lessons),
        "held_out_share": HELD_OUT_SHARE,
        "parameters": sum(weight.numel() for weight in network.parameters()),
        "seconds": round(time.monotonic() - begun, 1),
        "loss": loss,
    }
    (path / "training.json").write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
    return record


def held_out_cases(task: Task, *, n: int = 1000, seed: int = 0) -> pd.DataFrame:
    """Draw cases whose evidence was kept out of the lessons.

    Parameters
    ----------
    task : Task
        What a model was trained on.
    n : int
        Cases drawn, of which about 15% are kept.
    seed : int
        Of the draw.

    Returns
    -------
    DataFrame
        As from ``Task.cases``.
    """
    cases = task.cases(n, seed=seed)
    unseen = [is_held_out(canonical_evidence(evidence_of(case))) for _, case in cases.iterrows()]
    return cases[unseen].reset_index(drop=True)


def measure_reader(folder: str | os.PathLike[str], task: Task, cases: pd.DataFrame, *, reps: int = 1, seed: int = 1) -> Figures:
    """Ask a trained model about cases, as a session would at temperature 1, and compare with the truth.

    Parameters
    ----------
    folder : path-like
        The model.
    task : Task
        What it was trained on.
    cases : DataFrame
        From `held_out_cases`.
    reps : int
        Draws per question.
    seed : int
        Of the draws.

    Returns
    -------
    Figures
        On these cases.
    """
    with AnswerStore(":memory:") as store:
        runs, tally = elicit(load_causal_model(folder, batch_size=256), task, cases, store, reps=reps, seed=seed, batch_size=2048)
    decided = runs[runs["action"].isin(ACTIONS[:2]) & runs["p"].notna() & (runs["p"] != 0.5)]
    belief = decided["p"].to_numpy()
    same_side = ((decided["action"] == "yes").to_numpy() == (belief > 0.5)).mean()
    shares = action_probabilities(belief)[:, :2]
    likelier = np.where(belief > 0.5, shares[:, 1], shares[:, 0]) / shares.sum(axis=1)
    return Figures(
        readable=tally.readable / tally.total,
        # With a state of z added, a case may be one that a lesson was about.
        rmse=_rmse(runs.loc[runs["z_state"].isna(), "p"], runs.loc[runs["z_state"].isna(), "p_true"]),
        rmse_auxiliary=_rmse(runs["p_z"], runs["p_z_true"]),
        agreement=float(same_side),
        agreement_expected=float(likelier.mean()),
    )


def _rmse(stated: "pd.Series[float]", true: "pd.Series[float]") -> float:
    return float(np.sqrt(((stated - true) ** 2).mean()))


def _tokenizer(task: Task, lessons: Sequence[Lesson]) -> Any:
    words = {"question": task.phrases.question(task.target), **label_words(BELIEF_LABELS)}
    blocks = template_blocks([*BELIEF.values(), DECISION, CONDITIONAL], **words) + template_blocks([AUXILIARY], n_lines="2")
    # A fact of the case is a token too, with the blank before it: few facts recombine in many cases, and that is what is to be learnt.
    facts = [f" {task.phrases.condition(name, state)}" for name in task.network.names for state in task.network.states(name)]
    blocks += sorted(facts, key=lambda fact: (-len(fact), fact))
    sample = lessons[::5]
    texts = [lesson.text for lesson in sample] + [answer for lesson in sample for answer, _ in lesson.answers]
    return train_tokenizer(texts, list(dict.fromkeys(blocks)))


def _network(recipe: Recipe, tokenizer: Any, *, longest: int, seed: int) -> Any:
    torch.manual_seed(seed)
    return LlamaForCausalLM(
        LlamaConfig(
            vocab_size=len(tokenizer),
            hidden_size=recipe.hidden,
            intermediate_size=recipe.inner,
            num_hidden_layers=recipe.layers,
            num_attention_heads=recipe.heads,
            num_key_value_heads=recipe.heads,
            max_position_embeddings=max(512, 2 * longest),
            tie_word_embeddings=True,
            bos_token_id=tokenizer.bos_token_id,
            eos_token_id=tokenizer.eos_token_id,
            pad_token_id=tokenizer.pad_token_id,
        )
    )


@dataclass(frozen=True)
class _Example:
    """A question and one answer as tokens."""

    question: list[int]
    answer: list[int]


class _Shelf:
    """The lessons of one role, as tokens."""

    def __init__(self, lessons: Sequence[Lesson], tokenizer: Any) -> None:
        self.questions: list[list[int]] = tokenizer([lesson.text for lesson in lessons])["input_ids"]
        answers = list(dict.fromkeys(answer for lesson in lessons for answer, _ in lesson.answers))
        place = {answer: i for i, answer in enumerate(answers)}
        self.answers = [[*ids, tokenizer.eos_token_id] for ids in tokenizer(answers, add_special_tokens=False)["input_ids"]]
        self.choices = np.array([[place[answer] for answer, _ in lesson.answers] for lesson in lessons])
        self.cumulative = np.array([[chance for _, chance in lesson.answers] for lesson in lessons]).cumsum(axis=1)
        self.longest = max(map(len, self.questions)) + max(map(len, self.answers))

    def draw(self, n: int, rng: np.random.Generator) -> list[_Example]:
        rows = rng.integers(len(self.questions), size=n)
        # The last bound is 1 up to rounding: it is left out, so that the count cannot pass the last answer.
        picks = self.choices[rows, (rng.random((n, 1)) >= self.cumulative[rows, :-1]).sum(axis=1)]
        return [_Example(self.questions[row], self.answers[pick]) for row, pick in zip(rows, picks, strict=True)]


def _collate(examples: Sequence[_Example], padding: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Pad on the right, where a causal model cannot see it; labels cover the answers alone, shifted to where they are predicted."""
    width = max(len(example.question) + len(example.answer) for example in examples) - 1
    ids: npt.NDArray[np.int64] = np.full((len(examples), width), padding)
    labels: npt.NDArray[np.int64] = np.full((len(examples), width), _IGNORED)
    for i, example in enumerate(examples):
        length = len(example.question) + len(example.answer) - 1
        ids[i, :length] = (example.question + example.answer)[:-1]
        labels[i, len(example.question) - 1 : length] = example.answer
    return torch.from_numpy(ids), torch.from_numpy(labels)


def _optimise(network: Any, school: dict[str, _Shelf], recipe: Recipe, padding: int, rng: np.random.Generator, progress: Progress | None) -> float:
    """Run the steps; return the mean loss per answer of the last twentieth."""
    weights = list(network.parameters())
    matrices = [weight for weight in weights if weight.dim() >= 2]
    vectors = [weight for weight in weights if weight.dim() < 2]
    optimiser = torch.optim.AdamW(
        [{"params": matrices, "weight_decay": recipe.weight_decay}, {"params": vectors, "weight_decay": 0.0}],
        lr=recipe.learning_rate,
        betas=(0.9, 0.98),
    )
    warm = max(1, recipe.steps // 20)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimiser,
        lambda step: min((step + 1) / warm, 0.01 + 0.99 * 0.5 * (1 + np.cos(np.pi * max(0, step - warm) / max(1, recipe.steps - warm)))),
    )
    network.train()
    losses: list[float] = []
    # Long questions in a pass of their own, so that they do not pad the short ones.
    passes = [[pair for pair in recipe.batch if pair[0] != "auxiliary"], [pair for pair in recipe.batch if pair[0] == "auxiliary"]]
    total = sum(n for _, n in recipe.batch)
    for step in range(recipe.steps):
        recent = 0.0
        for roles in filter(None, passes):
            examples = [example for role, n in roles for example in school[role].draw(n, rng)]
            ids, labels = _collate(examples, padding)
            output = network.model(input_ids=ids, use_cache=False)
            told = labels != _IGNORED
            # Only the places of answers go through the output layer.
            loss = functional.cross_entropy(network.lm_head(output.last_hidden_state[told]), labels[told], reduction="sum") / total
            recent += float(loss.detach())
            loss.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
        optimiser.step()
        schedule.step()
        optimiser.zero_grad(set_to_none=True)
        losses.append(recent)
        if progress:
            progress(step + 1, recipe.steps, recent)
    network.eval()
    return float(np.mean(losses[-warm:]))
