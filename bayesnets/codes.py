"""Rows of labels as whole numbers: positions among the states, -1 where unobserved.

Evidence, records and strata are all such arrays, one column per variable, so that whatever is asked
of them is array arithmetic.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pandas as pd

Codes = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]


def label_column(states: Sequence[str], codes: Codes) -> pd.Series:
    """Return labels for the codes of a variable."""
    # The last label is where code -1 points.
    return pd.Series(np.array([*states, None], dtype=object)[codes], dtype=object)


def label_codes(labels: Codes, values: Sequence[str], states: Sequence[str]) -> Codes:
    """Return the codes of a factorized column: labels are positions among its values, or -1."""
    return np.array([*(states.index(value) for value in values), -1], dtype=np.int64)[labels]


def distinct_rows(codes: Codes) -> tuple[Codes, Codes]:
    """Return the distinct rows in order of appearance, and the position of every row among them."""
    key = np.zeros(len(codes), dtype=np.int64)
    size = 1
    for column in codes.T:
        width = int(column.max(initial=-1)) + 2
        if size * width > 2**62:
            # The mixed-radix key would overflow 64 bits: number the rows so far afresh.
            key = pd.factorize(key)[0].astype(np.int64)
            size = int(key.max(initial=0)) + 1
        key = key * width + column + 1
        size *= width
    position, uniques = pd.factorize(key)
    first = np.zeros(len(uniques), dtype=np.int64)
    first[position[::-1]] = np.arange(len(codes))[::-1]
    return codes[first], position.astype(np.int64)
