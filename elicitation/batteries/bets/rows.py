"""A question as a row of a table: wordings of values and bets, roles of the options, and ids.

The questions about the things of the package in the terms of the paper have plain ids such as
"coin-test-001"; the id of any other question ends in a digest of what it says, so that answers to
one question are never taken for answers to another.
"""

import hashlib
import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from coherence.errors import InputError
from elicitation.batteries.bets.items import Item

OPTIONS = ("a", "b", "c")


@dataclass(frozen=True)
class _ValueTemplate:
    text: str
    options: tuple[str, str, str]  # high, low, same


@dataclass(frozen=True)
class _Modality:
    opening: str
    sides: tuple[str, str]
    condition: str  # of a side
    stated: str  # the chance of the first side, where it is stated


VALUE_TEMPLATES = {
    "boolean-expensive": _ValueTemplate(
        "Which sentence is right?",
        (
            "{high} costs more than {low}.",
            "{low} costs more than {high}.",
            "{high} and {low} cost the same.",
        ),
    ),
    "boolean-valuable": _ValueTemplate(
        "Which sentence is right?",
        (
            "{high} is worth more than {low}.",
            "{low} is worth more than {high}.",
            "{high} and {low} are worth the same.",
        ),
    ),
    "choice-expensive": _ValueTemplate(
        "Which of the two costs more, {high} or {low}?",
        ("{high}.", "{low}.", "both cost the same."),
    ),
    "choice-valuable": _ValueTemplate(
        "Which of the two is worth more, {high} or {low}?",
        ("{high}.", "{low}.", "both are worth the same."),
    ),
}
MODALITIES = {
    "coin": _Modality(
        "A coin is tossed.",
        ("heads", "tails"),
        "it lands on {side}",
        "It lands on {side} in {percent}% of all tosses.",
    ),
    "dice": _Modality(
        "A die is rolled.",
        ("even", "odd"),
        "the number is {side}",
        "The number is {side} in {percent}% of all rolls.",
    ),
    "card": _Modality(
        "A card is drawn from a deck.",
        ("red", "black"),
        "it is {side}",
        "In this deck {percent}% of the cards are {side}.",
    ),
}


def bet_row(
    name: str,
    split: str,
    high: Item,
    low: Item,
    wins: str,
    first: str,
    chance: float,
    stake: float,
    payout: float,
    amounts: bool,
) -> dict[str, object]:
    """Return one bet: a modality, two things, what is to be won, the side named first, terms."""
    modality = MODALITIES[name]
    # What wins is named by the first side or the second; the chance is always that of winning.
    won, lost = (high, low) if wins == "high" else (low, high)
    events = {"win": f"I win {won.name}", "lose": f"I lose {lost.name}"}
    if amounts:
        events = {
            "win": f"{events['win']} worth {_money(won.price)}",
            "lose": f"{events['lose']} worth {_money(lost.price)}",
        }
    second = "lose" if first == "win" else "win"
    conditions = [modality.condition.format(side=side) for side in modality.sides]
    text = [modality.opening]
    # One half goes without saying in the paper's bets, whose words are kept.
    if chance != 0.5 or amounts:
        # Six digits, since 1 - .7 is .30000000000000004.
        percent = f"{100 * (chance if first == 'win' else 1 - chance):.6g}"
        text.append(modality.stated.format(side=modality.sides[0], percent=percent))
    text.append(f"If {conditions[0]}, {events[first]}; if {conditions[1]}, {events[second]}.")
    if amounts:
        on_top = f", with {_money(payout * stake)} on top," if payout > 0 else ""
        text.append(
            f"A bet costs a stake of {_money(stake)}; it comes back{on_top} if I bet on the right "
            "side."
        )
    text.append("What gives me the best expected gain?")
    options = [f"I bet on {side}." for side in modality.sides] + ["I do not bet."]
    return (
        {"question": f"{name}-{split}", "kind": "bet", "template": name, "split": split}
        | things(high, low)
        | {
            "first": first,
            "wins": wins,
            "chance": float(chance),
            "stake": float(stake),
            "payout": float(payout),
        }
        | {"amounts": amounts, "text": " ".join(text)}
        | choices(options, (first, second, "none"))
    )


def number_rows(rows: list[dict[str, object]]) -> list[dict[str, object]]:
    """Give every question an id: what it was called so far, and a number within that name."""
    counts: dict[str, int] = {}
    numbered = []
    for row in rows:
        name = f"ladder-{row['question']}" if row["kind"] == "ladder" else str(row["question"])
        counts[name] = counts.get(name, 0) + 1
        numbered.append(row | {"question": f"{name}-{counts[name]:03d}"})
    return numbered


def mark_departures(
    rows: list[dict[str, object]], plain: list[dict[str, object]]
) -> list[dict[str, object]]:
    """Add a digest of its content to the id of every question that is not the plain one."""
    known = {row["question"]: row for row in plain}
    return [
        row
        if known.get(row["question"]) == row
        else row | {"question": f"{row['question']}-{_digest(row)}"}
        for row in rows
    ]


def _digest(row: dict[str, object]) -> str:
    content = {name: value for name, value in row.items() if name != "question"}
    # Six digits tell the few variants of one id apart, and still fit into a column.
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:6]


def things(high: Item, low: Item) -> dict[str, object]:
    """Return the columns that say what a question is about."""
    return {
        "high": high.name,
        "low": low.name,
        "high_value": float(high.price),
        "low_value": float(low.price),
    }


def choices(options: Sequence[str], roles: Sequence[str]) -> dict[str, object]:
    """Return the columns of the options and of what they stand for."""
    columns: dict[str, object] = {
        f"option_{letter}": option for letter, option in zip(OPTIONS, options, strict=True)
    }
    return columns | {f"role_{letter}": role for letter, role in zip(OPTIONS, roles, strict=True)}


def _money(amount: float) -> str:
    return f"{amount:.2f}".removesuffix(".00") + (" dollar" if amount == 1 else " dollars")


def in_cents(payout: float, stake: float) -> float:
    """Return the payout that is stated, in whole cents of money."""
    # What is right then follows from the question's own words.
    return round(payout * stake, 2) / stake


def check_payout(payout: float) -> None:
    """Raise for a payout that is no number of at least 0."""
    if not (payout >= 0 and np.isfinite(float(payout))):
        raise InputError(f"payout must be a number of at least 0; received {payout}.")


def check_chances(parameter: str, values: Sequence[float]) -> None:
    """Raise for a chance at which nothing is uncertain, or that is none."""
    for value in values:
        if not 0 < value < 1:
            raise InputError(f"{parameter} must lie strictly between 0 and 1; received {value}.")


def check_names(parameter: str, names: Sequence[str], known: Collection[str]) -> None:
    """Raise for names that are unknown, and for a text in place of a list of them."""
    if isinstance(names, str) or not len(names):
        raise InputError(f"{parameter} must be a list of one or more names; received {names!r}.")
    for name in names:
        if name not in known:
            raise InputError(f"{parameter} must be of {', '.join(known)}; received {name!r}.")
