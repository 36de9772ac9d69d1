"""Losses: golden numbers of the published scoring by hand, and bounds by enumeration."""

import numpy as np
import pandas as pd
import pytest

from coherence import score_mixing, simulate_mixing
from tests.api.batteries.mixing.conftest import OUTCOMES

GRID = np.arange(21) / 20


TENTHS = np.arange(1, 10) / 10


def step(p, at_half):
    return np.where(np.isclose(p, 0.5), at_half, p > 0.5).astype(float)


@pytest.mark.parametrize(
    ("rate", "golden"),
    [
        (GRID, 0.0),
        (step(GRID, 1.0), 1.0),
        (step(GRID, 0.5), 0.9),
        (np.full(21, 0.5), 1.0),
        (np.zeros(21), 2.0),
        (1 - GRID, 2.0),
        (1 - step(GRID, 1.0), 3.0),
    ],
    ids=[
        "perfect",
        "step",
        "step, half at .5",
        "constant .5",
        "constant 0",
        "1 - p",
        "reverse step",
    ],
)
def test_step_likeness_on_the_published_grid(rate, golden, binary, experiment, measure):
    assert measure(binary("flip", GRID, rate), "S") == pytest.approx(golden, abs=1e-12)
    assert experiment(binary("flip", GRID, rate), 1) == pytest.approx(
        max(0.0, 20 * (1 - golden)), abs=1e-9
    )


def test_tenths_and_direction(binary, measure):
    """Ends extended with constant rates: perfect .04, step 1; a step moves in one pair of eight,
    (1/8 + 1) / 2 = .5625.
    """
    assert measure(binary("reads", TENTHS, TENTHS), "S") == pytest.approx(0.04, abs=1e-12)
    assert measure(binary("reads", TENTHS, step(TENTHS, 1.0)), "S") == pytest.approx(1.0, abs=1e-12)
    assert 1 - measure(binary("pennies", TENTHS, step(TENTHS, 1.0)), "direction") == pytest.approx(
        0.5625
    )
    # The corrected area is taken over the tenths alone, and follows the equilibrium.
    assert measure(binary("reads", TENTHS, TENTHS), "S", "corrected_loss") == pytest.approx(
        0.0, abs=1e-12
    )
    assert measure(
        binary("reads", TENTHS, step(TENTHS, 1.0)), "S", "corrected_loss"
    ) == pytest.approx(1.0, abs=1e-12)
    assert 1 - measure(
        binary("positioning", TENTHS, 1 - step(TENTHS, 1.0)), "direction", "corrected_loss"
    ) == pytest.approx(0.5625)


def test_a_difference_inside_the_dead_zone_is_no_direction(binary, measure):
    """Rates that rise by .01 count as equal, by .011 as rising."""
    assert measure(binary("positioning", TENTHS, 0.5 + 0.01 * np.arange(9)), "direction") == 0.5
    assert measure(binary("positioning", TENTHS, 0.4 + 0.011 * np.arange(9)), "direction") == 0.0


@pytest.mark.parametrize("name", ["three_outcomes", "pennies", "two_flips", "words"])
def test_bounds_hold_however_unreadable_answers_are_filled_in(name):
    answers = simulate_mixing("steep", n_draws=12, rng=3)
    answers = answers[answers["experiment"] == name].reset_index(drop=True)
    rng = np.random.default_rng(4)
    lost = rng.random(len(answers)) < 0.15
    bounded = score_mixing(
        answers.assign(
            answer=answers["answer"].mask(lost), status=np.where(lost, "unparsed", "ok")
        ),
        n_resamples=100,
        rng=0,
    ).measures
    for _ in range(6):
        filled = answers.copy()
        outcomes = (
            filled["item"].str.split("/")
            if name == "words"
            else pd.Series([OUTCOMES[name]] * len(filled))
        )
        filled.loc[lost, "answer"] = [rng.choice(list(possible)) for possible in outcomes[lost]]
        published = score_mixing(filled, n_resamples=100, rng=0).measures["published"]
        assert (published <= bounded["best"] + 1e-9).all()
        assert (published >= bounded["worst"] - 1e-9).all()
