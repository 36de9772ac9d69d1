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
    """Return labels for the codes of a variable.

    Parameters
    ----------
    states : sequence of str
        The variable's states.
    codes : ndarray of int, shape (n_rows,)
        Positions among them, -1 where unobserved.

    Returns
    -------
    Series of object
        None where unobserved.

    Examples
    --------
    >>> label_column(("no", "yes"), np.array([1, -1])).tolist()
    ['yes', None]
    """
    # The last label is where code -1 points.
    return pd.Series(np.array([*states, None], dtype=object)[codes], dtype=object)


def distinct_rows(codes: Codes) -> tuple[Codes, Codes]:
    """Return the distinct rows in order of appearance, and the position of every row among them.

    Parameters
    ----------
    codes : ndarray of int, shape (n_rows, n_columns)
        Each at least -1.

    Returns
    -------
    ndarray, shape (n_distinct, n_columns)
        Each row once.
    ndarray, shape (n_rows,)
        `distinct[position]` is `codes`.

    Examples
    --------
    >>> distinct, position = distinct_rows(np.array([[1, -1], [0, 0], [1, -1]]))
    >>> distinct.tolist(), position.tolist()
    ([[1, -1], [0, 0]], [0, 1, 0])
    """
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
