"""How often a confidence in the own answer is taken for a belief in a state, and the reverse.

    PYTHONPATH=. python benchmarks/validity/confidence.py --tables 300 --seed 1

An agent answers questions of two to five options with the most probable one, and says how probable
that is: it is coherent by construction. ``confidence.csv`` has a line per kind of table: how many
were refused or held back as confidences in the own answer, and how many were accused (p at most
.05, not held back). ``read`` is what the analysis is given: the confidence beside answers and right
answers, one option named; the probability of that option; or ordinary beliefs in a state with
choices by it.
"""

from functools import partial

import numpy as np
from study import Cell, Line, study

from coherence import InputError, sufficiency_test

OWN = "confidence in the own answer"
WORDS = np.array([0.55, 0.7, 0.8, 0.9, 0.95])
SAID = ("exact", "too sure", "noisy", "words", "hardly varies", "hard, mostly one answer")
ORDINARY = ("soft", "threshold", "too sure", "too high", "noisy", "words", "rare", "matching")
LIKELY = "likely"  # beliefs of .5 and more, and choices that change at .75


def answered(
    said: str, n_options: int, below: float, n: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Draw confidences, answers, right answers and the probability of the first option."""
    sharp = rng.gamma(2.0, 1.5, n)[:, None] + 1.0
    weights = np.exp(sharp * rng.normal(size=(n, n_options)))
    chances = weights / weights.sum(axis=1, keepdims=True)
    low = chances.max(axis=1) < 0.5  # of three options and more
    chances[low] = 0.5 * chances[low] + 0.5 * np.eye(n_options)[chances[low].argmax(axis=1)]
    truth = (rng.random((n, 1)) > chances.cumsum(axis=1)[:, :-1]).sum(axis=1)
    answer, sure = chances.argmax(axis=1), chances.max(axis=1)
    if said == "too sure":
        sure = 0.5 + 0.5 * (2 * sure - 1) ** 0.4
    elif said == "noisy":
        sure = np.clip(sure + rng.normal(0, 0.1, n), 0.5, 1)
    elif said == "words":
        sure = WORDS[np.abs(sure[:, None] - WORDS).argmin(axis=1)]
    elif said == "hard, mostly one answer":
        sure = 0.5 + 0.5 * rng.beta(1, 3, n)
        answer = np.where(rng.random(n) < 0.85, 0, rng.integers(1, n_options, n))
        other = (answer + rng.integers(1, n_options, n)) % n_options
        truth = np.where(rng.random(n) < sure, answer, other)
        chances[:, 0] = np.where(answer == 0, sure, (1 - sure) / (n_options - 1))
    elif said == "hardly varies":
        sure = np.clip(0.85 + 0.2 * (sure - sure.mean()) + rng.normal(0, 0.05, n), 0.5, 1)
    unsure = rng.random(n) < below
    sure = np.where(unsure, rng.uniform(0.2, 0.49, n), sure).round(2)
    return sure, answer, truth, chances[:, 0]


def ordinary(
    kind: str, n: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Draw beliefs in a state, choices by them and the state, both 0 or 1."""
    log_odds = rng.normal(-2.0 if kind == "rare" else 0.0, 1.5, n)
    log_odds = np.abs(log_odds) if kind == LIKELY else log_odds
    moved = {"too sure": 2.0 * log_odds, "too high": log_odds + 1.0}.get(kind, log_odds)
    if kind == "noisy":
        moved = log_odds + rng.normal(size=n)
    chance, belief = 1 / (1 + np.exp(-log_odds)), 1 / (1 + np.exp(-moved))
    if kind == "words":
        belief = np.array([0.05, 0.25, 0.5, 0.75, 0.95])[
            np.digitize(belief, [0.15, 0.4, 0.6, 0.85])
        ]
    act = 1 / (1 + np.exp(-6 * (belief - (0.75 if kind == LIKELY else 0.5))))
    if kind in ("threshold", "matching"):
        act = belief > 0.5 if kind == "threshold" else belief
    truth = (rng.random(n) < chance).astype(int)
    return belief.round(2), (rng.random(n) < act).astype(int), truth


def outcome(belief: np.ndarray, action: np.ndarray, truth: np.ndarray, state: object) -> str:
    """Return "held" where the belief looks like a confidence, else "accused" or "kept"."""
    try:
        result = sufficiency_test(belief, action, truth, positive=state, n_draws=999, rng=1)
    except InputError as error:
        if OWN not in str(error):
            raise
        return "held"
    if OWN in result.reason:
        return "held"
    return "accused" if result.pvalue is not None and result.pvalue <= 0.05 else "kept"


def lines() -> list[tuple[str, str, int, float, int]]:
    """List how it is read, what is said, options, share below one half, and rows."""
    found = []
    for n, below in ((300, 0.0), (300, 0.05), (1000, 0.05), (100, 0.05), (300, 0.2), (1000, 0.2)):
        for said in SAID:
            found += [("confidence", said, n_options, below, n) for n_options in (2, 3, 5)]
    found += [("probability", "exact", n_options, 0.0, 300) for n_options in (2, 3, 4, 5)]
    found += [("ordinary", kind, 2, 0.0, n) for kind in (*ORDINARY, LIKELY) for n in (100, 300)]
    return found


def table(read: str, said: str, n_options: int, below: float, n: int, seed: list[int]) -> str:
    """Draw one table, and return its outcome."""
    rng = np.random.default_rng(seed)
    if read == "ordinary":
        return outcome(*ordinary(said, n, rng), None)
    sure, answer, truth, chance = answered(said, n_options, below, n, rng)
    if read == "confidence":
        return outcome(sure, answer.astype(str), truth.astype(str), "0")
    # other names of actions, as a choice by the belief has
    return outcome(chance, np.where(answer == 0, "go", "stay"), truth == 0, True)


def counts(found: list[str]) -> list[Line]:
    """Count outcomes."""
    return [{kind: found.count(kind) for kind in ("held", "accused", "kept")}]


if __name__ == "__main__":
    names = ("read", "said", "options", "below", "rows")
    cells = [Cell(dict(zip(names, of, strict=True)), partial(table, *of)) for of in lines()]
    study("confidence", cells, counts, tables=300)
