"""Cases drawn from a network, with their exact posteriors, which they cover evenly.

The natural design: draw a full record from the network, parents first (Henrion 1988), draw the
number of observed covariates uniformly from a range, observe a uniformly drawn subset of that size.
Few evidence sets are enumerated and get their exact probability. Many are drawn, half from the
natural design and half with states drawn uniformly, which reaches rare evidence; each draw carries
its importance weight against that mixture, so that sums remain unbiased.

A fixed number of cases is spread over bins of the posterior as evenly as their capacities allow.
Within a bin they are drawn with probability proportional to size by systematic sampling, so that
Horvitz-Thompson weights are exact (Särndal, Swensson and Wretman 1992, sections 2.8 and 3.6).
"""

import json
import logging
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from bayesnets.elimination import joint
from bayesnets.network import Network, as_network, state_position
from bayesnets.support import MIN_RECORDS, Codes, Flags, Floats, distinct_rows, label_column
from coherence.errors import InputError, listing, suggestion
from coherence.inputs import whole_number
from coherence.runs.columns import DRAWN
from coherence.runs.states import label_text
from coherence.statistics.resample import as_generator

Seed = np.random.Generator | int | None


_MOST = 10**8  # records, which have memory for a few variables


def sample(network: Any, n: int, *, rng: Seed = None) -> pd.DataFrame:
    """Draw full records.

    Parameters
    ----------
    network : Network or pgmpy.models.DiscreteBayesianNetwork
        The model.
    n : int
        Number of records, zero or more.
    rng : Generator, int or None
        Source of the draws; None draws fresh entropy.

    Returns
    -------
    DataFrame, shape (n, n_variables)
        State labels; columns in topological order.

    Raises
    ------
    InputError
        A negative number of records.

    Examples
    --------
    >>> from bayesnets import load_network
    >>> sample(load_network("asia"), 1000, rng=1)["smoke"].eq("yes").mean().round(1).item()
    0.5
    """
    model = as_network(network)
    if isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 0:
        raise InputError(
            f"n must be a number of records, zero or more, not {n!r}. Pass a whole number."
        )
    if n > _MOST:
        raise InputError(f"n must be at most {_MOST:,}; received {n}. Draw in parts.")
    codes = sample_codes(model, int(n), as_generator(rng))
    return pd.DataFrame(
        {
            node.name: np.array(node.states, dtype=object)[codes[:, column]]
            for column, node in enumerate(model.nodes)
        }
    )


def sample_codes(network: Network, n: int, generator: np.random.Generator) -> Codes:
    """Draw full records as positions of states."""
    codes = np.empty((n, len(network.nodes)), dtype=np.int64)
    for position, node in enumerate(network.nodes):
        cumulative = node.table.cumsum(axis=0)
        # Divided by its own last entry, so that a state of probability zero at the end is never
        # reached through rounding.
        cumulative = (cumulative / cumulative[-1])[:-1]
        bounds = cumulative[
            (slice(None), *(codes[:, network.index(parent)] for parent in node.parents))
        ]
        codes[:, position] = (generator.random(n) >= bounds.reshape(len(bounds), -1)).sum(axis=0)
    return codes


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


ENUMERABLE = 200_000  # up to so many evidence sets, all are listed


@dataclass(frozen=True)
class EvidenceSets:
    """Distinct evidence sets."""

    codes: Codes  # shape (n_sets, n_nodes): observed states, -1 where unobserved
    # shape (n_sets,): probability under the natural design given that the set is in this list;
    # exact if enumerated, otherwise estimated without bias up to normalisation. Sums to one.
    mass: Floats
    belief: Floats  # shape (n_sets,): exact P(target in its positive state | evidence)
    enumerated: bool  # whether these are all the sets there are

    def only(self, kept: Flags) -> "EvidenceSets":
        """Return some of the sets, with their mass among these."""
        mass = self.mass[kept]
        return replace(
            self,
            codes=self.codes[kept],
            mass=mass / mass.sum() if len(mass) else mass,
            belief=self.belief[kept],
        )


def evidence_sets(
    network: Network,
    target: int,
    state: int,
    covariates: Sequence[int],
    sizes: tuple[int, int],
    *,
    pool: int,
    min_probability: float,
    determined: bool,
    generator: np.random.Generator,
) -> EvidenceSets:
    """List or draw evidence sets with their natural probability and exact posterior."""
    numbers = [len(network.nodes[covariate].states) for covariate in covariates]
    enumerated = _count(numbers, sizes) <= ENUMERABLE
    codes = (
        _enumerate(network, covariates, sizes)
        if enumerated
        else _draw(network, covariates, sizes, pool, generator)
    )
    distinct, position = distinct_rows(codes)
    joints = joint(network, distinct, (target,))
    probability = joints.probability
    if enumerated:
        subset = subset_probability(distinct, len(covariates)) / (sizes[1] - sizes[0] + 1)
        mass = probability * subset
    else:
        log_uniform = np.sum(
            [
                np.where(distinct[:, covariate] >= 0, -math.log(number), 0.0)
                for covariate, number in zip(covariates, numbers, strict=True)
            ],
            axis=0,
        )
        # Importance weights against the mixture that was drawn from (balance heuristic); the subset
        # has the same probability in both parts and cancels. As a ratio, because of a thousand
        # covariates both probabilities are smaller than a number can be.
        drawn = np.bincount(position, minlength=len(distinct))
        with np.errstate(over="ignore"):
            mass = drawn / (0.5 + 0.5 * np.exp(log_uniform - joints.log_probability))
    kept = (joints.total > 0) & (probability >= min_probability)
    if not determined:
        # By what is summed: a posterior of 1 could also come of rounding.
        others = np.delete(joints.values, state, axis=1).sum(axis=1)
        kept &= (joints.values[:, state] > 0) & (others > 0)
    belief = joints.values[kept, state] / joints.total[kept]
    return EvidenceSets(distinct[kept], mass[kept] / mass[kept].sum(), belief, enumerated)


def _count(numbers: Sequence[int], sizes: tuple[int, int]) -> int:
    """Return how many evidence sets have an admissible size."""
    # The sets of a size number the elementary symmetric polynomial of the numbers of states.
    by_size = [1] + [0] * len(numbers)
    for number in numbers:
        for size in range(len(numbers), 0, -1):
            by_size[size] += number * by_size[size - 1]
    return sum(by_size[sizes[0] : sizes[1] + 1])


def _enumerate(network: Network, covariates: Sequence[int], sizes: tuple[int, int]) -> Codes:
    blocks = []
    for size in range(sizes[0], sizes[1] + 1):
        for subset in combinations(covariates, size):
            numbers = [len(network.nodes[covariate].states) for covariate in subset]
            block = np.full((math.prod(numbers), len(network.nodes)), -1, dtype=np.int64)
            block[:, list(subset)] = np.indices(numbers).reshape(size, -1).T
            blocks.append(block)
    return np.concatenate(blocks)


def _draw(
    network: Network,
    covariates: Sequence[int],
    sizes: tuple[int, int],
    n: int,
    generator: np.random.Generator,
) -> Codes:
    natural = sample_codes(network, n // 2, generator)
    uniform = np.column_stack(
        [generator.integers(len(node.states), size=n - n // 2) for node in network.nodes]
    )
    codes = np.concatenate([natural, uniform])
    size = generator.integers(sizes[0], sizes[1], size=n, endpoint=True)
    # The ranks of uniform numbers are a random order: the first `size` are a random subset.
    rank = generator.random((n, len(covariates))).argsort(axis=1).argsort(axis=1)
    observed = np.zeros(codes.shape, dtype=bool)
    observed[:, list(covariates)] = rank < size[:, None]
    return np.where(observed, codes, -1)


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


POOL_PER_CASE = 100  # draws per wanted case where the evidence sets can't all be listed
SMALLEST_POOL = 100_000


def sample_cases(
    network: Any,
    target: str,
    n: int,
    *,
    target_state: str | int = "yes",
    even: bool = True,
    n_bins: int = 20,
    n_observed: Sizes = None,
    auxiliary: str | None = None,
    min_probability: float = 0.0,
    min_records: int | None = None,
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
    target_state : str, int or bool
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
    min_records : int or None
        Of a network with records behind it (from ``bayesnets.fit`` or ``with_records``), leaves
        out evidence that fewer of them show: its posterior would rest on few records, or on none.
        None is 100 for such a network, the rule of the published analyses; 0 leaves nothing out.
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
        1. `p_true`: exact posterior. `truth_kind`: "drawn", as theta is from `p_true`. `z`: an
        unobserved covariate each of whose states is possible given the evidence (and shown by
        `min_records` of the records that show the evidence), or None if there is none. `weight`:
        probability under the natural design divided by the probability of inclusion under this one,
        scaled to mean 1. Weighted means estimate means under the natural design, given that the
        evidence is admitted and lies in a bin that holds a case. `probability_bin`: from 0.
        `attrs["coverage"]` holds what `coverage` shows, and a `note` that says which bins could not
        be filled and what the network can reach; it is logged as a warning, and empty where the
        cases are even.

    Raises
    ------
    InputError
        Unknown names, numbers out of range, more cases asked for than there are distinct evidence
        sets, or a fitted network without the records that `min_records` counts.

    Examples
    --------
    >>> from bayesnets import load_network
    >>> cases = sample_cases(load_network("asia"), "lung", 40, rng=1)
    >>> within = cases["p_true"].between(0.05, 0.1, inclusive="left")
    >>> cases["context"].is_unique, within.sum().item()
    (True, 3)
    """
    n = whole_number(n, "n", 1)
    whole_number(n_bins, "n_bins", 1)
    generator = as_generator(rng)
    model = as_network(network)
    position, state = model.index(target), state_position(model, target, target_state)
    target = model.names[position]
    covariates = [index for index in range(len(model.nodes)) if index != position]
    auxiliary = None if auxiliary is None else label_text(auxiliary)
    names = [model.names[index] for index in covariates]
    observable = [covariates[index] for index in observable_covariates(names, auxiliary)]
    # Unless the user says otherwise, one covariate is left for the auxiliary variable.
    spare = max(1, len(observable) - (auxiliary is None))
    sizes = sizes_of(n_observed, len(observable), default=spare)
    if not 0 <= min_probability <= 1:
        raise InputError(
            f"min_probability must lie in [0, 1], not {min_probability!r}. "
            "Pass 0 to keep all evidence."
        )
    least = _records_needed(model, min_records)
    sets = evidence_sets(
        model,
        position,
        state,
        observable,
        sizes,
        pool=max(SMALLEST_POOL, POOL_PER_CASE * n),
        min_probability=min_probability,
        determined=determined,
        generator=generator,
    )
    if least and model.support is not None:
        sets = sets.only(model.support.counts(sets.codes, at_least=least) >= least)
    _check_enough(sets, n, sizes, least)
    bins = bins_of(sets.belief, n_bins)
    chosen, weight = choose(sets.mass, bins, n, n_bins, generator, even=even)
    codes, belief = sets.codes[chosen], sets.belief[chosen]
    cases = _labelled(model, target, covariates, codes)
    cases["theta"] = (generator.random(n) < belief).astype(np.int64)
    cases["p_true"] = belief
    cases["truth_kind"] = DRAWN
    candidates = [model.index(auxiliary)] if auxiliary else covariates
    cases["z"] = _auxiliaries(model, candidates, codes, generator, least)
    cases["weight"] = weight
    cases["probability_bin"] = bins[chosen]
    cases.attrs["coverage"] = {
        "target": target,
        "target_state": target_state,
        "enumerated": sets.enumerated,
        **coverage_record(
            sets.belief,
            sets.mass,
            chosen,
            n_bins,
            even=even,
            over=f"p({target}={target_state}) in network {model.name!r}",
            sets="sets of evidence have a posterior",
        ),
    }
    return cases


def _records_needed(network: Network, min_records: int | None) -> int:
    """Return how many records must show evidence; 0 where that does not matter."""
    if min_records is not None:
        whole_number(min_records, "min_records", 0)
    fitted = network.tables == "fitted"
    if min_records == 0 or (min_records is None and network.support is None and not fitted):
        return 0
    if network.support is None:
        raise InputError(
            f"network {network.name!r} {'was fitted to' if fitted else 'comes with no'} records"
            f"{', and these do not come with it,' if fitted else ','} so that min_records has "
            "nothing to count. Add them with bayesnets.with_records (--set records=FILE on the "
            "command line), or pass min_records=0 to take cases however few records show them."
        )
    return MIN_RECORDS if min_records is None else int(min_records)


def _check_enough(sets: EvidenceSets, n: int, sizes: tuple[int, int], least: int) -> None:
    if len(sets.codes) < n:
        exist = "exist" if sets.enumerated else "were found among the draws"
        shown = f" that at least {least} records show" if least else ""
        lower = "min_records" if least else "min_probability"
        raise InputError(
            f"n must not exceed the number of distinct evidence sets; {n} cases were asked for and "
            f"{len(sets.codes)} sets with {sizes[0]} to {sizes[1]} observed covariates{shown} "
            f"{exist}. Ask for fewer cases, widen n_observed or lower {lower}."
        )


def _labelled(network: Network, target: str, covariates: list[int], codes: Codes) -> pd.DataFrame:
    columns = {}
    for covariate in covariates:
        node = network.nodes[covariate]
        columns[f"x_{node.name}"] = label_column(node.states, codes[:, covariate])
    states = {node.name: node.states for node in network.nodes}
    contexts = context_ids(f"{network.name}-{target}", states, codes)
    return pd.DataFrame({"context": contexts, **columns})


def _auxiliaries(
    network: Network,
    candidates: list[int],
    codes: Codes,
    generator: np.random.Generator,
    least: int,
) -> pd.Series:
    """Return for every case an unobserved covariate, drawn from those with every state possible.

    With `least` every state needs as many records, so that what is said about it is supported.
    """
    # Every case beside every state of every unobserved candidate, as evidence of one question.
    blocks, flat = [], []
    for column, candidate in enumerate(candidates):
        rows = np.flatnonzero(codes[:, candidate] < 0)
        for state in range(len(network.nodes[candidate].states)):
            blocks.append(codes[rows])
            blocks[-1][:, candidate] = state
            flat.append(rows * len(candidates) + column)
    asked = np.concatenate(flat)
    possible = np.zeros(codes.shape[0] * len(candidates), dtype=bool)
    possible[asked] = True
    together = np.concatenate(blocks)
    possible[asked[joint(network, together).total == 0]] = False
    if least and network.support is not None:
        possible[asked[network.support.counts(together, at_least=least) < least]] = False
    possible = possible.reshape(len(codes), len(candidates))
    # The largest of uniform numbers is a uniform choice, for all cases at once.
    picked = np.where(possible, generator.random(possible.shape), -1.0).argmax(axis=1)
    names = [
        network.nodes[candidates[column]].name if possible[row, column] else None
        for row, column in enumerate(picked)
    ]
    return pd.Series(names, dtype=object)
