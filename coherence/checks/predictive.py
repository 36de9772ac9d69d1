"""Predictive gain: how much the realised state helps to predict the action, given the belief.

Nested models, action ~ belief against action ~ belief + truth, and the same with evidence features
on both sides, are compared by out-of-sample log-loss; all rows of a context fall into one fold. The
context is the unit of the interval and of the test.
"""

import math
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy import stats

from coherence.checks.check import INTERVAL_ALONE, Call, CallsAndNotes, Check, Facts, Sentences
from coherence.choices import as_choices
from coherence.errors import closest
from coherence.inputs import Floats, require, require_aligned, whole_number
from coherence.result import EXACT_REPORT, CheckResult, Interval
from coherence.statistics.boosted_trees import (
    DEPTHS,
    MAX_ITERATIONS,
    POLICY_ITERATIONS,
    PUBLISHED_DEPTH,
    BoostedTrees,
)
from coherence.statistics.learners import (
    Learner,
    Logistic,
    RandomForest,
    as_features,
    cross_fitted_losses,
    designs,
)
from coherence.statistics.resample import (
    Seed,
    as_generator,
    bootstrap_ratio,
    context_sums,
    percentile_interval,
)
from coherence.table.needs import JUDGED_CHOICES

NULL = "given belief{features}, truth does not help to predict the action out of sample"
NO_PUBLISHED = "the published procedure takes chosen actions, and here actions are probabilities"
UNIT = "% of log-loss"
MODELS = ["without truth", "with truth", "gain"]
# Every context also trains the models that judge the others, which the spread of gains between
# contexts does not show. In simulations the variance of the mean gain is 1.35 to 1.55 times the one
# from that spread (boosted trees, 60 to 1000 contexts, with and without a signal).
TRAINING_VARIANCE = 1.5
# folds and seeds of those simulations; with fewer the partition into folds adds variance of its own
PROVED = 5

LEARNERS: dict[str, Learner] = {
    "catboost": BoostedTrees(),
    "random_forest": RandomForest(),
    "logistic": Logistic(),
}


def predictive_gain_test(
    belief: ArrayLike,
    action: ArrayLike,
    truth: ArrayLike,
    *,
    features: pd.DataFrame | ArrayLike | None = None,
    context: ArrayLike | None = None,
    positive: Any = None,
    learner: str = "catboost",
    n_folds: int = 5,
    n_seeds: int = 5,
    n_bootstraps: int = 2000,
    published: bool = False,
    rng: Seed = None,
) -> CheckResult:
    """Test whether the realised state helps to predict the action beyond the stated belief.

    Null: out of sample, a model that also sees the truth predicts the action no better than one
    that sees the belief (and the features).

    Parameters
    ----------
    belief : array-like, shape (n,) or (n, n_states)
        Stated probabilities in [0, 1].
    action : array-like, shape (n,) or (n, n_actions)
        Labels, or the probability of each action; a DataFrame's columns name the actions.
    truth : array-like, shape (n,)
        Labels; constant within a context.
    features : DataFrame or array-like, shape (n, n_features), optional
        Evidence given to both models. Numbers stay numbers and may be missing; everything else
        becomes a category, missing values included.
    context : array-like, shape (n,), optional
        Ids of the evidence; without them every row is its own context.
    positive : Any
        Label of the state that a belief in one state is in: all others are then the other state.
        Of two states it need not be known.
    learner : str
        "catboost" (boosted trees), "random_forest" or "logistic" (multinomial, linear splines of
        belief, truth by itself and times belief).
    n_folds : int
        Folds, dealt by context.
    n_seeds : int
        Repetitions of the whole cross-validation with other folds; losses are averaged over them.
    n_bootstraps : int
        Resamples of rows for the published interval.
    published : bool
        CatBoost at depth 6 and 1000 iterations without stopping, and an interval over resampled
        rows. It overfits small tables: on a true null it loses several percent, and a moderate
        signal stays hidden.
    rng : Generator, int or None
        Source of folds and of the seeds of the learners.

    Returns
    -------
    CheckResult
        `statistic` is ``100 (L1 - L2) / L1`` for the log-losses without and with the truth; the
        interval is for its expectation over samples of this size; the p-value is a one-sided
        studentised test that the mean gain per context is at most zero. Both take contexts as
        units. `details` has the two losses and the gain in nats per choice. With ``published=True``
        there is no p-value.

    Raises
    ------
    InputError
        An array breaks its rule, a numeric feature is infinite, the learner is unknown, or
        `published` is combined with another learner.

    Notes
    -----
    Assumes independent contexts. Depth (1 or 4) and iterations (at most 1000, or 200 where actions
    are probabilities) of the trees, the
    leaf size of the forest and the penalty of the regression are chosen for each model on held-out
    contexts of the training folds. Under the null the gain is at or below zero on average, because
    the larger model spends its freedom on noise; the test is then conservative. The interval
    describes the procedure fitted to samples of this size, not the best possible prediction.
    Contexts judge models that other contexts have trained, so that losses depend on each other; the
    variance between contexts is enlarged by half for it, a factor found by simulation with the
    boosted trees (the logistic regression needs none, and its interval is wider than it has to be).
    The variance between repetitions with other folds is added to it.

    Probabilities of actions are learnt as rows that occur once for each action, weighed by its
    probability, and judged by the expected log-loss of an action drawn from them. The null is then
    about the policy: its expectation given the belief does not depend on the truth.

    References
    ----------
    Dorogush, Ershov and Gulin (2018) for CatBoost; Nadeau and Bengio (2003) on tests of
    cross-validated losses.
    """
    require_aligned(belief=belief, features=features)
    data = as_choices(belief, action, truth, context, positive=positive)
    n_folds, n_seeds = whole_number(n_folds, "n_folds", 2), whole_number(n_seeds, "n_seeds", 1)
    n_bootstraps = whole_number(n_bootstraps, "n_bootstraps", 2)
    _require_learner(learner, published)
    generator = as_generator(rng)
    evidence = None if features is None else as_features(features, data.n_rows)
    settings: dict[str, Any] = {
        "learner": learner,
        "published": published,
        "n_folds": n_folds,
        "n_seeds": n_seeds,
        "n_bootstraps": n_bootstraps,
        **(_tree_settings(published, data.policy is None) if learner == "catboost" else {}),
    }
    result = CheckResult(
        check="predictive_gain" if evidence is None else "predictive_gain:features",
        null=NULL.format(features="" if evidence is None else " and features"),
        statistic=math.nan,
        unit=UNIT,
        interval=None,
        pvalue=None if published else math.nan,
        n_rows=data.n_rows,
        n_contexts=data.n_contexts,
        settings=settings,
    )
    lack = NO_PUBLISHED if published and data.policy is not None else ""
    if data.degenerate or lack:
        return replace(result, reason=data.degenerate or lack)
    model = BoostedTrees(published=True) if published else LEARNERS[learner]
    of_seeds = np.array(
        [
            [
                cross_fitted_losses(model, design, data, n_folds, int(seed))
                for design in designs(data, evidence)
            ]
            for seed in generator.integers(2**31, size=n_seeds)
        ]
    )
    losses = of_seeds.mean(axis=0)
    without_truth, with_truth = (float(loss.mean()) for loss in losses)
    details = pd.DataFrame(
        {"model": MODELS, "log_loss": [without_truth, with_truth, without_truth - with_truth]}
    )
    estimate = replace(result, statistic=100 * (1 - with_truth / without_truth), details=details)
    gains = losses[0] - losses[1]
    if published:
        draws = bootstrap_ratio(gains, losses[0], n_resamples=n_bootstraps, rng=generator)
        method = f"percentile bootstrap over rows, losses held fixed, {n_bootstraps} resamples"
        return replace(
            estimate,
            interval=Interval(*percentile_interval(100 * draws), 0.95, method),
            assumptions=("rows are independent", EXACT_REPORT),
        )
    interval, pvalue = _over_contexts(
        *(context_sums(sums, data.context, data.n_contexts) for sums in (gains, losses[0])),
        of_seeds=(of_seeds[:, 0] - of_seeds[:, 1]).sum(axis=1),
    )
    assumed = ("contexts are independent", EXACT_REPORT, *_unproved(n_folds, n_seeds))
    return replace(estimate, interval=interval, pvalue=pvalue, assumptions=assumed)


def _tree_settings(published: bool, drawn: bool) -> dict[str, Any]:
    return {
        "depths": [PUBLISHED_DEPTH] if published else list(DEPTHS),
        "max_iterations": MAX_ITERATIONS if drawn else POLICY_ITERATIONS,
    }


def _require_learner(learner: str, published: bool) -> None:
    require(
        learner in LEARNERS,
        f"learner must be one of {', '.join(map(repr, LEARNERS))}; received {learner!r}. "
        f"{closest(str(learner), LEARNERS)}",
    )
    require(
        not published or learner == "catboost",
        f"published=True is a setting of 'catboost'; received learner={learner!r}. "
        "Leave one of them out.",
    )


def _unproved(n_folds: int, n_seeds: int) -> tuple[str, ...]:
    """What to say where the enlarged variance has not been seen to be enough."""
    if min(n_folds, n_seeds) >= PROVED:
        return ()
    return (
        f"interval and p-value were validated with {PROVED} folds and seeds; "
        f"with {n_folds} and {n_seeds} they understate the variance",
    )


def _over_contexts(
    gains: Floats, losses: Floats, *, of_seeds: Floats
) -> tuple[Interval | None, float]:
    """Interval for the gain in percent, and the p-value that it is at most zero.

    `gains` and `losses` are totals of contexts, `of_seeds` the total gain of each repetition of the
    cross-validation.
    """
    if np.ptp(gains) == 0:
        return None, 1.0  # two models that never differ: no gain, and no spread to judge it by
    n, n_seeds = gains.size, of_seeds.size
    # What other folds would have given: where choices have hardly any noise, it is more than what
    # contexts differ by, which all of them are judged by the same few fits.
    partition = float(of_seeds.var(ddof=1)) / n_seeds if n_seeds > 1 else 0.0

    def error(values: Floats, scale: float) -> tuple[float, float]:
        """Standard error of a mean over contexts, of totals times a scale, with its degrees."""
        parts = TRAINING_VARIANCE * float(values.var(ddof=1)) / n, partition * (scale / n) ** 2
        # Welch and Satterthwaite: a few repetitions tell the second part only roughly.
        total = sum(parts)
        second = (parts[1] / total) ** 2 / max(n_seeds - 1, 1) if total > 0 else 0.0
        first = (parts[0] / total) ** 2 / (n - 1) if total > 0 else 1 / (n - 1)
        return math.sqrt(total), 1 / (first + second)

    # Delta method for a ratio of two sums over contexts.
    ratio = float(gains.sum() / losses.sum())
    scale = 100 / float(losses.mean())
    spread, degrees = error(scale * (gains - ratio * losses), scale)
    reach = float(stats.t.ppf(0.975, degrees)) * spread
    method = "t over contexts, variance enlarged for shared training data and for the folds"
    # No more can be gained than all of the loss.
    ends = Interval(100 * ratio - reach, 100 * ratio + reach, 0.95, method)
    spread, degrees = error(gains, 1.0)
    pvalue = float(stats.t.sf(gains.mean() / spread, degrees))
    return ends.within(-math.inf, 100.0), pvalue


def _plan(facts: Facts) -> CallsAndNotes:
    arrays = facts.belief, facts.action, facts.truth
    test = partial(predictive_gain_test, *arrays, context=facts.context, positive=facts.positive)
    test = partial(test, published=facts.published)
    yield Call(test, facts.n_dropped)
    if facts.features is None:
        yield "no x_ columns: the context-adjusted gain was not run."
    else:
        yield Call(partial(test, features=facts.features), facts.n_dropped)


CHECK = Check(
    name="predictive_gain",
    needs=JUDGED_CHOICES,
    sentences={
        "": Sentences(
            rejected="The realised state predicts the action beyond the {belief}: "
            "information was used that is not in it.",
            sign="the realised state helps to predict the action beyond the {belief}",
            kept="No sign that the realised state helps to predict the action beyond the {belief}.",
            one_sided=True,
            powered=True,
            scatter_misleads=True,
            published=INTERVAL_ALONE,
        ),
        "features": Sentences(
            rejected="Even given the evidence, the realised state helps to predict the action "
            "beyond the {belief}.",
            sign="even given the evidence, the realised state helps to predict the action "
            "beyond the {belief}",
            kept="No sign that, given the evidence, the realised state helps to predict the action "
            "beyond the {belief}.",
            one_sided=True,
            powered=True,
            scatter_misleads=True,
            published=INTERVAL_ALONE,
        ),
    },
    plan=_plan,
)
