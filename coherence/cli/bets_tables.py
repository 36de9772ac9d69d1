"""Small things that the parts of ``coherence bets`` share: names, checks of paths, and cells of printed tables."""

import argparse
import math
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

    from elicitation.scenarios.bet_items import Items

MODALITIES = ("coin", "dice", "card")
VALUES = ("boolean-expensive", "boolean-valuable", "choice-expensive", "choice-valuable")
NONE = "–"


def things_of(args: argparse.Namespace) -> "Items":
    """Return the user's list of things, or that of the package."""
    from elicitation.scenarios.bet_items import default_items, read_items

    return default_items() if args.items is None else read_items(args.items)


def folder_of(path: str) -> Path:
    """Return the folder for results; raise for a file of that name."""
    from coherence.errors import InputError

    out = Path(path)
    if out.exists() and not out.is_dir():
        raise InputError(f"--out must be a folder; {out} is a file. Choose another name.")
    return out


def percent(share: float) -> str:
    """Return a share as a cell."""
    return NONE if math.isnan(share) else f"{share:.1%}"


def between(row: "Mapping[Any, Any] | pd.Series[Any]", form: str) -> str:
    """Return an interval as a cell."""
    return NONE if math.isnan(row["low"]) else f"{row['low']:{form}} to {row['high']:{form}}"
