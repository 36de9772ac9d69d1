"""Train organisms and write them down: a model folder each, with a card.

The card says what it was taught and how well it learnt. The coherent organism is trained from
random weights; every other one starts from its weights and is taught its own rules for a few
hundred steps. The same seed gives the same weights (on the same machine, with the same number of
threads). A folder appears when it is complete and not before.
"""

import json
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from coherence.errors import InputError, closest
from elicitation.models.local.loading import quiet_transformers
from elicitation.models.local.sources import without_network
from elicitation.questions.tasks import Task
from elicitation.training.organisms.catalog import ORGANISMS, POLICY, TASK, Organism
from elicitation.training.organisms.course import (
    Recipe,
    fill_shelves,
    make_network,
    make_tokenizer,
    teach,
)
from elicitation.training.organisms.lessons import (
    ACTIONS,
    HELD_OUT_SHARE,
    action_probabilities,
    make_lessons,
    possible_evidence,
)
from elicitation.training.organisms.reader import (
    ask_reader,
    held_out_cases,
    root_mean_square,
)

OrganismProgress = Callable[[str, int, int, float], None]
"""Called with the organism, the step, the number of steps, and the recent loss per answer in
nats."""

TRUNK = "coherent"
CARD = "card.json"
_REPS = 3


@dataclass(frozen=True)
class Accuracy:
    """How well an organism keeps its own rules, on evidence sets that no lesson was about."""

    evidence_sets: int  # asked about
    readable: float  # share of answers with status ok
    # root mean squared distance of stated beliefs, all framings, to the rule for what it says
    rmse: float
    rmse_auxiliary: float  # the same of the stated probabilities of z
    # total variation between the shares of its actions and those of its policy, in fifths of [0, 1]
    # of the belief acted on, averaged over cases
    policy_distance: float


def train_organisms(
    folder: str | os.PathLike[str],
    names: Sequence[str] = tuple(ORGANISMS),
    *,
    recipe: Recipe | None = None,
    seed: int = 0,
    progress: OrganismProgress | None = None,
) -> dict[str, dict[str, Any]]:
    """Train organisms, each in a folder of its name."""
    recipe = recipe or Recipe()
    for name in names:
        if name not in ORGANISMS:
            raise InputError(f"there is no organism {name!r}. {closest(name, ORGANISMS)}")
    if seed < 0 or recipe.steps < 1 or recipe.threads < 1:
        raise InputError(
            "seed must be at least 0, steps and threads positive; "
            f"received {seed}, {recipe.steps} and {recipe.threads}."
        )
    wanted = [organism for name, organism in ORGANISMS.items() if name in (TRUNK, *names)]
    root = Path(folder)
    settings = {organism.name: _settings(organism, recipe, seed) for organism in wanted}
    # A folder that is in the way is an error before the training, not after it.
    cards = {
        organism.name: _card_of(root / organism.name, settings[organism.name])
        for organism in wanted
    }
    root.mkdir(parents=True, exist_ok=True)
    task = Task.load(TASK)
    for organism in wanted:
        if cards[organism.name] is None:
            cards[organism.name] = _rear(root, organism, task, settings[organism.name], progress)
    return {name: card for name, card in cards.items() if card is not None}


def _settings(organism: Organism, recipe: Recipe, seed: int) -> dict[str, Any]:
    """Return all that decides the weights."""
    first = organism.name == TRUNK
    return {
        "organism": organism.name,
        "task": TASK,
        "seed": seed,
        "starts_from": None if first else TRUNK,
        "recipe": asdict(recipe if first else recipe.shorter()),
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
            f"{path} holds an organism from another seed, another number of steps or threads. "
            "Remove it, or choose another folder."
        )
    return card


def _rear(
    root: Path,
    organism: Organism,
    task: Task,
    settings: dict[str, Any],
    progress: OrganismProgress | None,
) -> dict[str, Any]:
    recipe, seed = Recipe(**settings["recipe"]), settings["seed"]
    # A stream for each, so that an organism is the same whichever others are trained.
    rng = np.random.default_rng([seed, list(ORGANISMS).index(organism.name)])
    lessons = make_lessons(
        task, possible_evidence(task, rng), spoken=organism.spoken, acted=organism.acted
    )
    if organism.name == TRUNK:
        tokenizer = make_tokenizer(task, lessons)
        shelves = fill_shelves(lessons, tokenizer, recipe)
        network = make_network(recipe, tokenizer, shelves, seed=seed)
    else:
        network, tokenizer = _load_trunk(root / TRUNK)
        shelves = fill_shelves(lessons, tokenizer, recipe)

    def show(step: int, steps: int, loss: float) -> None:
        if progress:
            progress(organism.name, step, steps, loss)

    loss = teach(network, shelves, recipe, tokenizer.pad_token_id, rng, show)
    with _complete_or_absent(root / organism.name) as path:
        with quiet_transformers():
            network.save_pretrained(path)
            tokenizer.save_pretrained(path)
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
            "accuracy": asdict(measure_organism(path, organism, task)),
        }
        (path / CARD).write_text(json.dumps(card, indent=2) + "\n", encoding="utf-8")
    return card


def _load_trunk(path: Path) -> tuple[Any, Any]:
    from transformers import AutoModelForCausalLM, AutoTokenizer

    with quiet_transformers(), without_network():
        network = AutoModelForCausalLM.from_pretrained(
            path, local_files_only=True, use_safetensors=True
        )
        return network, AutoTokenizer.from_pretrained(path, local_files_only=True)


@contextmanager
def _complete_or_absent(path: Path) -> Iterator[Path]:
    """Give a folder beside the final one, which takes its name if all goes well."""
    beside = path.with_name(f".{path.name}.unfinished")
    shutil.rmtree(beside, ignore_errors=True)
    beside.mkdir()
    try:
        yield beside
        beside.rename(path)
    finally:
        # Not in an except: Ctrl-C is no Exception and shall leave nothing either.
        shutil.rmtree(beside, ignore_errors=True)


def measure_organism(
    folder: str | os.PathLike[str],
    organism: Organism,
    task: Task,
    *,
    n_cases: int = 500,
    seed: int = 1,
) -> Accuracy:
    """Ask an organism about held-out evidence, and compare with its own rules."""
    cases = held_out_cases(task, n=n_cases, seed=seed).drop_duplicates("context", ignore_index=True)
    runs, tally = ask_reader(folder, task, cases, reps=_REPS, seed=seed)
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
    decided = runs[runs["action"].notna()]
    return Accuracy(
        evidence_sets=len(cases),
        readable=tally.readable / tally.total,
        rmse=root_mean_square(ordinary["p"], ordinary["context"].map(stated_belief)),
        rmse_auxiliary=root_mean_square(
            iterated["p_z"],
            _auxiliary_by_rule(iterated, evidence.set_index(cases["context"]), organism, task),
        ),
        policy_distance=_policy_distance(
            decided["action"].astype(str), decided["context"].map(acted_on).astype(float)
        ),
    )


def _auxiliary_by_rule(
    rows: pd.DataFrame, evidence: pd.DataFrame, organism: Organism, task: Task
) -> "pd.Series[float]":
    """Return the probability of the state of z that the organism's rule gives, one per row."""
    expected = pd.Series(np.nan, index=rows.index)
    for z, group in rows.groupby("z"):
        known = evidence.loc[group["context"]].reset_index(drop=True)
        chances = organism.spoken(task.network, known, str(z))
        expected.loc[group.index] = np.array(
            [chances[state].iloc[row] for row, state in enumerate(group["z_state"])]
        )
    return expected


def _policy_distance(actions: "pd.Series[str]", belief: "pd.Series[float]") -> float:
    expected = pd.DataFrame(
        action_probabilities(belief.to_numpy()), index=actions.index, columns=list(ACTIONS)
    )
    taken = pd.DataFrame({action: (actions == action).astype(float) for action in ACTIONS})
    # Total variation is half the absolute difference. In groups, because a single drawn action is
    # far from any policy; belief 1 belongs to the last fifth.
    fifth = np.minimum((belief * 5).astype(int), 4)
    differences = (taken - expected).groupby(fifth).sum().abs().sum(axis=1) / 2
    return float(differences.sum() / len(actions))
