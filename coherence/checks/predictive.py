"""Predictive gain: how much the realised state helps to predict the action, given the belief.

Nested models, action ~ belief against action ~ belief + truth, and the same with evidence features
on both sides, are compared by out-of-sample log-loss; all rows of a context fall into one fold. The
context is the cluster of the interval and of the test.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy import stats

from coherence.checks.by_name import takes_columns
from coherence.checks.check import INTERVAL_ALONE, Check, Interpretation, Plan, Question, blank
from coherence.inputs import Floats, require_aligned
from coherence.result import EXACT_REPORT, CheckResult, Family, Interval
from coherence.runs.needs import NEEDS_STATE_AND_ACTION
from coherence.runs.notes import not_run
from coherence.statistics import resample, trees
from coherence.statistics.evaluation import EvaluationData, as_choices, one_dimensional
from coherence.statistics.resample import Seed

NULL = "given the belief{features}, the truth does not help to predict the action out of sample"
NO_INTERVAL = "no interval of known coverage exists for the gain of probabilities of actions"
SAME_LOSSES = "the truth changes no prediction, and nothing is left to vary"
NO_PUBLISHED = "the published procedure takes chosen actions, and here actions are probabilities"
UNIT = "% of log-loss"
MODELS = ["without truth", "with truth", "gain"]
# Every context also trains the models that judge the others: in simulations, the variance of a mean
# gain is .7 to 1.8 times the one from the spread between contexts (60 or 200 contexts).
TRAINING_VARIANCE = 1.5
# A gain of choices is the logarithm of a ratio of likelihoods, whose variance grows with its mean:
# samples in which the trees miss a weak signal have small gains that look precise.
VARIANCE_OF_GAIN = 2.0
ROUNDING = 1e-7  # of the losses: models that are the same differ by less
# folds and seeds of those simulations; with fewer the partition into folds adds variance of its own
PROVED = 5
UNPROVED = (
    f"interval and p-value were validated with {PROVED} folds and seeds; "
    "with {folds} and {seeds} they understate the variance"
)


@takes_columns("belief", "action", "truth", "context", "group", "features")
def predictive_gain_test(
    belief: ArrayLike,
    action: ArrayLike,
    truth: ArrayLike,
    *,
    data: pd.DataFrame | None = None,
    features: pd.DataFrame | ArrayLike | None = None,
    context: ArrayLike | None = None,
    group: ArrayLike | None = None,
    positive: Any = None,
    n_folds: int = 5,
    n_seeds: int | None = None,
    n_bootstraps: int = 2000,
    published: bool = False,
    rng: Seed = None,
) -> CheckResult:
    """Test whether the realised state helps to predict the action beyond the stated belief.

    Null: given the belief (and the features), the truth does not help to predict the action out of
    sample.

    Estimand: the part of the out-of-sample log-loss that knowing the truth saves, by models trained
    on tables of this size (percent); choices count alike.

    Parameters
    ----------
    belief : array-like, shape (n,)
        Stated probabilities of one of two states, in [0, 1].
    features : DataFrame or array-like, shape (n, n_features), optional
        Evidence given to both models. Numbers stay numbers and may be missing; everything else
        becomes a category, missing values included.
    n_folds : int
        Folds, assigned by context.
    n_seeds : int or None
        Repetitions of the whole cross-validation with other folds; losses are averaged over them.
        None takes 5; of the published procedure, which speaks of no repetition, 1.
    published : bool
        CatBoost at depth 6 and 1000 iterations without stopping, and an interval over resampled
        rows, without a p-value. It overfits small tables.
    rng : Generator, int or None
        Source of folds, seeds and resamples of the published procedure. Otherwise it is not used:
        the same data give the same result, in any order of the rows and under any context ids.

    Returns
    -------
    CheckResult
        `statistic` is ``100 (L1 - L2) / L1`` for the log-losses without and with the truth; the
        interval (of choices; there is none where actions are probabilities) is for its expectation
        over samples of this size; the p-value is a one-sided studentised test that the mean gain
        per context is at most zero. Both take contexts as clusters. `details` has the two losses
        and the gain in nats per choice, with the Monte Carlo error that the folds leave in it.

    Raises
    ------
    InputError
        An array breaks its rule, or a numeric feature is infinite.

    Notes
    -----
    Assumes independent contexts. Folds are drawn from what contexts hold and the number of the
    repetition, so that one context more or less hardly moves the others.

    The trees are CatBoost's without its random parts, at a learning rate of 0.3. A fold is
    predicted by the average over depths (1 and 4) and numbers of iterations (0 to 1000, or to 181
    where actions are probabilities), each weighed by the exponential of minus its total loss on the
    other folds over the mean number of rows of a context.

    Under the null the gain is at or below zero on average, because the larger model spends its
    freedom on noise: the test is conservative. The variance between contexts is enlarged by half,
    as they judge models that others have trained (a factor found by simulation), and that between
    repetitions is added. The interval reaches further up than down, because a larger gain varies
    more: by 2 nats squared for each nat, as logarithms of likelihood ratios do.

    Probabilities of actions are judged by the expected log-loss of an action drawn from them: the
    null is then about the expectation of the policy given the belief. There is no interval, since
    trees' fits differ more between samples than contexts show within one.

    References
    ----------
    Prokhorenkova, Gusev, Vorobev, Dorogush and Gulin (2018) for CatBoost; Leung and Barron (2006)
    on exponential weights; Nadeau and Bengio (2003) on tests of cross-validated losses.

    Examples
    --------
    >>> import coherence
    >>> runs = coherence.simulate("leaky", n_contexts=100, n_reps=3, rng=1)
    >>> rows = runs[runs["action"].notna()]
    >>> result = predictive_gain_test("p", "action", "theta", context="context", data=rows, rng=1)
    >>> result.statistic > 0
    True
    """
    require_aligned(belief=belief, features=features)
    choices = as_choices(belief, action, truth, context, positive=positive, group=group)
    one_dimensional(choices, "predictive_gain_test")
    numbers: dict[str, Any] = {"n_folds": n_folds, "n_seeds": n_seeds, "rng": rng}
    numbers |= {"n_bootstraps": n_bootstraps, "published": published}
    return _predictive_gain(choices, features=features, **numbers)


def _predictive_gain(
    choices: EvaluationData,
    *,
    features: ArrayLike | pd.DataFrame | None = None,
    n_folds: int = 5,
    n_seeds: int | None = None,
    n_bootstraps: int = 2000,
    published: bool = False,
    rng: Seed = None,
) -> CheckResult:
    """Run `predictive_gain_test` on validated data."""
    clusters, drawn = choices.clusters, choices.policy is None
    n_seeds = n_seeds or (1 if published else PROVED)
    generator = resample.check_stream(rng, "predictive_gain")
    evidence = None if features is None else trees.as_features(features, choices.n_rows)
    settings: dict[str, Any] = {
        "published": published,
        "n_folds": n_folds,
        "n_seeds": n_seeds,
        "n_bootstraps": n_bootstraps,
        "cluster of resampling": "row" if published else clusters.name,
        "folds": "drawn" if published else "by content",
        "depths": [trees.PUBLISHED_DEPTH] if published else list(trees.DEPTHS),
        "max_iterations": trees.PUBLISHED_ITERATIONS if published else trees.iterations_of(choices),
        **({} if published else {"borders": trees.N_BORDERS}),
    }
    name = "predictive_gain" if evidence is None else "predictive_gain:features"
    null = NULL.format(features="" if evidence is None else " and features")
    pvalue = None if published else math.nan
    result = blank(CheckResult, choices, name, null, UNIT, pvalue=pvalue, settings=settings)
    declined = ("" if drawn else NO_PUBLISHED) if published else clusters.too_few
    if reason := choices.degenerate or declined:
        return result(reason=reason)
    if published:
        seeds: Any = generator.integers(2**31, size=n_seeds)
        content = np.arange(choices.n_contexts, dtype=np.uint64)
        models: list[Any] = [
            partial(trees.published_losses, design, choices, content)
            for design in trees.designs(choices, evidence)
        ]
    else:  # folds and totals know clusters alone
        n_contexts = choices.n_contexts
        seeds, of_row = range(n_seeds), clusters.of_context[choices.context]
        choices = replace(choices, context=of_row, contexts=tuple(range(clusters.n)), group=None)
        choices, evidence, content = trees.in_canonical_order(choices, evidence)
        models = [
            trees.TreeCrossFit(design, choices, content, n_contexts).losses
            for design in trees.designs(choices, evidence)
        ]
    of_seeds = np.array([[model(n_folds, int(seed)) for model in models] for seed in seeds])
    losses = of_seeds.mean(axis=0)
    without_truth, with_truth = (float(loss.mean()) for loss in losses)
    details = pd.DataFrame(
        {"model": MODELS, "log_loss": [without_truth, with_truth, without_truth - with_truth]}
    )
    if n_seeds > 1:
        of_gains = (of_seeds[:, 0] - of_seeds[:, 1]).mean(axis=1)
        error = float(of_gains.std(ddof=1)) / math.sqrt(n_seeds)
        details["monte_carlo_error"] = [math.nan, math.nan, error]
    estimate = partial(result, statistic=100 * (1 - with_truth / without_truth), details=details)
    gains = losses[0] - losses[1]
    if published:
        draws = resample.bootstrap_ratio(gains, losses[0], n_resamples=n_bootstraps, rng=generator)
        return estimate(
            interval=resample.percentile_interval(100 * draws, "rows, losses held fixed"),
            assumptions=("rows are independent", EXACT_REPORT),
        )
    interval, pvalue = _over_contexts(
        *(np.bincount(choices.context, of).astype(np.float64) for of in (gains, losses[0])),
        of_seeds=(of_seeds[:, 0] - of_seeds[:, 1]).sum(axis=1),
        clusters=clusters.plural,
    )
    assumed = [clusters.independent, EXACT_REPORT]
    if min(n_folds, n_seeds) < PROVED:  # the enlarged variance has not been seen to be enough
        assumed.append(UNPROVED.format(folds=n_folds, seeds=n_seeds))
    if interval is None:
        reason = SAME_LOSSES
    else:
        interval, reason = (interval, "") if drawn else (None, NO_INTERVAL)
    return estimate(interval=interval, pvalue=pvalue, reason=reason, assumptions=tuple(assumed))


def _over_contexts(
    gains: Floats, losses: Floats, *, of_seeds: Floats, clusters: str = "contexts"
) -> tuple[Interval | None, float]:
    """Interval for the gain in percent, and the p-value that it is at most zero.

    `gains` and `losses` are totals of contexts, `of_seeds` the total gain of each repetition of the
    cross-validation.
    """
    if np.ptp(gains) <= ROUNDING * losses.mean():
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
    quantile = float(stats.t.ppf(0.975, degrees))
    below = quantile * spread
    # The gain above which the one seen would be too small, given the variance that it would have.
    growth = quantile**2 * VARIANCE_OF_GAIN * scale / n
    above = growth / 2 + math.hypot(growth / 2, below)
    enlarged = "variance enlarged for shared training data, folds and larger gains"
    method = f"t over {clusters}, {enlarged}"
    # No more can be gained than all of the loss.
    ends = Interval(100 * ratio - below, 100 * ratio + above, 0.95, method)
    spread, degrees = error(gains, 1.0)
    pvalue = float(stats.t.sf(gains.mean() / spread, degrees))
    return ends.within(-math.inf, 100.0), pvalue


def _plan(data: EvaluationData, published: bool) -> Plan:
    if data.in_several_states:
        reason = f"beliefs over {data.belief.shape[1]} states: predictive gain needs one of two."
        yield not_run(reason, "predictive_gain")
        return
    test = partial(_predictive_gain, replace(data, features=None), published=published)
    yield test
    if data.features is None:
        note = "no x_ columns: the context-adjusted gain was not run."
        yield not_run(note, "predictive_gain:features")
    else:
        yield partial(test, features=data.features)


CHECK = Check(
    name="predictive_gain",
    origin="Adapted from the gain in log-loss by boosted trees of Yamin et al.",
    needs=NEEDS_STATE_AND_ACTION,
    sentences={
        "": Interpretation(
            estimate="Beyond the {belief}, the realised state saves {value:.1f}% of the log-loss "
            "of predicting the action.",
            published=INTERVAL_ALONE,
            words="what the truth would help to predict",
        ),
        "features": Interpretation(
            estimate="Given the evidence, the realised state saves {value:.1f}% of the log-loss of "
            "predicting the action beyond the {belief}.",
            published=INTERVAL_ALONE,
            words="what the evidence and truth would help to predict",
        ),
    },
    question=Question.ACTED_ON,
    planted="weight",
    family=Family.ESTIMATE,
    plan=_plan,
)
