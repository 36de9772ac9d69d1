"""Monotone choice over all actions at once, without independence of irrelevant alternatives.

With additive random utilities choice probabilities are the gradient of a convex surplus (McFadden
1981). With two states expected utilities move along one line, u(p) = u0 + w(p) v with w increasing,
so that (P(p') - P(p)) . v >= 0 for p < p': the choice vector rises along v. The test rejects only
if no direction v fits; taste shocks may be correlated across actions, but must not depend on
belief.
"""

import itertools
import math
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.linalg import null_space
from scipy.optimize import minimize

from coherence.checks.check import Call, Check, Facts, Plan, Sentences
from coherence.errors import InputError
from coherence.inputs import (
    MIN_CONTEXTS,
    Codes,
    Floats,
    as_belief,
    as_codes,
    as_contexts,
    require,
    whole_number,
)
from coherence.result import CheckResult, Interval
from coherence.statistics.bins import belief_bins
from coherence.statistics.drops import MIN_CONTEXTS_PER_BIN
from coherence.statistics.resample import Seed, as_generator
from coherence.table.needs import CHOICES

UNITS = {"dominance": "share", "direction": "share along the direction"}
NULLS = {
    "dominance": "there is an order of the actions such that choices shift upwards in it (first-order dominance) as belief rises",
    "direction": "there is a direction in utility space along which the choice vector rises with belief",
}
MAX_ACTIONS = 6  # 720 orders; a scan of the sphere of directions would be too coarse beyond
N_ANGLES = 120
N_DIRECTIONS = 400  # for four and more actions
N_STARTS = 4


@dataclass(frozen=True)
class _Scan:
    """Choice vectors by bin and draws of their error, to be read along any direction."""

    share: Floats  # (n_bins, n_actions)
    covariance: Floats  # (n_bins, n_actions, n_bins, n_actions)
    least: Floats  # (n_bins, n_actions, n_actions): the least variance of a bin along a direction
    draws: Floats  # (n_draws, n_bins, n_actions)
    spare: Floats  # (n_draws, n_bins): for what the least variance adds to the sandwich

    def drops(self, direction: Floats) -> tuple[Floats, Floats, Floats]:
        """Drops between bins j < k along a direction, their standard errors, and the variance added to each bin."""
        along = self.share @ direction
        covariance = np.einsum("iajb,a,b->ij", self.covariance, direction, direction)
        least = np.einsum("iab,a,b->i", self.least, direction, direction)
        added = np.maximum(least - np.diag(covariance), 0.0)
        variance = np.diag(covariance) + added
        j, k = np.triu_indices(along.size, 1)
        spread = np.sqrt(np.maximum(variance[j] + variance[k] - 2 * covariance[j, k], 1e-18))
        return along[j] - along[k], spread, added

    def null(self, direction: Floats) -> Floats:
        """Draws of the studentised drops along a direction at equal shares, shape (n_draws, n_pairs)."""
        _, spread, added = self.drops(direction)
        along = self.draws @ direction + self.spare * np.sqrt(added)
        j, k = np.triu_indices(along.shape[1], 1)
        return np.asarray((along[:, j] - along[:, k]) / spread)


def _choice_vectors(
    bins: Codes, action: Codes, context: Codes, n_draws: int, rng: np.random.Generator
) -> tuple[_Scan, Floats]:
    """Estimate the choice vectors by bin with contexts as units, and draw their errors from a multivariate t."""
    n_bins, n_actions = int(bins.max()) + 1, int(action.max()) + 1
    rows = np.bincount(bins, minlength=n_bins).astype(np.float64)
    chosen = np.asarray(action[:, None] == np.arange(n_actions), dtype=np.float64)
    share = np.zeros((n_bins, n_actions))
    np.add.at(share, (bins, action), 1.0)
    share /= rows[:, None]
    contexts, unit = np.unique(context, return_inverse=True)
    influence = np.zeros((contexts.size, n_bins, n_actions))
    np.add.at(influence, (unit, bins), (chosen - share[bins]) / rows[bins][:, None])
    flat = influence.reshape(contexts.size, -1)
    covariance = flat.T @ flat * contexts.size / max(contexts.size - 1, 1)
    seen = np.zeros((contexts.size, n_bins))
    seen[unit, bins] = 1
    n_contexts = seen.sum(axis=0)[:, None]
    # A bin in which every choice agrees has no spread of its own: bound it below by that of shares
    # half a context away.
    inner = (share * n_contexts + 1 / n_actions) / (n_contexts + 1)
    least = (
        np.einsum("ia,ab->iab", inner, np.eye(n_actions)) - np.einsum("ia,ib->iab", inner, inner)
    ) / rows[:, None, None]
    degrees = int(n_contexts.min()) - 1
    heavier = np.sqrt(
        rng.chisquare(degrees, size=n_draws) / degrees
    )  # few contexts: heavier tails than the normal
    draws = (
        rng.multivariate_normal(np.zeros(len(covariance)), covariance, size=n_draws, method="eigh")
        / heavier[:, None]
    )
    spare = rng.normal(size=(n_draws, n_bins)) / heavier[:, None]
    shape = (n_bins, n_actions)
    return _Scan(
        share, covariance.reshape(*shape, *shape), least, draws.reshape(n_draws, *shape), spare
    ), rows


def _scaled(directions: Floats) -> Floats:
    """Centre directions and scale them to a range of 1, so that drops read as shares."""
    centred = directions - directions.mean(axis=-1, keepdims=True)
    return np.asarray(centred / np.ptp(centred, axis=-1)[..., None])


def _orders(n_actions: int) -> tuple[Floats, Codes, Codes]:
    """All sets of actions as indicators, the ranks of every order, and the sets above each of its steps."""
    sets = np.array(
        [pattern[::-1] for pattern in itertools.product((0.0, 1.0), repeat=n_actions)]
    )  # row i holds the bits of i
    ranks = np.array(list(itertools.permutations(range(n_actions))))
    steps = [
        ((ranks >= step) * 2 ** np.arange(n_actions)).sum(axis=1) for step in range(1, n_actions)
    ]
    return sets, ranks, np.stack(steps, axis=1)


def _spread_directions(n_actions: int) -> Floats:
    """Directions spread over the sphere of vectors that sum to zero; the same on every call."""
    sets = _orders(n_actions)[0][1:-1]
    plane = null_space(np.ones((1, n_actions)))
    if n_actions == 2:
        return _scaled(sets)
    if n_actions == 3:
        angles = np.arange(N_ANGLES) * 2 * np.pi / N_ANGLES
        inner = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    else:
        inner = np.random.default_rng(0).normal(size=(N_DIRECTIONS, n_actions - 1))
    return _scaled(np.concatenate([sets, inner @ plane.T]))


def _refined(scan: _Scan, start: Floats) -> Floats:
    """Descend from a direction to a nearby one with a smaller largest drop."""
    plane = null_space(np.ones((1, start.size)))

    def largest(inner: Floats) -> float:
        drop, spread, _ = scan.drops(plane @ inner)
        return float((drop / spread).max())

    found = minimize(
        largest, plane.T @ start, method="Nelder-Mead", options={"maxiter": 80 * start.size}
    )
    return _scaled(plane @ found.x)


@dataclass(frozen=True)
class _Best:
    """The candidate that fits best, with an interval for the smallest largest drop over all candidates."""

    candidate: int
    pvalue: float
    largest: float
    low: float
    high: float


def _best_candidate(scan: _Scan, directions: Floats, members: Codes) -> _Best:
    """Return the candidate with the highest p-value; candidate i must not fall along any of the directions ``members[i]``."""
    read = [scan.drops(direction) for direction in directions]
    observed = np.array([(drop / spread).max() for drop, spread, _ in read])
    highest, furthest = (np.empty((len(directions), len(scan.draws))) for _ in range(2))
    for position, direction in enumerate(directions):
        null = scan.null(direction)
        highest[position], furthest[position] = null.max(axis=1), np.abs(null).max(axis=1)
    largest = observed[members].max(axis=1)
    pvalues = np.array(
        [
            (1 + np.count_nonzero(highest[own].max(axis=0) >= value)) / (1 + len(scan.draws))
            for own, value in zip(members, largest, strict=True)
        ]
    )
    # Ties (every draw exceeds a negative drop) go to the candidate that rises most clearly.
    best = int(np.lexsort((largest, -pvalues))[0])
    reach = float(np.quantile(furthest.max(axis=0), 0.99))
    low, high = _smallest_largest(scan, directions, members, read, reach)
    drops = max(float(read[own][0].max()) for own in members[best])
    return _Best(best, float(pvalues[best]), drops, low, high)


def _smallest_largest(
    scan: _Scan,
    directions: Floats,
    members: Codes,
    read: list[tuple[Floats, Floats, Floats]],
    reach: float,
) -> tuple[float, float]:
    """Return a 95% interval for the smallest, over candidates, of the largest drop; `reach` bounds every drop at once, at level .99.

    A lower end that holds for each candidate by itself holds for the smallest. An upper end must
    hold for every candidate that could be the smallest, at once. Only candidates and drops that
    `reach` leaves in the race are looked at.
    """
    drops, spreads = (
        np.stack([drop for drop, _, _ in read]),
        np.stack([spread for _, spread, _ in read]),
    )
    surely = (drops - reach * spreads).max(axis=1)[members].max(axis=1)
    possibly = (drops + reach * spreads).max(axis=1)[members].max(axis=1)
    lows, tops, furthest = [], [], np.zeros(len(scan.draws))
    for candidate in np.flatnonzero(surely <= possibly.min()):
        own = members[candidate]
        kept = (drops + reach * spreads)[own] >= surely[candidate]
        null = np.stack([scan.null(directions[member]) for member in own], axis=1)[:, kept]
        lows.append(
            float(
                (
                    drops[own][kept]
                    - float(np.quantile(null.max(axis=1), 0.975)) * spreads[own][kept]
                ).max()
            )
        )
        furthest = np.maximum(furthest, np.abs(null).max(axis=1))
        tops.append((drops[own][kept], spreads[own][kept]))
    above = float(np.quantile(furthest, 0.95))
    return min(lows), min(float((drop + above * spread).max()) for drop, spread in tops)


def _fit(scan: _Scan, rule: str) -> tuple[_Best, Floats, int]:
    """Return the best candidate under a rule, its direction, and how many candidates there were."""
    if rule == "dominance":
        sets, ranks, steps = _orders(scan.share.shape[1])
        # The empty set and the set of all actions bound no step: drop them, so that no share
        # without variance is studied.
        best = _best_candidate(scan, sets[1:-1], steps - 1)
        return best, _scaled(ranks[best.candidate].astype(np.float64)), len(ranks)
    directions = _spread_directions(scan.share.shape[1])
    if directions.shape[1] > 2:
        read = [scan.drops(direction) for direction in directions]
        order = np.argsort([(drop / spread).max() for drop, spread, _ in read], kind="stable")
        directions = np.concatenate(
            [directions, [_refined(scan, directions[position]) for position in order[:N_STARTS]]]
        )
    best = _best_candidate(scan, directions, np.arange(len(directions))[:, None])
    return best, directions[best.candidate], len(directions)


def monotone_direction_test(
    belief: ArrayLike,
    action: ArrayLike,
    *,
    context: ArrayLike | None = None,
    n_bins: int = 5,
    n_draws: int = 9_999,
    rule: str = "dominance",
    rng: Seed = None,
) -> CheckResult:
    """Test whether choices over all actions move with the stated belief as random utility theory demands, in some direction.

    Null: there is a direction in utility space along which choices, averaged within belief bins,
    rise with the belief.

    Parameters
    ----------
    belief : array-like, shape (n,)
        Stated probabilities in [0, 1] of one of two states.
    action : array-like, shape (n,)
        Labels, two to six different ones.
    context : array-like, shape (n,), optional
        Ids of the evidence; without them every row is its own context.
    n_bins : int
        Quantile bins of the belief; fewer where beliefs tie.
    n_draws : int
        Draws from the null distribution.
    rule : {"dominance", "direction"}
        What rising means. "direction": the choice vector P has P . v non-decreasing for a direction
        v, all that a convex surplus implies. "dominance": with the actions in the order of v, the
        total share of those above any step is non-decreasing. It is what additive random utilities
        imply and the sharper of the two: it rejects whenever "direction" should, and more.
    rng : Generator, int or None
        Source of the draws.

    Returns
    -------
    CheckResult
        `statistic` is the largest drop from a bin to a later one under the best order (in shares)
        or along the best direction (scaled to a range of 1 over the actions); negative where
        choices rise throughout, and for two actions a difference of shares in both cases. The
        interval, for the smallest largest drop that any order or direction allows, covers at least
        as often as stated. `details` has one row per action: its place in the best direction (in
        the order, evenly spaced) and its share in every bin.

    Raises
    ------
    InputError
        An array breaks its rule, more than six actions, or an unknown rule.

    Notes
    -----
    Assumes independent contexts and taste shocks whose distribution does not depend on the belief;
    they may be correlated over actions, so irrelevant alternatives may matter. Under "dominance":
    the surplus has mixed second derivatives -m(i, j) <= 0, so that along v the probability of i
    changes by sum_j m(i, j) (v_i - v_j), which moves shares from lower to higher actions only.

    The covariance of the choice vectors treats contexts as units. For a given order or direction
    the p-value is that of the largest studentised drop when all bins have equal shares, the least
    favourable case (multivariate t). The null holds if it holds for one of them, so the p-value is
    the largest one (Berger 1982) and the test is conservative unless one alone comes near. A
    direction along which shares do not move counts as rising, being the limit of ones that do;
    choices that go to and fro nearly along one line are therefore seldom found by "direction". With
    two actions both rules are `monotone_choice_test` with ``direction="either"``.

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
    values = as_belief(belief)
    require(
        values.ndim == 1,
        f"monotone_direction_test needs one-dimensional beliefs; received shape {values.shape}. Pass the belief in one state.",
    )
    codes, labels = as_codes(action, "action", len(values))
    groups, contexts = as_contexts(context, len(values))
    n_bins = whole_number(n_bins, "n_bins", 2)
    n_draws = whole_number(n_draws, "n_draws", 99)
    if rule not in NULLS:
        raise InputError(f"rule must be one of {', '.join(NULLS)}; received {rule!r}.")
    most = f"action must have at most {MAX_ACTIONS} different labels; received {len(labels)}. Join rare actions."
    require(len(labels) <= MAX_ACTIONS, most)

    settings: dict[str, Any] = {"n_bins": n_bins, "n_draws": n_draws, "rule": rule}
    counted: dict[str, Any] = {"n_rows": len(values), "n_contexts": len(contexts)}
    null, unit = NULLS[rule], UNITS[rule]
    undefined = CheckResult(
        "monotone_direction", null, math.nan, unit, None, math.nan, **counted, settings=settings
    )
    if len(labels) < 2:
        return replace(undefined, reason=f"only one action was seen ({labels[0]!r})")
    if len(contexts) < MIN_CONTEXTS:
        return replace(undefined, reason=f"{len(contexts)} contexts are fewer than {MIN_CONTEXTS}")
    bins = belief_bins(values, n_bins)
    enough = np.array(
        [
            np.unique(groups[bins == b]).size >= MIN_CONTEXTS_PER_BIN
            for b in range(int(bins.max()) + 1)
        ]
    )
    if enough.sum() < 2:
        return replace(
            undefined, reason=f"fewer than two belief bins have {MIN_CONTEXTS_PER_BIN} contexts"
        )
    kept = enough[bins]
    used = (np.cumsum(enough) - 1)[bins[kept]]
    seen, chosen = np.unique(codes[kept], return_inverse=True)
    if seen.size < 2:
        return replace(
            undefined,
            reason=f"only one action was seen ({labels[seen[0]]!r}) in the bins with {MIN_CONTEXTS_PER_BIN} contexts",
        )

    scan, rows = _choice_vectors(used, chosen, groups[kept], n_draws, as_generator(rng))
    best, direction, tried = _fit(scan, rule)
    details = pd.DataFrame({"action": [labels[code] for code in seen], "direction": direction})
    for b, share in enumerate(scan.share):
        details[f"share_{b}"] = share
    centres = np.bincount(used, weights=values[kept]) / rows
    method = f"for the best of all {'orders' if rule == 'dominance' else 'directions'}, conservative, contexts as units"
    return CheckResult(
        "monotone_direction", null, best.largest, unit, Interval(best.low, best.high, 0.95, method), best.pvalue, **counted,
        settings=settings | {"n_bins_used": int(centres.size), "n_tried": tried, "mean_beliefs": centres.tolist()},
        details=details, assumptions=("contexts are independent", "taste shocks do not depend on belief"),
    )  # fmt: skip


def _plan(facts: Facts) -> Plan:
    n_actions = facts.action.nunique()
    if n_actions <= 2 or facts.published:
        return  # two actions have one order, which the pairs test
    if n_actions > MAX_ACTIONS:
        yield (
            f"{n_actions} actions are more than {MAX_ACTIONS}: "
            "monotone choice was tested by pairs only."
        )
        return
    test = partial(monotone_direction_test, facts.belief, facts.action, context=facts.context)
    yield Call(test, facts.n_dropped)


CHECK = Check(
    name="monotone_direction",
    needs=CHOICES,
    sentences={
        "": Sentences(
            rejected="Under no order of the actions do choices rise with the stated belief: "
            "no expected-utility maximiser chooses so.",
            kept="Choices over all actions can be explained by some order "
            "that rises with the stated belief.",
        )
    },
    plan=_plan,
    states_named=True,
)
