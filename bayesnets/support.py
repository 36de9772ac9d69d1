"""The records behind a fitted network: how many of them agree with evidence.

The published analyses leave out evidence that fewer than 100 records show, since what a network
says there is read off few records, or off none at all.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from bayesnets.codes import Codes

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
