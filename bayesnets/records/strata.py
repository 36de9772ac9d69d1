"""Strata of records: the share of a stratum's records, and how many records support it.

Records are counted once per cell, the distinct combinations of covariates, and all strata that are
large enough are found from the cells. A stratum fixes the states of some covariates and leaves the
others open. One more observed covariate divides a stratum, so one that is too small has no part
that is large enough, and the search stops there.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from bayesnets.cases.design import Sizes, sizes_of
from bayesnets.codes import Codes, Flags, Floats, distinct_rows, label_column
from bayesnets.records.encoding import Missing, check_columns, encode_records, states_of
from coherence.errors import InputError, listing, shown, suggestion
from coherence.inputs import whole_number
from coherence.statistics.shares import wilson_interval


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


@dataclass(frozen=True, eq=False)
class CountedRecords:
    """Records of an outcome and its covariates, counted in strata."""

    name: str  # what they are called; beginning of the contexts' ids
    # A column of labels for the target and every covariate; complete. Categorical columns keep the
    # order of their categories.
    records: pd.DataFrame
    covariates: tuple[str, ...]  # columns that can be observed
    # target, positive: the outcome, and its state that counts as theta = 1
    target: str
    positive: str
    # records that a stratum needs for its share to count as truth, at least 1
    min_records: int = 100

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise InputError(f"name of a task must be non-empty text, not {self.name!r}. Name it.")
        object.__setattr__(self, "covariates", _checked_covariates(self.covariates, self.target))
        check_columns(self.records, [*self.covariates, self.target])
        # A copy, so that a later change of the caller's table can't part the records from what was
        # counted.
        object.__setattr__(self, "records", self.records[[*self.covariates, self.target]].copy())
        whole_number(self.min_records, "min_records", 1)
        known = self.states[self.target]
        if self.positive not in known:
            raise InputError(
                f"positive must be a state of {self.target!r}, not {self.positive!r}. "
                f"{suggestion(self.positive, known)}"
            )
        _ = self.codes  # missing values are refused here, not at the first use

    @cached_property
    def states(self) -> dict[str, tuple[str, ...]]:
        """States of the covariates, in order, and of the target."""
        return states_of(self.records, [*self.covariates, self.target])

    @cached_property
    def codes(self) -> Codes:
        """Positions of the states of every record, covariates first and the target last."""
        return encode_records(self.records, self.states)[0]

    @cached_property
    def outcomes(self) -> Flags:
        """Whether the outcome of every record is positive."""
        positive: Flags = self.codes[:, -1] == self.states[self.target].index(self.positive)
        return positive

    @cached_property
    def cells(self) -> Cells:
        """The distinct combinations of covariates, with their numbers of records."""
        return Cells.of(
            self.codes[:, :-1], self.outcomes, [len(self.states[name]) for name in self.covariates]
        )

    def strata(self, *, n_observed: Sizes = None) -> pd.DataFrame:
        """Return the strata with enough records.

        Parameters
        ----------
        n_observed : int, pair of int or None
            How many covariates are observed, or the fewest and the most; None is any number from
            one.

        Returns
        -------
        DataFrame
            As from `bayesnets.strata`.

        Raises
        ------
        InputError
            No stratum has enough records.
        """
        sizes = sizes_of(n_observed, len(self.covariates), default=len(self.covariates))
        return stratum_table(self, self.supported(range(len(self.covariates)), sizes))

    def supported(self, observable: Sequence[int], sizes: tuple[int, int]) -> Strata:
        """Return the strata with enough records, as codes."""
        counted = self.cells.strata(observable, sizes, self.min_records)
        if len(counted.n):
            return counted
        # Strata shrink with every observed covariate, so the largest has as few as allowed.
        largest = int(self.cells.strata(observable, (sizes[0], sizes[0]), 1).n.max())
        raise InputError(
            f"min_records must leave a stratum; among those with {sizes[0]} or more observed "
            f"covariates the largest holds {largest} of "
            f"{len(self.records)} records, fewer than {self.min_records}. "
            "Lower min_records, observe fewer covariates or merge states."
        )


def stratum_table(task: CountedRecords, counted: Strata) -> pd.DataFrame:
    """Return strata with labels, shares and intervals."""
    labels = {
        f"x_{name}": label_column(task.states[name], codes)
        for name, codes in zip(task.covariates, counted.codes.T, strict=True)
    }
    low, high = wilson_interval(counted.share, counted.n)
    counts = {"n": counted.n, "n_positive": counted.n_positive, "p_true": counted.share}
    return pd.DataFrame({**labels, **counts, "low": low, "high": high})


def _checked_covariates(covariates: Sequence[str], target: str) -> tuple[str, ...]:
    if isinstance(covariates, str | pd.DataFrame) or not len(covariates):
        raise InputError(
            f"covariates must be a sequence of one or more columns, not {shown(covariates):.80}. "
            "Put the names in a list."
        )
    if not isinstance(target, str):
        raise InputError(f"target must be the name of a column; received {shown(target):.80}.")
    names = tuple(covariates)
    if target in names or len(set(names)) < len(names):
        raise InputError(
            f"covariates must be distinct and other than the target {target!r}; "
            f"received {listing(names, 12)}. Remove the repetition."
        )
    return names


def strata(
    records: pd.DataFrame,
    covariates: Sequence[str],
    target: str,
    *,
    positive: str,
    min_records: int = 100,
    n_observed: Sizes = None,
    missing: Missing = "error",
) -> pd.DataFrame:
    """Return every stratum with enough records, and the share of them that is positive.

    Parameters
    ----------
    records : DataFrame
        A column of labels for the target and every covariate; further columns are ignored.
    covariates : sequence of str
        Columns that can be observed.
    target, positive : str
        The outcome, and its state whose share is taken.
    min_records : int
        Fewest records of a stratum, at least 1.
    n_observed : int, pair of int or None
        How many covariates are observed, or the fewest and the most; None is any number from one.
    missing : {"error", "drop"}
        What to do with records that miss one of these columns: an error, or leave the record out of
        all strata.

    Returns
    -------
    DataFrame, one row per stratum, few observed covariates first
        `x_<covariate>`: state, or None where unobserved. `n`: records. `n_positive`: positive ones.
        `p_true`: their share. `low`, `high`: 95% Wilson interval of the share. Strata overlap: a
        record lies in one stratum of every set of covariates. Two sets of observed states that hold
        the same records are two rows.

    Raises
    ------
    InputError
        As `CountedRecords`, and when no stratum has enough records; the message says how many the
        largest has.

    Examples
    --------
    >>> columns = {"smokes": ["yes", "no"] * 300, "coughs": ["yes", "yes", "no"] * 200}
    >>> table = strata(pd.DataFrame(columns), ["smokes"], "coughs", positive="yes")
    >>> table[["n", "n_positive", "low", "high"]].round(2).values.tolist()
    [[300.0, 200.0, 0.61, 0.72], [300.0, 200.0, 0.61, 0.72]]
    """
    names = _checked_covariates(covariates, target)
    _, complete = encode_records(records, states_of(records, [*names, target]), missing=missing)
    return CountedRecords(
        "records", records[complete], names, target, positive, min_records
    ).strata(n_observed=n_observed)
