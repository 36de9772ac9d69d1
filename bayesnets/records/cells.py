"""Cells of records, the distinct combinations of covariates, and the strata that they make up.

Records are counted once per cell, and all strata that are large enough are found from the cells.
A stratum fixes the states of some covariates and leaves the others open. One more observed
covariate divides a stratum, so one that is too small has no part that is large enough, and the
search stops there.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from bayesnets.codes import Codes, Flags, Floats, distinct_rows


@dataclass(frozen=True)
class Strata:
    """Strata with their numbers of records."""

    codes: Codes  # shape (n_strata, n_covariates): observed states, -1 where unobserved
    # n, n_positive: shape (n_strata,): records, and positive ones
    n: Codes
    n_positive: Codes

    @property
    def share(self) -> Floats:
        """Share of positive records, in [0, 1]."""
        return self.n_positive / self.n


@dataclass(frozen=True)
class Cells:
    """The distinct full combinations of covariates."""

    codes: Codes  # shape (n_cells, n_covariates): states
    # n, n_positive: shape (n_cells,): records, and positive ones
    n: Codes
    n_positive: Codes
    position: Codes  # shape (n_records,): the cell of every record
    widths: list[int]  # number of states of every covariate

    @classmethod
    def of(cls, codes: Codes, positive: Flags, widths: list[int]) -> "Cells":
        """Count records."""
        distinct, position = distinct_rows(codes)
        n_positive = np.bincount(position[positive], minlength=len(distinct))
        return cls(
            distinct, np.bincount(position, minlength=len(distinct)), n_positive, position, widths
        )

    def strata(self, observable: Sequence[int], sizes: tuple[int, int], min_records: int) -> Strata:
        """Return all strata of admissible size with enough records."""
        root = np.full((1, len(self.widths)), -1, dtype=np.int64)
        start = np.zeros(len(self.codes), dtype=np.int64)
        levels = list(
            self._grown(observable, sizes, min_records, np.arange(len(self.codes)), start, root, 0)
        )
        if not levels:
            nothing = np.zeros(0, dtype=np.int64)
            return Strata(root[:0], nothing, nothing)
        codes, n, n_positive = (np.concatenate(parts) for parts in zip(*levels, strict=True))
        order = np.argsort((codes >= 0).sum(axis=1), kind="stable")
        return Strata(codes[order], n[order], n_positive[order])

    def _grown(
        self,
        observable: Sequence[int],
        sizes: tuple[int, int],
        min_records: int,
        members: Codes,
        group: Codes,
        base: Codes,
        size: int,
    ) -> Iterator[tuple[Codes, Codes, Codes]]:
        """Observe one more covariate in every stratum of `base`; go on where enough records stay.

        `members` are the cells that lie in a stratum of `base`, and `group` says in which.
        """
        # Only covariates that come later are observed next, so that no set of them comes up twice.
        for number, covariate in enumerate(observable, start=1):
            width = self.widths[covariate]
            # Every pair of a stratum so far and a state of this covariate is one cell of a count.
            key = group * width + self.codes[members, covariate]
            n = np.bincount(key, weights=self.n[members], minlength=len(base) * width).astype(
                np.int64
            )
            kept = np.flatnonzero(n >= min_records)
            if not kept.size:
                continue
            grown = base[kept // width]
            grown[:, covariate] = kept % width
            if size + 1 >= sizes[0]:
                n_positive = np.bincount(
                    key, weights=self.n_positive[members], minlength=len(base) * width
                ).astype(np.int64)
                yield grown, n[kept], n_positive[kept]
            if size + 1 < sizes[1]:
                label = np.full(len(base) * width, -1, dtype=np.int64)
                label[kept] = np.arange(len(kept))
                inside = label[key] >= 0
                yield from self._grown(
                    observable[number:],
                    sizes,
                    min_records,
                    members[inside],
                    label[key[inside]],
                    grown,
                    size + 1,
                )
