"""The design of cases: how much is observed, and sampling with known inclusion probabilities.

A design spreads a fixed number of draws over bins as evenly as their capacities allow, and draws
within a bin with probability proportional to size by systematic sampling, so that Horvitz-Thompson
weights are exact (Särndal, Swensson and Wretman 1992, sections 2.8 and 3.6).
"""

import json
import math
from collections.abc import Mapping, Sequence
from hashlib import blake2b

import numpy as np
import pandas as pd

from bayesnets.codes import Codes, Floats
from coherence.errors import InputError, suggestion

Sizes = int | tuple[int, int] | None

CERTAIN = 1 - 1e-9  # a unit whose inclusion probability reaches one is taken, not drawn


def even_allocation(n: int, capacity: Codes, generator: np.random.Generator) -> Codes:
    """Return how many draws each bin gets."""
    level = 0
    # The highest level that all bins can be filled to, or up to their capacity.
    while np.minimum(capacity, level + 1).sum() <= n and level < capacity.max(initial=0):
        level += 1
    filled = np.minimum(capacity, level)
    lucky = generator.permutation(np.flatnonzero(capacity > filled))[: n - int(filled.sum())]
    filled[lucky] += 1
    return filled


def inclusion_probabilities(size: Floats, n: int) -> Floats:
    """Return inclusion probabilities proportional to size, none of them above one."""
    probabilities = np.zeros(len(size))
    certain = np.zeros(len(size), dtype=bool)
    # Units that would pass one are taken; the rest share what is left, which can push others past.
    while True:
        rest = n - int(certain.sum())
        open_size = size[~certain]
        probabilities[certain] = 1.0
        probabilities[~certain] = rest * (open_size / open_size.sum()) if rest else 0.0
        passed = ~certain & (probabilities >= CERTAIN)
        if not passed.any():
            return probabilities
        certain |= passed


def systematic_sample(probabilities: Floats, generator: np.random.Generator) -> Codes:
    """Draw units with given inclusion probabilities."""
    certain = np.flatnonzero(probabilities >= CERTAIN)
    others = generator.permutation(np.flatnonzero((probabilities > 0) & (probabilities < CERTAIN)))
    n = round(float(probabilities[others].sum()))
    if n == 0:
        return certain
    # A random start, then steps of one along the summed probabilities hit each unit with its own.
    bounds = probabilities[others].cumsum()
    ticks = generator.random() + np.arange(n)
    drawn = others[np.searchsorted(bounds * (n / bounds[-1]), ticks, side="right")]
    return np.concatenate([certain, drawn])


def choose(
    mass: Floats, bins: Codes, n: int, n_bins: int, generator: np.random.Generator, *, even: bool
) -> tuple[Codes, Floats]:
    """Draw sets in proportion to their mass, within bins that get even numbers or from them all."""
    bins = bins if even else np.zeros_like(bins)
    inclusion = np.zeros(len(bins))
    parts = []
    wanted = even_allocation(n, np.bincount(bins, minlength=n_bins), generator)
    for number in np.flatnonzero(wanted):
        members = np.flatnonzero(bins == number)
        inclusion[members] = inclusion_probabilities(mass[members], int(wanted[number]))
        parts.append(members[systematic_sample(inclusion[members], generator)])
    chosen = generator.permutation(np.concatenate(parts))
    weight = mass[chosen] / inclusion[chosen]
    return chosen, weight / weight.mean()


def context_ids(prefix: str, states: Mapping[str, Sequence[str]], codes: Codes) -> pd.Series:
    """Return the ids of contexts: equal for equal evidence in any call and any process."""
    ids = []
    for row in codes:
        cells = zip(states.items(), row, strict=True)
        evidence = {name: known[code] for (name, known), code in cells if code >= 0}
        digest = blake2b(json.dumps(evidence, sort_keys=True).encode(), digest_size=6)
        ids.append(f"{prefix}-{digest.hexdigest()}")
    return pd.Series(ids, dtype=object)


def subset_probability(codes: Codes, n_covariates: int) -> Floats:
    """Return the probability of observing just these covariates among subsets of that size."""
    by_size = np.array([1 / math.comb(n_covariates, size) for size in range(n_covariates + 1)])
    probability: Floats = by_size[(codes >= 0).sum(axis=1)]
    return probability


def observable_covariates(names: Sequence[str], auxiliary: str | None) -> list[int]:
    """Return the positions of the covariates that may be observed: all but the auxiliary one."""
    if auxiliary is not None and auxiliary not in names:
        raise InputError(
            f"auxiliary must be a covariate, and not the target; received {auxiliary!r}. "
            f"{suggestion(auxiliary, names)}"
        )
    observable = [position for position, name in enumerate(names) if name != auxiliary]
    if not observable:
        raise InputError(
            "covariates must include one beside the target and the auxiliary variable; 0 are left. "
            "Use a larger network, or more columns of the records."
        )
    return observable


def sizes_of(n_observed: Sizes, available: int, *, default: int) -> tuple[int, int]:
    """Return the fewest and the most observed covariates."""
    if n_observed is None:
        return 1, default
    whole = int | np.integer
    pair = (n_observed, n_observed) if isinstance(n_observed, whole) else tuple(n_observed)
    are_whole = len(pair) == 2 and all(isinstance(size, whole) for size in pair)
    if not are_whole or not 1 <= pair[0] <= pair[1] <= available:
        raise InputError(
            f"n_observed must be a whole number, or a pair (fewest, most), from 1 to {available}, "
            f"not {n_observed!r}. Pass (1, {available}) for any."
        )
    return int(pair[0]), int(pair[1])
