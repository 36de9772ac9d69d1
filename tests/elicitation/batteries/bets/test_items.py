from elicitation import bet_questions
from elicitation.batteries.bets.items import read_items


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
