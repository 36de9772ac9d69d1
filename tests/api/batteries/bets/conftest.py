"""Tables of questions that several modules of the bets battery are tested on."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit, logit

from elicitation import bet_questions, ladder_questions, value_questions
from elicitation.batteries.bets.items import default_items
from elicitation.batteries.bets.questions import BREAK_EVENS

ITEMS, SPLITS = default_items(), ["dev", "test"]
VALUES = value_questions(ITEMS, splits=SPLITS, templates=["choice-valuable"])


@pytest.fixture(scope="module")
def questions():
    tables = [VALUES, bet_questions(ITEMS, splits=SPLITS, modalities=["coin"])]
    return pd.concat([*tables, ladder_questions(ITEMS)], ignore_index=True)


def by_truth(scores):
    return scores.accuracy.set_index(["template", "truth"])


def climb(shocks, *, crossed=False, elevation=0.0, sensitivity=1.0, slope=50.0, rng=0):
    """Answers to the default ladder about five pairs, or all 25, whose switching points are off by
    a shock each; both orders are answered alike.
    """
    pairs = [(i, j) for i in range(5) for j in range(5) if crossed or i == j]
    rows = [
        (i, j, p, even) for i, j in pairs for p in np.arange(1, 10) / 10 for even in BREAK_EVENS
    ]
    high, low, stated, even = (np.repeat(column, 2) for column in zip(*rows, strict=True))
    logits = slope * (
        elevation + sensitivity * logit(stated) + np.asarray(shocks)[high, low] - logit(even)
    )
    taken = np.repeat(np.random.default_rng(rng).random(len(rows)), 2) < expit(logits)
    return stated, even, taken, high, low


@pytest.fixture(scope="module")
def without_ladders():
    return pd.concat([VALUES, bet_questions(ITEMS, splits=SPLITS)], ignore_index=True)
