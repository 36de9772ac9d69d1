import pytest

from coherence import InputError
from elicitation import bet_questions
from elicitation.batteries.bets.items import Item, Items, read_items


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: Items((Item("a car", "high", "test", 5), Item("A car", "low", "test", 1))),
            "'a car' occur more than once",
        ),
        (
            lambda: Items((Item("a car", "high", "test", 5),)),
            "split 'test' must have things of both values; it has only high ones",
        ),
        (
            lambda: Items(
                (Item("a car", "high", "test", 1), Item("a pen", "low", "test", 1))
            ).pairs("test"),
            "must be worth more than the low ones",
        ),
    ],
)
def test_things_that_cannot_be_bet_on_are_refused(call, message):
    with pytest.raises(InputError, match=message):
        call()


def test_own_things_come_from_a_csv(tmp_path):
    path = tmp_path / "things.csv"
    path.write_text(
        "item,value,split,price\na yacht,high,test,2000\na villa,high,test,\na nail,low,test,.5\n",
        encoding="utf-8",
    )
    items = read_items(path)
    assert [(high.name, high.price, low.name, low.price) for high, low in items.pairs("test")] == [
        ("a yacht", 2000, "a nail", 0.5), ("a villa", 100, "a nail", 0.5),
    ]  # fmt: skip
    bets = bet_questions(items, splits=["test"], amounts=True, stake=3)
    assert len(bets) == 3 * 4 * 2
    assert "I win a yacht worth 2000 dollars" in bets["text"].iloc[0]
    assert "I lose a nail worth 0.50 dollars" in bets["text"].iloc[0]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("item,value\na car,high\n", "lacks column 'split'"),
        (
            "item,value,split\na car,dear,test\n,low,test\na pen,low,exam\n",
            "line 2: value must be high or low, not 'dear'; line 3: item.*line 4: split",
        ),
        (
            "item,value,split,price\na car,high,test,lots\n",
            "line 2: price must be a number, not 'lots'",
        ),
        ("item,value,split\n", "has no rows"),
    ],
)
def test_a_faulty_csv_is_refused_with_all_its_faults(text, message, tmp_path):
    path = tmp_path / "things.csv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=message):
        read_items(path)
