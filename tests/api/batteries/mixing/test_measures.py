"""Measures of the parts: golden numbers of the published scoring by hand, and bounds."""

import numpy as np
import pandas as pd
import pytest

from coherence import InputError
from coherence.batteries import simulate_mixing
from tests.api.batteries.mixing.conftest import OUTCOMES, binary, exact, experiment, measure, scored

GRID = np.arange(21) / 20
TENTHS = np.arange(1, 10) / 10


def step(p, at_half=1.0):
    return np.where(np.isclose(p, 0.5), at_half, p > 0.5).astype(float)


def test_step_likeness_on_the_published_grid():
    for rate, golden in (
        (GRID, 0.0),
        (step(GRID), 1.0),
        (step(GRID, 0.5), 0.9),
        (np.full(21, 0.5), 1.0),
        (np.zeros(21), 2.0),
        (1 - GRID, 2.0),
        (1 - step(GRID), 3.0),
    ):
        answers = binary("flip", GRID, rate)
        assert measure(answers, "S") == pytest.approx(golden, abs=1e-12)
        assert experiment(answers, 1) == pytest.approx(max(0.0, 20 * (1 - golden)), abs=1e-9)


def test_tenths_and_direction():
    """Ends extended with constant rates: perfect .04, step 1; a step moves in one pair of eight,
    (1/8 + 1) / 2 = .5625. The corrected area is taken over the tenths alone, and follows the
    equilibrium. Rates that rise by .01 count as equal, by .011 as rising.
    """
    for name, rate, part, column, golden in (
        ("reads", TENTHS, "S", "published_loss", 0.04),
        ("reads", step(TENTHS), "S", "published_loss", 1),
        ("pennies", step(TENTHS), "direction", "published_loss", 1 - 0.5625),
        ("reads", TENTHS, "S", "corrected_loss", 0),
        ("reads", step(TENTHS), "S", "corrected_loss", 1),
        ("positioning", 1 - step(TENTHS), "direction", "corrected_loss", 1 - 0.5625),
        ("positioning", 0.5 + 0.01 * np.arange(9), "direction", "published_loss", 0.5),
        ("positioning", 0.4 + 0.011 * np.arange(9), "direction", "published_loss", 0),
    ):
        loss = measure(binary(name, TENTHS, rate), part, column)
        assert loss == pytest.approx(golden, abs=1e-12)
    two = np.array([0.3, 0.6])
    assert measure(binary("reads", two, two), "S", "corrected_loss") == pytest.approx(0, abs=1e-12)
    with pytest.raises(InputError, match="placing reads need answers at two values of p"):
        measure(binary("reads", two[:1], two[:1]), "S")


@pytest.mark.parametrize("name", ["three_outcomes", "pennies", "two_flips", "words"])
def test_bounds_hold_however_unreadable_answers_are_filled_in(name):
    answers = simulate_mixing("steep", n_draws=12, rng=3)
    answers = answers[answers["experiment"] == name].reset_index(drop=True)
    rng = np.random.default_rng(4)
    lost = rng.random(len(answers)) < 0.15
    gaps = answers.assign(answer=answers["answer"].mask(lost))
    bounded = scored(gaps.assign(status=np.where(lost, "unparsed", "ok"))).measures
    outcomes = answers["item"].str.split("/") if name == "words" else [OUTCOMES[name]] * len(lost)
    possible = pd.Series(outcomes)[lost]
    for _ in range(6):
        filled = answers.copy()
        filled.loc[lost, "answer"] = [rng.choice(list(labels)) for labels in possible]
        published = scored(filled).measures["published"]
        assert (published <= bounded["best"] + 1e-9).all()
        assert (published >= bounded["worst"] - 1e-9).all()


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
def test_three_outcomes(rates, losses, golden):
    shares = np.array([np.eye(3)[rate] if isinstance(rate, int) else rate for rate in rates])
    answers = exact("three_outcomes", np.arange(6, -1, -1) / 10, shares)
    assert experiment(answers, 3) == pytest.approx(golden, abs=5e-4)
    if losses:
        assert [measure(answers, f"S {i}") for i in range(3)] == pytest.approx(losses, abs=5e-5)


@pytest.mark.parametrize("wrong", ["first", "second"])
def test_each_flip_of_two_has_a_measure_of_its_own(wrong):
    """A rate of 0 throughout has a loss of 2; the mean of it and of p has half of that."""
    never = np.zeros(21)
    first, second = (never, GRID) if wrong == "first" else (GRID, never)
    shares = [(1 - first) * (1 - second), (1 - first) * second, first * (1 - second)]
    answers = exact("two_flips", GRID, np.stack([*shares, first * second], axis=1))
    expected = {"S first": 0, "S second": 0, "S mean": 1} | {f"S {wrong}": 2}
    for column in ("published_loss", "corrected_loss"):
        losses = {name: measure(answers, name, column) for name in expected}
        assert losses == pytest.approx(expected, abs=1e-12)


def words_at(**rates):
    rows = [
        (pair, order, word, probability)
        for pair, both in {"cat/dog": rates["cat"], "sun/moon": rates["sun"]}.items()
        for order, rate in zip(("forward", "reverse"), both, strict=True)
        for word, probability in zip(pair.split("/"), (rate, 1 - rate), strict=True)
    ]
    table = pd.DataFrame(rows, columns=["item", "order", "answer", "probability"])
    return table.assign(experiment="words")


def test_preferences_for_a_place_and_for_a_word_are_told_apart():
    """Rates of the first word of a pair, in both orders; in the second one it is listed last."""
    # What is listed first is chosen by .8 and .6 in one pair, by .5 in the other.
    place = words_at(cat=(0.8, 0.4), sun=(0.5, 0.5))
    assert measure(place, "position") == pytest.approx(2 * (0.3 + 0.1) / 4)
    assert measure(place, "position", "corrected_loss") == pytest.approx(2 * 0.2 / 2)
    # The word itself is preferred by .1 in one pair: .05 beyond what is tolerated.
    assert measure(place, "preference") == pytest.approx(2.22 * 0.05 / 2)
    assert measure(place, "preference", "corrected_loss") == pytest.approx(2 * 0.1 / 2)
    # Always the same word: no preference for a place, once the orders are averaged.
    word = words_at(cat=(1.0, 1.0), sun=(0.0, 0.0))
    assert measure(word, "position") == pytest.approx(1)
    assert measure(word, "position", "corrected_loss") == pytest.approx(0)
    assert measure(word, "preference", "corrected_loss") == pytest.approx(1)
    assert experiment(word, 5) == pytest.approx(10 * (1 - 2.22 * 0.45))
    first = words_at(cat=(1.0, 0.0), sun=(1.0, 0.0))
    assert experiment(first, 5) == experiment(first, 5, "corrected") == pytest.approx(10)
