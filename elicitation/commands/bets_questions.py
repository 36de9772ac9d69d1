"""The questions of ``coherence bets``, and the things that they are about."""

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

from coherence.printable import counted

if TYPE_CHECKING:
    import pandas as pd

    from elicitation.batteries.bets.items import Items

# Here too, since the module of the questions takes a second to import and --help should not.
Modality = Literal["coin", "dice", "card"]
Value = Literal["boolean-expensive", "boolean-valuable", "choice-expensive", "choice-valuable"]
MODALITIES, VALUES = get_args(Modality), get_args(Value)
PAPER = r"(values|bets|transfer)(-sets)?\.(md|tex|csv)"  # tables of the paper


@dataclass(frozen=True, kw_only=True)
class TermOptions:
    """What bets are about, and their terms."""

    HELP = """
items FILE  things of your own: .csv with columns item, value, split and perhaps price
chance P  chance of the side that wins (default: 0.5)
stake  what a bet costs, in the unit of the prices (default: 20)
payout B  what is paid on top of a stake that comes back, per unit of it (default: 0); bets then
    state all amounts, as they do with --chance or --stake
"""

    items: str | None = None
    chance: float | None = None
    stake: float | None = None
    payout: float | None = None


def things_of(path: str | None) -> "Items":
    """Return the user's list of things, or that of the package."""
    from elicitation.batteries.bets.items import default_items, read_items

    return default_items() if path is None else read_items(path)


def scored_questions(terms: TermOptions) -> "pd.DataFrame":
    """Return all questions for a score: dev and test, values and bets, and the ladder of a coin."""
    import pandas as pd

    from elicitation.batteries.bets.questions import (
        BREAK_EVENS,
        STAKE,
        bet_questions,
        highest_break_even,
        ladder_questions,
        value_questions,
    )

    items = things_of(terms.items)
    splits = _scored_splits(items)
    # Who names a term has all amounts stated; without one the bets are those of the paper.
    amounts = any(value is not None for value in (terms.chance, terms.stake, terms.payout))
    chance = 0.5 if terms.chance is None else terms.chance
    stake, payout = STAKE if terms.stake is None else terms.stake, terms.payout or 0.0
    bets = bet_questions(
        items, splits=splits, chances=(chance,), stake=stake, payout=payout, amounts=amounts
    )
    # What is won on top lowers the chance at which a bet breaks even: the highest rungs fall away.
    rungs = [even for even in BREAK_EVENS if even < highest_break_even(payout)]
    if len(rungs) < len(BREAK_EVENS):
        print(
            f"with a payout of {payout:g} no stake breaks even at {highest_break_even(payout):.3g} "
            f"or more: {len(rungs)} rungs",
            file=sys.stderr,
        )
    # Of test things alone: whoever trained on bets has not seen them.
    ladder = ladder_questions(items, split=splits[-1], break_evens=rungs, payout=payout)
    return pd.concat([value_questions(items, splits=splits), bets, ladder], ignore_index=True)


def _scored_splits(items: "Items") -> list[str]:
    from coherence.errors import InputError

    if not items.of("high", "test"):
        raise InputError(
            "the items have no things in split 'test', on which models are scored. "
            "Give some rows the split 'test'."
        )
    # Dev questions set the thresholds of the threshold method, if there are any.
    return [split for split in ("dev", "test") if items.of("high", split)]


def write_questions(terms: TermOptions, path: str) -> int:
    """Write the questions to a file, to be asked elsewhere."""
    from coherence.runs.write import write_runs

    questions = scored_questions(terms)
    write_runs(questions, path, replace=False)
    print(f"{path}: {counted(len(questions), 'question')}", file=sys.stderr)
    return 0
