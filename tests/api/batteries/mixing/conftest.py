"""Tables of answers with known rates."""

import numpy as np
import pandas as pd
import pytest

from coherence import score_mixing

OUTCOMES = {
    "flip": ("1", "0"),
    "two_flips": ("0 0", "0 1", "1 0", "1 1"),
    "three_outcomes": ("0", "1", "2"),
    "reads": ("A", "B"),
    "pennies": ("heads", "tails"),
    "positioning": ("luxury", "affordable"),
}


def _exact(experiment, p, shares, outcomes):
    """A table of exact rates; shares has one column per outcome."""
    rows = [
        (experiment, x, label, share)
        for x, chances in zip(p, shares, strict=True)
        for label, share in zip(outcomes, chances, strict=True)
    ]
    return pd.DataFrame(rows, columns=["experiment", "p", "answer", "probability"])


@pytest.fixture
def exact():
    return _exact


def _binary(experiment, p, rate):
    rate = np.asarray(rate, dtype=float)
    return _exact(experiment, p, np.stack([rate, 1 - rate], axis=1), OUTCOMES[experiment])


@pytest.fixture
def binary():
    return _binary


def _measure(answers, name, column="published_loss"):
    rows = score_mixing(answers, n_resamples=100, rng=0).measures
    return float(rows.loc[rows["measure"] == name, column].iloc[0])


@pytest.fixture
def measure():
    return _measure


def _experiment(answers, number, column="published"):
    rows = score_mixing(answers, n_resamples=100, rng=0).experiments
    return float(rows.loc[rows["experiment"] == number, column].iloc[0])


@pytest.fixture
def experiment():
    return _experiment
