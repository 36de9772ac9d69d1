"""Train organisms and write them down: a model folder each, with a card that says what it was taught and how well it learnt.

The coherent organism is trained from random weights; every other one starts from its weights and is
taught its own rules for a few hundred steps. The same seed gives the same weights (on the same
machine, with the same number of threads). A folder appears when it is complete and not before.
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
from elicitation.models.local.causal import load_causal_model, quiet_transformers
from elicitation.session.plan import Design, Task
from elicitation.session.session import elicit
from elicitation.store import AnswerStore
from elicitation.training.organisms.catalog import ORGANISMS, POLICY, TASK, Organism
from elicitation.training.organisms.course import (
    Recipe,
    Shelf,
    make_network,
    make_tokenizer,
    optimise,
)
from elicitation.training.organisms.lessons import (
    ACTIONS,
    HELD_OUT_SHARE,
    Lesson,
    action_probabilities,
    make_lessons,
    possible_evidence,
)
from elicitation.training.organisms.training import held_out_cases

Progress = Callable[[str, int, int, float], None]
"""Called with the organism, the step, the number of steps, and the recent loss per answer in
nats."""

TRUNK = "coherent"
CARD = "card.json"
_REPS = 3


@dataclass(frozen=True)
class Accuracy:
    """How well an organism keeps its own rules, on evidence sets that no lesson was about.

    Parameters
    ----------
    evidence_sets : int
        Asked about.
    readable : float
        Share of answers with status ok.
    rmse : float
        Root mean squared distance of stated beliefs, all framings, to the rule for what it says.
    rmse_auxiliary : float
        The same of the stated probabilities of z.
    policy_distance : float
        Total variation between the shares of its actions and those of its policy, in fifths of [0,
        1] of the belief acted on, averaged over cases.
    """

    evidence_sets: int
    readable: float
    rmse: float
    rmse_auxiliary: float
    policy_distance: float


def train_organisms(
    folder: str | os.PathLike[str],
    names: Sequence[str] = tuple(ORGANISMS),
    *,
    recipe: Recipe | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> dict[str, dict[str, Any]]:
    """Train organisms, each in a folder of its name.

    Parameters
    ----------
    folder : path-like
        Where the model folders go; made if need be. An organism that is there already, from the
        same seed and recipe, is kept.
    names : sequence of str
        Names in `ORGANISMS`; the coherent one is trained whenever another one is, because they
        start from it.
    recipe : Recipe, optional
        Size, and course of the coherent organism; the others get a quarter of its steps.
    seed : int
        Seed of initial weights, batches and drawn answers, at least 0.
    progress : callable, optional
        See `Progress`.

    Returns
    -------
    dict of str to dict
        The cards, by name, in the order of `ORGANISMS`.

    Raises
    ------
    InputError
        An unknown name, an option outside its range, or a folder that holds something else.
    """
    recipe = recipe or Recipe()
    for name in names:
        if name not in ORGANISMS:
            raise InputError(f"there is no organism {name!r}. {closest(name, ORGANISMS)}")
    if seed < 0 or recipe.steps < 1 or recipe.threads < 1:
        raise InputError(
            f"seed must be at least 0, steps and threads positive; received {seed}, {recipe.steps} and {recipe.threads}."
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
    ours = recipe if organism.name == TRUNK else recipe.shorter()
    return {
        "organism": organism.name,
        "task": TASK,
        "seed": seed,
        "starts_from": None if organism.name == TRUNK else TRUNK,
        "recipe": asdict(ours),
    }


def _card_of(path: Path, settings: dict[str, Any]) -> dict[str, Any] | None:
    if not path.exists():
        return None
    try:
        card: dict[str, Any] = json.loads((path / CARD).read_text(encoding="utf-8"))
        same = {key: card[key] for key in settings} == json.loads(json.dumps(settings))
    except (OSError, ValueError, KeyError, TypeError):
        raise InputError(
            f"{path} is in the way: it holds no organism. Remove it, or choose another folder."
        ) from None
    if not same:
        raise InputError(
            f"{path} holds an organism from another seed, another number of steps or threads. Remove it, or choose another folder."
        )
    return card


def _rear(
    root: Path, organism: Organism, task: Task, settings: dict[str, Any], progress: Progress | None
) -> dict[str, Any]:
    recipe, seed = Recipe(**settings["recipe"]), settings["seed"]
    rng = np.random.default_rng([seed, list(ORGANISMS).index(organism.name)])
    lessons = make_lessons(
        task, possible_evidence(task, rng), spoken=organism.spoken, acted=organism.acted
    )
    network, tokenizer = _beginning(root, organism, task, lessons, recipe, seed)
    school = {
        role: Shelf([lesson for lesson in lessons if lesson.role == role], tokenizer)
        for role, _ in recipe.batch
    }

    def show(step: int, steps: int, loss: float) -> None:
        if progress:
            progress(organism.name, step, steps, loss)

    loss = optimise(network, school, recipe, tokenizer.pad_token_id, rng, show)
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


def _beginning(
    root: Path, organism: Organism, task: Task, lessons: Sequence[Lesson], recipe: Recipe, seed: int
) -> tuple[Any, Any]:
    """Return network and tokenizer: new ones, or those of the organism that this one starts from."""
    if organism.name != TRUNK:
        from transformers import AutoModelForCausalLM, AutoTokenizer

        with quiet_transformers():
            network = AutoModelForCausalLM.from_pretrained(
                root / TRUNK, local_files_only=True, use_safetensors=True
            )
            return network, AutoTokenizer.from_pretrained(root / TRUNK, local_files_only=True)
    tokenizer = make_tokenizer(task, lessons)
    longest = max(len(ids) for ids in tokenizer([lesson.text for lesson in lessons])["input_ids"])
    return make_network(recipe, tokenizer, longest=longest, seed=seed), tokenizer


@contextmanager
def _complete_or_absent(path: Path) -> Iterator[Path]:
    """Give a folder beside the final one, which takes its name if all goes well and vanishes if not (Ctrl-C included)."""
    beside = path.with_name(f".{path.name}.unfinished")
    shutil.rmtree(beside, ignore_errors=True)
    beside.mkdir()
    try:
        yield beside
        beside.rename(path)
    finally:
        shutil.rmtree(beside, ignore_errors=True)


def measure_organism(
    folder: str | os.PathLike[str],
    organism: Organism,
    task: Task,
    *,
    n_cases: int = 500,
    seed: int = 1,
) -> Accuracy:
    """Ask an organism about held-out evidence, as a session would at temperature 1, and compare with its own rules.

    Parameters
    ----------
    folder : path-like
        The model.
    organism : Organism
        Its rules.
    task : Task
        What it was trained on.
    n_cases : int
        Cases drawn, of which the held-out ones (about 15%) are asked.
    seed : int
        Of cases and draws.

    Returns
    -------
    Accuracy
        On these cases.
    """
    cases = held_out_cases(task, n=n_cases, seed=seed).drop_duplicates("context", ignore_index=True)
    with AnswerStore(":memory:") as store:
        runs, tally = elicit(
            load_causal_model(folder, batch_size=256),
            task,
            cases,
            store,
            design=Design(reps=_REPS, seed=seed),
            batch_size=2048,
        )
    evidence = pd.DataFrame(
        {name: cases.get(f"x_{name}") for name in task.network.names}, dtype=object
    )
    positive = task.phrases.positive(task.target)
    said, meant = (
        pd.Series(
            rule(task.network, evidence, task.target)[positive].to_numpy(), index=cases["context"]
        )
        for rule in (organism.spoken, organism.acted)
    )
    ordinary = runs[runs["z_state"].isna()]
    iterated = runs[runs["z_state"].notna()]
    told = pd.DataFrame({"context": cases["context"], **evidence})
    own_z = _own_auxiliary(iterated, told, organism, task)
    acts = runs[runs["action"].notna()]
    return Accuracy(
        evidence_sets=len(cases),
        readable=tally.readable / tally.total,
        rmse=_rmse(ordinary["p"], ordinary["context"].map(said)),
        rmse_auxiliary=_rmse(iterated["p_z"], own_z),
        policy_distance=_policy_distance(
            acts["action"].astype(str), acts["context"].map(meant).astype(float)
        ),
    )


def _own_auxiliary(
    rows: pd.DataFrame, told: pd.DataFrame, organism: Organism, task: Task
) -> "pd.Series[float]":
    """Return the probability of the state of z that the organism's rule gives, one per row."""
    expected = pd.Series(np.nan, index=rows.index)
    for z, group in rows.groupby("z"):
        evidence = (
            group[["context"]]
            .merge(told, on="context", how="left")
            .drop(columns="context")
            .astype(object)
        )
        chances = organism.spoken(task.network, evidence, str(z))
        expected.loc[group.index] = np.array(
            [chances[state].iloc[row] for row, state in enumerate(group["z_state"])]
        )
    return expected


def _rmse(stated: "pd.Series[float]", expected: "pd.Series[float]") -> float:
    return float(np.sqrt(((stated.astype(float) - expected.astype(float)) ** 2).mean()))


def _policy_distance(actions: "pd.Series[str]", belief: "pd.Series[float]") -> float:
    expected = pd.DataFrame(
        action_probabilities(belief.to_numpy()), index=actions.index, columns=list(ACTIONS)
    )
    taken = pd.DataFrame({action: (actions == action).astype(float) for action in ACTIONS})
    fifth = np.minimum((belief * 5).astype(int), 4)
    differences = (taken - expected).groupby(fifth).sum().abs().sum(axis=1) / 2
    return float(differences.sum() / len(actions))
