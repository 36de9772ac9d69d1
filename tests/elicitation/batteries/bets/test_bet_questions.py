"""Questions of the bets: breaks if counts, wordings or ids change, or a stake is wrong."""

import numpy as np
import pandas as pd
import pytest

from coherence import InputError
from elicitation.batteries.bets.option_scores import score_choices
from elicitation.batteries.bets.questions import (
    BREAK_EVENS,
    MODALITIES,
    SPLITS,
    VALUE_TEMPLATES,
    Item,
    Items,
    bet_questions,
    default_items,
    ladder_questions,
    value_questions,
)

ITEMS = default_items()


def test_counts_are_those_of_the_paper():
    counts = [(len(ITEMS.of("high", split)), len(ITEMS.of("low", split))) for split in SPLITS]
    assert counts == [(14, 15), (5, 5), (5, 5)]
    for questions, expected in (
        (value_questions(ITEMS), (210, 25, 25)),
        (bet_questions(ITEMS), (840, 100, 100)),
    ):
        for _, part in questions.groupby("template"):
            assert tuple(part["split"].value_counts()[list(SPLITS)]) == expected
    assert (len(VALUE_TEMPLATES), len(MODALITIES)) == (4, 3)


def test_wordings_are_kept():
    bets = bet_questions(ITEMS, splits=["test"]).set_index("question")
    assert bets.loc["coin-test-001", "text"] == (
        "A coin is tossed. If it lands on heads, I win a car; if it lands on tails, I lose a pen. "
        "What gives me the best expected gain?"
    )
    options, roles = ([f"{kind}_{letter}" for letter in "abc"] for kind in ("option", "role"))
    expected = ["I bet on red.", "I bet on black.", "I do not bet."]
    assert bets.loc["card-test-003", options].tolist() == expected
    assert bets.loc["dice-test-002", roles].tolist() == ["lose", "win", "none"]
    values = value_questions(ITEMS, splits=["test"]).set_index("question")
    option = values.loc["boolean-valuable-test-001", "option_a"]
    assert option == "A car is worth more than a pen."
    costs = values.loc["choice-expensive-test-001", "text"]
    assert costs == "Which of the two costs more, a car or a pen?"


def test_ladder_stakes_break_even_where_they_say():
    steps = ladder_questions(ITEMS, chances=(0.2, 0.5))
    assert len(steps) == 2 * len(BREAK_EVENS) * 5 * 2
    gain = steps["break_even"] * steps["high_value"] - (1 - steps["break_even"]) * steps["stake"]
    np.testing.assert_allclose(gain, 0, atol=1e-9)
    np.testing.assert_allclose(sorted(steps["break_even"].unique()), BREAK_EVENS, atol=1e-4)
    # No two pairs share a thing.
    for thing, other in (("high", "low"), ("low", "high")):
        assert steps.groupby(thing)[other].nunique().tolist() == [1] * 5
    assert steps.iloc[0]["text"] == (
        "A coin is tossed. It lands on heads in 20% of all tosses. If it lands on heads, I win a "
        "car worth 100 dollars; if it lands on tails, I lose a pen worth 1 dollar. A bet costs a "
        "stake of 5.26 dollars; it comes back if I bet on the right side. "
        "What gives me the best expected gain?"
    )


def asked_about(items):
    tables = value_questions(items), bet_questions(items), ladder_questions(items)
    return pd.concat(tables, ignore_index=True).set_index("question")


def test_ids_depend_on_the_things():
    first = ITEMS.of("high", "test")[0]
    yacht = Item("a yacht", "high", "test", first.price)
    own = Items(tuple(yacht if item == first else item for item in ITEMS.items))
    plain, other = asked_about(ITEMS), asked_about(own)
    shared = plain.index.intersection(other.index)
    pd.testing.assert_frame_equal(plain.loc[shared], other.loc[shared])
    assert (other.index.isin(shared) == ((other["high"] != "a yacht").to_numpy())).all()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: bet_questions(ITEMS, modalities=["roulette"]), "modalities must be of coin, dice"),
        (
            lambda: ladder_questions(ITEMS, chances=(1.0,)),
            "chances must lie strictly between 0 and 1",
        ),
        (lambda: bet_questions(ITEMS, splits=["t"]), "splits must be of .*; received 't'"),
        (lambda: score_choices("m", bet_questions(ITEMS)), "causal model; received a str"),
    ],
)
def test_what_cannot_be_asked_is_refused(call, message):
    with pytest.raises(InputError, match=message):
        call()
