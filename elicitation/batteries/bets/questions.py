"""Questions about value, and bets with two sides, one of which wins a thing, the other loses one.

After Tang and Kejriwal, "Can Language Representation Models Think in Bets?" (section 4.3): four
ways to ask which of two things is worth more, and three kinds of bets (a coin, a die, a card) in
which either the thing of high value is won or the other, with the winning or the losing side named
first. Beyond the paper a bet may state another chance than one half, the values and the stake. The
wording is our own.

A table of questions has one row per question and needs no model; what is right is computed
from its columns by ``coherence.batteries.bets``.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from coherence.errors import InputError
from elicitation.batteries.bets.items import SPLITS, Items, default_items, require_items
from elicitation.batteries.bets.rows import (
    MODALITIES,
    VALUE_TEMPLATES,
    bet_row,
    check_chances,
    check_names,
    check_payout,
    choices,
    in_cents,
    mark_departures,
    number_rows,
    things,
)

STAKE = 20.0
"""Between the value of a low thing (1) and half the difference to a high one (49.5), as the paper
assumes."""


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
    check_names("templates", templates, VALUE_TEMPLATES)
    check_names("splits", splits, SPLITS)
    rows = _values(items, splits, templates, both_orders)
    return pd.DataFrame(mark_departures(rows, _values(default_items(), splits, templates, False)))


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
                    | things(high, low)
                    | {"first": first, "text": template.text.format(**words)}
                    | choices(options, (first, "low" if first == "high" else "high", "same"))
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
    check_names("splits", splits, SPLITS)
    check_names("modalities", modalities, MODALITIES)
    check_chances("chances", chances)
    if not (stake > 0 and np.isfinite(stake)):
        raise InputError(f"stake must be a positive number; received {stake}.")
    check_payout(payout)
    if payout > 0 and not amounts:
        raise InputError(
            f"a payout of {payout:g} needs amounts=True: which choice is right depends on the "
            "stake."
        )
    rows = _bets(items, splits, modalities, chances, stake, in_cents(payout, stake), amounts)
    plain = _bets(default_items(), splits, modalities, (0.5,), STAKE, 0.0, False)
    return pd.DataFrame(mark_departures(rows, plain))


def _bets(
    items: Items,
    splits: Sequence[str],
    modalities: Sequence[str],
    chances: Sequence[float],
    stake: float,
    payout: float,
    amounts: bool,
) -> list[dict[str, object]]:
    return number_rows(
        [
            bet_row(name, split, high, low, wins, first, chance, stake, payout, amounts)
            for name in modalities
            for split in splits
            for chance in chances
            for high, low in items.pairs(split)
            for wins in ("high", "low")
            for first in ("win", "lose")
        ]
    )
