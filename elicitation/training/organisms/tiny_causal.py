"""Train small models that read the cases of a task and answer all its questions.

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
from elicitation.questions.tasks import Task, cells_of, evidence_of
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
    ACTIONS,
    HELD_OUT_SHARE,
    action_probabilities,
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
    """How well a reader keeps its rules, on evidence sets that no lesson was about."""

    evidence_sets: int  # asked about
    readable: float  # share of answers with status ok
    # root mean squared distance of stated beliefs, all variants, to the rule for what it says
    rmse: float
    rmse_auxiliary: float  # the same of the stated probabilities of z
    # total variation between the shares of its actions and those of its policy, in fifths of [0, 1]
    # of the belief acted on, averaged over cases
    policy_distance: float


def train_organisms(
    folder: str | os.PathLike[str],
    names: Sequence[str] | None = None,
    *,
    task: Task | None = None,
    recipe: Recipe | None = None,
    seed: int = 0,
    progress: OrganismProgress | None = None,
) -> dict[str, dict[str, Any]]:
    """Train organisms, each in a folder of its name, and return their cards.

    `names` are those of the catalogue, by default all that can be planted in the task; the
    coherent one, from which the others start, is trained with any.
    """
    task, recipe = task or Task.load(TASK), recipe or Recipe()
    fitting = [name for name, one in ORGANISMS.items() if one.fits(task.network)]
    for name in names or ():
        if name not in ORGANISMS:
            raise InputError(f"there is no organism {name!r}. {closest(name, ORGANISMS)}")
        if name not in fitting:
            raise InputError(
                f"organism {name!r} is planted in {' and '.join(ORGANISMS[name].variables)}, which "
                f"task {task.name!r} does not have. Take --task {TASK}, or {', '.join(fitting)}."
            )
    root, trunk = Path(folder), Path(folder) / TRUNK
    wanted = [name for name in fitting if name in (TRUNK, *(names or fitting))]
    # A folder that is in the way is an error before the training, not after it.
    for name in wanted:
        settings = _settings(task, ORGANISMS[name], recipe, seed, name != TRUNK)
        _card_of(root / name, settings)
    return {
        name: train_tiny_causal(
            root / name,
            task,
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
    task: Task,
    *,
    organism: Organism = ORGANISMS[TRUNK],
    start: str | os.PathLike[str] | None = None,
    recipe: Recipe | None = None,
    seed: int = 0,
    n_cases: int = 500,
    progress: StepProgress | None = None,
) -> dict[str, Any]:
    """Train and save a model that reads a task's descriptions, and return its card.

    Parameters
    ----------
    folder : path-like
        Where it goes; one of the same settings is taken as it is.
    task : Task
        Whose questions it learns to answer.
    organism : Organism
        What it is to say and to act on; by default the exact posterior both times.
    start : path-like or None
        A reader of the same task, whose weights it begins with; it then learns for a quarter of the
        steps. None begins with random weights.
    recipe : Recipe or None
        Size of the model and course of a training from random weights.
    seed : int
        Of weights and lessons, at least 0.
    n_cases : int
        Cases drawn to measure it on, of which those held out are asked; 0 does not measure.
    progress : callable or None
        See `StepProgress`.

    Returns
    -------
    dict
        What is also written to ``card.json``: the settings, what it says and acts on, its policy,
        loss, and `accuracy` (see `Accuracy`).

    Raises
    ------
    InputError
        A setting is outside its range, or the folder holds something else.
    """
    settings = _settings(task, organism, recipe or Recipe(), seed, start is not None)
    path = Path(folder)
    if (there := _card_of(path, settings)) is not None:
        return there
    path.absolute().parent.mkdir(parents=True, exist_ok=True)
    recipe = Recipe(**settings["recipe"])
    # A stream for each, so that an organism is the same whichever others are trained.
    rng = np.random.default_rng([seed, list(ORGANISMS).index(organism.name)])
    lessons = make_examples(
        task,
        possible_evidence(task, rng),
        spoken=organism.spoken,
        acted=organism.acted,
        matching=recipe.matching,
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
        accuracy = measure_tiny_causal(made, organism, task, n_cases=n_cases) if n_cases else None
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


def _settings(
    task: Task, organism: Organism, recipe: Recipe, seed: int, starts: bool
) -> dict[str, Any]:
    """Return all that decides the weights, in range."""
    if seed < 0 or recipe.steps < 1 or recipe.threads < 1:
        raise InputError(
            "seed must be at least 0, steps and threads positive; "
            f"received {seed}, {recipe.steps} and {recipe.threads}."
        )
    return {
        "organism": organism.name,
        "task": task.name,
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
            f"{path} holds an organism from another task, seed, number of steps or threads. "
            "Remove it, or choose another folder."
        )
    return card


def held_out_cases(task: Task, *, n: int = 1000, seed: int = 0) -> pd.DataFrame:
    """Draw cases whose evidence was kept out of the lessons."""
    cases = task.cases(n, seed=seed)
    unseen = [is_held_out(canonical_evidence(evidence_of(case))) for case in cells_of(cases)]
    return cases[unseen].reset_index(drop=True)


def measure_tiny_causal(
    folder: str | os.PathLike[str],
    organism: Organism,
    task: Task,
    *,
    n_cases: int = 500,
    seed: int = 1,
) -> Accuracy:
    """Ask a reader about held-out evidence, as a session would, and compare with its own rules."""
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
    stated_belief, acted_on = (
        pd.Series(
            rule(task.network, evidence, task.target)[positive].to_numpy(), index=cases["context"]
        )
        for rule in (organism.spoken, organism.acted)
    )
    ordinary = runs[runs["z_state"].isna()]
    iterated = runs[runs["z_state"].notna()]
    # The probability of the state of z that the rule gives, one per row.
    by_rule = pd.Series(np.nan, index=iterated.index)
    by_context = evidence.set_index(cases["context"])
    for z, group in iterated.groupby("z"):
        known = by_context.loc[group["context"]].reset_index(drop=True)
        chances = organism.spoken(task.network, known, str(z))
        by_rule.loc[group.index] = np.array(
            [chances[state].iloc[row] for row, state in enumerate(group["z_state"])]
        )
    decided = runs[runs["action"].notna()]
    return Accuracy(
        evidence_sets=len(cases),
        readable=tally.readable / tally.total,
        rmse=_root_mean_square(ordinary["p"], ordinary["context"].map(stated_belief)),
        rmse_auxiliary=_root_mean_square(iterated["p_z"], by_rule),
        policy_distance=_policy_distance(
            decided["action"].astype(str), decided["context"].map(acted_on).astype(float)
        ),
    )


def _root_mean_square(stated: "pd.Series[float]", expected: "pd.Series[float]") -> float:
    """Return the root mean squared difference; missing values do not count."""
    return float(np.sqrt(((stated.astype(float) - expected.astype(float)) ** 2).mean()))


def _policy_distance(actions: "pd.Series[str]", belief: "pd.Series[float]") -> float:
    if actions.empty:  # a model that can say nothing yet
        return float("nan")
    expected = pd.DataFrame(
        action_probabilities(belief.to_numpy()), index=actions.index, columns=list(ACTIONS)
    )
    taken = pd.DataFrame({action: (actions == action).astype(float) for action in ACTIONS})
    # Total variation is half the absolute difference. In groups, because a single drawn action is
    # far from any policy; belief 1 belongs to the last fifth.
    fifth = np.minimum((belief * 5).astype(int), 4)
    differences = (taken - expected).groupby(fifth).sum().abs().sum(axis=1) / 2
    return float(differences.sum() / len(actions))
