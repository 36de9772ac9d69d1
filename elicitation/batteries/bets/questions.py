"""Questions about value, bets with two sides, and ladders of bets, as tables that need no model.

After Tang and Kejriwal, "Can Language Representation Models Think in Bets?" (section 4.3): four
ways to ask which of two things is worth more, and three kinds of bets (a coin, a die, a card) in
which either the thing of high value is won or the other, with the winning or the losing side named
first. Beyond the paper a bet may state another chance than one half, the values and the stake, and
in a ladder chance and stake vary against each other: whoever bets up to some stake and no further
thereby shows a probability. The wording is our own; what is right is computed from the columns by
``coherence.batteries.bets``.

The questions about the things of the package in the terms of the paper have plain ids such as
"coin-test-001"; the id of any other question ends in a digest of what it says, so that answers to
one question are never taken for answers to another.
"""

import hashlib
import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from coherence.errors import InputError
from elicitation.batteries.bets.items import SPLITS, Item, Items, default_items, require_items

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


STAKE = 20.0
"""Between the value of a low thing (1) and half the difference to a high one (49.5), as the paper
assumes."""


@dataclass(frozen=True)
class _Terms:
    """Terms of bets; those of the paper by default."""

    chance: float = 0.5  # of the side that wins
    stake: float = STAKE
    payout: float = 0.0  # on top of the stake, per unit of it
    amounts: bool = False  # whether prices, stake and payout are stated


def _bet_row(
    name: str, split: str, high: Item, low: Item, wins: str, first: str, terms: _Terms
) -> dict[str, object]:
    """Return one bet: a modality, two things, what is to be won, the side named first, terms."""
    modality, chance, stake = MODALITIES[name], terms.chance, terms.stake
    # What wins is named by the first side or the second; the chance is always that of winning.
    won, lost = (high, low) if wins == "high" else (low, high)
    events = {"win": f"I win {won.name}", "lose": f"I lose {lost.name}"}
    if terms.amounts:
        events = {
            "win": f"{events['win']} worth {_money(won.price)}",
            "lose": f"{events['lose']} worth {_money(lost.price)}",
        }
    second = "lose" if first == "win" else "win"
    conditions = [modality.condition.format(side=side) for side in modality.sides]
    text = [modality.opening]
    # One half goes without saying in the paper's bets, whose words are kept.
    if chance != 0.5 or terms.amounts:
        # Six digits, since 1 - .7 is .30000000000000004.
        percent = f"{100 * (chance if first == 'win' else 1 - chance):.6g}"
        text.append(modality.stated.format(side=modality.sides[0], percent=percent))
    text.append(f"If {conditions[0]}, {events[first]}; if {conditions[1]}, {events[second]}.")
    if terms.amounts:
        on_top = f", with {_money(terms.payout * stake)} on top," if terms.payout > 0 else ""
        text.append(
            f"A bet costs a stake of {_money(stake)}; it comes back{on_top} if I bet on the right "
            "side."
        )
    text.append("What gives me the best expected gain?")
    options = [f"I bet on {side}." for side in modality.sides] + ["I do not bet."]
    return (
        {"question": f"{name}-{split}", "kind": "bet", "template": name, "split": split}
        | _things(high, low)
        | {
            "first": first,
            "wins": wins,
            "chance": float(chance),
            "stake": float(stake),
            "payout": float(terms.payout),
        }
        | {"amounts": terms.amounts, "text": " ".join(text)}
        | _choices(options, (first, second, "none"))
    )


def _number_rows(rows: list[dict[str, object]]) -> list[dict[str, object]]:
    """Give every question an id: what it was called so far, and a number within that name."""
    counts: dict[str, int] = {}
    numbered = []
    for row in rows:
        name = f"ladder-{row['question']}" if row["kind"] == "ladder" else str(row["question"])
        counts[name] = counts.get(name, 0) + 1
        numbered.append(row | {"question": f"{name}-{counts[name]:03d}"})
    return numbered


def _mark_departures(
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


def _things(high: Item, low: Item) -> dict[str, object]:
    """Return the columns that say what a question is about."""
    return {
        "high": high.name,
        "low": low.name,
        "high_value": float(high.price),
        "low_value": float(low.price),
    }


def _choices(options: Sequence[str], roles: Sequence[str]) -> dict[str, object]:
    """Return the columns of the options and of what they stand for."""
    columns: dict[str, object] = {
        f"option_{letter}": option for letter, option in zip(OPTIONS, options, strict=True)
    }
    return columns | {f"role_{letter}": role for letter, role in zip(OPTIONS, roles, strict=True)}


def _money(amount: float) -> str:
    return f"{amount:.2f}".removesuffix(".00") + (" dollar" if amount == 1 else " dollars")


def _in_cents(payout: float, stake: float) -> float:
    """Return the payout that is stated, in whole cents of money."""
    # What is right then follows from the question's own words.
    return round(payout * stake, 2) / stake


def _check_payout(payout: float) -> None:
    """Raise for a payout that is no number of at least 0."""
    if not (payout >= 0 and np.isfinite(float(payout))):
        raise InputError(f"payout must be a number of at least 0; received {payout}.")


def _check_chances(parameter: str, values: Sequence[float]) -> None:
    """Raise for a chance at which nothing is uncertain, or that is none."""
    for value in values:
        if not 0 < value < 1:
            raise InputError(f"{parameter} must lie strictly between 0 and 1; received {value}.")


def _check_names(parameter: str, names: Sequence[str], known: Collection[str]) -> None:
    """Raise for names that are unknown, and for a text in place of a list of them."""
    if isinstance(names, str) or not len(names):
        raise InputError(f"{parameter} must be a list of one or more names; received {names!r}.")
    for name in names:
        if name not in known:
            raise InputError(f"{parameter} must be of {', '.join(known)}; received {name!r}.")


def value_questions(
    items: Items,
    *,
    splits: Sequence[str] = SPLITS,
    templates: Sequence[str] = tuple(VALUE_TEMPLATES),
    both_orders: bool = False,
) -> pd.DataFrame:
    """Make the questions which of two things is worth more.

    Parameters
    ----------
    items : Items
        The things.
    splits : sequence of str
        Of "train", "dev", "test".
    templates : sequence of str
        Keys of `VALUE_TEMPLATES`.
    both_orders : bool
        Whether each pair is asked twice, with either thing named first. The paper always names the
        high one first, so that a model that takes whatever comes first is always right.

    Returns
    -------
    DataFrame
        One row per template and pair: ``question`` (id), ``kind`` ("value"), ``template``,
        ``split``, ``high``, ``low`` (the things), ``high_value``, ``low_value`` (their prices),
        ``first`` (value of the thing named first), ``text``, ``option_a`` to ``option_c``, and
        ``role_a`` to ``role_c``: what the options stand for, "high", "low" or "same".

    Raises
    ------
    InputError
        An unknown split or template.

    Examples
    --------
    >>> row = value_questions(default_items(), splits=["test"]).iloc[50]
    >>> row["question"], row["text"], row["option_a"]
    ('choice-expensive-test-001', 'Which of the two costs more, a car or a pen?', 'A car.')
    """
    require_items(items)
    _check_names("templates", templates, VALUE_TEMPLATES)
    _check_names("splits", splits, SPLITS)
    rows = _values(items, splits, templates, both_orders)
    return pd.DataFrame(_mark_departures(rows, _values(default_items(), splits, templates, False)))


def _values(
    items: Items, splits: Sequence[str], templates: Sequence[str], both_orders: bool
) -> list[dict[str, object]]:
    rows = []
    for name in templates:
        template = VALUE_TEMPLATES[name]
        for split in splits:
            pairs = [
                (high, low, first)
                for high, low in items.pairs(split)
                for first in (("high", "low") if both_orders else ("high",))
            ]
            for number, (high, low, first) in enumerate(pairs, start=1):
                named = (high, low) if first == "high" else (low, high)
                # "high" in a template is the thing named first.
                words = {"high": named[0].name, "low": named[1].name}
                options = [_sentence(option.format(**words)) for option in template.options]
                rows.append(
                    {
                        "question": f"{name}-{split}-{number:03d}",
                        "kind": "value",
                        "template": name,
                        "split": split,
                    }
                    | _things(high, low)
                    | {"first": first, "text": template.text.format(**words)}
                    | _choices(options, (first, "low" if first == "high" else "high", "same"))
                )
    return rows


def _sentence(text: str) -> str:
    # Not capitalize(), which would make the rest small.
    return text[0].upper() + text[1:]


def bet_questions(
    items: Items,
    *,
    splits: Sequence[str] = SPLITS,
    modalities: Sequence[str] = tuple(MODALITIES),
    chances: Sequence[float] = (0.5,),
    stake: float = STAKE,
    payout: float = 0.0,
    amounts: bool = False,
) -> pd.DataFrame:
    """Make bets: every pair of things, either to be won, with either side named first.

    Parameters
    ----------
    items : Items
        The things.
    splits : sequence of str
        Of "train", "dev", "test".
    modalities : sequence of str
        Keys of `MODALITIES`.
    chances : sequence of float
        Chances of the side that wins, strictly between 0 and 1; one other than one half is stated
        in the question, in percent.
    stake : float
        What a bet puts at risk, positive, in the unit of the prices.
    payout : float
        What the side bet on pays on top of the stake, per unit of it, at least 0; rounded so that
        it makes whole cents. The paper's bets pay nothing.
    amounts : bool
        Whether the question states the prices, the stake and what is paid on top. The paper does
        not, and assumes a stake above the low value and below half the difference of the two.
        Needed for a payout: what is right then depends on the stake.

    Returns
    -------
    DataFrame
        One row per modality, chance, pair, thing to be won and order; columns as of
        `value_questions`, ``kind`` "bet", ``template`` the modality, ``first`` "win" or "lose" (the
        side named first), and ``wins`` ("high" or "low": the thing to be won), ``chance`` (of the
        side that wins), ``stake``, ``payout``, ``amounts``. Roles are "win" and "lose" (bet on the
        side that wins, or loses, the thing) and "none".

    Raises
    ------
    InputError
        An unknown split or modality, a chance, stake or payout outside its range, or a payout that
        is not stated.

    Examples
    --------
    >>> bets = bet_questions(default_items(), modalities=["coin"])
    >>> bets.groupby("split", sort=False).size().to_dict()
    {'train': 840, 'dev': 100, 'test': 100}
    >>> bets.iloc[-1]["text"][:60]
    'A coin is tossed. If it lands on heads, I lose a computer; i'
    """
    require_items(items)
    _check_names("splits", splits, SPLITS)
    _check_names("modalities", modalities, MODALITIES)
    _check_chances("chances", chances)
    if not (stake > 0 and np.isfinite(stake)):
        raise InputError(f"stake must be a positive number; received {stake}.")
    _check_payout(payout)
    if payout > 0 and not amounts:
        raise InputError(
            f"a payout of {payout:g} needs amounts=True: which choice is right depends on the "
            "stake."
        )
    terms = [_Terms(chance, stake, _in_cents(payout, stake), amounts) for chance in chances]
    rows = _bets(items, splits, modalities, terms)
    plain = _bets(default_items(), splits, modalities, [_Terms()])
    return pd.DataFrame(_mark_departures(rows, plain))


def _bets(
    items: Items, splits: Sequence[str], modalities: Sequence[str], all_terms: Sequence[_Terms]
) -> list[dict[str, object]]:
    return _number_rows(
        [
            _bet_row(name, split, high, low, wins, first, terms)
            for name in modalities
            for split in splits
            for terms in all_terms
            for high, low in items.pairs(split)
            for wins in ("high", "low")
            for first in ("win", "lose")
        ]
    )


CHANCES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
BREAK_EVENS = (0.05, 0.15, 0.25, 0.35, 0.45, 0.55, 0.65, 0.75, 0.85, 0.95)
"""Between the stated chances, so that no bet is worth neither taking nor leaving."""


def ladder_questions(
    items: Items,
    *,
    split: str = "test",
    modalities: Sequence[str] = ("coin",),
    chances: Sequence[float] = CHANCES,
    break_evens: Sequence[float] = BREAK_EVENS,
    payout: float = 0.0,
) -> pd.DataFrame:
    """Make ladders, so that the chance acted on can be read off the choices.

    The i-th high thing meets the i-th low one, so that no two pairs share a thing.

    Parameters
    ----------
    items : Items
        The things.
    split : str
        "train", "dev" or "test".
    modalities : sequence of str
        Keys of `MODALITIES`.
    chances : sequence of float
        Stated chances of the winning side, in (0, 1).
    break_evens : sequence of float
        Chances at which the stakes break even, in (0, 1); with a payout below `highest_break_even`.
    payout : float
        As of `bet_questions`.

    Returns
    -------
    DataFrame
        As from `bet_questions`, all with the high thing to be won and with the amounts stated, and
        the column ``break_even``; stakes are rounded to cents and break-even chances computed from
        what was rounded.

    Raises
    ------
    InputError
        As of `bet_questions`; or no stake breaks even at a chance.

    Examples
    --------
    >>> from elicitation.batteries.bets.items import default_items
    >>> questions = ladder_questions(default_items(), chances=[0.5])
    >>> questions["chance"].unique().tolist()
    [0.5]
    """
    require_items(items)
    _check_names("modalities", modalities, MODALITIES)
    _check_payout(payout)
    _check_chances("chances", chances)
    _check_chances("break_evens", break_evens)
    highest = highest_break_even(payout)
    beyond = [even for even in break_evens if even >= highest]
    if beyond:
        raise InputError(
            f"break_evens must be below {highest:.4g} with a payout of {payout:g}, for no stake "
            f"breaks even at more; received {beyond[0]}."
        )
    items.pairs(split)  # raises for a split without things, or with prices in the wrong order
    rows = _ladder(items, split, modalities, chances, break_evens, payout)
    plain = _ladder(default_items(), split, modalities, CHANCES, BREAK_EVENS, 0.0)
    return pd.DataFrame(_mark_departures(rows, plain))


def highest_break_even(payout: float) -> float:
    """Return the limit of the break-even chances of a ladder: 1 without a payout, else less."""
    return max(1 / (1 + payout), 0.5)


def _ladder(
    items: Items,
    split: str,
    modalities: Sequence[str],
    chances: Sequence[float],
    break_evens: Sequence[float],
    payout: float,
) -> list[dict[str, object]]:
    steps = [
        (name, high, low, chance, even)
        for name in modalities
        for high, low in zip(items.of("high", split), items.of("low", split), strict=False)
        for chance in chances
        for even in break_evens
    ]
    rows = []
    for name, high, low, chance, even in steps:
        # No bet is free; what is rounded is what the question says, so the chance follows it.
        stake = max(round(_stake_at(even, high.price, low.price, payout), 2), 0.01)
        paid = _in_cents(payout, stake)
        exact = {
            "kind": "ladder",
            "break_even": _break_even(high.price, low.price, stake, paid),
        }
        terms = _Terms(chance, stake, paid, amounts=True)
        rows += [
            _bet_row(name, split, high, low, "high", first, terms) | exact
            for first in ("win", "lose")
        ]
    return _number_rows(rows)


def _break_even(prize: float, loss: float, stake: float, payout: float) -> float:
    """Return the chance above which the winning side gains most."""
    # The first is where it gains nothing, the second where the other side gains as much; without a
    # payout the second is below the first.
    returned = (1 + payout) * stake
    return max(stake / (prize + returned), (returned - loss) / (prize + 2 * returned - loss))


def _stake_at(even: float, prize: float, loss: float, payout: float) -> float:
    """Return the stake at which a chance is that of `_break_even`."""
    # Each part of `_break_even`, solved for the stake; it grows with the stake in both, so that the
    # smaller solution is where the larger part gets there.
    left = 1 - even * (1 + payout)
    against_none = even * prize / left if left > 0 else np.inf
    against_other = (
        (even * prize + (1 - even) * loss) / ((1 + payout) * (1 - 2 * even))
        if even < 0.5
        else np.inf
    )
    return float(min(against_none, against_other))
