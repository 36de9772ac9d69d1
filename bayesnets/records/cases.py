"""Cases from records: evidence, the share of records like it that is positive, and one outcome.

The design is that of `bayesnets.cases.network_cases`, with records in the place of a network: cases
are spread evenly over the share, and weights lead back to the records' own distribution.
"""

import logging
import math
from collections.abc import Sequence

import numpy as np
import pandas as pd

from bayesnets.cases.coverage import bins_of, coverage_record, coverage_shortfall
from bayesnets.cases.design import Sizes, choose, context_id, sizes_of
from bayesnets.cases.sampling import Seed
from bayesnets.codes import Codes, Flags, Floats
from bayesnets.records.strata import CountedRecords, Strata, stratum_table
from coherence.errors import InputError, suggestion
from coherence.inputs import whole_number
from coherence.runs.columns import RECORDED
from coherence.statistics.resample import as_generator

logger = logging.getLogger(__name__)

_COLUMNS = (
    # as in cases from a network
    *("theta", "p_true", "truth_kind", "z", "weight", "probability_bin"),
    *("n", "low", "high", "record"),
)


def sample_record_cases(
    task: CountedRecords,
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
    task : CountedRecords
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
    if not isinstance(task, CountedRecords):
        raise InputError(
            f"task must be a RecordTask, not {type(task).__name__}. "
            "Make one from your records, or use sample_cases for a network."
        )
    whole_number(n, "n", 1)
    whole_number(n_bins, "n_bins", 1)
    observable = _observable(task, auxiliary)
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
    mass, bins = _natural_mass(strata, len(observable)), bins_of(strata.share, n_bins)
    chosen, weight = choose(mass, bins if even else np.zeros_like(bins), int(n), n_bins, generator)
    picked = Strata(strata.codes[chosen], strata.n[chosen], strata.n_positive[chosen])
    candidates = [task.covariates.index(auxiliary)] if auxiliary else range(len(task.covariates))
    drawn, auxiliaries = _realised(task, picked.codes, candidates, generator)
    table = stratum_table(task, picked)
    table["context"] = pd.Series([_context(task, row) for row in picked.codes], dtype=object)
    table["theta"] = task.outcomes[drawn].astype(np.int64)
    table["truth_kind"] = RECORDED
    table["z"] = pd.Series(auxiliaries, dtype=object)
    table["weight"] = weight
    table["probability_bin"] = bins[chosen]
    table["record"] = task.records.index[drawn]
    features = [f"x_{name}" for name in task.covariates]
    cases = table[["context", *features, *_COLUMNS]].copy()
    note = ""
    if even:
        note = coverage_shortfall(
            strata.share,
            int(n),
            n_bins,
            over=f"the share of {task.name!r}",
            sets=f"strata of at least {task.min_records} records have a share",
        )
    if note:
        logger.warning("%s", note)
    cases.attrs["coverage"] = {
        "target": task.target,
        "target_state": task.positive,
        "enumerated": True,
        **coverage_record(bins, mass, chosen, n_bins),
        "note": note,
    }
    return cases


def _observable(task: CountedRecords, auxiliary: str | None) -> list[int]:
    if auxiliary is not None and auxiliary not in task.covariates:
        raise InputError(
            f"auxiliary must be a covariate, not {auxiliary!r}. "
            f"{suggestion(auxiliary, task.covariates)}"
        )
    observable = [position for position, name in enumerate(task.covariates) if name != auxiliary]
    if not observable:
        raise InputError(
            f"covariates must include one beside the auxiliary variable {auxiliary!r}; there is "
            "no other. Add a covariate."
        )
    return observable


def _natural_mass(strata: Strata, n_observable: int) -> Floats:
    # A record is drawn, then one of the equally probable subsets of a size.
    by_size = np.array([1 / math.comb(n_observable, size) for size in range(n_observable + 1)])
    mass: Floats = strata.n * by_size[(strata.codes >= 0).sum(axis=1)]
    mass /= mass.sum()
    return mass


def _context(task: CountedRecords, row: Codes) -> str:
    evidence = {
        name: task.states[name][code]
        for name, code in zip(task.covariates, row, strict=True)
        if code >= 0
    }
    return context_id(f"{task.name}-{task.target}", evidence)


def _realised(
    task: CountedRecords, codes: Codes, candidates: Sequence[int], generator: np.random.Generator
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
