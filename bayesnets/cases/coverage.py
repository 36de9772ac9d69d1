"""How cases cover the posterior: bins of belief, what each holds, and what it could hold."""

import logging
from typing import Any

import numpy as np
import pandas as pd

from bayesnets.codes import Codes, Floats
from coherence.errors import InputError, listing

logger = logging.getLogger(__name__)


def coverage(cases: pd.DataFrame) -> pd.DataFrame:
    """Return how the cases cover the posterior, and what the network can reach.

    Parameters
    ----------
    cases : DataFrame
        From `sample_cases`, with its `attrs`.

    Returns
    -------
    DataFrame, one row per bin
        `bin`; `low` and `high`; `n` cases; `capacity`, the distinct evidence sets that were listed
        or, where there are too many to list, found; `natural_share`, the probability of the bin
        under the natural design.

    Raises
    ------
    InputError
        A table that has lost its `attrs`, as a concatenated one has.

    Examples
    --------
    >>> from bayesnets import load_network, sample_cases
    >>> cases = sample_cases(load_network("asia"), "lung", 40, rng=1)
    >>> coverage(cases).loc[18:, ["low", "n", "capacity"]]
         low  n  capacity
    18  0.90  2        57
    19  0.95  0         0
    """
    record = cases.attrs.get("coverage") if isinstance(cases, pd.DataFrame) else None
    if record is None:
        raise InputError(
            "cases must carry attrs['coverage'], which this table has lost. "
            "Pass what sample_cases returned."
        )
    edges = np.arange(len(record["n"]) + 1) / len(record["n"])
    columns = {"bin": np.arange(len(record["n"])), "low": edges[:-1], "high": edges[1:]}
    return pd.DataFrame(
        {**columns, **{key: record[key] for key in ("n", "capacity", "natural_share")}}
    )


def bins_of(belief: Floats, n_bins: int) -> Codes:
    """Return the bin of every belief."""
    # .3 times 10 is just below 3 in floating point; the sliver puts an edge where it belongs.
    return np.minimum((belief * n_bins + 1e-9).astype(np.int64), n_bins - 1)


def coverage_record(
    belief: Floats, mass: Floats, chosen: Codes, n_bins: int, *, even: bool, over: str, sets: str
) -> dict[str, Any]:
    """Return what `coverage` shows, for the `attrs` of a table of cases.

    `note` says which bins the cases could not fill, and is logged; it is empty where they are not
    meant to be even, or where at most a tenth of the bins fell short.
    """
    bins = bins_of(belief, n_bins)
    capacity, n = np.bincount(bins, minlength=n_bins), len(chosen)
    # With fewer cases than bins, chance decides which bins get one; a single one is missed by none,
    # and one or two of twenty, at the ends of what a network can say, change no design.
    short = np.flatnonzero(capacity < n // n_bins)
    note = ""
    if even and short.size > n_bins // 10 and n >= 2 * n_bins:
        ends = (f"{b / n_bins:.3g} to {(b + 1) / n_bins:.3g} ({capacity[b]})" for b in short)
        note = (
            f"{n} cases cannot be spread evenly over {over}: fewer than {n // n_bins} {sets} "
            f"in {listing(ends, limit=n_bins)}. The other bins take more; all {belief.size} found "
            f"lie between {belief.min():.3g} and {belief.max():.3g}."
        )
        logger.warning("%s", note)
    return {
        "n": np.bincount(bins[chosen], minlength=n_bins).tolist(),
        "capacity": capacity.tolist(),
        "natural_share": np.bincount(bins, weights=mass, minlength=n_bins).tolist(),
        "note": note,
    }
