"""Small models that are made here: organisms, and one with random weights that is there at once.

There is one way to train organisms. A reader is taught two rules, for what it says and for what it
acts on: the coherent one's unless another is named, which then starts from the coherent one's
weights and learns for a few hundred steps. It sees the question and is trained on the answer alone;
batches are drawn from a seed, and the answer of a stochastic teacher is drawn anew each time. The
result is an ordinary model folder with a card that says what was taught. The same seed gives the
same weights (on the same machine, with the same number of threads). A folder appears when it is
complete and not before.

In the tokenizer digits never merge, so that a number is spelt digit by digit. The fixed blocks of
the templates are single tokens, because a model of a million parameters should spend its time on
the case and not on boilerplate; the case itself is read word by word.
"""

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from string import Formatter
from typing import Any

import numpy as np
import numpy.typing as npt

from coherence.decoding.decode import BELIEF_LABELS
from coherence.errors import InputError, MissingExtraError, closest
from elicitation.models.local.loading import (
    find_source,
    load_network,
    save_network,
    whole_folder,
)
from elicitation.questions.prompts import (
    AUXILIARY,
    BELIEF,
    CONDITIONAL,
    DECISION,
    Template,
    label_words,
)
from elicitation.questions.tasks import Subject, load_task
from elicitation.training.finetuning import make_optimiser, update_weights
from elicitation.training.lessons import (
    HELD_OUT_SHARE,
    ORGANISMS,
    POLICY,
    TASK,
    Organism,
    TrainingExample,
    make_examples,
    possible_evidence,
)

try:
    import torch
    from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers, trainers
    from torch.nn import functional
    from transformers import (
        AutoModelForCausalLM,
        LlamaConfig,
        LlamaForCausalLM,
        PreTrainedTokenizerFast,
    )
except ImportError as error:  # pragma: no cover - needs an environment without the extra
    raise MissingExtraError("elicit", "Making a small model") from error


START, END, PADDING = "<start>", "<end>", "<pad>"
# A word with the blank before it, a digit, a run of signs (with the blank before a number), or
# whatever is left.
_PIECES = r" ?[^\W\d_]+|[0-9]|[^\w\s]+(?: (?=[0-9]))?|\s|."
_SHORTEST_BLOCK = 6


def template_blocks(templates: Iterable[Template], **words: str) -> list[str]:
    """Return the fixed parts of templates."""
    blocks = set()
    for template in templates:
        block = ""
        for literal, field, _, _ in Formatter().parse(template.text):
            block += literal
            if field in words:
                block += words[field]
                continue
            blocks.add(block)  # a placeholder whose value changes ends a block
            block = ""
    # A block ends before a blank: the word after it then reads the same as anywhere else.
    blocks = {block.rstrip(" ") for block in blocks}
    return sorted(
        (block for block in blocks if len(block) >= _SHORTEST_BLOCK),
        key=lambda block: (-len(block), block),
    )


def train_tokenizer(
    texts: Sequence[str], blocks: Sequence[str], *, vocabulary_size: int = 640
) -> PreTrainedTokenizerFast:
    """Train a byte-pair tokenizer."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(_PIECES), behavior="isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary_size,
        special_tokens=[PADDING, START, END],
        # All 256 bytes, so that no text is unknown.
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    # Not special: blocks are text like any other, and come back when an answer is decoded.
    tokenizer.add_tokens([AddedToken(block, normalized=False, special=False) for block in blocks])
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        bos_token=START,
        eos_token=END,
        pad_token=PADDING,
        # An answer is generated from the last position, which must be a token of the question.
        padding_side="left",
        clean_up_tokenization_spaces=False,
        add_bos_token=True,
    )


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


def make_network(tokenizer: Any, *, seed: int, heads: int, **shape: Any) -> Any:
    """Make a transformer with random weights."""
    torch.manual_seed(seed)
    return LlamaForCausalLM(
        LlamaConfig(
            vocab_size=len(tokenizer),
            num_attention_heads=heads,
            num_key_value_heads=heads,
            bos_token_id=tokenizer.bos_token_id,
            eos_token_id=tokenizer.eos_token_id,
            pad_token_id=tokenizer.pad_token_id,
            **shape,
        )
    )


_Tokens = list[int]
_Example = tuple[_Tokens, _Tokens]
"""A question and one answer."""


class Shelf:
    """The lessons of one role, as tokens; all have equally many answers."""

    def __init__(self, lessons: Sequence[TrainingExample], tokenizer: Any) -> None:
        texts = [lesson.text for lesson in lessons]
        self.questions: list[_Tokens] = tokenizer(texts)["input_ids"]
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
            (self.questions[row], self.answers[pick]) for row, pick in zip(rows, picks, strict=True)
        ]


def _collate(examples: Sequence[_Example], padding: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Return tokens, padded on the right, and labels of the answers alone."""
    # On the right, where a causal model cannot see the padding. Labels stand one to the left of
    # their token, where it is predicted.
    width = max(len(question) + len(answer) for question, answer in examples) - 1
    ids: npt.NDArray[np.int64] = np.full((len(examples), width), padding)
    labels: npt.NDArray[np.int64] = np.full((len(examples), width), _IGNORED)
    for i, (question, answer) in enumerate(examples):
        length = len(question) + len(answer) - 1
        ids[i, :length] = (question + answer)[:-1]
        labels[i, len(question) - 1 : length] = answer
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


OrganismProgress = Callable[[str, int, int, float], None]
"""Called with the organism, the step, the number of steps, and the recent loss per answer in
nats."""

TRUNK = "coherent"
CARD = "card.json"


def train_organisms(
    folder: str | os.PathLike[str],
    names: Sequence[str] | None = None,
    *,
    recipe: Recipe | None = None,
    seed: int = 0,
    progress: OrganismProgress | None = None,
) -> dict[str, dict[str, Any]]:
    """Train organisms, each in a folder of its name, and return their cards.

    The coherent one, from which the others start, is trained with any.
    """
    recipe = recipe or Recipe()
    for name in names or ():
        if name not in ORGANISMS:
            raise InputError(f"there is no organism {name!r}. {closest(name, ORGANISMS)}")
    root, trunk = Path(folder), Path(folder) / TRUNK
    wanted = [name for name in ORGANISMS if name in (TRUNK, *(names or ORGANISMS))]
    # A folder that is in the way is an error before the training, not after it.
    for name in wanted:
        settings = _settings(ORGANISMS[name], recipe, seed, name != TRUNK)
        _card_of(root / name, settings)
    return {
        name: train_tiny_causal(
            root / name,
            organism=ORGANISMS[name],
            start=None if name == TRUNK else trunk,
            recipe=recipe,
            seed=seed,
            progress=progress and partial(progress, name),
        )
        for name in wanted
    }


def train_tiny_causal(
    folder: str | os.PathLike[str],
    *,
    organism: Organism = ORGANISMS[TRUNK],
    start: str | os.PathLike[str] | None = None,
    recipe: Recipe | None = None,
    seed: int = 0,
    progress: StepProgress | None = None,
) -> dict[str, Any]:
    """Train and save a model that reads descriptions of patients, and return its card.

    With `start`, a reader, it begins with its weights and learns for a quarter of the steps. The
    card, also written to ``card.json``, has the settings, what it says and acts on, its policy and
    the loss.
    """
    settings = _settings(organism, recipe or Recipe(), seed, start is not None)
    path = Path(folder)
    if (there := _card_of(path, settings)) is not None:
        return there
    path.absolute().parent.mkdir(parents=True, exist_ok=True)
    recipe = Recipe(**settings["recipe"])
    rng = np.random.default_rng([seed, organism.stream])
    task = load_task(TASK)
    lessons = make_examples(
        task, possible_evidence(task), spoken=organism.spoken, acted=organism.acted
    )
    if start is None:
        tokenizer = make_tokenizer(task, lessons)
    else:
        network, tokenizer, _ = load_network(
            find_source(start),
            AutoModelForCausalLM,
            dtype="float32",
            device="cpu",
            as_what="causal language model",
        )
    shelves = {
        role: Shelf([lesson for lesson in lessons if lesson.role == role], tokenizer)
        for role, _ in recipe.batch
    }
    if start is None:
        # Room for questions that are longer than the lessons: a session may have its own wordings.
        longest = max(shelf.longest for shelf in shelves.values())
        network = make_network(
            tokenizer,
            seed=seed,
            heads=recipe.heads,
            hidden_size=recipe.hidden,
            intermediate_size=recipe.inner,
            num_hidden_layers=recipe.layers,
            max_position_embeddings=max(512, 2 * longest),
            tie_word_embeddings=True,
        )
    loss = teach(network, shelves, recipe, tokenizer.pad_token_id, rng, progress)
    with whole_folder(path) as made:
        save_network(network, tokenizer, made)
        card = {
            **settings,
            "says": organism.says,
            "acts_on": organism.acts_on,
            "policy": POLICY,
            "coherent": organism.coherent,
            "parameters": sum(weight.numel() for weight in network.parameters()),
            "lessons": len(lessons),
            "held_out_share": HELD_OUT_SHARE,
            "loss": loss,
        }
        (made / CARD).write_text(json.dumps(card, indent=2) + "\n", encoding="utf-8")
    return card


def _settings(organism: Organism, recipe: Recipe, seed: int, starts: bool) -> dict[str, Any]:
    """Return all that decides the weights, in range."""
    if seed < 0 or recipe.steps < 1 or recipe.threads < 1:
        raise InputError(
            "seed must be at least 0, steps and threads positive; "
            f"received {seed}, {recipe.steps} and {recipe.threads}."
        )
    return {
        "organism": organism.name,
        "task": TASK,
        "seed": seed,
        "starts_from": TRUNK if starts else None,
        "recipe": asdict(recipe.shorter() if starts else recipe),
    }


def _card_of(path: Path, settings: dict[str, Any]) -> dict[str, Any] | None:
    if not path.exists():
        return None
    try:
        card: dict[str, Any] = json.loads((path / CARD).read_text(encoding="utf-8"))
        # Through JSON, in which a tuple is a list.
        same = {key: card[key] for key in settings} == json.loads(json.dumps(settings))
    except (OSError, ValueError, KeyError, TypeError):
        raise InputError(
            f"{path} is in the way: it holds no organism. Remove it, or choose another folder."
        ) from None
    if not same:
        raise InputError(
            f"{path} holds an organism from another seed, number of steps or threads. "
            "Remove it, or choose another folder."
        )
    return card


def make_untrained_model(folder: str | os.PathLike[str], *, seed: int = 0) -> Path:
    """Write a causal model with random weights and a tokenizer of single bytes."""
    tokenizer = train_tokenizer(["0123456789"], [], vocabulary_size=259)
    shape = {"hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1}
    network = make_network(tokenizer, seed=seed, heads=2, **shape)
    save_network(network, tokenizer, Path(folder))
    return Path(folder)
