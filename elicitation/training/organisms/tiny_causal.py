"""Train small models that read the cases of asia and answer all questions about them.

There is one way to train them. A reader is taught an organism's two rules, for what it says and for
what it acts on: the coherent one's unless another is named, which then starts from the coherent
one's weights and learns for a few hundred steps. The result is an ordinary model folder with a card
that says what was taught and how well it was learnt, measured in the ordinary way of asking. The
same seed gives the same weights (on the same machine, with the same number of threads). A folder
appears when it is complete and not before.
"""

import json
import os
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from transformers import AutoModelForCausalLM

from coherence.errors import InputError, closest
from elicitation.asking.session import elicit
from elicitation.asking.store import AnswerStore
from elicitation.models.local.causal import load_causal_model
from elicitation.models.local.loading import Placement, load_network
from elicitation.models.local.saving import save_network, whole_folder
from elicitation.models.local.sources import find_source
from elicitation.questions.plan import Design
from elicitation.questions.tasks import Subject, cells_of, evidence_of, load_task
from elicitation.training.organisms.catalog import ORGANISMS, POLICY, TASK, Organism
from elicitation.training.organisms.curriculum import (
    Recipe,
    StepProgress,
    fill_shelves,
    make_network,
    make_tokenizer,
    teach,
)
from elicitation.training.organisms.training_set import (
    HELD_OUT_SHARE,
    canonical_evidence,
    is_held_out,
    make_examples,
    possible_evidence,
)

OrganismProgress = Callable[[str, int, int, float], None]
"""Called with the organism, the step, the number of steps, and the recent loss per answer in
nats."""

TRUNK = "coherent"
CARD = "card.json"
_REPS = 3


@dataclass(frozen=True)
class Accuracy:
    """How well a reader says what it is to say, on evidence sets that no lesson was about."""

    evidence_sets: int  # asked about
    readable: float  # share of answers with status ok
    # root mean squared distance of stated beliefs, all variants, to the rule for what it says
    rmse: float


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
    n_cases: int = 500,
    progress: StepProgress | None = None,
) -> dict[str, Any]:
    """Train and save a model that reads descriptions of patients, and return its card.

    With `start`, a reader, it begins with its weights and learns for a quarter of the steps. Of
    `n_cases` that are drawn, those held out are asked to measure it; 0 does not measure. The card,
    also written to ``card.json``, has the settings, what it says and acts on, its policy, the loss
    and `Accuracy`.
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
        shelves = fill_shelves(lessons, tokenizer, recipe)
        network = make_network(recipe, tokenizer, shelves, seed=seed)
    else:
        network, tokenizer, _ = load_network(
            find_source(start),
            AutoModelForCausalLM,
            Placement("float32", "cpu"),
            as_what="causal language model",
        )
        shelves = fill_shelves(lessons, tokenizer, recipe)
    loss = teach(network, shelves, recipe, tokenizer.pad_token_id, rng, progress)
    with whole_folder(path) as made:
        save_network(network, tokenizer, made)
        accuracy = measure_tiny_causal(made, organism, n_cases=n_cases) if n_cases else None
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
            "accuracy": accuracy and asdict(accuracy),
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


def held_out_cases(task: Subject, *, n: int = 1000, seed: int = 0) -> pd.DataFrame:
    """Draw cases whose evidence was kept out of the lessons."""
    cases = task.cases(n, seed=seed)
    unseen = [is_held_out(canonical_evidence(evidence_of(case))) for case in cells_of(cases)]
    return cases[unseen].reset_index(drop=True)


def measure_tiny_causal(
    folder: str | os.PathLike[str], organism: Organism, *, n_cases: int = 500, seed: int = 1
) -> Accuracy:
    """Ask a reader about held-out evidence, as a session would, and compare with its own rule."""
    task = load_task(TASK)
    cases = held_out_cases(task, n=n_cases, seed=seed).drop_duplicates("context", ignore_index=True)
    with AnswerStore(":memory:") as store:
        runs, tally = elicit(
            load_causal_model(folder, batch_size=256),
            task,
            cases,
            store,
            design=Design(reps=_REPS, seed=seed),
            batch_size=2048,
            # A measurement of a model that can say nothing yet is one as well.
            keep_going=True,
        )
    evidence = pd.DataFrame(
        {name: cases.get(f"x_{name}") for name in task.network.names}, dtype=object
    )
    positive = task.phrases.positive(task.target)
    belief = organism.spoken(task.network, evidence, task.target)[positive].to_numpy()
    ordinary = runs[runs["z_state"].isna()]
    expected = ordinary["context"].map(pd.Series(belief, index=cases["context"]))
    return Accuracy(
        evidence_sets=len(cases),
        readable=tally.readable / tally.total,
        # Missing values do not count.
        rmse=float(np.sqrt(((ordinary["p"].astype(float) - expected) ** 2).mean())),
    )
