"""Questions of the bets: breaks if counts, wordings or terms change."""

import pytest

from coherence import InputError
from elicitation import bet_questions, value_questions
from elicitation.batteries.bets.items import SPLITS, default_items
from elicitation.batteries.bets.questions import MODALITIES, VALUE_TEMPLATES

ITEMS = default_items()


def test_counts_are_those_of_the_paper():
    assert [(len(ITEMS.of("high", split)), len(ITEMS.of("low", split))) for split in SPLITS] == [
        (14, 15),
        (5, 5),
        (5, 5),
    ]
    for counts, expected in (
        (value_questions(ITEMS), (210, 25, 25)),
        (bet_questions(ITEMS), (840, 100, 100)),
    ):
        for _, part in counts.groupby("template"):
            assert tuple(part["split"].value_counts()[list(SPLITS)]) == expected
    assert len(VALUE_TEMPLATES) == 4
    assert len(MODALITIES) == 3


def test_every_pair_is_asked_in_every_way_once():
    bets = bet_questions(ITEMS, splits=["test"], modalities=["card"])
    assert (bets.groupby(["high", "low", "wins", "first"]).size() == 1).all()
    assert len(bets.groupby(["high", "low", "wins", "first"])) == 4 * 25
    assert bets["question"].is_unique
    assert bets["text"].is_unique


def test_wordings_are_kept():
    bets = bet_questions(ITEMS, splits=["test"]).set_index("question")
    assert bets.loc["coin-test-001", "text"] == (
        "A coin is tossed. If it lands on heads, I win a car; if it lands on tails, I lose a pen. "
        "What gives me the best expected gain?"
    )
    assert bets.loc["dice-test-002", "text"] == (
        "A die is rolled. If the number is even, I lose a pen; if the number is odd, I win a car. "
        "What gives me the best expected gain?"
    )
    assert bets.loc["card-test-003", "text"] == (
        "A card is drawn from a deck. If it is red, I win a pen; if it is black, I lose a car. "
        "What gives me the best expected gain?"
    )
    assert bets.loc["card-test-003", ["option_a", "option_b", "option_c"]].tolist() == [
        "I bet on red.",
        "I bet on black.",
        "I do not bet.",
    ]
    assert bets.loc["dice-test-002", ["role_a", "role_b", "role_c"]].tolist() == [
        "lose",
        "win",
        "none",
    ]
    values = value_questions(ITEMS, splits=["test"]).set_index("question")
    options = values.loc["boolean-valuable-test-001", ["option_a", "option_b", "option_c"]]
    assert options.tolist() == [
        "A car is worth more than a pen.",
        "A pen is worth more than a car.",
        "A car and a pen are worth the same.",
    ]
    assert (
        values.loc["choice-expensive-test-001", "text"]
        == "Which of the two costs more, a car or a pen?"
    )


def test_both_orders_put_either_thing_first():
    values = value_questions(ITEMS, splits=["dev"], templates=["choice-valuable"], both_orders=True)
    assert values["first"].value_counts().to_dict() == {"high": 25, "low": 25}
    turned = values[values["first"] == "low"].iloc[0]
    assert turned["text"] == "Which of the two is worth more, an egg or a watch?"
    assert turned[["option_a", "role_a", "option_b", "role_b"]].tolist() == [
        "An egg.",
        "low",
        "A watch.",
        "high",
    ]


def test_another_chance_is_stated_for_the_side_that_is_named():
    bets = bet_questions(ITEMS, splits=["test"], modalities=["dice"], chances=(0.3,))
    first = bets.set_index("first")["text"]
    assert "The number is even in 30% of all rolls." in first["win"].iloc[0]
    assert "The number is even in 70% of all rolls." in first["lose"].iloc[0]
    assert (bets["chance"] == 0.3).all()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: bet_questions(ITEMS, modalities=["roulette"]),
            "modalities must be of coin, dice, card; received 'roulette'",
        ),
        (lambda: bet_questions(ITEMS, modalities="coin"), "modalities must be a list"),
        (
            lambda: bet_questions(ITEMS, chances=(1.0,)),
            "chances must lie strictly between 0 and 1; received 1.0",
        ),
        (lambda: bet_questions(ITEMS, splits=["t"]), "splits must be of .*; received 't'"),
        (lambda: bet_questions(ITEMS, stake=0), "stake must be a positive number; received 0"),
        (
            lambda: value_questions(ITEMS, splits=["tset"]),
            "splits must be of train, dev, test; received 'tset'",
        ),
    ],
)
def test_what_cannot_be_asked_is_refused(call, message):
    with pytest.raises(InputError, match=message):
        call()
