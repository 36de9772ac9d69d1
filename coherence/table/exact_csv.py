"""CSV through pandas with every digit of a number kept.

Until version 3.1 pandas reads numbers faster than exactly unless it is told otherwise, and some
come back one evaluation off in their last place; from then on it is exact, and warns of the option.
"""

from pathlib import Path
from typing import IO, Any

import pandas as pd

_EXACT_SINCE = (3, 1)


def precision_option(version: str) -> dict[str, str]:
    """Return the option under which a version of pandas reads numbers exactly."""
    major, minor = version.split(".")[:2]
    exact = (int(major), int(minor)) >= _EXACT_SINCE
    return {} if exact else {"float_precision": "round_trip"}


def read_exact_csv(source: Path | IO[str] | IO[bytes], **options: Any) -> pd.DataFrame:
    """Read a CSV file with every digit."""
    told: dict[str, Any] = {**options, **precision_option(pd.__version__)}
    table: pd.DataFrame = pd.read_csv(source, **told)
    return table
