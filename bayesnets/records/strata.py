"""Records as truth: strata of covariates, the share of their records that is positive, and cases.

Where no network is known, the published analysis takes the share of positive records within a
stratum of at least 100 as P(theta = 1 | x). A stratum is a set of observed states; covariates
outside it are unobserved, as in cases drawn from a network. A share is an estimate, with a Wilson
interval (Wilson 1927) that takes the records as independent draws.

Records are counted once per cell, the distinct combinations of covariates, and all strata that are
large enough are found from the cells. One more observed covariate divides a stratum, so one that is
too small has no part that is large enough, and the search stops there.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from bayesnets.cases import (
    Seed,
    Sizes,
    bins_of,
    choose,
    context_ids,
    coverage_record,
    observable_covariates,
    sizes_of,
    subset_probability,
)
from bayesnets.network import Network
from bayesnets.phrases import Phrases
from bayesnets.records.encoding import Missing, check_columns, encode_records, states_of
from bayesnets.records.fitting import MAX_ENTRIES, fit
from bayesnets.support import Codes, Flags, Floats, distinct_rows, label_column
from coherence.errors import InputError, listing, shown, suggestion
from coherence.inputs import whole_number
from coherence.runs.columns import RECORDED
from coherence.statistics.resample import as_generator
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
class RecordTask:
    """Records of an outcome and its covariates, as something to ask about.

    It has the attributes that an elicitation session reads of a task: `name`, `network`, `phrases`
    and `target`.

    Parameters
    ----------
    name : str
        Value of the `task` column, and beginning of the contexts' ids.
    records : DataFrame
        A column of labels for the target and every covariate; complete. Categorical columns keep
        the order of their categories.
    covariates : sequence of str
        Columns that can be observed.
    target, positive : str
        The outcome, and its state that counts as theta = 1.
    min_records : int
        Records that a stratum needs for its share to count as truth, at least 1.
    phrases : Phrases or None
        The records in words; needed for asking only.
    source : str
        Where the records come from.

    Raises
    ------
    InputError
        An absent column, a column of numbers, missing values, an unknown state, or a number outside
        its range.

    Examples
    --------
    >>> columns = {"smokes": ["yes", "no"] * 300, "coughs": ["yes", "yes", "no"] * 200}
    >>> task = RecordTask("cough", pd.DataFrame(columns), ("smokes",), "coughs", "yes")
    >>> task.strata()[["x_smokes", "n", "p_true"]].round(2).values.tolist()
    [['no', 300, 0.67], ['yes', 300, 0.67]]
    """

    name: str
    records: pd.DataFrame
    covariates: tuple[str, ...]
    target: str
    positive: str
    min_records: int = 100
    phrases: Phrases | None = None
    source: str = ""

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

    @cached_property
    def network(self) -> Network:
        """The joint distribution of the records: a network whose posteriors are their shares.

        Every variable has arrows from all that come before it.
        It holds a number for every combination of states, and is meant for a dozen covariates at
        most. Its posteriors know no minimum of records; the `z` of `sample_record_cases` keeps to
        one.
        """
        entries = math.prod(map(len, self.states.values()))
        # The tables of the other variables are together no larger than that of the last.
        if 2 * entries > MAX_ENTRIES:
            raise InputError(
                f"covariates must have at most {MAX_ENTRIES // 2:,} combinations of states with "
                "the target, for a joint distribution; "
                f"{len(self.covariates)} covariates have {entries:,}. "
                "Choose fewer covariates or merge states."
            )
        order = list(self.states)
        parents = {variable: order[:position] for position, variable in enumerate(order)}
        # What stands in the column of a combination that no record has is only ever multiplied by
        # zero.
        nodes = fit(parents, self.records, states=self.states, empty="uniform").network.nodes
        source = f"shares among {len(self.records)} records. {self.source}".strip()
        return Network(self.name, self.name, source, False, nodes, tables="fitted")

    def cases(self, n: int, *, seed: int) -> pd.DataFrame:
        """Draw the contexts of a session.

        Parameters
        ----------
        n : int
            Number of contexts, positive.
        seed : int
            At least 0.

        Returns
        -------
        DataFrame
            As from `bayesnets.sample_record_cases`.

        Raises
        ------
        InputError
            A number outside its range, or too few strata.
        """
        return sample_record_cases(self, n, rng=whole_number(seed, "seed", 0))


def stratum_table(task: RecordTask, counted: Strata) -> pd.DataFrame:
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
        As `RecordTask`, and when no stratum has enough records; the message says how many the
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
    task = RecordTask("records", records[complete], names, target, positive, min_records)
    return task.strata(n_observed=n_observed)


_COLUMNS = (
    # as in cases from a network
    *("theta", "p_true", "truth_kind", "z", "weight", "probability_bin"),
    *("n", "low", "high", "record"),
)


def sample_record_cases(
    task: RecordTask,
    n: int,
    *,
    even: bool = True,
    n_bins: int = 20,
    n_observed: Sizes = None,
    auxiliary: str | None = None,
    rng: Seed = None,
) -> pd.DataFrame:
    """Draw cases whose truth is a share of records, as `sample_cases` draws them from a network.

    The natural design draws a record, draws the number of observed covariates uniformly from the
    range `n_observed`, and observes a uniformly drawn subset of that size, given that the stratum
    has enough records. The even design spreads the cases over equal bins of the share. The realised
    state is that of a record drawn from the stratum.

    Parameters
    ----------
    task : RecordTask
        Records, covariates and outcome.
    n : int
        Number of cases, positive; no stratum appears twice.
    even, n_bins, n_observed, auxiliary, rng
        As of `sample_cases`; bins are of the share.

    Returns
    -------
    DataFrame, one row per case, in random order
        The columns of `sample_cases`: `context`, `x_<covariate>`, `theta`, `p_true`, `truth_kind`
        ("recorded"), `z`, `weight`, `probability_bin`; and `n`, `low` and `high` of the stratum,
        and `record`, the index of the record whose outcome is theta. `z` is an unobserved covariate
        each of whose states keeps at least `task.min_records` records of the stratum, so that P(z |
        x) and P(theta | x, z) are supported as p_true is; None if there is none. A share of 0 or 1
        is an estimate, not a certainty, and stays in. `attrs["coverage"]` is that of
        `sample_cases`.

    Raises
    ------
    InputError
        A number outside its range, or fewer strata with enough records than cases.

    Examples
    --------
    >>> from bayesnets import dataset_names, load_dataset
    >>> cases = sample_record_cases(load_dataset(dataset_names()[0]), 20, even=False, rng=1)
    >>> len(cases), bool(cases["p_true"].between(0, 1).all())
    (20, True)
    """
    if not isinstance(task, RecordTask):
        raise InputError(
            f"task must be a RecordTask, not {type(task).__name__}. "
            "Make one from your records, or use sample_cases for a network."
        )
    n = whole_number(n, "n", 1)
    whole_number(n_bins, "n_bins", 1)
    observable = observable_covariates(task.covariates, auxiliary)
    spare = max(1, len(observable) - (auxiliary is None))
    sizes = sizes_of(n_observed, len(observable), default=spare)
    strata = task.supported(observable, sizes)
    if len(strata.n) < n:
        raise InputError(
            f"n must not exceed the number of strata; {n} cases were asked for, and "
            f"{len(strata.n)} strata with {sizes[0]} to {sizes[1]} observed covariates have at "
            f"least {task.min_records} records. "
            "Ask for fewer cases, widen n_observed or lower min_records."
        )
    generator = as_generator(rng)
    # A record is drawn, then one of the equally probable subsets of a size.
    mass = strata.n * subset_probability(strata.codes, len(observable))
    mass, bins = mass / mass.sum(), bins_of(strata.share, n_bins)
    chosen, weight = choose(mass, bins, n, n_bins, generator, even=even)
    picked = Strata(strata.codes[chosen], strata.n[chosen], strata.n_positive[chosen])
    candidates = [task.covariates.index(auxiliary)] if auxiliary else range(len(task.covariates))
    drawn, auxiliaries = _realised(task, picked.codes, candidates, generator)
    table = stratum_table(task, picked)
    states = {name: task.states[name] for name in task.covariates}
    table["context"] = context_ids(f"{task.name}-{task.target}", states, picked.codes)
    table["theta"] = task.outcomes[drawn].astype(np.int64)
    table["truth_kind"] = RECORDED
    table["z"] = pd.Series(auxiliaries, dtype=object)
    table["weight"] = weight
    table["probability_bin"] = bins[chosen]
    table["record"] = task.records.index[drawn]
    features = [f"x_{name}" for name in task.covariates]
    cases = table[["context", *features, *_COLUMNS]].copy()
    cases.attrs["coverage"] = {
        "target": task.target,
        "target_state": task.positive,
        "enumerated": True,
        **coverage_record(
            strata.share,
            mass,
            chosen,
            n_bins,
            even=even,
            over=f"the share of {task.name!r}",
            sets=f"strata of at least {task.min_records} records have a share",
        ),
    }
    return cases


def _realised(
    task: RecordTask, codes: Codes, candidates: Sequence[int], generator: np.random.Generator
) -> tuple[Codes, list[str | None]]:
    """Return for every case a record of its stratum, by position, and an auxiliary variable.

    Every state of the auxiliary variable has enough records of the stratum.
    """
    cells = task.cells
    drawn = np.empty(len(codes), dtype=np.int64)
    auxiliaries: list[str | None] = []
    for row, stratum in enumerate(codes):
        inside: Flags = ((stratum < 0) | (cells.codes == stratum)).all(axis=1)
        drawn[row] = generator.choice(np.flatnonzero(inside[cells.position]))
        supported = []
        for candidate in candidates:
            states, width = cells.codes[inside, candidate], cells.widths[candidate]
            n_by_state = np.bincount(states, cells.n[inside], width)
            if stratum[candidate] < 0 and n_by_state.min() >= task.min_records:
                supported.append(task.covariates[candidate])
        auxiliaries.append(supported[generator.integers(len(supported))] if supported else None)
    return drawn, auxiliaries
