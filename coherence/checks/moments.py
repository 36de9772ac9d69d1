"""Whether choices move with the state at equal belief, where reports are noisy copies of it.

The state is regressed on a polynomial of the latent belief, whose powers are products of different
reports of a context, so that their noise cancels, with the powers of a further report as
instruments (Hausman, Newey, Ichimura and Powell 1991). Under the null what is left of the state
has no covariance with the choices: one moment more than there are coefficients (Hansen 1982).
Assumes that contexts, or groups, are independent, and that reports of a context are independent
given its belief and alike distributed; where they end at 0 and 1 the latent belief is their mean,
which rises with the belief.
"""

import math
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats
from scipy.special import comb

from coherence.inputs import Codes, Floats
from coherence.result import Interval, Lack
from coherence.statistics.evaluation import EvaluationData, one_dimensional, separated
from coherence.statistics.resample import Clusters, context_means

FEWEST_CONTEXTS = 20  # with enough reports each
FEWEST_OF_STATE = 5  # contexts in which it was seen
FEWEST_OPEN = 5.0  # contexts of belief 1/2 that leave as much open about the state
# Degrees of the polynomial that are tried in turn, until the calibration does not bend further:
# each takes a report more. What a low degree misses of an S-shaped calibration looks like knowledge
# to steep choices. From many contexts on a quadratic is not tried: it rejected .14 of coherent
# agents whose reports err in their log odds (400 x 5, beliefs crowded at the ends), a cubic .05.
DEGREES = (2, 3, 4)
MANY_CONTEXTS = 200
# P-values of a bend below which a higher degree is tried, and below which the highest is not taken
# for the calibration.
HIGHER, BENT = 0.25, 0.1

FORETOLD = "beliefs foretell every state without exception: nothing about it is left to chance"
ONCE = (
    "the test takes {fewest} contexts with at least two reports, whose products are free of noise; "
    "here are {n}"
)
RARE = "one state was seen in {n} of the contexts, and the test takes {fewest}"
LITTLE_OPEN = (
    "the beliefs of {n} contexts leave as much open about the state as {left:.1f} contexts of "
    "belief 1/2, and the test takes {fewest:g}"
)
CURVED = (
    "the calibration bends more than a polynomial of degree {degree} (p = {pvalue:.2g}), and "
    "{higher}: what it misses would look like knowledge. {remedy}omputed answers have no noise"
)
TOO_FEW = (
    "the reports of a context are too few for a higher one",
    "Five reports a context suffice, and c",
)
HIGHEST = ("no higher one is tried", "C")
FEW_VALUES = (
    "reports take only {n} values, of which a polynomial of the calibration and whether it bends "
    "further cannot be told"
)
SAME = "the reports of all contexts have one mean, so that choices follow no belief"


@dataclass(frozen=True)
class BeyondBelief:
    """What choices know of the state beyond the latent belief."""

    pvalue: float  # NaN where there is no test, and then `reason` says why
    # columns component, estimate (difference in the probability of an action between the states at
    # equal belief), standard_error, low, high, pvalue; one row for each action
    differences: pd.DataFrame
    shown: int = 0  # row of the action that rises most with the belief
    interval: Interval | None = None  # of the difference shown
    # what each context adds to the difference shown, by its id; sums to 0
    contributions: "pd.Series[float]" = field(default_factory=lambda: pd.Series(dtype=float))
    settings: dict[str, Any] = field(default_factory=dict)
    reason: str = ""
    lack: Lack | None = None  # beside a reason
    degree: int = 0
    bend: float = math.nan  # p-value of a power more in the calibration


def beyond_belief(data: EvaluationData, level: float = 0.95) -> BeyondBelief:
    """Test whether choices move with the state at equal latent belief; `level` is of intervals."""
    report, clusters = one_dimensional(data, "sufficiency_test"), data.clusters
    undefined = BeyondBelief(math.nan, pd.DataFrame())
    if data.exact is None and separated(data):
        return replace(undefined, reason=FORETOLD, lack=Lack.OPEN)
    n_reports = np.bincount(data.context, minlength=data.n_contexts)
    n_values = _values_left(report, data.context)
    # Powers of k values depend on each other from the k-th on, and one more tells of a bend.
    possible = [degree for degree in _degrees(n_reports) if degree + 2 <= n_values]
    if not possible and n_values > 1:
        return replace(undefined, reason=FEW_VALUES.format(n=n_values), lack=Lack.REPORTS)
    possible = possible or [1]
    found = _of_degree(possible[0], n_reports, data, report, clusters, level)
    for degree in possible[1:]:
        if not found.bend < HIGHER:
            break
        found = _of_degree(degree, n_reports, data, report, clusters, level)
    if found.bend < BENT:
        higher, remedy = TOO_FEW if found.degree < DEGREES[-1] else HIGHEST
        found_bent = {"degree": found.degree, "pvalue": found.bend}
        curved = CURVED.format(**found_bent, higher=higher, remedy=remedy)
        return replace(undefined, reason=curved, lack=Lack.REPORTS, bend=found.bend)
    return found


def _of_degree(
    degree: int,
    n_reports: Codes,
    data: EvaluationData,
    report: Floats,
    clusters: Clusters,
    level: float,
) -> BeyondBelief:
    """Test with a calibration of one degree, and whether it bends further."""
    undefined = BeyondBelief(math.nan, pd.DataFrame())
    used = np.flatnonzero(n_reports > degree)
    if used.size < FEWEST_CONTEXTS:
        lack = Lack.CASES if data.n_contexts < FEWEST_CONTEXTS else Lack.REPORTS
        once = ONCE.format(n=used.size, fewest=FEWEST_CONTEXTS)
        return replace(undefined, reason=once, lack=lack)
    state = np.zeros(data.n_contexts)
    state[data.context] = data.truth if data.exact is None else data.exact
    # With the exact posterior, the mean of p* - p* m is the variance of the toss too.
    seen = int(min(state[used].sum(), used.size - state[used].sum()))
    if seen < FEWEST_OF_STATE:
        rare = RARE.format(n=seen, fewest=FEWEST_OF_STATE)
        return replace(undefined, reason=rare, lack=Lack.CASES)
    clusters = Clusters(clusters.name, np.unique(clusters.of_context[used], return_inverse=True)[1])
    if clusters.too_few:
        return replace(undefined, reason=clusters.too_few, lack=Lack.CASES)
    share = context_means(data.share, data.context, data.n_contexts)
    mean = context_means(report, data.context, data.n_contexts)[used]
    direction = (mean - mean.mean()) @ share[used]  # how each action moves with the belief
    if not np.abs(direction).max() > 0:
        return replace(undefined, reason=SAME, lack=Lack.ACTIONS)
    direction = direction / np.abs(direction).max()
    moments = _Moments.of(report - mean.mean(), data.context, used, data.share, state, degree)
    estimate = _jackknifed(moments, direction, clusters, level)
    left = 4 * used.size * estimate.value[-1]
    if not left >= FEWEST_OPEN:
        why = LITTLE_OPEN.format(n=used.size, left=left, fewest=FEWEST_OPEN)
        return replace(undefined, reason=why, lack=Lack.CASES)
    names = data.difference_names(data.states[1], data.states[0])
    of_actions = slice(1, 1 + len(names))
    low, high = estimate.value - estimate.reach, estimate.value + estimate.reach
    differences = pd.DataFrame(
        {
            "component": names,
            "estimate": estimate.value[of_actions],
            "standard_error": estimate.error[of_actions],
            "low": low[of_actions],
            "high": high[of_actions],
            "pvalue": estimate.pvalues[of_actions],
        }
    )
    shown = int(np.argmax(np.round(direction, 9)))
    method = f"jackknife over {clusters.plural}, t"
    return BeyondBelief(
        pvalue=float(estimate.pvalues[0]),
        differences=differences,
        shown=shown,
        contributions=pd.Series(
            estimate.contributions[:, 1 + shown], index=[data.contexts[at] for at in used]
        ),
        interval=Interval(float(low[1 + shown]), float(high[1 + shown]), level, method),
        settings={
            "component": names[shown],
            "action": str(data.actions[shown]),
            "states": [str(data.states[1]), str(data.states[0])],
            **({"tested": f"all {len(names)} actions together"} if len(names) > 2 else {}),
            "degree": degree,
            "n_tested": int(used.size),
        },
        degree=degree,
        bend=float(estimate.pvalues[-2]),
    )


def _values_left(report: Floats, context: Codes) -> int:
    """Count the values of reports that are there whichever context is left out."""
    pairs = pd.DataFrame({"value": np.round(report, 9), "context": context}).drop_duplicates()
    alone = ~pairs["value"].duplicated(keep=False)
    lost = pairs["context"][alone].value_counts().max() if alone.any() else 0
    return int(pairs["value"].nunique() - lost)


def _degrees(n_reports: Codes) -> list[int]:
    """Return the degrees for which enough contexts have reports, half of the repeated."""
    half = (n_reports > 1).sum() / 2
    enough = [k for k in DEGREES if (n_reports > k).sum() >= max(FEWEST_CONTEXTS, half)]
    if (n_reports > 3).sum() >= max(MANY_CONTEXTS, half):
        return [k for k in enough if k > 2]
    return enough or [1]


@dataclass(frozen=True)
class _Moments:
    """Products that are free of noise, of every context along the first axis, or their means."""

    regressors: Floats  # (n, instruments, powers): powers of the belief times those of a report
    of_state: Floats  # (n, instruments): the state times the powers of a report
    powers: Floats  # (n, powers): of the belief
    state: Floats  # (n,)
    share: Floats  # (n, n_actions)
    share_powers: Floats  # (n, n_actions, powers)
    share_state: Floats  # (n, n_actions)
    state_powers: Floats  # (n, powers)

    @classmethod
    def of(
        cls, report: Floats, context: Codes, used: Codes, rows: Floats, state: Floats, degree: int
    ) -> "_Moments":
        """Multiply different reports of each context that is used; `rows` are shares of actions."""
        order = np.argsort(context, kind="stable")
        counts = np.bincount(context)[used]
        first = np.searchsorted(context[order], used)
        places = first[:, None] + np.arange(counts.max())
        there = (np.arange(counts.max()) < counts[:, None]).astype(np.float64)
        value = report[order][np.minimum(places, len(order) - 1)] * there
        # Elementary symmetric polynomials: sums of the products of k different reports.
        symmetric = [np.ones(used.size), *np.zeros((degree, used.size))]
        for column in value.T:
            for k in range(degree, 0, -1):
                symmetric[k] = symmetric[k] + column * symmetric[k - 1]
        without = [there]  # the same without each report in turn
        for k in range(1, degree + 1):
            without.append((symmetric[k][:, None] - value * without[-1]) * there)
        powers = np.stack([s / comb(counts, k) for k, s in enumerate(symmetric)], axis=1)
        others = np.stack([w / comb(counts - 1, k)[:, None] for k, w in enumerate(without)], axis=2)
        # One power more than there are coefficients tells whether the calibration bends further.
        of_report = np.stack([value**j * there for j in range(degree + 2)], axis=2)
        # A choice may have been made on the very report of its row, so that it is multiplied by
        # the others.
        chosen = rows[order][np.minimum(places, len(order) - 1)] * there[:, :, None]
        share_powers = np.einsum("ira,irk->iak", chosen, others) / counts[:, None, None]
        share, state = chosen.sum(axis=1) / counts[:, None], state[used]
        instruments = of_report.sum(axis=1) / counts[:, None]
        return cls(
            regressors=np.einsum("irj,irk->ijk", of_report, others) / counts[:, None, None],
            of_state=state[:, None] * instruments,
            powers=powers,
            state=state,
            share=share,
            share_powers=share_powers,
            share_state=share * state[:, None],
            state_powers=state[:, None] * powers,
        )

    def quantities(self, direction: Floats) -> Floats:
        """Return the moment, the differences of the actions, the bend, and what is left open.

        The moment is the covariance of the choices with what is left of the state.
        """
        size = self.regressors.shape[-1]
        instrumented, wanted = self.regressors[..., :size, :], self.of_state[..., :size]
        coefficients = np.linalg.solve(instrumented, wanted[..., None])[..., 0]
        covariance = self.share_state - (self.share_powers * coefficients[..., None, :]).sum(
            axis=-1
        )
        open_share = self.state - (self.state_powers * coefficients).sum(axis=-1)
        bend = self.of_state[..., size] - (self.regressors[..., size, :] * coefficients).sum(
            axis=-1
        )
        moment = covariance @ direction
        columns = [moment[..., None], covariance / open_share[..., None]]
        return np.concatenate([*columns, bend[..., None], open_share[..., None]], axis=-1)

    def mapped(self, function: Any) -> "_Moments":
        """Apply a function to every array."""
        return _Moments(**{name: function(values) for name, values in vars(self).items()})


@dataclass(frozen=True)
class _Estimate:
    """Quantities with what contexts add to them; every array has a column for each quantity."""

    value: Floats
    error: Floats  # standard errors
    reach: Floats  # half of an interval
    pvalues: Floats  # of the quantity being 0
    contributions: Floats  # shape (n_contexts, n_quantities); sums to 0


def _jackknifed(
    moments: _Moments, direction: Floats, clusters: Clusters, level: float
) -> _Estimate:
    """Estimate from all contexts, with errors from leaving out each."""
    n = len(moments.state)
    value = moments.mapped(lambda values: values.mean(axis=0)).quantities(direction)
    left_out = moments.mapped(lambda values: (values.sum(axis=0) - values) / (n - 1)).quantities(
        direction
    )
    influence = (n - 1) * (left_out.mean(axis=0) - left_out)
    error = clusters.values(influence).std(axis=0, ddof=1) / math.sqrt(clusters.n)
    with np.errstate(invalid="ignore", divide="ignore"):
        pvalues = 2 * stats.t.sf(np.abs(value / error), clusters.n - 1)
    reach = float(stats.t.ppf((1 + level) / 2, clusters.n - 1)) * error
    return _Estimate(value, error, reach, pvalues, influence / n)
