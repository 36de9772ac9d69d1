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
class ItemOptions:
    """What bets are about."""

    HELP = """
items FILE  things of your own: .csv with columns item, value, split and perhaps price
"""

    items: str | None = None


def things_of(path: str | None) -> "Items":
    """Return the user's list of things, or that of the package."""
    from elicitation.batteries.bets.items import default_items, read_items

    return default_items() if path is None else read_items(path)


def scored_questions(options: ItemOptions) -> "pd.DataFrame":
    """Return all questions for a score: dev and test, values and bets, and the ladder of a coin."""
    import pandas as pd

    from elicitation.batteries.bets.questions import (
        bet_questions,
        ladder_questions,
        value_questions,
    )

    items = things_of(options.items)
    splits = _scored_splits(items)
    # The ladder is of test things alone: whoever trained on bets has not seen them.
    ladder = ladder_questions(items, split=splits[-1])
    values, bets = value_questions(items, splits=splits), bet_questions(items, splits=splits)
    return pd.concat([values, bets, ladder], ignore_index=True)


def _scored_splits(items: "Items") -> list[str]:
    from coherence.errors import InputError

    if not items.of("high", "test"):
        raise InputError(
            "the items have no things in split 'test', on which models are scored. "
            "Give some rows the split 'test'."
        )
    # Dev questions set the thresholds of the threshold method, if there are any.
    return [split for split in ("dev", "test") if items.of("high", split)]


def write_questions(options: ItemOptions, path: str) -> int:
    """Write the questions to a file, to be asked elsewhere."""
    from coherence.runs.write import write_runs

    questions = scored_questions(options)
    write_runs(questions, path, replace=False)
    print(f"{path}: {counted(len(questions), 'question')}", file=sys.stderr)
    return 0
