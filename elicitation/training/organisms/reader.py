"""Train a small causal language model that reads a task's cases, and measure what it learnt.

The result is an ordinary model folder, and it is measured in the ordinary way of asking.
"""

import json
import os
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from coherence.errors import InputError
from coherence.table.files import replace_text
from elicitation.asking.session import Tally, elicit
from elicitation.asking.store import AnswerStore
from elicitation.models.local.causal import load_causal_model
from elicitation.models.local.loading import quiet_transformers
from elicitation.questions.plan import Design
from elicitation.questions.tasks import Task, evidence_of
from elicitation.training.organisms.course import (
    Recipe,
    StepProgress,
    fill_shelves,
    make_network,
    make_tokenizer,
    teach,
)
from elicitation.training.organisms.lessons import (
    ACTIONS,
    HELD_OUT_SHARE,
    action_probabilities,
    canonical_evidence,
    is_held_out,
    make_lessons,
    possible_evidence,
)


@dataclass(frozen=True)
class Figures:
    """What a trained model can do, on evidence that it was not trained on."""

    readable: float  # share of answers with status ok
    # root mean squared error of the stated beliefs to the exact posterior, all framings
    rmse: float
    rmse_auxiliary: float  # the same of the stated probabilities of z
    # share of decisions (yes or no) on the side of one half on which the belief stated in the same
    # repetition lies
    agreement: float
    agreement_expected: float  # the same share for the teacher's policy at the stated beliefs


def train_reader(
    folder: str | os.PathLike[str],
    task: Task,
    *,
    recipe: Recipe | None = None,
    seed: int = 0,
    progress: StepProgress | None = None,
) -> dict[str, Any]:
    """Train and save a model that reads a task's descriptions and answers all its questions."""
    recipe = recipe or Recipe()
    if seed < 0 or recipe.steps < 1:
        raise InputError(
            f"seed must be at least 0 and steps positive; received {seed} and {recipe.steps}."
        )
    begun = time.monotonic()
    rng = np.random.default_rng(seed)
    lessons = make_lessons(task, possible_evidence(task, rng))
    tokenizer = make_tokenizer(task, lessons)
    shelves = fill_shelves(lessons, tokenizer, recipe)
    network = make_network(recipe, tokenizer, shelves, seed=seed)
    loss = teach(network, shelves, recipe, tokenizer.pad_token_id, rng, progress)
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
    replace_text(path / "training.json", json.dumps(record, indent=2) + "\n")
    return record


def held_out_cases(task: Task, *, n: int = 1000, seed: int = 0) -> pd.DataFrame:
    """Draw cases whose evidence was kept out of the lessons."""
    cases = task.cases(n, seed=seed)
    unseen = [is_held_out(canonical_evidence(evidence_of(case))) for _, case in cases.iterrows()]
    return cases[unseen].reset_index(drop=True)


def measure_reader(
    folder: str | os.PathLike[str], task: Task, cases: pd.DataFrame, *, reps: int = 1, seed: int = 1
) -> Figures:
    """Ask a trained model about cases, and compare with the truth."""
    runs, tally = ask_reader(folder, task, cases, reps=reps, seed=seed)
    decided = runs[runs["action"].isin(ACTIONS[:2]) & runs["p"].notna() & (runs["p"] != 0.5)]
    belief = decided["p"].to_numpy()
    same_side = ((decided["action"] == "yes").to_numpy() == (belief > 0.5)).mean()
    shares = action_probabilities(belief)[:, :2]
    likelier = np.where(belief > 0.5, shares[:, 1], shares[:, 0]) / shares.sum(axis=1)
    # With a state of z added, a case may be one that a lesson was about.
    ordinary = runs[runs["z_state"].isna()]
    return Figures(
        readable=tally.readable / tally.total,
        rmse=root_mean_square(ordinary["p"], ordinary["p_true"]),
        rmse_auxiliary=root_mean_square(runs["p_z"], runs["p_z_true"]),
        agreement=float(same_side),
        agreement_expected=float(likelier.mean()),
    )


def ask_reader(
    folder: str | os.PathLike[str], task: Task, cases: pd.DataFrame, *, reps: int, seed: int
) -> tuple[pd.DataFrame, Tally]:
    """Ask a trained model all questions about cases, as a session would at temperature 1."""
    with AnswerStore(":memory:") as store:
        return elicit(
            load_causal_model(folder, batch_size=256),
            task,
            cases,
            store,
            design=Design(reps=reps, seed=seed),
            batch_size=2048,
            # A measurement of a model that can say nothing yet is one as well.
            keep_going=True,
        )


def root_mean_square(stated: "pd.Series[float]", expected: "pd.Series[float]") -> float:
    """Return the root mean squared difference; missing values do not count."""
    return float(np.sqrt(((stated.astype(float) - expected.astype(float)) ** 2).mean()))
