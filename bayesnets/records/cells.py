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

NORMAL_QUANTILE = 1.959963984540054  # of 0.975


@dataclass(frozen=True)
class Strata:
    """Strata with their numbers of records.

    Parameters
    ----------
    codes : ndarray of int, shape (n_strata, n_covariates)
        Observed states, -1 where unobserved.
    n, n_positive : ndarray of int, shape (n_strata,)
        Records, and positive ones.
    """

    codes: Codes
    n: Codes
    n_positive: Codes

    @property
    def share(self) -> Floats:
        """Share of positive records, in [0, 1]."""
        return self.n_positive / self.n


@dataclass(frozen=True)
class Cells:
    """The distinct full combinations of covariates.

    Parameters
    ----------
    codes : ndarray of int, shape (n_cells, n_covariates)
        States.
    n, n_positive : ndarray of int, shape (n_cells,)
        Records, and positive ones.
    position : ndarray of int, shape (n_records,)
        The cell of every record.
    widths : list of int
        Number of states of every covariate.
    """

    codes: Codes
    n: Codes
    n_positive: Codes
    position: Codes
    widths: list[int]

    @classmethod
    def of(cls, codes: Codes, positive: Flags, widths: list[int]) -> "Cells":
        """Count records.

        Parameters
        ----------
        codes : ndarray of int, shape (n_records, n_covariates)
            States, at least 0.
        positive : ndarray of bool, shape (n_records,)
            Which outcomes are positive.
        widths : list of int
            Number of states of every covariate.

        Returns
        -------
        Cells
            In order of appearance.

        Examples
        --------
        >>> cells = Cells.of(np.array([[0], [1], [0]]), np.array([True, False, False]), [2])
        >>> cells.codes.tolist(), cells.n.tolist(), cells.n_positive.tolist()
        ([[0], [1]], [2, 1], [1, 0])
        """
        distinct, position = distinct_rows(codes)
        n_positive = np.bincount(position[positive], minlength=len(distinct))
        return cls(
            distinct, np.bincount(position, minlength=len(distinct)), n_positive, position, widths
        )

    def strata(self, observable: Sequence[int], sizes: tuple[int, int], min_records: int) -> Strata:
        """Return all strata of admissible size with enough records.

        Parameters
        ----------
        observable : sequence of int
            Positions of the covariates that may be observed.
        sizes : tuple of int
            Fewest and most observed covariates, from 1.
        min_records : int
            Fewest records of a stratum, at least 1.

        Returns
        -------
        Strata
            Those with few observed covariates first; possibly none.

        Examples
        --------
        >>> codes = np.array([[0, 0], [1, 0], [0, 1]])
        >>> cells = Cells.of(codes, np.array([True, False, False]), [2, 2])
        >>> cells.strata([0, 1], (1, 2), 2).codes.tolist()
        [[0, -1], [-1, 0]]
        """
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


def wilson(successes: Codes, n: Codes) -> tuple[Floats, Floats]:
    """Return the 95% score interval of a share (Wilson 1927).

    Parameters
    ----------
    successes, n : ndarray of int, shape (n_shares,)
        Numerators and denominators, the latter positive.

    Returns
    -------
    low, high : ndarray, shape (n_shares,)
        In [0, 1].

    Examples
    --------
    >>> low, high = wilson(np.array([50]), np.array([100]))
    >>> low.round(4).item(), high.round(4).item()
    (0.4038, 0.5962)
    """
    # Wilson (1927): the shares whose own normal interval reaches the observed one.
    share, pull = successes / n, NORMAL_QUANTILE**2 / n
    middle = (share + pull / 2) / (1 + pull)
    half = NORMAL_QUANTILE * np.sqrt(share * (1 - share) / n + pull / (4 * n)) / (1 + pull)
    # At shares of 0 and 1 one end is exact; rounding would leave it an ulp off.
    return np.where(successes == 0, 0.0, middle - half), np.where(
        successes == n, 1.0, middle + half
    )
