"""Cases from records: evidence about one individual, the share of records like it whose outcome is positive, and the outcome of one of them.

The design is that of `bayesnets.cases.network_cases`, with records in the place of a network: cases
are spread evenly over the share, and weights lead back to the records' own distribution.
"""

import json
import logging
import math
from hashlib import blake2b

import numpy as np
import pandas as pd

from bayesnets.cases.design import even_allocation, inclusion_probabilities, systematic_sample
from bayesnets.cases.sampling import Seed
from bayesnets.codes import Codes, Flags, Floats
from bayesnets.records.strata import CountedRecords, Sizes, check_whole, sizes_of, stratum_table
from bayesnets.records.cells import Strata
from coherence.errors import InputError, listing, suggestion

logger = logging.getLogger(__name__)


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
    even : bool
        Whether to spread the cases over the bins; otherwise they come from the natural design,
        without repetition.
    n_bins : int
        Number of bins of [0, 1]; bin b holds b / n_bins <= p_true < (b + 1) / n_bins, and the last
        one includes 1.
    n_observed : int, pair of int or None
        How many covariates are observed, or the fewest and the most. None: from one to all that
        leave one for the auxiliary variable.
    auxiliary : str or None
        The auxiliary variable of all cases, never observed; None draws one per case.
    rng : Generator, int or None
        Source of all draws; None draws fresh entropy.

    Returns
    -------
    DataFrame, one row per case, in random order
        The columns of `sample_cases`: `context`, `x_<covariate>`, `theta`, `p_true`, `z`, `weight`,
        `probability_bin`; and `n`, `low` and `high` of the stratum, and `record`, the index of the
        record whose outcome is theta. `z` is an unobserved covariate each of whose states keeps at
        least `task.min_records` records of the stratum, so that P(z | x) and P(theta | x, z) are
        supported as p_true is; None if there is none. A share of 0 or 1 is an estimate, not a
        certainty, and stays in. `attrs["coverage"]` is that of `sample_cases`.

    Raises
    ------
    InputError
        A number outside its range, or fewer strata with enough records than cases.
    """
    if not isinstance(task, CountedRecords):
        raise InputError(
            f"task must be a RecordTask, not {type(task).__name__}. "
            "Make one from your records, or use sample_cases for a network."
        )
    check_whole("n", n)
    check_whole("n_bins", n_bins)
    if auxiliary is not None and auxiliary not in task.covariates:
        raise InputError(
            f"auxiliary must be a covariate, not {auxiliary!r}. "
            f"{suggestion(auxiliary, task.covariates)}"
        )
    observable = [position for position, name in enumerate(task.covariates) if name != auxiliary]
    if not observable:
        raise InputError(
            f"covariates must include one beside the auxiliary variable {auxiliary!r}; "
            "there is no other. Add a covariate."
        )
    sizes = sizes_of(
        n_observed, len(observable), default=max(1, len(observable) - (auxiliary is None))
    )
    found = task.supported(observable, sizes)
    if len(found.n) < n:
        raise InputError(
            "n must not exceed the number of strata; "
            f"{n} cases were asked for, and {len(found.n)} strata with {sizes[0]} to {sizes[1]} "
            "observed "
            f"covariates have at least {task.min_records} records. "
            "Ask for fewer cases, widen n_observed or lower min_records."
        )
    generator = np.random.default_rng(rng)
    by_size = np.array(
        [1 / math.comb(len(observable), size) for size in range(len(observable) + 1)]
    )
    mass = found.n * by_size[(found.codes >= 0).sum(axis=1)]
    mass = mass / mass.sum()
    bins = np.minimum((found.share * n_bins + 1e-9).astype(np.int64), n_bins - 1)
    chosen, weight = _choose(mass, bins, int(n), n_bins if even else 1, generator)
    picked = Strata(found.codes[chosen], found.n[chosen], found.n_positive[chosen])
    candidates = (
        [task.covariates.index(auxiliary)] if auxiliary else list(range(len(task.covariates)))
    )
    drawn, auxiliaries = _realised(task, picked.codes, candidates, generator)
    table = stratum_table(task, picked)
    table.insert(
        0, "context", pd.Series([_context(task, row) for row in picked.codes], dtype=object)
    )
    table["theta"] = task.outcomes[drawn].astype(np.int64)
    table["z"] = pd.Series(auxiliaries, dtype=object)
    table["weight"] = weight
    table["probability_bin"] = bins[chosen]
    table["record"] = task.records.index[drawn]
    features = [f"x_{name}" for name in task.covariates]
    cases = table[
        [
            "context",
            *features,
            "theta",
            "p_true",
            "z",
            "weight",
            "probability_bin",
            "n",
            "low",
            "high",
            "record",
        ]
    ].copy()
    note = _shortfall(task, found, bins, int(n), n_bins) if even else ""
    if note:
        logger.warning("%s", note)
    cases.attrs["coverage"] = {
        "target": task.target,
        "target_state": task.positive,
        "enumerated": True,
        "n": np.bincount(bins[chosen], minlength=n_bins).tolist(),
        "capacity": np.bincount(bins, minlength=n_bins).tolist(),
        "natural_share": np.bincount(bins, weights=mass, minlength=n_bins).tolist(),
        "note": note,
    }
    return cases


def _shortfall(task: CountedRecords, found: Strata, bins: Codes, n: int, n_bins: int) -> str:
    """Say which bins the cases could not fill and what the records can reach; nothing where all are filled."""
    capacity = np.bincount(bins, minlength=n_bins)
    short = np.flatnonzero(capacity < max(1, n // n_bins))
    if not short.size:
        return ""
    held = listing(
        (f"{b / n_bins:.3g} to {(b + 1) / n_bins:.3g} ({capacity[b]})" for b in short), limit=n_bins
    )
    return (
        f"cases of {task.name!r} are not even over the share: {n / n_bins:.3g} per bin were "
        "wanted, and too few strata of at least "
        f"{task.min_records} records lie in {held}. "
        f"There are {len(bins)} strata with shares from {found.share.min():.3g} to "
        f"{found.share.max():.3g}; the other bins took the rest."
    )


def _context(task: CountedRecords, row: Codes) -> str:
    evidence = {
        name: task.states[name][code]
        for name, code in zip(task.covariates, row, strict=True)
        if code >= 0
    }
    digest = blake2b(json.dumps(evidence, sort_keys=True).encode(), digest_size=6).hexdigest()
    return f"{task.name}-{task.target}-{digest}"


def _choose(
    mass: Floats, bins: Codes, n: int, n_bins: int, generator: np.random.Generator
) -> tuple[Codes, Floats]:
    """Return the positions of the chosen strata in random order, and their weights; one bin is the natural design."""
    bins = bins if n_bins > 1 else np.zeros_like(bins)
    inclusion = np.zeros(len(mass))
    parts = []
    for number, wanted in enumerate(
        even_allocation(n, np.bincount(bins, minlength=n_bins), generator)
    ):
        if wanted:
            members = np.flatnonzero(bins == number)
            inclusion[members] = inclusion_probabilities(mass[members], int(wanted))
            parts.append(members[systematic_sample(inclusion[members], generator)])
    chosen = generator.permutation(np.concatenate(parts))
    weight = mass[chosen] / inclusion[chosen]
    return chosen, weight / weight.mean()


def _realised(
    task: CountedRecords, codes: Codes, candidates: list[int], generator: np.random.Generator
) -> tuple[Codes, list[str | None]]:
    """Return for every case the position of a record of its stratum, and an auxiliary variable with enough records in every state."""
    cells = task.cells
    drawn = np.empty(len(codes), dtype=np.int64)
    auxiliaries: list[str | None] = []
    for row, stratum in enumerate(codes):
        inside: Flags = ((stratum < 0) | (cells.codes == stratum)).all(axis=1)
        drawn[row] = generator.choice(np.flatnonzero(inside[cells.position]))
        supported = [
            task.covariates[candidate]
            for candidate in candidates
            if stratum[candidate] < 0
            and np.bincount(
                cells.codes[inside, candidate], cells.n[inside], cells.widths[candidate]
            ).min()
            >= task.min_records
        ]
        auxiliaries.append(supported[generator.integers(len(supported))] if supported else None)
    return drawn, auxiliaries
