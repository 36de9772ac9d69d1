"""Monotone pairwise choice: among two actions, the share of one must move with the belief.

For an expected-utility maximiser the utility difference of two actions is linear in the belief, so
that, if irrelevant alternatives do not matter, the share of one among the two is monotone in it.
The largest drop between any two bins of belief is compared with those at equal shares.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy import stats

from coherence.checks.by_name import takes_columns
from coherence.checks.check import ANY, Check, Interpretation, Plan, Question
from coherence.errors import closest
from coherence.inputs import Codes, Floats, few_contexts, require
from coherence.result import LEVEL, CheckResult, Interval
from coherence.runs.needs import CHOICES
from coherence.runs.notes import Code, Note, not_run
from coherence.statistics.evaluation import EvaluationData, evaluation_data
from coherence.statistics.knn import belief_bins
from coherence.statistics.resample import Seed, check_stream
from coherence.statistics.shares import context_shares, spare_variance

NAME = "monotone_choice"
MIN_CONTEXTS_PER_BIN = 3
SIGNS = {"increasing": (1,), "decreasing": (-1,), "either": (1, -1)}
MOVES = {"increasing": "non-decreasing", "decreasing": "non-increasing", "either": "monotone"}
_LEAST_VARIANCE = 1e-18  # keeps a drop between two bins that move together from dividing by zero
# The first one's share must rise with the belief.
ORDERED_PAIRS = (("yes", "no"), ("yes", "defer"), ("defer", "no"))


@dataclass(frozen=True, repr=False)
class MonotoneResult(CheckResult):
    """Result of `coherence.monotone_choice_test`."""

    pair: Sequence[Any] = ()
    direction: str = "increasing"  # as it was asked for
    direction_tested: str | None = None  # of two, the one in which the share moves more nearly


@takes_columns("belief", "action", "context", "group")
def monotone_choice_test(
    belief: ArrayLike,
    action: ArrayLike,
    *,
    data: pd.DataFrame | None = None,
    pair: tuple[Any, Any],
    context: ArrayLike | None = None,
    group: ArrayLike | None = None,
    direction: str = "increasing",
    n_bins: int = 5,
    n_draws: int = 9_999,
    published: bool = False,
    rng: Seed = None,
) -> MonotoneResult:
    """Test whether the share of one action among two is monotone in the stated belief.

    Null: among the choices of a pair of actions, the share of the first is non-decreasing in the
    belief.

    Estimand: the largest drop of that share from one bin of belief to a later one (a share,
    negative where it rises throughout); the choices of a bin count alike.

    With ``direction="decreasing"`` it is non-increasing. Where actions are probabilities, its share
    in the probability of the two, averaged within the bin.

    Parameters
    ----------
    belief : array-like, shape (n,)
        Stated probabilities in [0, 1].
    pair : tuple of two labels
        First action and the one it is compared with.
    direction : {"increasing", "decreasing", "either"}
        How the share must move with the belief. "either" rejects only if both directions are
        rejected.
    n_bins : int
        Quantile bins of the belief; fewer where beliefs tie.
    published : bool
        The published procedure instead: Fisher's exact test for every pair of bins that violates
        the order, uncorrected and over rows; `statistic` is the fraction of all pairs of bins with
        a significant violation, and there is no p-value.

    Returns
    -------
    MonotoneResult
        `statistic` is the largest drop of the share from one bin to a later one (negative: rising
        everywhere, with that margin), with an interval for the largest true drop (conservative
        where several pairs of bins tie for the largest) and one p-value for the pair. `details`
        lists the pairs of bins j < k with their mean beliefs, shares and 95% intervals (over
        contexts), numbers of rows, p-values (adjusted for all pairs of bins) and whether they
        violate. Where actions are probabilities, the numbers are their sums, with standard errors.

    Raises
    ------
    InputError
        An array breaks its rule, or `pair` or `direction` is unknown.

    Notes
    -----
    Assumes independent contexts and, for three or more actions, independence of irrelevant
    alternatives. The covariance of the shares is estimated with contexts as clusters; the null
    distribution is a multivariate t at equal shares, where the largest violation is stochastically
    largest among monotone shares.

    Probabilities of actions spare the coin toss: shares vary over contexts alone. A bin counts with
    the effective number of its contexts, each weighed by the probability that it gives the pair.
    There is no published procedure for them.

    References
    ----------
    Robertson, Wright and Dykstra (1988), Order Restricted Statistical Inference, section 2.3.

    Examples
    --------
    >>> belief, action = [0.2, 0.8] * 50, ["treat", "wait"] * 50  # treated where it is less likely
    >>> monotone_choice_test(belief, action, pair=("treat", "wait"), rng=1).pvalue
    0.0001
    """
    require(
        direction in SIGNS,
        f"direction must be one of {', '.join(SIGNS)}; received {direction!r}.",
    )
    require(
        isinstance(pair, tuple | list) and len(pair) == 2 and pair[0] != pair[1],
        f"pair must hold two different actions; received {pair!r}.",
    )
    choices = evaluation_data(belief, action, context=context, group=group)
    require(
        choices.belief.ndim == 1,
        "monotone_choice_test needs one-dimensional beliefs; received shape "
        f"{choices.belief.shape}. Pass the belief in one state.",
    )
    categories = getattr(getattr(action, "cat", None), "categories", ())
    offered = {*choices.actions, *getattr(action, "columns", ()), *categories}
    for label in pair:
        # Where every action that was seen is in the pair, the other one was simply never chosen.
        require(
            label in offered or set(choices.actions) <= set(pair),
            f"pair must hold labels of action; received {label!r}. "
            f"{closest(label, sorted(offered, key=str))} An action that was offered and never "
            "chosen is known as a category (pandas.Categorical) or a column.",
        )
    options: dict[str, Any] = {"direction": direction, "published": published, "rng": rng}
    return _monotone_choice(choices, pair=pair, n_bins=n_bins, n_draws=n_draws, **options)


def _monotone_choice(
    choices: EvaluationData,
    *,
    pair: tuple[Any, Any],
    direction: str = "increasing",
    n_bins: int = 5,
    n_draws: int = 9_999,
    published: bool = False,
    rng: Seed = None,
) -> MonotoneResult:
    """Run `monotone_choice_test` on validated data."""
    policies, clusters, seen = choices.policy is not None, choices.clusters, choices.actions
    # Actions that nobody takes add nothing.
    first, mass = (
        choices.share[:, [seen.index(label) for label in labels if label in seen]].sum(axis=1)
        for labels in (pair[:1], pair)
    )
    in_pair = mass > 0
    of_pair = f"{pair[0]!r} and {pair[1]!r}"
    settings = {
        "n_bins": n_bins,
        "published": published,
        "cluster of resampling": "row" if published else clusters.name,
    }
    result = partial(
        MonotoneResult,
        check=f"{NAME}:{pair[0]}/{pair[1]}",
        null=f"the share of {pair[0]!r} among {of_pair} is {MOVES[direction]} in the belief",
        unit="fraction of bin pairs" if published else "share",
        pvalue=None if published else math.nan,
        n_rows=int(in_pair.sum()),
        n_contexts=int(np.unique(choices.context[in_pair]).size),
        n_dropped=choices.n_dropped,
        settings=settings,
        pair=list(pair),
        direction=direction,
    )
    chosen, reason = [label for label in pair if label in seen], few_contexts(choices.n_contexts)
    if not chosen:
        reason = f"neither {pair[0]!r} nor {pair[1]!r} was chosen"
    elif len(chosen) < 2:
        reason = f"of {of_pair} only {chosen[0]!r} was chosen"
    elif published and policies and not reason:
        reason = "Fisher's test counts chosen actions, and here actions are probabilities"
    if reason := reason or clusters.too_few * (not published):
        return result(reason=reason)

    cluster = clusters.of_context[choices.context]
    binned = binned_pair(choices.belief, first, mass, cluster, n_bins=n_bins, policies=policies)
    if binned is None:
        few = f"fewer than two belief bins have {MIN_CONTEXTS_PER_BIN} {clusters.plural}"
        return result(reason=f"{few} with a choice from the pair")
    bins, covariance, degrees = binned
    share, stream = bins["share"].to_numpy(dtype=np.float64), check_stream(rng, NAME)
    drawing: Any = {"degrees": degrees, "n_draws": n_draws, "rng": stream}
    # An intersection-union test: both directions must be rejected, so the better-fitting one
    # decides.
    (drops, ends), sign = max(
        ((largest_drop(sign * share, covariance, **drawing), sign) for sign in SIGNS[direction]),
        key=lambda tried: tried[0][0]["pvalue"].min(),
    )
    pairs = [
        bins.iloc[drops[side]].add_suffix(f"_{side}").reset_index(drop=True) for side in ("j", "k")
    ]
    details = pd.concat(pairs, axis="columns")
    details = details.assign(pvalue=drops["pvalue"], violation=drops["drop"] > 0)
    assumptions: tuple[str, ...] = (clusters.independent, "irrelevant alternatives do not matter")
    settings |= {"n_bins_used": len(bins)}
    if published:
        between = zip(drops["j"], drops["k"], strict=True)
        details["pvalue"] = [_fisher(bins, *at, sign) for at in between]
        details.loc[~details["violation"], "pvalue"] = math.nan
        uncorrected = "pairs of bins are not corrected for their number"
        assumptions = ("rows are independent", assumptions[1], uncorrected)
    details["significant"] = details["violation"] & (details["pvalue"] <= LEVEL)
    result = partial(result, settings=settings, details=details, assumptions=assumptions)
    if published:
        return result(statistic=float(details["significant"].mean()))
    method = f"for the largest over pairs of bins, {clusters.plural} as clusters"
    return result(
        statistic=float(drops["drop"].max()),
        interval=Interval(*ends, 0.95, method).within(-1.0, 1.0),
        pvalue=float(drops["pvalue"].min()),
        settings=settings | {"n_draws": n_draws},
        direction_tested="increasing" if sign == 1 else "decreasing",
    )


def _fisher(bins: pd.DataFrame, j: int, k: int, sign: int) -> float:
    """Test the bin that must not have the larger share, over rows and uncorrected."""
    rows = bins.iloc[[j, k][::sign]]
    chosen = (rows["share"] * rows["n"]).round()
    table = np.column_stack([chosen, rows["n"] - chosen]).astype(np.int64)
    return float(stats.fisher_exact(table, alternative="greater").pvalue)


def effective_contexts(bins: Codes, context: Codes, n_bins: int, mass: Floats) -> Codes:
    """Count the contexts that a weighted mean of each bin rests on, shape (n_bins,).

    Kish's effective number, (sum of weights)^2 / sum of squared weights, with the weights of
    contexts, rounded down; with equal weights it is their number. A few large groups thus leave few
    degrees of freedom, however many small ones there are.
    """
    contexts, cluster = np.unique(context, return_inverse=True)
    of_context = np.zeros((contexts.size, n_bins))
    np.add.at(of_context, (cluster, bins), mass)
    square = (of_context**2).sum(axis=0)
    number = np.divide(of_context.sum(axis=0) ** 2, square, out=np.zeros(n_bins), where=square > 0)
    # Equal weights must not lose a context to rounding.
    return np.asarray(np.floor(number + 1e-9), dtype=np.int64)


def pair_shares(
    bins: Codes, first: Floats, context: Codes, mass: Floats, *, policies: bool
) -> tuple[Floats, Floats, Floats]:
    """Return share of the first action of a pair by bin, rows (or mass), and covariance."""
    n_bins = int(bins.max()) + 1
    rows = np.bincount(bins, weights=mass, minlength=n_bins).astype(np.float64)
    share = np.bincount(bins, weights=first, minlength=n_bins) / rows
    contexts, cluster = np.unique(context, return_inverse=True)
    # A share is a ratio of sums over contexts; to first order this is what each context adds to it.
    influence = np.zeros((contexts.size, n_bins))
    np.add.at(influence, (cluster, bins), (first - share[bins] * mass) / rows[bins])
    covariance = influence.T @ influence * contexts.size / max(contexts.size - 1, 1)
    diagonal = np.diag_indices(n_bins)
    # A bin in which all contexts agree has no spread of its own: bound its variance below by half
    # of one context that was not seen, since rows of a context may be copies of each other.
    unseen = 0.5 * (share**2 + (1 - share) ** 2)
    if policies:
        # The same holds for a difference between bins that all contexts share, or nearly.
        number = effective_contexts(bins, context, n_bins, mass)
        covariance[diagonal] += spare_variance(covariance, unseen / np.maximum(number, 1) ** 2)
        return share, rows, covariance
    of_bins = np.unique(np.stack([bins, cluster]), axis=1)[0]
    n_contexts = np.bincount(of_bins, minlength=n_bins).astype(np.float64)
    # Choices are tosses: by that of a share half a context away, too.
    inner = (share * n_contexts + 0.5) / (n_contexts + 1)
    least = np.maximum(inner * (1 - inner) / rows, unseen / n_contexts**2)
    covariance[diagonal] = np.maximum(np.diag(covariance), least)
    return share, rows, covariance


def binned_pair(
    belief: Floats, first: Floats, mass: Floats, context: Codes, *, n_bins: int, policies: bool
) -> tuple[pd.DataFrame, Floats, int] | None:
    """Cut beliefs into bins and count the choices of a pair of actions in those with enough.

    Return a row a bin (share of the first action with its 95% interval over contexts, rows or sum
    of probabilities, and mean belief), the covariance of shares, and the degrees of freedom of the
    bin with the fewest contexts; None where fewer than two have enough.
    """
    # Bins are those of all choices, so that pairs can be read side by side.
    bins, in_pair = belief_bins(belief, n_bins), mass > 0
    mean_belief = np.bincount(bins, weights=belief) / np.bincount(bins)
    of_pair = bins[in_pair], context[in_pair], mean_belief.size
    per_bin = effective_contexts(*of_pair, mass[in_pair])
    enough = per_bin >= MIN_CONTEXTS_PER_BIN
    if enough.sum() < 2:
        return None
    kept = in_pair & enough[bins]
    used = (np.cumsum(enough) - 1)[bins[kept]]  # numbered without the bins that are left out
    of_first = used, first[kept], context[kept], mass[kept]
    share, rows, covariance = pair_shares(*of_first, policies=policies)
    degrees = int(per_bin[enough].min()) - 1
    weights = mass[kept] if policies else None
    of_rows = np.divide(first[kept], mass[kept])[:, None]
    _, low, high, _ = context_shares(of_rows, used, context[kept], share.size, weights=weights)
    table = pd.DataFrame({"bin": range(len(share)), "belief": mean_belief[enough], "share": share})
    # Numbers of choices are whole, those of probabilities their sums.
    table["n"] = rows if (rows % 1).any() else rows.astype(np.int64)
    table["low"], table["high"] = low[:, 0], high[:, 0]
    if policies:  # no trials of which a share could be counted: its error is over contexts
        table["se"] = np.sqrt(np.diag(covariance))
    return table, covariance, degrees


def largest_drop(
    share: Floats,
    covariance: Floats,
    *,
    degrees: int,
    n_draws: int,
    rng: np.random.Generator,
) -> tuple[pd.DataFrame, tuple[float, float]]:
    """Study all drops of shares against their joint distribution at equal shares.

    Return a row for each pair of bins ``j`` < ``k`` (``drop``, positive where it violates the
    order, and its ``pvalue``, adjusted for all pairs), and a 95% interval for the largest true one.
    """
    j, k = np.triu_indices(share.size, 1)
    variance = np.diag(covariance)
    spread = np.sqrt(np.maximum(variance[j] + variance[k] - 2 * covariance[j, k], _LEAST_VARIANCE))
    drop = share[j] - share[k]
    draws = rng.multivariate_normal(np.zeros(share.size), covariance, size=n_draws, method="eigh")
    # Few contexts estimate the covariance badly: heavier tails than the normal.
    draws /= np.sqrt(rng.chisquare(degrees, size=(n_draws, 1)) / degrees)
    null = (draws[:, j] - draws[:, k]) / spread
    highest = null.max(axis=1)
    adjusted = np.array(
        [(1 + np.count_nonzero(highest >= value)) / (1 + n_draws) for value in drop / spread]
    )
    low, high = np.clip(largest_interval(drop, spread, null), -1, 1).tolist()
    return pd.DataFrame({"j": j, "k": k, "drop": drop, "pvalue": adjusted}), (low, high)


def largest_interval(estimate: Floats, spread: Floats, null: Floats) -> tuple[float, float]:
    """Return a 95% interval for the largest of several parameters.

    Chernozhukov, Lee and Rosen (2013), Econometrica 81(2), for bounds on a maximum with selection
    of the near-binding ones.
    """
    # Those that could be the largest, at simultaneous level .99.
    reach = float(np.quantile(np.abs(null).max(axis=1), 0.99)) * spread
    near = estimate + reach >= (estimate - reach).max()
    below = float(np.quantile(null[:, near].max(axis=1), 0.975))
    above = float(np.quantile(np.abs(null[:, near]), 0.95))
    return float((estimate - below * spread)[near].max()), float(
        (estimate + above * spread)[near].max()
    )


def action_pairs(actions: Sequence[str]) -> tuple[list[tuple[str, str]], str]:
    """Pair actions, the one whose share must rise with the belief first."""
    by_name = {action.lower(): action for action in actions}
    if len(by_name) == len(actions) and set(by_name) <= {"yes", "no", "defer"}:
        ordered = [pair for pair in ORDERED_PAIRS if set(pair) <= set(by_name)]
        return [(by_name[first], by_name[second]) for first, second in ordered], "increasing"
    return list(combinations(actions, 2)), "either"


def _plan(data: EvaluationData, published: bool) -> Plan:
    pairs, toward = action_pairs(data.actions)
    if not pairs:
        note = f"only the action {data.actions[0]!r} was seen: monotone choice was not tested."
        yield not_run(note, NAME)
    elif toward == "either":
        text = "actions are not yes, no and defer: monotone choice was tested in either direction."
        yield Note(Code.STATE, text)
    for pair in pairs:
        test = partial(_monotone_choice, data, pair=pair, direction=toward, published=published)
        yield test


CHECK = Check(
    name=NAME,
    origin="Adapted from the tests of pairs of bins of Yamin et al.",
    figure="plot_pairwise_choice",
    needs=CHOICES,
    sentences={
        ANY: Interpretation(
            rejected="The choice share moves against the {belief}: "
            "no expected-utility maximiser who believes it chooses so, unless a third action takes "
            "more from one of the two.",
            nominal="the choice share moves against the {belief}",
            not_rejected="No evidence that the choice share moves against the {belief}.",
            published="{value:.0%} of bin pairs violate the order significantly (uncorrected).",
            words="a choice falls where its belief rises",
        )
    },
    question=Question.FOLLOWS,
    planted="peak",
    power_draws={"n_draws": 999},
    plan=_plan,
    states_named=True,
)
