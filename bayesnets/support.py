"""Rows of labels as whole numbers, and the records that a fitted network comes with.

Evidence, records and strata are arrays of positions among the states, -1 where unobserved, one
column per variable, so that whatever is asked of them is array arithmetic.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

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


MIN_RECORDS = 100
"""Records that evidence needs unless the user says otherwise."""
_MOST_BYTES = 64_000_000  # of what is held at a time


@dataclass(frozen=True, eq=False)
class Support:
    """Complete records of all variables of a network."""

    # shape (n_records, n_nodes): positions among the states, in the order of the network's nodes
    codes: Codes

    def __len__(self) -> int:
        """Number of records."""
        return len(self.codes)

    @cached_property
    def _flags(self) -> list[npt.NDArray[np.uint8]]:
        """For every variable and state, which records show it, eight records to the byte."""
        return [
            np.packbits(column == np.arange(column.max(initial=-1) + 1)[:, None], axis=1)
            for column in self.codes.T
        ]

    def counts(self, evidence: Codes, *, at_least: int = 0) -> Codes:
        """Return how many records agree with evidence."""
        n = np.full(len(evidence), len(self), dtype=np.int64)
        if not len(self):
            return n
        width = max(1, -(-len(self) // 8))
        step = max(1, _MOST_BYTES // width)
        for start in range(0, len(evidence), step):
            rows = evidence[start : start + step]
            agree = np.full((len(rows), width), 255, dtype=np.uint8)
            for flags, states in zip(self._flags, rows.T, strict=True):
                # A row that has fallen below the limit cannot come back: it is looked at no more.
                seen = np.flatnonzero((states >= 0) & (n[start : start + step] >= at_least))
                if not seen.size:
                    continue
                # A state that no record shows has no row of flags.
                shown = np.concatenate([flags, np.zeros((1, width), dtype=np.uint8)])
                agree[seen] &= shown[np.minimum(states[seen], len(flags))]
                n[start + seen] = np.bitwise_count(agree[seen]).sum(axis=1, dtype=np.int64)
        return n
