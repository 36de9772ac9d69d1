"""CSV through pandas with every digit of a number kept.

Until version 3.1 pandas reads numbers faster than exactly unless it is told otherwise, and some
come back one unit off in their last place; from then on it is exact, and warns of the option.
"""

from pathlib import Path
from typing import IO, Any

import pandas as pd

_EXACT_SINCE = (3, 1)


def precision_option(version: str) -> dict[str, str]:
    """Return the option under which a version of pandas reads numbers exactly.

    Parameters
    ----------
    version : str
        As in ``pandas.__version__``.

    Returns
    -------
    dict
        Keyword arguments of ``pandas.read_csv``.

    Examples
    --------
    >>> precision_option("2.2.3"), precision_option("3.1.1")
    ({'float_precision': 'round_trip'}, {})
    """
    major, minor = version.split(".")[:2]
    exact = (int(major), int(minor)) >= _EXACT_SINCE
    return {} if exact else {"float_precision": "round_trip"}


def read_exact_csv(source: Path | IO[str], **options: Any) -> pd.DataFrame:
    """Read a CSV file with every digit.

    Parameters
    ----------
    source : Path or text stream
        The file.
    **options
        Those of ``pandas.read_csv``.

    Returns
    -------
    DataFrame
        As ``pandas.read_csv`` returns it.
    """
    told: dict[str, Any] = {**options, **precision_option(pd.__version__)}
    table: pd.DataFrame = pd.read_csv(source, **told)
    return table
