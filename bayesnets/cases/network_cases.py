"""Cases from a network: evidence about someone, its exact posterior, and what turned out true.

Cases are drawn from a network's own distribution and spread evenly over the posterior, so that a
check sees beliefs of every size; sampling weights lead back to the network's distribution.
"""

from typing import Any

import numpy as np
import pandas as pd

from bayesnets.cases.coverage import bins_of, coverage_record
from bayesnets.cases.design import Sizes, choose, context_ids, observable_covariates, sizes_of
from bayesnets.cases.evidence_sets import EvidenceSets, evidence_sets
from bayesnets.cases.sampling import Seed
from bayesnets.codes import Codes, label_column
from bayesnets.conversion import as_network
from bayesnets.elimination import joint
from bayesnets.network import Network, state_position
from bayesnets.support import MIN_RECORDS
from coherence.errors import InputError
from coherence.inputs import whole_number
from coherence.runs.columns import DRAWN
from coherence.runs.states import label_text
from coherence.statistics.resample import as_generator

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
