"""The course of a training: a tokenizer that fits a task, shelves of lessons, and the steps.

The model sees the question and is trained on the answer alone. Batches are drawn from a seed; the
answer of a stochastic teacher is drawn anew each time.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from coherence.decoding.decode import BELIEF_LABELS
from coherence.errors import MissingExtraError
from elicitation.questions.prompts import (
    AUXILIARY,
    BELIEF,
    CONDITIONAL,
    DECISION,
    label_words,
)
from elicitation.questions.tasks import Subject
from elicitation.training.loop import make_optimiser, update_weights
from elicitation.training.organisms.tokenizer import template_blocks, train_tokenizer
from elicitation.training.organisms.training_set import TrainingExample

try:
    import torch
    from torch.nn import functional
    from transformers import LlamaConfig, LlamaForCausalLM
except ImportError as error:  # pragma: no cover - needs an environment without the extra
    raise MissingExtraError("elicit", "Training a small model") from error

StepProgress = Callable[[int, int, float], None]
"""Called with the step, the number of steps, and its loss per answer in nats."""
_IGNORED = -100


@dataclass(frozen=True)
class Recipe:
    """Size of the model and course of its training."""

    steps: int = 1500  # updates
    # hidden, inner, layers, heads: shape of the transformer
    hidden: int = 64
    inner: int = 176
    layers: int = 3
    heads: int = 4
    # at its peak, after a twentieth of the steps; then a cosine down to a hundredth of it
    learning_rate: float = 4e-3
    # examples per step and role
    batch: tuple[tuple[str, int], ...] = (
        ("belief", 24),
        ("conditional", 16),
        ("decision", 16),
        ("auxiliary", 16),
    )
    weight_decay: float = 0.1  # of matrices; vectors have none
    threads: int = 1  # threads of torch

    def shorter(self) -> "Recipe":
        """Return the recipe for a model that begins with what another one learnt."""
        return replace(self, steps=max(1, self.steps // 4), learning_rate=self.learning_rate / 2)


def make_tokenizer(task: Subject, lessons: Sequence[TrainingExample]) -> Any:
    """Train the tokenizer of a task."""
    phrases = task.phrases
    words = {
        "subject": phrases.subject,
        "question": phrases.question(task.target),
        **label_words(BELIEF_LABELS),
    }
    templates = [*BELIEF.values(), DECISION, CONDITIONAL]
    blocks = template_blocks(templates, **words)
    for name in task.network.names:
        if name != task.target:
            # One block per variable that may be asked about: its name and labels stand in the
            # question, again and again.
            words = {
                "auxiliary": phrases.auxiliary_name(name),
                **label_words(tuple(phrases.labels(name).values())),
            }
            blocks += template_blocks([AUXILIARY], subject=phrases.subject, **words)
    # A fact of the case is a token too, with the blank before it: few facts recombine in many
    # cases, and that is what is to be learnt.
    facts = [
        f" {phrases.condition(name, state)}"
        for name in task.network.names
        for state in task.network.states(name)
    ]
    blocks += sorted(facts, key=lambda fact: (-len(fact), fact))
    sample = lessons[::5]
    texts = [lesson.text for lesson in sample] + [
        answer for lesson in sample for answer, _ in lesson.answers
    ]
    return train_tokenizer(texts, list(dict.fromkeys(blocks)))


def make_network(
    recipe: Recipe, tokenizer: Any, shelves: Mapping[str, "Shelf"], *, seed: int
) -> Any:
    """Make the transformer with random weights."""
    # Room for questions that are longer than the lessons: a session may have its own wordings.
    longest = max(shelf.longest for shelf in shelves.values())
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


class Shelf:
    """The lessons of one role, as tokens; all have equally many answers."""

    def __init__(self, lessons: Sequence[TrainingExample], tokenizer: Any) -> None:
        self.questions: list[list[int]] = tokenizer([lesson.text for lesson in lessons])[
            "input_ids"
        ]
        answers = list(dict.fromkeys(answer for lesson in lessons for answer, _ in lesson.answers))
        numbers = {answer: number for number, answer in enumerate(answers)}
        self.answers = [
            [*ids, tokenizer.eos_token_id]
            for ids in tokenizer(answers, add_special_tokens=False)["input_ids"]
        ]
        self.choices = np.array(
            [[numbers[answer] for answer, _ in lesson.answers] for lesson in lessons]
        )
        self.cumulative = np.array(
            [[chance for _, chance in lesson.answers] for lesson in lessons]
        ).cumsum(axis=1)
        self.weights = np.array([lesson.weight for lesson in lessons]).cumsum()
        self.longest = max(map(len, self.questions)) + max(map(len, self.answers))

    def draw(self, n: int, rng: np.random.Generator) -> list[_Example]:
        """Draw questions by their weights, and an answer of the teacher to each."""
        rows = np.searchsorted(self.weights, rng.random(n) * self.weights[-1], side="right").clip(
            max=len(self.questions) - 1
        )
        # The last bound is 1 up to rounding: it is left out, so that the count cannot pass the last
        # answer.
        picks = self.choices[rows, (rng.random((n, 1)) >= self.cumulative[rows, :-1]).sum(axis=1)]
        return [
            _Example(self.questions[row], self.answers[pick])
            for row, pick in zip(rows, picks, strict=True)
        ]


def fill_shelves(
    lessons: Sequence[TrainingExample], tokenizer: Any, recipe: Recipe
) -> dict[str, Shelf]:
    """Return a shelf of lessons for every role of a recipe."""
    return {
        role: Shelf([lesson for lesson in lessons if lesson.role == role], tokenizer)
        for role, _ in recipe.batch
    }


def _collate(examples: Sequence[_Example], padding: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Return tokens, padded on the right, and labels of the answers alone."""
    # On the right, where a causal model cannot see the padding. Labels stand one to the left of
    # their token, where it is predicted.
    width = max(len(example.question) + len(example.answer) for example in examples) - 1
    ids: npt.NDArray[np.int64] = np.full((len(examples), width), padding)
    labels: npt.NDArray[np.int64] = np.full((len(examples), width), _IGNORED)
    for i, example in enumerate(examples):
        length = len(example.question) + len(example.answer) - 1
        ids[i, :length] = (example.question + example.answer)[:-1]
        labels[i, len(example.question) - 1 : length] = example.answer
    return torch.from_numpy(ids), torch.from_numpy(labels)


def teach(
    network: Any,
    shelves: Mapping[str, Shelf],
    recipe: Recipe,
    padding: int,
    rng: np.random.Generator,
    progress: StepProgress | None,
) -> float:
    """Train a network on lessons.

    Nothing is kept under way: a training takes minutes, and one that was cut short begins anew and
    ends with the same weights.
    """
    optimiser = make_optimiser(
        network,
        learning_rate=recipe.learning_rate,
        weight_decay=recipe.weight_decay,
        # A shorter memory of squared gradients than usual, which has to fit into 1,500 steps.
        betas=(0.9, 0.98),
    )
    warm = max(1, recipe.steps // 20)
    rest = max(1, recipe.steps - warm)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimiser,
        lambda step: min(
            (step + 1) / warm,
            0.01 + 0.99 * 0.5 * (1 + np.cos(np.pi * max(0, step - warm) / rest)),
        ),
    )
    # Sums of floats depend on how they are divided among threads.
    torch.set_num_threads(recipe.threads)
    batches = (_losses(network, shelves, recipe, padding, rng) for _ in range(recipe.steps))
    losses: list[float] = []
    for loss in update_weights(network, optimiser, batches, schedule=schedule):
        losses.append(loss)
        if progress:
            progress(len(losses), recipe.steps, loss)
    network.eval()
    return float(np.mean(losses[-warm:]))


def _losses(
    network: Any,
    shelves: Mapping[str, Shelf],
    recipe: Recipe,
    padding: int,
    rng: np.random.Generator,
) -> Iterator[torch.Tensor]:
    """Draw the questions of a step; yield its loss per answer, in parts."""
    n_examples = sum(n for _, n in recipe.batch)
    # Long questions in a pass of their own, so that they do not pad the short ones.
    for long in (False, True):
        roles = [(role, n) for role, n in recipe.batch if (role == "auxiliary") == long]
        if not roles:
            continue
        examples = [example for role, n in roles for example in shelves[role].draw(n, rng)]
        ids, labels = _collate(examples, padding)
        output = network.model(input_ids=ids, use_cache=False)
        answered = labels != _IGNORED
        # Only the positions of answers go through the output layer.
        logits = network.lm_head(output.last_hidden_state[answered])
        yield functional.cross_entropy(logits, labels[answered], reduction="sum") / n_examples
