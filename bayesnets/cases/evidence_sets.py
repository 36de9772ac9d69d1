"""The evidence sets that cases are drawn from, with their probability under the natural design.

The natural design: draw a full record from the network, draw the number of observed covariates
uniformly from a range, observe a uniformly drawn subset of that size. Few sets are enumerated and
get their exact probability. Many are drawn, half from the natural design and half with states drawn
uniformly, which reaches rare evidence; each draw carries its importance weight against that
mixture, so that sums remain unbiased.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from bayesnets.cases.design import subset_probability
from bayesnets.cases.sampling import sample_codes
from bayesnets.codes import Codes, Flags, Floats, distinct_rows
from bayesnets.elimination import joint
from bayesnets.network import Network

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
