"""The course of a training: the tokenizer that fits a task, shelves of lessons, and the steps of the optimiser.

The model sees the question and is trained on the answer alone. Batches are drawn from a seed; the
answer of a stochastic teacher is drawn anew each time.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from coherence.decoding.decode import BELIEF_LABELS
from coherence.errors import MissingExtraError
from elicitation.session.plan import Task
from elicitation.session.prompts import AUXILIARY, BELIEF, CONDITIONAL, DECISION, label_words
from elicitation.training.organisms.lessons import Lesson
from elicitation.training.organisms.tokenizer import template_blocks, train_tokenizer

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

    steps: int = 1500
    hidden: int = 64
    inner: int = 176
    layers: int = 3
    heads: int = 4
    learning_rate: float = 4e-3
    batch: tuple[tuple[str, int], ...] = (
        ("belief", 24),
        ("conditional", 16),
        ("decision", 16),
        ("auxiliary", 16),
    )
    weight_decay: float = 0.1
    threads: int = 1

    def shorter(self) -> "Recipe":
        """Return the recipe for a model that begins with what another one learnt: a quarter of the steps at half the rate."""
        return replace(self, steps=max(1, self.steps // 4), learning_rate=self.learning_rate / 2)


def make_tokenizer(task: Task, lessons: Sequence[Lesson]) -> Any:
    """Train the tokenizer of a task."""
    phrases = task.phrases
    words = {
        "subject": phrases.subject,
        "question": phrases.question(task.target),
        **label_words(BELIEF_LABELS),
    }
    blocks = template_blocks([*BELIEF.values(), DECISION, CONDITIONAL], **words)
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


def make_network(recipe: Recipe, tokenizer: Any, *, longest: int, seed: int) -> Any:
    """Make the transformer with random weights."""
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
    """The lessons of one role, as tokens."""

    def __init__(self, lessons: Sequence[Lesson], tokenizer: Any) -> None:
        self.questions: list[list[int]] = tokenizer([lesson.text for lesson in lessons])[
            "input_ids"
        ]
        answers = list(dict.fromkeys(answer for lesson in lessons for answer, _ in lesson.answers))
        place = {answer: i for i, answer in enumerate(answers)}
        self.answers = [
            [*ids, tokenizer.eos_token_id]
            for ids in tokenizer(answers, add_special_tokens=False)["input_ids"]
        ]
        self.choices = np.array(
            [[place[answer] for answer, _ in lesson.answers] for lesson in lessons]
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


def optimise(
    network: Any,
    school: dict[str, Shelf],
    recipe: Recipe,
    padding: int,
    rng: np.random.Generator,
    progress: Progress | None,
) -> float:
    """Run the steps; return the mean loss per answer of the last twentieth."""
    weights = list(network.parameters())
    matrices = [weight for weight in weights if weight.dim() >= 2]
    vectors = [weight for weight in weights if weight.dim() < 2]
    optimiser = torch.optim.AdamW(
        [
            {"params": matrices, "weight_decay": recipe.weight_decay},
            {"params": vectors, "weight_decay": 0.0},
        ],
        lr=recipe.learning_rate,
        betas=(0.9, 0.98),
    )
    warm = max(1, recipe.steps // 20)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimiser,
        lambda step: min(
            (step + 1) / warm,
            0.01
            + 0.99 * 0.5 * (1 + np.cos(np.pi * max(0, step - warm) / max(1, recipe.steps - warm))),
        ),
    )
    torch.set_num_threads(recipe.threads)
    network.train()
    losses: list[float] = []
    # Long questions in a pass of their own, so that they do not pad the short ones.
    passes = [
        [pair for pair in recipe.batch if pair[0] != "auxiliary"],
        [pair for pair in recipe.batch if pair[0] == "auxiliary"],
    ]
    total = sum(n for _, n in recipe.batch)
    for step in range(recipe.steps):
        recent = 0.0
        for roles in filter(None, passes):
            examples = [example for role, n in roles for example in school[role].draw(n, rng)]
            ids, labels = _collate(examples, padding)
            output = network.model(input_ids=ids, use_cache=False)
            told = labels != _IGNORED
            # Only the places of answers go through the output layer.
            loss = (
                functional.cross_entropy(
                    network.lm_head(output.last_hidden_state[told]), labels[told], reduction="sum"
                )
                / total
            )
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
