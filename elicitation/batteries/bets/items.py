"""The things that are won and lost in bets: those of the package, or a table of one's own."""

import math
import os
import tomllib
from dataclasses import dataclass
from importlib.resources import files
from itertools import product

from coherence.batteries.battery import AnswerColumn, AnswerTable, read_answer_table
from coherence.errors import InputError, shown

SPLITS = ("train", "dev", "test")
CLASSES = ("high", "low")
DEFAULT_PRICES = {"high": 100.0, "low": 1.0}
_COLUMNS = (
    AnswerColumn("item", required=True),
    AnswerColumn("value", required=True, one_of=CLASSES),
    AnswerColumn("split", required=True, one_of=SPLITS),
    AnswerColumn("price", number=True, may_lack=True, default=math.nan),
)
_LONGEST = 100  # characters of a name: it stands in a sentence


@dataclass(frozen=True)
class Item:
    """A thing that can be won or lost."""

    name: str  # as it stands in a sentence, with its article: "a car"
    value: str  # "high" or "low"
    split: str  # "train", "dev" or "test"
    price: float  # what it is worth, positive; the unit is that of the stakes


@dataclass(frozen=True)
class Items:
    """High and low things, divided into train, dev and test."""

    # no name twice; in every split that has things at least one of each value
    items: tuple[Item, ...]

    def __post_init__(self) -> None:
        # "A car" and "a car" make the same sentence, and an answer could not tell them apart.
        names = [item.name.casefold() for item in self.items]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise InputError(
                f"items must have different names; {', '.join(map(repr, twice[:5]))} occur more "
                "than once. Leave the copies out."
            )
        for item in self.items:
            if not (item.price > 0 and math.isfinite(item.price)):
                raise InputError(
                    f"the price of {item.name!r} must be a positive number; received {item.price}."
                )
        # A split may be empty: who only trains needs no test things.
        for split in SPLITS:
            present = {item.value for item in self.items if item.split == split}
            if len(present) == 1:
                raise InputError(
                    f"split {split!r} must have things of both values; it has only {present.pop()} "
                    "ones."
                )
        if not self.items:
            raise InputError("items must not be empty.")

    def of(self, value: str, split: str) -> list[Item]:
        """Return the things of one value and split, in their order."""
        return [item for item in self.items if item.value == value and item.split == split]

    def pairs(self, split: str) -> list[tuple[Item, Item]]:
        """Return every high thing of a split with every low one."""
        if split not in SPLITS:
            raise InputError(f"split must be one of {', '.join(SPLITS)}; received {split!r}.")
        pairs = list(product(self.of("high", split), self.of("low", split)))
        if not pairs:
            raise InputError(
                f"there are no things in split {split!r}. Add some to the list of items, or leave "
                "this split out."
            )
        for high, low in pairs:
            if not high.price > low.price:
                raise InputError(
                    "a high thing must be worth more than the low ones of its split; "
                    f"{high.name!r} has price {high.price:g}, "
                    f"{low.name!r} {low.price:g}. Correct the prices."
                )
        return pairs


def require_items(items: object) -> None:
    """Raise `InputError` unless things are `Items`."""
    if not isinstance(items, Items):
        raise InputError(f"items must be Items, such as default_items(); received {shown(items)}.")


def default_items() -> Items:
    """Return the list that comes with the package.

    14 x 15 things are to train on, 5 x 5 for development, 5 x 5 to test.
    """
    table = tomllib.loads(
        (files("elicitation.batteries.bets") / "items.toml").read_text(encoding="utf-8")
    )
    return Items(
        tuple(
            Item(name, value, split, DEFAULT_PRICES[value])
            for value in CLASSES
            for split in SPLITS
            for name in table[value].get(split, ())
        )
    )


def read_items(path: str | os.PathLike[str]) -> Items:
    """Read a list of things from a table, .csv or .parquet."""
    checked = AnswerTable(read_answer_table(path, texts=None), _COLUMNS, source=f"items {path}")
    table = checked.table
    table["item"] = table["item"].str.strip()
    wrong = ~table["item"].map(lambda name: 0 < len(name) <= _LONGEST and name.isprintable())
    rule = f"column 'item' must hold words on one line, of at most {_LONGEST} characters"
    checked.refuse(wrong, rule, "item")
    checked.raise_errors()
    usual = table["value"].map(DEFAULT_PRICES)
    table["price"] = table["price"].fillna(usual)
    rows = table[["item", "value", "split", "price"]].itertuples(index=False, name=None)
    return Items(tuple(Item(*row) for row in rows))
