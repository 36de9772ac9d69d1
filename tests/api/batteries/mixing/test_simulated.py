"""Simulated agents: their exact scores."""

import numpy as np
import pandas as pd
import pytest

from coherence import expected_answers, score_mixing, simulate_mixing
from coherence.batteries.mixing.agents import MIXING_AGENTS


@pytest.mark.lengthy
def test_exact_rates_of_the_agents():
    """The perfect agent reaches the ceiling of exact rates, which is 99.52 for the extended ends;
    corrected, equilibria count.
    """
    totals = {
        name: score_mixing(expected_answers(name), n_resamples=100, rng=0).experiments.iloc[-1]
        for name in MIXING_AGENTS
    }
    assert totals["literal"]["published"] == pytest.approx(totals["literal"]["ceiling"], abs=1e-9)
    assert totals["literal"]["ceiling"] == pytest.approx(99.52, abs=1e-9)
    assert totals["ideal"]["corrected"] == pytest.approx(100)
    # 0.48 of the literal agent's points lie at the ends, 12 of its points in the games.
    assert totals["literal"]["corrected"] == pytest.approx(88)
    published = {name: totals[name]["published"] for name in ("argmax", "first", "uniform")}
    # argmax: 2 + 2 + 11.852 + (1.6 + 0 + 1.5 + 1.5) + 20; first: 0 + 0 + 6.032 + 4 + 10; uniform: 0
    # + 0 + 16.296 + 4 + 20.
    assert published == pytest.approx(
        {"argmax": 40.452, "first": 20.032, "uniform": 40.296}, abs=5e-4
    )
    assert all(np.isnan([row["low"], row["high"]]).all() for row in totals.values())


def rates_of(agent, part, p, order=""):
    """Probability by answer; of words, by its place in the pair."""
    table = expected_answers(agent)
    rows = table[(table["experiment"] == part) & (table["p"] == p) & (table["order"] == order)]
    return rows["probability"].tolist()[: 2 if part == "words" else None]


@pytest.mark.parametrize(
    ("agent", "part", "p", "expected"),
    [
        ("literal", "flip", 0.25, [0.25, 0.75]),
        ("literal", "pennies", 0.3, [0.3, 0.7]),
        ("ideal", "pennies", 0.3, [0.7, 0.3]),
        ("ideal", "two_flips", 0.2, [0.64, 0.16, 0.16, 0.04]),
        # Rates are cubed and brought back to a sum of 1; each flip by itself.
        ("steep", "flip", 0.25, [1 / 28, 27 / 28]),
        ("steep", "two_flips", 0.25, [(27 / 28) ** 2, 27 / 784, 27 / 784, 1 / 784]),
        ("steep", "three_outcomes", 0.6, [27 / 35, 8 / 35, 0]),
        ("argmax", "flip", 0.5, [0.5, 0.5]),
        ("argmax", "flip", 0.55, [1, 0]),
        ("argmax", "two_flips", 0.5, [0.25] * 4),
        ("argmax", "two_flips", 0.55, [0, 0, 0, 1]),
        ("argmax", "three_outcomes", 0.2, [0, 0.5, 0.5]),
        ("argmax", "positioning", 0.3, [1, 0]),
        ("uniform", "flip", 0.05, [0.5, 0.5]),
        ("uniform", "two_flips", 0.05, [0.25] * 4),
        ("uniform", "three_outcomes", 0.1, [1 / 3] * 3),
        # Questions about a flip list 0 first, all others their first outcome.
        ("first", "flip", 0.9, [0, 1]),
        ("first", "two_flips", 0.9, [1, 0, 0, 0]),
        ("first", "three_outcomes", 0.0, [1, 0, 0]),
        ("first", "reads", 0.1, [1, 0]),
    ],
)
def test_rates_of_an_agent_by_hand(agent, part, p, expected):
    assert rates_of(agent, part, p) == pytest.approx(expected, abs=1e-12)


def test_words_are_asked_in_both_orders_and_who_takes_the_first_follows_them():
    assert rates_of("first", "words", 0.5, "forward") == [1, 0]
    assert rates_of("first", "words", 0.5, "reverse") == [0, 1]
    for agent in ("ideal", "argmax", "uniform", "steep"):
        for order in ("forward", "reverse"):
            assert rates_of(agent, "words", 0.5, order) == [0.5, 0.5]
    table = expected_answers("ideal")
    words = table[table["experiment"] == "words"]
    pairs = [f"word {number}/other {number}" for number in range(1, 12)]
    assert words["item"].unique().tolist() == pairs
    assert set(words["answer"]) == {word for pair in pairs for word in pair.split("/")}
    assert len(words) == 11 * 2 * 2


@pytest.mark.parametrize("agent", ["steep", "first"])
def test_draws_have_the_rates_of_their_agent(agent):
    keys = ["experiment", "p", "item", "order", "answer"]
    answers = simulate_mixing(agent, n_draws=400, rng=0)
    assert set(answers["model"]) == {agent}
    assert set(answers["status"]) == {"ok"}
    conditions = answers.groupby(keys[:-1])
    assert (conditions.size() == 400).all()
    assert conditions.ngroups == 98
    assert (conditions["draw"].apply(lambda draws: draws.tolist() == list(range(400)))).all()
    expected = expected_answers(agent).set_index(keys)["probability"]
    shares = (answers.groupby(keys).size() / 400).reindex(expected.index, fill_value=0)
    # Nothing impossible is drawn, and rates are off by no more than four standard errors.
    assert (shares[expected < 1e-12] == 0).all()
    error = (expected * (1 - expected) / 400).clip(lower=0) ** 0.5
    assert ((shares - expected).abs() <= 4.5 * error + 1e-12).all()
    pd.testing.assert_frame_equal(answers, simulate_mixing(agent, n_draws=400, rng=0))
