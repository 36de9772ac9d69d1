"""Simulated agents: their scores are known in advance."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import logit

from coherence import InputError, score_bets
from coherence.batteries.bets.agents import simulate_answers
from coherence.batteries.bets.ladder import FITTED
from coherence.batteries.bets.truths import bet_gains
from elicitation import bet_questions, ladder_questions, value_questions
from elicitation.batteries.bets.items import default_items
from elicitation.batteries.bets.questions import BREAK_EVENS, highest_break_even


def test_a_maximiser_is_right_and_its_ladder_lies_on_the_diagonal(questions, by_truth):
    scores = score_bets(questions, simulate_answers("maximiser", questions, sharpness=1e4, rng=0))
    accuracy = by_truth(scores)["accuracy"]
    assert (
        accuracy["coin", "correct"]
        == accuracy["coin", "belief-conditioned"]
        == accuracy["coin", "positive gain"]
        == 1
    )
    # Its scores rise with the gain, and the gain of the right choice differs between bets: no
    # single threshold fits both types.
    assert accuracy["coin", "strict"] <= 0.6
    table = scores.ladders["maximiser", "coin"].table
    assert ((table["low"] <= table["stated"]) & (table["stated"] <= table["high"])).all()


def test_a_value_only_chooser_is_right_about_values_and_half_of_the_bets(questions, by_truth):
    accuracy = by_truth(
        score_bets(questions, simulate_answers("value-only", questions, sharpness=1e4, rng=0))
    )["accuracy"]
    assert accuracy["choice-valuable", "correct"] == 1
    assert accuracy["coin", "correct"] == 0.5


def test_a_guesser_is_at_chance_under_every_truth(questions, by_truth):
    accuracy = by_truth(score_bets(questions, simulate_answers("random", questions, rng=5)))
    assert (accuracy["p_exact"] > 0.005).all()
    assert accuracy["chance"].loc["coin"].to_dict() == pytest.approx(
        {
            "correct": 1 / 3,
            "belief-conditioned": 1 / 3,
            "strict": 0.125,
            "positive gain": 0.25,
            "non-negative gain": 0.25,
        }
    )
    assert accuracy["n"].loc["coin"].to_dict()["positive gain"] == 50  # questions of type 1 only


ITEMS = default_items()


def test_a_maximiser_is_right_at_other_odds_and_its_ladder_lies_on_the_diagonal():
    bets = bet_questions(
        ITEMS,
        splits=["dev", "test"],
        modalities=["card"],
        chances=(0.3,),
        stake=50,
        payout=1.5,
        amounts=True,
    )
    rungs = [even for even in BREAK_EVENS if even < highest_break_even(0.25)]
    values = value_questions(ITEMS, splits=["dev", "test"], templates=["choice-valuable"])
    questions = pd.concat(
        [values, bets, ladder_questions(ITEMS, payout=0.25, break_evens=rungs)], ignore_index=True
    )
    scores = score_bets(questions, simulate_answers("maximiser", questions, sharpness=1e6, rng=0))
    accuracy = scores.accuracy.set_index(["template", "truth"])["accuracy"]
    assert accuracy["card", "correct"] == accuracy["card", "belief-conditioned"] == 1
    table = scores.ladders["maximiser", "coin"].table
    inside = table["status"] == FITTED
    np.testing.assert_allclose(table["implied"][inside], table["stated"][inside], atol=1e-3)
    assert table["stated"][inside].max() == 0.7  # the ladder ends below 0.8
    assert (table["high"][~inside] == 1).all()


def gains_seen(agent, questions):
    """What an agent's logits rise by as it becomes sharper, per letter: equal seeds draw equal
    noise, which cancels.
    """
    dull, sharp = (
        simulate_answers(agent, questions, sharpness=sharpness, rng=0)[
            [f"score_{letter}" for letter in "abc"]
        ]
        for sharpness in (0, 2)
    )
    return (logit(sharp) - logit(dull)).to_numpy() / 2


@pytest.mark.parametrize("agent", ["maximiser", "value-only", "random"])
def test_agents_see_the_gains_that_they_are_said_to_see(agent, questions):
    seen = gains_seen(agent, questions)
    roles = questions[[f"role_{letter}" for letter in "abc"]].to_numpy()
    expected = np.zeros(roles.shape)
    is_bet = (questions["kind"] != "value").to_numpy()
    if agent != "random":
        expected[~is_bet] = np.where(roles[~is_bet] == "high", 1, -1)
    if agent == "maximiser":
        gains = bet_gains(questions[is_bet])
        largest = np.abs(gains[:, [0, 1, 3]]).max(axis=1)
        for column, role in ((0, "win"), (1, "lose"), (3, "none")):
            share = np.tile((gains[:, column] / largest)[:, None], 3)
            expected[is_bet] += np.where(roles[is_bet] == role, share, 0)
    if agent == "value-only":
        # The side that names the dearer thing, won or lost; declining is the middle way.
        named = np.where(questions["wins"] == "high", "win", "lose")[:, None]
        values = np.where(roles == named, 1, np.where(roles == "none", -0.5, -1))
        expected[is_bet] = values[is_bet]
    np.testing.assert_allclose(seen, expected, atol=1e-9)


def test_probabilities_are_in_proportion_to_the_odds_of_the_scores(questions):
    table = simulate_answers("maximiser", questions, rng=0)
    scores, probabilities = (
        table[[f"{name}_{letter}" for letter in "abc"]].to_numpy() for name in ("score", "prob")
    )
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)
    inner = (scores > 1e-9) & (scores < 1 - 1e-6)
    odds = np.where(inner, logit(np.where(inner, scores, 0.5)), np.nan)
    shift = np.log(probabilities) - odds
    apart = np.nanmax(shift, axis=1) - np.nanmin(shift, axis=1)
    np.testing.assert_allclose(apart, 0, atol=1e-6)
    assert table["question"].tolist() == questions["question"].tolist()
    # Logits beyond the range of an exponential are no trouble.
    sharp = simulate_answers("maximiser", questions, sharpness=1e6, rng=0)
    assert sharp.notna().all().all()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"agent": "gambler"}, "agent must be one of maximiser, value-only, random"),
        ({"agent": "random", "sharpness": -0.1}, "sharpness must be at least 0; received -0.1"),
    ],
)
def test_agents_and_sharpnesses_that_there_are_not_are_refused(arguments, message, questions):
    with pytest.raises(InputError, match=message):
        simulate_answers(questions=questions, **arguments)
