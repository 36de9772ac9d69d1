"""Measures of the parts: golden numbers, and corrected ones in samples."""

import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from coherence.batteries.mixing.design import (
    PARTS,
)
from coherence.batteries.mixing.scoring import score_mixing
from coherence.batteries.mixing.simulated import expected_answers

GRID = np.arange(21) / 20


@pytest.mark.parametrize(
    ("rates", "losses", "golden"),
    [
        # Rows: P(0) = .6, .5, ... 0. The most probable outcome; it is tied at P(0) = .4 and .2.
        ([0, 0, 1, 1, 1, 2, 2], (0.4048, 0.8333, 0.4048), 9.048),
        ([0, 0, (0.5, 0.5, 0), 1, (0, 0.5, 0.5), 2, 2], None, 11.852),
        ([0, 0, 0, 1, 2, 2, 2], None, 9.153),
        ([1] * 7, None, 7.619),
        ([(1 / 3, 1 / 3, 1 / 3)] * 7, None, 16.296),
    ],
    ids=["ties to 1", "ties split", "ties to 0 and 2", "always 1", "uniform"],
)
def test_three_outcomes(rates, losses, golden, exact, experiment, measure):
    shares = np.array([np.eye(3)[rate] if isinstance(rate, int) else rate for rate in rates])
    answers = exact("three_outcomes", PARTS["three_outcomes"].probabilities, shares, "012")
    assert experiment(answers, 3) == pytest.approx(golden, abs=5e-4)
    if losses:
        assert [measure(answers, f"S {i}") for i in range(3)] == pytest.approx(losses, abs=5e-5)


def test_words(experiment, measure):
    """Always the first listed: position 0, preference 10. Always the same word: 10 (1 - 2.22 * .45)
    = .01, but corrected it keeps its position.
    """
    first = expected_answers("first")
    words = first[first["experiment"] == "words"]
    assert experiment(words, 5) == pytest.approx(10.0)
    assert experiment(words, 5, "corrected") == pytest.approx(10.0)
    same = words.assign(
        probability=(words["answer"] == words["item"].str.split("/").str[0]).astype(float)
    )
    assert experiment(same, 5) == pytest.approx(0.01, abs=1e-9)
    assert measure(same, "position", "corrected") == pytest.approx(10.0)
    assert measure(same, "preference", "corrected") == pytest.approx(0.0)


@pytest.mark.parametrize(
    ("agent", "n_draws"), [("ideal", 100), ("ideal", 20), ("steep", 100), ("uniform", 100)]
)
def test_corrected_step_likeness_in_samples(agent, n_draws):
    """The average of sixty sessions lies within three standard errors plus .02 of the truth; the
    published S of the ideal agent is off by .12.
    """
    expected = expected_answers(agent)
    rates = expected[expected["experiment"] == "flip"]
    chance = rates.loc[rates["answer"] == "1", "probability"].to_numpy()
    rng = np.random.default_rng(n_draws)
    # The sixty sessions are sixty models of one table.
    ones = rng.binomial(n_draws, chance, size=(60, chance.size))
    rows = [
        (str(session), "flip", p, label, n)
        for session in range(60)
        for p, n_ones in zip(GRID, ones[session], strict=True)
        for label, n in (("1", n_ones), ("0", n_draws - n_ones))
    ]
    table = pd.DataFrame(rows, columns=["model", "experiment", "p", "answer", "count"])
    measures = score_mixing(table, n_resamples=200, rng=0).measures.to_dict("records")
    truth = score_mixing(rates, n_resamples=100, rng=0).measures.iloc[0]["corrected_loss"]
    corrected = np.array([row["corrected_loss"] for row in measures])
    assert abs(corrected.mean() - truth) < 0.02 + 3 * corrected.std() / math.sqrt(60)
    if agent == "ideal":
        assert np.mean([row["published_loss"] for row in measures]) > 0.115
    covered = sum(row["loss_low"] <= truth <= row["loss_high"] for row in measures)
    assert covered >= stats.binom.ppf(0.001, 60, 0.95)
