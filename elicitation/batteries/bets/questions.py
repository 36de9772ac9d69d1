"""Questions about value, bets with two sides, and ladders of bets, as tables that need no model.

After Tang and Kejriwal, "Can Language Representation Models Think in Bets?" (section 4.3): four
ways to ask which of two things is worth more, and three kinds of bets (a coin, a die, a card) in
which either the thing of high value is won or the other, with the winning or the losing side named
first. Beyond the paper, in a ladder of bets, the values, the chance and the stake are stated, and
chance and stake vary against each other: whoever bets up to some stake and no further thereby shows
a probability. The wording is our own; what is right is computed from the columns by
``coherence.batteries.bets``. Things are those of the package, or a table of one's own.

The questions about the things of the package have plain ids such as
"coin-test-001"; the id of any other question ends in a digest of what it says, so that answers to
one question are never taken for answers to another.
"""

import hashlib
import json
import math
import os
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib.resources import files
from itertools import product
from typing import Any

import pandas as pd

from coherence.batteries.battery import AnswerColumn, AnswerTable, read_answer_table
from coherence.batteries.bets.scores import ROLES, TEXTS
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


def _table(name: str) -> dict[str, Any]:
    """Return a table that comes with the package."""
    text = (files("elicitation.batteries.bets") / name).read_text(encoding="utf-8")
    return tomllib.loads(text)


def default_items() -> Items:
    """Return the list that comes with the package.

    14 x 15 things are to train on, 5 x 5 for development, 5 x 5 to test.
    """
    table = _table("items.toml")
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


_WORDS = _table("words.toml")
VALUE_TEMPLATES: dict[str, dict[str, Any]] = _WORDS["value"]
MODALITIES: dict[str, dict[str, Any]] = _WORDS["bet"]

STAKE = 20.0
"""Between the value of a low thing (1) and half the difference to a high one (49.5), as the paper
assumes."""
_Row = dict[str, Any]


def _row(
    kind: str,
    template: str,
    split: str,
    things: tuple[Item, Item],
    first: str,
    text: str,
    options: Sequence[str],
    roles: Sequence[str],
    **terms: Any,
) -> _Row:
    """Return a question without its id: the things, the terms, the words, what options are."""
    high, low = things
    row: _Row = {
        "kind": kind,
        "template": template,
        "split": split,
        "high": high.name,
        "low": low.name,
    }
    row |= {"high_value": float(high.price), "low_value": float(low.price), "first": first}
    return {
        **row,
        **terms,
        "text": text,
        **dict(zip([*TEXTS, *ROLES], [*options, *roles], strict=True)),
    }


def _asked(items: Items, make: Callable[[Items], Iterator[_Row]]) -> pd.DataFrame:
    """Return questions about things with their ids; those that are not the usual have a digest."""
    if not isinstance(items, Items):
        raise InputError(f"items must be Items, such as default_items(); received {shown(items)}.")
    usual = {row["question"]: row for row in _numbered(make(default_items()))}
    rows = list(_numbered(make(items)))
    for row in rows:
        if usual.get(row["question"]) != row:
            content = {name: value for name, value in row.items() if name != "question"}
            digest = hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
            # Six digits tell the few variants of one id apart, and still fit into a column.
            row["question"] += f"-{digest[:6]}"
    return pd.DataFrame(rows)


def _numbered(rows: Iterator[_Row]) -> Iterator[_Row]:
    counts: Counter[str] = Counter()
    for row in rows:
        ladder = "ladder-" if row["kind"] == "ladder" else ""
        name = f"{ladder}{row['template']}-{row['split']}"
        counts[name] += 1
        yield {"question": f"{name}-{counts[name]:03d}", **row}


def value_questions(
    items: Items,
    *,
    splits: Sequence[str] = SPLITS,
    templates: Sequence[str] = tuple(VALUE_TEMPLATES),
) -> pd.DataFrame:
    """Make the questions which of two things is worth more, a row per template and pair.

    The columns are ``question`` (id), ``kind`` ("value"), ``template``, ``split``, ``high``,
    ``low`` (the things), ``high_value``, ``low_value`` (their prices), ``first`` (value of the
    thing named first), ``text``, ``option_a`` to ``option_c``, and ``role_a`` to ``role_c``: what
    the options stand for, "high", "low" or "same". As in the paper the high one is always named
    first, so that a model that takes whatever comes first is always right. Raises `InputError` for
    a split without things.
    """

    def make(things: Items) -> Iterator[_Row]:
        for name, split in product(templates, splits):
            for pair in things.pairs(split):
                words = {"high": pair[0].name, "low": pair[1].name}
                filled = (option.format(**words) for option in VALUE_TEMPLATES[name]["options"])
                # Not capitalize(), which would make the rest small.
                options = [text[0].upper() + text[1:] for text in filled]
                text = VALUE_TEMPLATES[name]["text"].format(**words)
                yield _row(
                    "value", name, split, pair, "high", text, options, ("high", "low", "same")
                )

    return _asked(items, make)


def _bet(
    kind: str,
    name: str,
    split: str,
    things: tuple[Item, Item],
    wins: str,
    first: str,
    chance: float = 0.5,
    stake: float = STAKE,
) -> _Row:
    """Return a bet: a modality, two things, what is to be won, the side named first, terms.

    The paper's bets, whose words are kept, leave one half and the amounts unsaid; ladders say them.
    """
    modality, amounts = MODALITIES[name], kind == "ladder"
    sides, condition = modality["sides"], modality["condition"]
    # What wins is named by the first side or the second; the chance is always that of winning.
    won, lost = things if wins == "high" else things[::-1]
    worth = (f" worth {_money(each.price)}" if amounts else "" for each in (won, lost))
    events = {"win": f"I win {won.name}{next(worth)}", "lose": f"I lose {lost.name}{next(worth)}"}
    second = "lose" if first == "win" else "win"
    one, other = (condition.format(side=side) for side in sides)
    text = [modality["opening"], f"If {one}, {events[first]}; if {other}, {events[second]}."]
    if amounts:
        # Six digits, since 1 - .7 is .30000000000000004.
        percent = f"{100 * (chance if first == 'win' else 1 - chance):.6g}"
        text.insert(1, modality["stated"].format(side=sides[0], percent=percent))
        text.append(
            f"A bet costs a stake of {_money(stake)}; it comes back if I bet on the right side."
        )
    text.append("What gives me the best expected gain?")
    options = [*(f"I bet on {side}." for side in sides), "I do not bet."]
    terms: _Row = {"wins": wins, "chance": float(chance), "stake": float(stake), "payout": 0.0}
    words = (" ".join(text), options, (first, second, "none"))
    return _row(kind, name, split, things, first, *words, **terms, amounts=amounts)


def _money(amount: float) -> str:
    return f"{amount:.2f}".removesuffix(".00") + (" dollar" if amount == 1 else " dollars")


def bet_questions(
    items: Items,
    *,
    splits: Sequence[str] = SPLITS,
    modalities: Sequence[str] = tuple(MODALITIES),
) -> pd.DataFrame:
    """Make bets: every pair of things, either to be won, with either side named first.

    Columns are those of `value_questions`, with ``kind`` "bet", ``template`` the modality,
    ``first`` "win" or "lose" (the side named first), ``wins`` ("high" or "low": the thing to be
    won), and what a bet is scored by: ``chance`` (of the side that wins, one half), ``stake`` (20),
    ``payout`` (0), ``amounts`` (whether the text states them; the paper does not, and assumes a
    stake above the low value and below half the difference of the two). Roles are "win" and "lose"
    (bet on the side that wins, or loses, the thing) and "none". Raises `InputError` for a split
    without things.
    """

    def make(things: Items) -> Iterator[_Row]:
        for name, split in product(modalities, splits):
            for pair, wins, first in product(things.pairs(split), CLASSES, ("win", "lose")):
                yield _bet("bet", name, split, pair, wins, first)

    return _asked(items, make)


CHANCES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
BREAK_EVENS = (0.05, 0.15, 0.25, 0.35, 0.45, 0.55, 0.65, 0.75, 0.85, 0.95)
"""Between the stated chances, so that no bet is worth neither taking nor leaving."""


def ladder_questions(items: Items) -> pd.DataFrame:
    """Make ladders of bets on a coin, so that the chance acted on can be read off the choices.

    The i-th high thing to test on meets the i-th low one, so that no two pairs share a thing.
    `CHANCES` are those of the winning side. Columns are those of `bet_questions`, all
    with the high thing to be won and with the amounts stated, and ``break_even``, near
    `BREAK_EVENS`; stakes are rounded to cents and break-even chances computed from what was
    rounded. Raises `InputError` for things of which none are to test on.
    """

    def make(things: Items) -> Iterator[_Row]:
        things.pairs("test")  # raises without things, or with prices in the wrong order
        pairs = zip(things.of("high", "test"), things.of("low", "test"), strict=False)
        for pair, chance, even in product(pairs, CHANCES, BREAK_EVENS):
            # No bet is free; what is rounded is what the question says, so the chance follows it.
            price = pair[0].price
            stake = max(round(even * price / (1 - even), 2), 0.01)
            for first in ("win", "lose"):
                bet = _bet("ladder", "coin", "test", pair, "high", first, chance, stake)
                yield bet | {"break_even": stake / (price + stake)}

    return _asked(items, make)
