"""The questions of ``coherence bets``, and the things that they are about."""

import argparse
import sys
from typing import TYPE_CHECKING

from coherence.table.printable import counted

if TYPE_CHECKING:
    import pandas as pd

    from elicitation.batteries.bets.items import Items

# Here too, since the module of the questions takes a second to import and --help should not.
MODALITIES = ("coin", "dice", "card")
PAPER = r"(values|bets|transfer)(-sets)?\.(md|tex|csv)"  # tables of the paper
VALUES = ("boolean-expensive", "boolean-valuable", "choice-expensive", "choice-valuable")


def things_of(args: argparse.Namespace) -> "Items":
    """Return the user's list of things, or that of the package."""
    from elicitation.batteries.bets.items import default_items, read_items

    return default_items() if args.items is None else read_items(args.items)


def scored_questions(args: argparse.Namespace) -> "pd.DataFrame":
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

    items = things_of(args)
    splits = _scored_splits(items)
    # Who names a term has all amounts stated; without one the bets are those of the paper.
    amounts = any(value is not None for value in (args.chance, args.stake, args.payout))
    chance = 0.5 if args.chance is None else args.chance
    stake, payout = STAKE if args.stake is None else args.stake, args.payout or 0.0
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


def write_questions(args: argparse.Namespace) -> int:
    """Write the questions to the file of ``--out``, to be asked elsewhere."""
    from coherence.table.writing import write_runs

    questions = scored_questions(args)
    write_runs(questions, args.out, replace=False)
    print(f"{args.out}: {counted(len(questions), 'question')}", file=sys.stderr)
    return 0
