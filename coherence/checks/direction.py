"""Monotone choice over all actions at once, without independence of irrelevant alternatives.

With additive random utilities choice probabilities are the gradient of a convex surplus (McFadden
1981). With two states expected utilities move along one line, u(p) = u0 + w(p) v with w increasing,
so that (P(p') - P(p)) . v >= 0 for p < p': the choice vector rises along v (section 5.4). As v is
not known, all orders of the actions are tried, and the p-value is that of the one that fits best
(Berger 1982); taste shocks may be correlated across actions, but must not depend on belief.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from coherence.checks.by_name import takes_columns
from coherence.checks.check import (
    FEWEST_DRAWS,
    Call,
    CallsAndNotes,
    Check,
    Interpretation,
)
from coherence.inputs import (
    Codes,
    Floats,
    few_contexts,
    require,
    whole_number,
)
from coherence.result import CheckResult, Family, Interval
from coherence.statistics.bins import belief_bins
from coherence.statistics.evaluation import EvaluationData, evaluation_data
from coherence.statistics.resample import Seed, check_stream
from coherence.statistics.shares import spare_variance
from coherence.table.needs import CHOICES
from coherence.table.notes import not_run

NULL = (
    "there is an order of the actions along which choices shift upwards (first-order dominance) as "
    "the belief rises"
)
METHOD = "for the best of all orders, conservative, {clusters} as clusters"
MIN_CONTEXTS_PER_BIN = 3
MAX_ACTIONS = 6  # 720 orders; a scan of the sphere of directions would be too coarse beyond


def require_single(choices: EvaluationData, test: str) -> None:
    """Refuse beliefs over several states for a test of order."""
    require(
        choices.belief.ndim == 1,
        f"{test} needs one-dimensional beliefs; received shape {choices.belief.shape}. "
        "Pass the belief in one state.",
    )


def contexts_per_bin(bins: Codes, context: Codes, n_bins: int) -> Codes:
    """Count the different contexts in each bin, shape (n_bins,)."""
    pairs = np.unique(np.stack([bins, context]), axis=1)
    return np.bincount(pairs[0], minlength=n_bins).astype(np.int64)


def used_bins(belief: Floats, context: Codes, n_bins: int) -> tuple[Codes, NDArray[np.bool_]]:
    """Cut beliefs into bins and leave out those with too few contexts."""
    bins = belief_bins(belief, n_bins)
    enough = contexts_per_bin(bins, context, int(bins.max()) + 1) >= MIN_CONTEXTS_PER_BIN
    kept = enough[bins]
    return (np.cumsum(enough) - 1)[bins[kept]], kept


@takes_columns("belief", "action", "context", "group")
def monotone_direction_test(
    belief: ArrayLike,
    action: ArrayLike,
    *,
    data: pd.DataFrame | None = None,
    context: ArrayLike | None = None,
    group: ArrayLike | None = None,
    n_bins: int = 5,
    n_draws: int = 9_999,
    rng: Seed = None,
) -> CheckResult:
    """Test whether choices over all actions rise with the stated belief in some direction.

    Random utility theory demands it of an agent that acts on the belief.

    Null: there is an order of the actions along which choices shift upwards (first-order dominance)
    as the belief rises.

    Estimand: under the order that fits best, the largest drop of the total share above a step, from
    one bin of belief to a later one (a share, negative where choices rise throughout); the choices
    of a bin count alike.

    Parameters
    ----------
    belief : array-like, shape (n,)
        Stated probabilities in [0, 1] of one of two states.
    action : array-like, shape (n,) or (n, n_actions)
        Labels, two to six different ones, or the probability of each action; a DataFrame's columns
        name the actions.
    data : DataFrame, optional
        Table; arguments of shape (n,) may then name its columns, and lists of names several.
    context : array-like, shape (n,), optional
        Ids of the evidence; without them every row is its own context.
    group : array-like, shape (n,), optional
        What contexts share beyond their belief, such as a template: groups are then the clusters,
        at least ten of them. Constant within a context.
    n_bins : int
        Quantile bins of the belief; fewer where beliefs tie.
    n_draws : int
        Draws from the null distribution.
    rng : Generator, int or None
        Source of the draws.

    Returns
    -------
    CheckResult
        `statistic` is the largest drop of a total share from a bin to a later one under the best
        order; negative where choices rise throughout. The interval, for the smallest largest drop
        that any order allows, holds it more often than stated (.97 to 1.00 where choices turn
        back): the least of several orders is seldom missed by all of them. `details` has one row
        per action: its place in the best order, evenly spaced, and its share in every bin.

    Raises
    ------
    InputError
        An array breaks its rule or more than six actions.

    Notes
    -----
    Assumes independent contexts and taste shocks whose distribution does not depend on the belief;
    they may be correlated over actions, so irrelevant alternatives may matter.
    The surplus has mixed second derivatives -m(i, j) <= 0, so that along v the probability of i
    changes by sum_j m(i, j) (v_i - v_j), which moves shares from lower to higher actions only.

    The covariance of the choice vectors treats contexts as clusters. For a given order the p-value
    is that of the largest studentised drop when all bins have equal shares, the least favourable
    case (multivariate t). The null holds if it holds for one of them, so the p-value is the largest
    one (Berger 1982) and the test is conservative unless one alone comes near. With two actions it
    is `monotone_choice_test` with ``direction="either"``.

    References
    ----------
    McFadden (1981), Econometric models of probabilistic choice, section 5.4 (the
    Williams-Daly-Zachary theorem); Berger (1982), Technometrics 24(4).

    Examples
    --------
    >>> belief = np.repeat([0.1, 0.5, 0.9], 40)
    >>> action = ["a"] * 40 + ["b"] * 40 + ["c"] * 40
    >>> monotone_direction_test(belief, action, n_bins=3, rng=0).pvalue > 0.5
    True
    """
    choices = evaluation_data(belief, action, context=context, group=group)
    require_single(choices, "monotone_direction_test")
    n_bins = whole_number(n_bins, "n_bins", 2)
    n_draws = whole_number(n_draws, "n_draws", FEWEST_DRAWS)
    require(
        len(choices.actions) <= MAX_ACTIONS,
        f"action must have at most {MAX_ACTIONS} different labels; received "
        f"{len(choices.actions)}. Join rare actions.",
    )
    return _monotone_direction(choices, n_bins=n_bins, n_draws=n_draws, rng=rng)


def _monotone_direction(
    choices: EvaluationData, *, n_bins: int = 5, n_draws: int = 9_999, rng: Seed = None
) -> CheckResult:
    """Run `monotone_direction_test` on validated data."""
    values, labels, clusters = choices.belief, choices.actions, choices.clusters
    of_row, contexts = choices.context, choices.contexts
    settings: dict[str, Any] = {"n_bins": n_bins, "n_draws": n_draws}
    settings["cluster of resampling"] = clusters.name
    undefined = CheckResult(
        check="monotone_direction",
        null=NULL,
        statistic=math.nan,
        unit="share",
        interval=None,
        pvalue=math.nan,
        n_rows=len(values),
        n_contexts=len(contexts),
        settings=settings,
    )
    if len(labels) < 2:
        return replace(undefined, reason=f"only one action was seen ({labels[0]!r})")
    if few := few_contexts(len(contexts)):
        return replace(undefined, reason=few)
    if clusters.too_few:
        return replace(undefined, reason=clusters.too_few)
    unit = clusters.of_context[of_row]
    used, kept = used_bins(values, unit, n_bins)
    if not used.any():
        few = f"fewer than two belief bins have {MIN_CONTEXTS_PER_BIN} {clusters.plural}"
        return replace(undefined, reason=few)
    seen = np.flatnonzero(choices.share[kept].any(axis=0))
    if seen.size < 2:
        where = f"in the bins with {MIN_CONTEXTS_PER_BIN} {clusters.plural}"
        return replace(undefined, reason=f"only one action was seen ({labels[seen[0]]!r}) {where}")

    seen_labels = [labels[code] for code in seen]
    policies = choices.policy is not None
    share = choices.share[np.ix_(kept, seen)]
    generator = check_stream(rng, "monotone_direction")
    scan, rows = choice_vectors(used, share, unit[kept], n_draws, generator, policies=policies)
    best, direction, n_tried = best_fit(scan)
    method = METHOD.format(clusters=clusters.plural)
    shares = {f"share_{number}": share for number, share in enumerate(scan.share)}
    centres = (np.bincount(used, weights=values[kept]) / rows).tolist()
    shown = {"n_bins_used": len(centres), "n_tried": n_tried, "mean_beliefs": centres}
    return replace(
        undefined,
        statistic=best.largest,
        interval=Interval(best.low, best.high, 0.95, method).within(-1.0, 1.0),
        pvalue=best.pvalue,
        settings=settings | shown,
        details=pd.DataFrame({"action": seen_labels, "direction": direction, **shares}),
        assumptions=(
            clusters.independent,
            "taste shocks do not depend on belief",
        ),
    )


@dataclass(frozen=True)
class Scan:
    """Choice vectors by bin and draws of their error, to be read along any direction."""

    share: Floats  # (n_bins, n_actions)
    covariance: Floats  # (n_bins, n_actions, n_bins, n_actions)
    least: Floats  # (n_rules, n_bins, n_actions, n_actions): least variances along a direction
    draws: Floats  # (n_draws, n_bins, n_actions)
    spare: Floats  # (n_draws, n_bins): for what the least variance adds to the sandwich

    def drops(self, direction: Floats) -> tuple[Floats, Floats, Floats]:
        """Return drops between bins j < k along a direction."""
        along = self.share @ direction
        covariance = np.einsum("iajb,a,b->ij", self.covariance, direction, direction)
        least = np.einsum("kiab,a,b->ki", self.least, direction, direction).max(axis=0)
        added = np.maximum(least - np.diag(covariance), 0.0)
        if len(self.least) == 1:  # probabilities: as in `coherence.checks.monotone`
            added = spare_variance(covariance, least)
        variance = np.diag(covariance) + added
        j, k = np.triu_indices(along.size, 1)
        spread = np.sqrt(np.maximum(variance[j] + variance[k] - 2 * covariance[j, k], 1e-18))
        return along[j] - along[k], spread, added

    def null(self, direction: Floats) -> Floats:
        """Draw studentised drops along a direction at equal shares, shape (n_draws, n_pairs)."""
        _, spread, added = self.drops(direction)
        along = self.draws @ direction + self.spare * np.sqrt(added)
        j, k = np.triu_indices(along.shape[1], 1)
        return np.asarray((along[:, j] - along[:, k]) / spread)


def choice_vectors(
    bins: Codes,
    chosen: Floats,
    context: Codes,
    n_draws: int,
    rng: np.random.Generator,
    *,
    policies: bool = False,
) -> tuple[Scan, Floats]:
    """Estimate the choice vectors by bin, and draw their errors from a multivariate t."""
    n_bins, n_actions = int(bins.max()) + 1, chosen.shape[1]
    rows = np.bincount(bins, minlength=n_bins).astype(np.float64)
    share = np.zeros((n_bins, n_actions))
    np.add.at(share, bins, chosen)
    share /= rows[:, None]
    contexts, unit = np.unique(context, return_inverse=True)
    influence = np.zeros((contexts.size, n_bins, n_actions))
    np.add.at(influence, (unit, bins), (chosen - share[bins]) / rows[bins][:, None])
    flat = influence.reshape(contexts.size, -1)
    covariance = flat.T @ flat * contexts.size / max(contexts.size - 1, 1)
    seen = np.zeros((contexts.size, n_bins))
    seen[unit, bins] = 1
    n_contexts = seen.sum(axis=0)[:, None]
    # As in `coherence.checks.monotone`. A bin in which every choice agrees has no spread of its
    # own: bound it below by half of a context that takes one action alone, and, of choices, by that
    # of shares half a context away.
    corners = np.eye(n_actions) - share[:, None, :]
    unseen = 0.5 * np.einsum("ica,icb->iab", corners, corners) / n_contexts[:, :, None] ** 2
    least = [unseen]
    if not policies:
        inner = (share * n_contexts + 1 / n_actions) / (n_contexts + 1)
        diagonal = np.einsum("ia,ab->iab", inner, np.eye(n_actions))
        least.append((diagonal - np.einsum("ia,ib->iab", inner, inner)) / rows[:, None, None])
    degrees = int(n_contexts.min()) - 1
    # Few contexts estimate the covariance badly: heavier tails than the normal.
    heavier = np.sqrt(rng.chisquare(degrees, size=n_draws) / degrees)
    draws = (
        rng.multivariate_normal(np.zeros(len(covariance)), covariance, size=n_draws, method="eigh")
        / heavier[:, None]
    )
    spare = rng.normal(size=(n_draws, n_bins)) / heavier[:, None]
    shape = (n_bins, n_actions)
    square = covariance.reshape(*shape, *shape)
    return Scan(share, square, np.stack(least), draws.reshape(n_draws, *shape), spare), rows


def orders(n_actions: int) -> tuple[Floats, Codes, Codes]:
    """List all orders of actions, as the sets of actions above each of their steps."""
    patterns = itertools.product((0.0, 1.0), repeat=n_actions)
    sets = np.array([pattern[::-1] for pattern in patterns])
    ranks = np.array(list(itertools.permutations(range(n_actions))))
    steps = [
        ((ranks >= step) * 2 ** np.arange(n_actions)).sum(axis=1) for step in range(1, n_actions)
    ]
    return sets, ranks, np.stack(steps, axis=1)


@dataclass(frozen=True)
class Best:
    """The candidate that fits best.

    The interval holds the truth more often than stated, because the smallest of several candidates
    is hardly ever missed by all of them: in 150 simulated tables each of the violated designs of
    ``benchmarks/validity`` in .97 to 1.00, and in .98 where all orders tie at a drop of .4.
    Two tighter ones failed: the law of the minimum of maxima with the near-binding ones selected
    (Fang and Santos 2019) holds it in .72 to .92, and ends at level .95 on both sides in .93 to
    .99 there, but in .90 in the limit where one order and one drop are clearly the best.
    """

    candidate: int  # its position
    pvalue: float  # that its shares rise
    largest: float  # its largest drop
    # low, high: 95% interval for the smallest largest drop over all candidates
    low: float
    high: float


def _best_candidate(scan: Scan, directions: Floats, members: Codes) -> Best:
    """Return the candidate with the highest p-value.

    Candidate i must not fall along any of the directions ``members[i]``.
    """
    read = [scan.drops(direction) for direction in directions]
    observed = np.array([(drop / spread).max() for drop, spread, _ in read])
    highest, furthest = (np.empty((len(directions), len(scan.draws))) for _ in range(2))
    single = np.empty(len(directions))
    for position, direction in enumerate(directions):
        null = scan.null(direction)
        highest[position], furthest[position] = null.max(axis=1), np.abs(null).max(axis=1)
        single[position] = np.quantile(np.abs(null), 0.95)
    largest = observed[members].max(axis=1)
    pvalues = np.array(
        [
            (1 + np.count_nonzero(highest[along].max(axis=0) >= value)) / (1 + len(scan.draws))
            for along, value in zip(members, largest, strict=True)
        ]
    )
    # Ties (every draw exceeds a negative drop) go to the candidate that rises most clearly.
    best = int(np.lexsort((largest, -pvalues))[0])
    reach = float(np.quantile(furthest.max(axis=0), 0.99))
    near = float(single.max())
    low, high = _smallest_largest(scan, directions, members, read, reach, near)
    drops = max(float(read[along][0].max()) for along in members[best])
    return Best(best, float(pvalues[best]), drops, low, high)


def _smallest_largest(
    scan: Scan,
    directions: Floats,
    members: Codes,
    read: list[tuple[Floats, Floats, Floats]],
    reach: float,
    near: float,
) -> tuple[float, float]:
    """Return a 95% interval for the smallest, over candidates, of the largest drop.

    `reach` standard errors bound every drop at once, at level .99; only candidates and drops that
    this leaves in the race are looked at. A lower end that holds for each candidate by itself holds
    for the smallest. The upper end fails only where that of some candidate lies below its own
    largest drop: one drop of each candidate that may be the smallest must be held, all of these
    together. One that is `near` standard errors away, which bound a single drop, may be it.
    """
    drops, spreads = (np.stack([along[part] for along in read]) for part in (0, 1))
    surely = (drops - reach * spreads).max(axis=1)[members].max(axis=1)
    possibly = (drops + reach * spreads).max(axis=1)[members].max(axis=1)
    smallest = drops.max(axis=1)[members].max(axis=1).min()
    lows, tops, lowest = [], [], np.full(len(scan.draws), -np.inf)
    for candidate in np.flatnonzero(surely <= possibly.min()):
        along = members[candidate]
        drop, spread = drops[along], spreads[along]
        null = np.stack([scan.null(directions[member]) for member in along], axis=1)
        kept = drop + reach * spread >= surely[candidate]
        below = float(np.quantile(null[:, kept].max(axis=1), 0.975))
        lows.append(float((drop - below * spread)[kept].max()))
        top = np.unravel_index(int(drop.argmax()), drop.shape)
        if drop[top] - near * spread[top] <= smallest:
            lowest = np.maximum(lowest, -null[:, top[0], top[1]])
        tops.append((drop, spread))
    above = float(np.quantile(lowest, 0.975))
    return min(lows), min(float((drop + above * spread).max()) for drop, spread in tops)


def best_fit(scan: Scan) -> tuple[Best, Floats, int]:
    """Try all orders of the actions."""
    sets, ranks, steps = orders(scan.share.shape[1])
    # The empty set and the set of all actions bound no step: drop them, so that no share
    # without variance is studied.
    best = _best_candidate(scan, sets[1:-1], steps - 1)
    # Centred, and scaled to a range of 1, so that drops read as shares.
    rank = ranks[best.candidate].astype(np.float64)
    return best, (rank - rank.mean()) / np.ptp(rank), len(ranks)


def _plan(data: EvaluationData, published: bool) -> CallsAndNotes:
    n_actions = len(data.actions)
    if n_actions <= 2 or published:
        return  # two actions have one order, which the pairs test
    if n_actions > MAX_ACTIONS:
        many = f"{n_actions} actions are more than {MAX_ACTIONS}"
        note = f"{many}: monotone choice was tested by pairs only."
        yield not_run(note, "monotone_direction")
        return
    test = partial(_monotone_direction, data)
    yield Call(test, data.n_dropped, cheapest_options={"n_draws": FEWEST_DRAWS})


CHECK = Check(
    name="monotone_direction",
    needs=CHOICES,
    sentences={
        "": Interpretation(
            rejected="Under no order of the actions do choices rise with the {belief}: "
            "no expected-utility maximiser chooses so.",
            nominal="choices rise with the {belief} under no order of the actions",
            not_rejected="Choices over all actions can be explained by some order "
            "that rises with the {belief}.",
            estimate="Under the order of actions that fits best, a total share falls by at most "
            "{value:.3f} as the {belief} rises.",
            one_sided=True,
            discrepancy=True,
        )
    },
    family=Family.ESTIMATE,
    plan=_plan,
    states_named=True,
)
