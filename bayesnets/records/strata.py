"""Strata of records: the counted cells behind a share, and how many records support it."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import pandas as pd

from bayesnets.cases.design import Sizes, sizes_of
from bayesnets.codes import Codes, Flags, label_column
from bayesnets.records.cells import Cells, Strata
from bayesnets.records.encoding import Missing, check_columns, encode_records, states_of
from coherence.errors import InputError, listing, shown, suggestion
from coherence.inputs import whole_number
from coherence.statistics.shares import wilson_interval


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
