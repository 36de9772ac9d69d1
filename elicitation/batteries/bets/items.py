"""The things that are won and lost in bets: those of the package, or a CSV file of one's own."""

import csv
import math
import os
import tomllib
from dataclasses import dataclass
from importlib.resources import files
from itertools import product
from pathlib import Path

from coherence.errors import InputError, closest, shown

SPLITS = ("train", "dev", "test")
CLASSES = ("high", "low")
DEFAULT_PRICES = {"high": 100.0, "low": 1.0}
_COLUMNS = ("item", "value", "split", "price")
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
    """Read a list of things from a CSV file."""
    source = Path(path)
    try:
        # Spreadsheets put a byte-order mark before the first name of a column.
        with source.open(encoding="utf-8-sig", newline="") as stream:
            rows = list(csv.DictReader(stream))
    except OSError as error:
        raise InputError(
            f"items {source} cannot be read ({error.strerror}). Name a CSV file that exists."
        ) from error
    except (UnicodeDecodeError, csv.Error) as error:
        raise InputError(
            f"items {source} cannot be read ({error}). Save it as CSV in UTF-8."
        ) from error
    if not rows:
        raise InputError(f"items {source} has no rows.")
    names = [name for name in rows[0] if name is not None]
    missing = [name for name in _COLUMNS[:3] if name not in names]
    if missing:
        raise InputError(
            f"items {source} lacks column {missing[0]!r}. {closest(missing[0], names)}"
        )
    errors: list[str] = []
    items = []
    for number, row in enumerate(rows, start=2):  # line 1 holds the names of the columns
        name, value, split, price = ((row.get(column) or "").strip() for column in _COLUMNS)
        if not name or not name.isprintable():
            errors.append(f"line {number}: item must be a word or a few on one line")
        elif len(name) > _LONGEST:
            errors.append(
                f"line {number}: item must have at most {_LONGEST} characters; it has {len(name)}"
            )
        elif None in row:  # where the csv module puts what has no column
            errors.append(
                f"line {number}: there are more cells than columns; put quotes around a text with "
                "commas"
            )
        elif value not in CLASSES:
            errors.append(f"line {number}: value must be high or low, not {value[:_LONGEST]!r}")
        elif split not in SPLITS:
            errors.append(
                f"line {number}: split must be train, dev or test, not {split[:_LONGEST]!r}"
            )
        else:
            try:
                items.append(
                    Item(name, value, split, float(price) if price else DEFAULT_PRICES[value])
                )
            except ValueError:
                errors.append(f"line {number}: price must be a number, not {price[:_LONGEST]!r}")
    if errors:
        raise InputError(
            f"items {source}: "
            + "; ".join(errors[:10])
            + (f"; and {len(errors) - 10} more" if len(errors) > 10 else "")
            + "."
        )
    return Items(tuple(items))
