"""Cases: evidence about one individual, the exact posterior of a target, and the target's realised state.

Cases are drawn from a network's own distribution and spread evenly over the posterior, so that a
check sees beliefs of every size; sampling weights lead back to the network's distribution.
"""

import json
import logging
from hashlib import blake2b
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from bayesnets.cases.design import even_allocation, inclusion_probabilities, systematic_sample
from bayesnets.cases.evidence_sets import EvidenceSets, evidence_sets
from bayesnets.cases.sampling import Seed
from bayesnets.formats.conversion import as_network
from bayesnets.inference.joint_probability import joint
from bayesnets.codes import Codes
from bayesnets.network import Network
from coherence.errors import InputError, listing, suggestion

logger = logging.getLogger(__name__)

POOL_PER_CASE = 100  # draws per wanted case where the evidence sets can't all be listed
SMALLEST_POOL = 100_000


def sample_cases(
    network: Any,
    target: str,
    n: int,
    *,
    target_state: str = "yes",
    even: bool = True,
    n_bins: int = 20,
    n_observed: int | tuple[int, int] | None = None,
    auxiliary: str | None = None,
    min_probability: float = 0.0,
    determined: bool = False,
    rng: Seed = None,
) -> pd.DataFrame:
    """Draw cases without repeating an evidence set.

    The natural design draws a full record from the network, draws the number of observed covariates
    uniformly from the range `n_observed`, and observes a uniformly drawn subset of that size. The
    even design spreads the cases over equal bins of the posterior as evenly as the network allows
    and draws within a bin in proportion to the natural design. The target's realised state is drawn
    from the exact posterior, which is its distribution given the evidence in the full record too.

    Parameters
    ----------
    network : Network or pgmpy.models.DiscreteBayesianNetwork
        The model.
    target : str
        The variable that cases are about.
    n : int
        Number of cases, positive.
    target_state : str
        The state of the target that counts as theta = 1.
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
        The auxiliary variable of all cases, never observed; None draws one per case from the
        unobserved covariates.
    min_probability : float
        Leaves out evidence that the network gives a smaller probability.
    determined : bool
        Whether to include evidence that makes the target certain (p_true of exactly 0 or 1), which
        asks for logic rather than belief.
    rng : Generator, int or None
        Source of all draws; None draws fresh entropy.

    Returns
    -------
    DataFrame, one row per case, in random order
        `context`: text made from the network, the target and a digest of the evidence; equal for
        equal evidence in any call. `x_<variable>`: state, or None where unobserved. `theta`: 0 or
        1. `p_true`: exact posterior. `z`: an unobserved covariate each of whose states is possible
        given the evidence, or None if there is none. `weight`: probability under the natural design
        divided by the probability of inclusion under this one, scaled to mean 1. Weighted means
        estimate means under the natural design, given that the evidence is admitted and lies in a
        bin that holds a case. `probability_bin`: from 0. `attrs["coverage"]` holds what `coverage`
        shows, and a `note` that says which bins could not be filled and what the network can reach;
        it is logged as a warning, and empty where the cases are even.

    Raises
    ------
    InputError
        Unknown names, numbers out of range, or more cases asked for than there are distinct
        evidence sets.

    Examples
    --------
    >>> from bayesnets import load_network
    >>> cases = sample_cases(load_network("asia"), "lung", 40, rng=1)
    >>> cases["context"].is_unique, cases["p_true"].between(0.05, 0.1, inclusive="left").sum().item()
    (True, 3)
    """
    model = as_network(network)
    position, state = model.index(target), _state_index(model, target, target_state)
    for name, value in (("n", n), ("n_bins", n_bins)):
        if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
            raise InputError(
                f"{name} must be a positive whole number, not {value!r}. Pass 1 or more."
            )
    covariates = [index for index in range(len(model.nodes)) if index != position]
    observable = [
        index
        for index in covariates
        if auxiliary is None or index != _auxiliary_index(model, auxiliary, target)
    ]
    sizes = _sizes(n_observed, len(observable), spare=auxiliary is None)
    if not 0 <= min_probability <= 1:
        raise InputError(
            f"min_probability must lie in [0, 1], not {min_probability!r}. "
            "Pass 0 to keep all evidence."
        )
    generator = np.random.default_rng(rng)
    sets = evidence_sets(
        model,
        position,
        state,
        observable,
        sizes,
        pool=max(SMALLEST_POOL, POOL_PER_CASE * int(n)),
        min_probability=min_probability,
        determined=determined,
        generator=generator,
    )
    if len(sets.codes) < n:
        found = "exist" if sets.enumerated else "were found among the draws"
        raise InputError(
            "n must not exceed the number of distinct evidence sets; "
            f"{n} cases were asked for and {len(sets.codes)} sets with {sizes[0]} to "
            f"{sizes[1]} observed covariates {found}. "
            "Ask for fewer cases, widen n_observed or lower min_probability."
        )
    bins = np.minimum((sets.belief * n_bins + 1e-9).astype(np.int64), n_bins - 1)
    chosen, weight = _choose(sets, bins, int(n), n_bins, even, generator)
    codes, belief = sets.codes[chosen], sets.belief[chosen]
    cases = _labelled(model, target, covariates, codes)
    cases["theta"] = (generator.random(n) < belief).astype(np.int64)
    cases["p_true"] = belief
    cases["z"] = _auxiliaries(
        model, [model.index(auxiliary)] if auxiliary else covariates, codes, generator
    )
    cases["weight"] = weight
    cases["probability_bin"] = bins[chosen]
    cases.attrs["coverage"] = {
        "target": target,
        "target_state": target_state,
        "enumerated": sets.enumerated,
        "n": np.bincount(bins[chosen], minlength=n_bins).tolist(),
        "capacity": np.bincount(bins, minlength=n_bins).tolist(),
        "natural_share": np.bincount(bins, weights=sets.mass, minlength=n_bins).tolist(),
    }
    note = _shortfall(model, target, target_state, sets, bins, int(n), n_bins) if even else ""
    cases.attrs["coverage"]["note"] = note
    if note:
        logger.warning("%s", note)
    return cases


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
    >>> from bayesnets import load_network
    >>> cases = sample_cases(load_network("asia"), "lung", 40, rng=1)
    >>> coverage(cases).loc[18:, ["low", "n", "capacity"]]
         low  n  capacity
    18  0.90  2        57
    19  0.95  0         0
    """
    record = cases.attrs.get("coverage")
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


def _choose(
    sets: EvidenceSets,
    bins: npt.NDArray[np.int64],
    n: int,
    n_bins: int,
    even: bool,
    generator: np.random.Generator,
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]:
    """Return the positions of the chosen sets in random order, and their weights."""
    strata = bins if even else np.zeros_like(bins)
    wanted = even_allocation(n, np.bincount(strata, minlength=n_bins), generator)
    inclusion = np.zeros(len(bins))
    parts = []
    for stratum in np.flatnonzero(wanted):
        members = np.flatnonzero(strata == stratum)
        inclusion[members] = inclusion_probabilities(sets.mass[members], int(wanted[stratum]))
        parts.append(members[systematic_sample(inclusion[members], generator)])
    chosen = generator.permutation(np.concatenate(parts))
    weight = sets.mass[chosen] / inclusion[chosen]
    return chosen, weight / weight.mean()


def _shortfall(
    network: Network,
    target: str,
    state: str,
    sets: EvidenceSets,
    bins: npt.NDArray[np.int64],
    n: int,
    n_bins: int,
) -> str:
    """Say which bins the cases could not fill and what the network can reach; nothing where all are filled."""
    capacity = np.bincount(bins, minlength=n_bins)
    short = np.flatnonzero(capacity < n // n_bins if n >= n_bins else capacity < 1)
    if not short.size:
        return ""
    held = listing(
        (f"{b / n_bins:.3g} to {(b + 1) / n_bins:.3g} ({capacity[b]})" for b in short), limit=n_bins
    )
    found = "There are" if sets.enumerated else "The draws found"
    return (
        f"cases are not even over p({target}={state}) in network {network.name!r}: "
        f"{n / n_bins:.3g} per bin were wanted, and too few evidence sets "
        f"lie in {held}. {found} {len(bins)} sets with posteriors from {sets.belief.min():.3g} to "
        f"{sets.belief.max():.3g}; the other bins took "
        "the rest."
    )


def _labelled(network: Network, target: str, covariates: list[int], codes: Codes) -> pd.DataFrame:
    columns: dict[str, Any] = {}
    for covariate in covariates:
        node = network.nodes[covariate]
        # The last label is where code -1 points.
        columns[f"x_{node.name}"] = pd.Series(
            np.array([*node.states, None], dtype=object)[codes[:, covariate]], dtype=object
        )
    contexts = [_context(network, target, row) for row in codes]
    return pd.DataFrame({"context": pd.Series(contexts, dtype=object), **columns})


def _context(network: Network, target: str, row: npt.NDArray[np.int64]) -> str:
    evidence = {
        node.name: node.states[code]
        for node, code in zip(network.nodes, row, strict=True)
        if code >= 0
    }
    digest = blake2b(json.dumps(evidence, sort_keys=True).encode(), digest_size=6).hexdigest()
    return f"{network.name}-{target}-{digest}"


def _auxiliaries(
    network: Network, candidates: list[int], codes: Codes, generator: np.random.Generator
) -> pd.Series:
    """Return for every case one unobserved covariate, uniformly among those whose states are all possible given the evidence."""
    # Every case beside every state of every unobserved candidate, as evidence of one question.
    blocks, places = [], []
    for column, candidate in enumerate(candidates):
        rows = np.flatnonzero(codes[:, candidate] < 0)
        for state in range(len(network.nodes[candidate].states)):
            blocks.append(codes[rows])
            blocks[-1][:, candidate] = state
            places.append(rows * len(candidates) + column)
    place = np.concatenate(places)
    possible = np.zeros(codes.shape[0] * len(candidates), dtype=bool)
    possible[place] = True
    possible[place[joint(network, np.concatenate(blocks)) == 0]] = False
    possible = possible.reshape(len(codes), len(candidates))
    picked = np.where(possible, generator.random(possible.shape), -1.0).argmax(axis=1)
    names = [
        network.nodes[candidates[column]].name if possible[row, column] else None
        for row, column in enumerate(picked)
    ]
    return pd.Series(names, dtype=object)


def _state_index(network: Network, target: str, state: str) -> int:
    states = network.states(target)
    if state not in states:
        raise InputError(
            f"target_state must be a state of {target!r}, not {state!r}. "
            f"{suggestion(state, states)}"
        )
    return states.index(state)


def _auxiliary_index(network: Network, auxiliary: str, target: str) -> int:
    if auxiliary == target:
        raise InputError(f"auxiliary must not be the target {target!r}. Choose another variable.")
    return network.index(auxiliary)


def _sizes(
    n_observed: int | tuple[int, int] | None, available: int, *, spare: bool
) -> tuple[int, int]:
    """Return the fewest and the most observed covariates; `spare` keeps one of the available ones unobserved unless the user says otherwise."""
    if available < 1:
        raise InputError(
            "network must have a covariate beside the target and the auxiliary variable; "
            f"{available} are left. Use a larger network."
        )
    if n_observed is None:
        return 1, max(1, available - spare)
    pair = (
        (n_observed, n_observed) if isinstance(n_observed, int | np.integer) else tuple(n_observed)
    )
    if (
        len(pair) != 2
        or not all(isinstance(size, int | np.integer) for size in pair)
        or not 1 <= pair[0] <= pair[1] <= available
    ):
        raise InputError(
            f"n_observed must be a whole number, or a pair (fewest, most), from 1 to {available}, "
            f"not {n_observed!r}. Pass (1, {available}) for any."
        )
    return int(pair[0]), int(pair[1])
