"""Ids of questions: breaks if two different questions share one, or one question has two."""

import pandas as pd
import pytest

from elicitation import bet_questions, ladder_questions, value_questions
from elicitation.batteries.bets.items import Item, Items, default_items

ITEMS = default_items()


def asked_with(items, **terms):
    bets = {name: value for name, value in terms.items() if name != "break_evens"}
    rungs = {name: value for name, value in terms.items() if name in ("payout", "break_evens")}
    return pd.concat(
        [value_questions(items), bet_questions(items, **bets), ladder_questions(items, **rungs)],
        ignore_index=True,
    )


def test_plain_questions_have_plain_ids():
    plain = asked_with(ITEMS)
    assert plain["question"].str.fullmatch(r"(ladder-)?[a-z-]+-(train|dev|test)-\d{3}").all()
    # Whatever else is asked beside them.
    some = bet_questions(ITEMS, splits=["test"], modalities=["dice"], chances=(0.5, 0.3))
    assert set(some["question"].head(100)) == {
        f"dice-test-{number:03d}" for number in range(1, 101)
    }
    assert some["question"].tail(100).str.fullmatch(r"dice-test-\d{3}-[0-9a-f]{6}").all()


@pytest.mark.lengthy
@pytest.mark.parametrize(
    "terms",
    [
        {"chances": (0.3,)},
        {"stake": 30.0},
        {"payout": 0.5, "amounts": True, "break_evens": (0.2, 0.4)},
        {"amounts": True},
        {"stake": 30.0, "amounts": True},
    ],
)
def test_ids_are_equal_only_where_questions_are(terms):
    plain, other = (
        asked_with(ITEMS).set_index("question"),
        asked_with(ITEMS, **terms).set_index("question"),
    )
    assert other.index.is_unique
    shared = plain.index.intersection(other.index)
    pd.testing.assert_frame_equal(plain.loc[shared], other.loc[shared])
    assert (other.loc[shared, "kind"] != "bet").all()
    again = asked_with(ITEMS, **terms)
    assert again["question"].tolist() == other.index.tolist()


def test_ids_depend_on_the_things_and_on_their_order():
    first = ITEMS.of("high", "test")[0]
    own = Items(
        tuple(
            Item("a yacht", "high", "test", item.price) if item == first else item
            for item in ITEMS.items
        )
    )
    plain, other = asked_with(ITEMS).set_index("question"), asked_with(own).set_index("question")
    shared = plain.index.intersection(other.index)
    pd.testing.assert_frame_equal(plain.loc[shared], other.loc[shared])
    assert (other.index.isin(shared) == ((other["high"] != "a yacht").to_numpy())).all()
    turned = value_questions(ITEMS, splits=["test"], both_orders=True).set_index("question")
    shared = plain.index.intersection(turned.index)
    pd.testing.assert_frame_equal(
        plain.loc[shared, ["text", "role_a"]], turned.loc[shared, ["text", "role_a"]]
    )
