"""Tables of answers with known rates, and their scores."""

import numpy as np
import pandas as pd

from coherence.batteries import score_mixing

OUTCOMES = {
    "flip": ("1", "0"),
    "two_flips": ("0 0", "0 1", "1 0", "1 1"),
    "three_outcomes": ("0", "1", "2"),
    "reads": ("A", "B"),
    "pennies": ("heads", "tails"),
    "positioning": ("luxury", "affordable"),
}


def scored(answers):
    return score_mixing(answers, n_resamples=100, rng=0)


def exact(experiment, p, shares):
    """A table of exact rates; shares has one column per outcome."""
    rows = [
        (experiment, x, label, share)
        for x, chances in zip(p, shares, strict=True)
        for label, share in zip(OUTCOMES[experiment], chances, strict=True)
    ]
    return pd.DataFrame(rows, columns=["experiment", "p", "answer", "probability"])


def binary(experiment, p, rate):
    rate = np.asarray(rate, dtype=float)
    return exact(experiment, p, np.stack([rate, 1 - rate], axis=1))


def measure(answers, name, column="published_loss"):
    rows = scored(answers).measures
    return float(rows.loc[rows["measure"] == name, column].iloc[0])


def experiment(answers, number, column="published"):
    rows = scored(answers).experiments
    return float(rows.loc[rows["experiment"] == number, column].iloc[0])
