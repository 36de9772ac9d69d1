"""Predictive gain: how much the realised state helps to predict the action, given the belief.

Nested models, action ~ belief against action ~ belief + truth, and the same with evidence features
on both sides, are compared by out-of-sample log-loss; all rows of a context fall into one fold. The
context is the unit of the interval and of the test.
"""

import math
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from coherence.checks.check import (
    INTERVAL_ALONE,
    Call,
    CallsAndNotes,
    Check,
    Facts,
    Reach,
    Sentences,
)
from coherence.errors import closest
from coherence.inputs import Codes, Floats, as_choices, require, whole_number
from coherence.result import EXACT_REPORT, CheckResult, Interval
from coherence.statistics.learners import (
    Learner,
    LearnerInputs,
    Logistic,
    Predictor,
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
MAX_ITERATIONS = 1000
# Probabilities without noise can be followed ever more closely, and nothing would stop the trees.
POLICY_ITERATIONS = 200
DEPTHS = (1, 4)  # stumps for weak additive signals, deeper trees for interactions
PATIENCE = 5  # iterations without improvement on held-out contexts before a fit stops
PUBLISHED_DEPTH = 6
# Every context also trains the models that judge the others, which the spread of gains between
# contexts does not show. In simulations the variance of the mean gain is 1.35 to 1.55 times the one
# from that spread (boosted trees, 60 to 1000 contexts, with and without a signal).
TRAINING_VARIANCE = 1.5
# folds and seeds of those simulations; with fewer the partition into folds adds variance of its own
PROVED = 5
# Without row sampling and score noise the nested fits share their randomness, which is the larger
# part of the test's variance. 32 borders are finer than stated beliefs are.
FAST_OPTIONS = {
    "learning_rate": 0.3,
    "border_count": 32,
    "bootstrap_type": "No",
    "random_strength": 0,
}


@dataclass(frozen=True)
class _CatBoost:
    """Boosted trees; depth and iterations are chosen on held-out contexts or as published."""

    published: bool = False

    def fit(
        self,
        design: LearnerInputs,
        action: Codes,
        held: NDArray[np.bool_],
        seed: int,
        weight: Floats | None = None,
    ) -> Predictor:
        options: dict[str, Any]
        if self.published:
            options = {"depth": PUBLISHED_DEPTH, "iterations": MAX_ITERATIONS}
        else:
            depth, iterations = _depth_and_iterations(design, action, held, seed, weight)
            options = {"depth": depth, "iterations": iterations, **FAST_OPTIONS}
        model = _classifier(seed, int(action.max()) + 1, **options)
        model.fit(_pool(design, action, weight))
        return lambda seen: np.asarray(model.predict_proba(_pool(seen)), dtype=np.float64)


def _classifier(seed: int, n_actions: int, **options: Any) -> Any:
    from catboost import CatBoostClassifier

    # One thread: the caller decides what runs in parallel, and equal results must not depend on the
    # machine.
    return CatBoostClassifier(
        loss_function="MultiClass" if n_actions > 2 else "Logloss",
        random_seed=seed,
        thread_count=1,
        allow_writing_files=False,
        verbose=False,
        **options,
    )


def _pool(design: LearnerInputs, action: Codes | None = None, weight: Floats | None = None) -> Any:
    from catboost import Pool

    numeric = design.numeric
    if design.words.shape[1] == 0:
        return Pool(numeric, action, weight=weight)
    table = pd.concat(
        [pd.DataFrame(numeric), pd.DataFrame(design.words, dtype=object)], axis=1, ignore_index=True
    )
    words = list(range(numeric.shape[1], table.shape[1]))
    return Pool(table, action, cat_features=words, weight=weight)


def _depth_and_iterations(
    design: LearnerInputs,
    action: Codes,
    held: NDArray[np.bool_],
    seed: int,
    weight: Floats | None = None,
) -> tuple[int, int]:
    """Choose by the log-loss on held-out contexts, stopping early."""
    fitted = design.rows(~held)
    seen, codes = np.unique(action[~held], return_inverse=True)
    judged = held & np.isin(action, seen)
    if seen.size < 2 or not judged.any() or not fitted.varies:
        return DEPTHS[0], 1
    of_train, of_test = (None, None) if weight is None else (weight[~held], weight[judged])
    train, test = (
        _pool(fitted, codes, of_train),
        _pool(design.rows(judged), np.searchsorted(seen, action[judged]), of_test),
    )
    best = (math.inf, DEPTHS[0], 1)
    for depth in DEPTHS:
        model = _classifier(
            seed,
            seen.size,
            depth=depth,
            iterations=MAX_ITERATIONS if weight is None else POLICY_ITERATIONS,
            early_stopping_rounds=PATIENCE,
            use_best_model=True,
            **FAST_OPTIONS,
        )
        model.fit(train, eval_set=test)
        loss = float(next(iter(model.get_best_score()["validation"].values())))
        best = min(best, (loss, depth, max(1, model.tree_count_)))
    return best[1:]


LEARNERS: dict[str, Learner] = {
    "catboost": _CatBoost(),
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

    Probabilities of actions are learnt as rows that occur once for each action, weighed by its
    probability, and judged by the expected log-loss of an action drawn from them. The null is then
    about the policy: its expectation given the belief does not depend on the truth.

    References
    ----------
    Dorogush, Ershov and Gulin (2018) for CatBoost; Nadeau and Bengio (2003) on tests of
    cross-validated losses.
    """
    data = as_choices(belief, action, truth, context)
    n_folds = whole_number(n_folds, "n_folds", 2)
    n_seeds = whole_number(n_seeds, "n_seeds", 1)
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
    }
    if learner == "catboost":
        settings["depths"] = [PUBLISHED_DEPTH] if published else list(DEPTHS)
        drawn = data.policy is None
        settings["max_iterations"] = MAX_ITERATIONS if drawn else POLICY_ITERATIONS
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

    model = _CatBoost(published=True) if published else LEARNERS[learner]
    losses = np.zeros((2, data.n_rows))
    for seed in generator.integers(2**31, size=n_seeds):
        for position, design in enumerate(designs(data, evidence)):
            held_out = cross_fitted_losses(model, design, data, n_folds, int(seed))
            losses[position] += held_out / n_seeds
    without_truth, with_truth = (float(loss.mean()) for loss in losses)
    gain = without_truth - with_truth
    details = {
        "model": ["without truth", "with truth", "gain"],
        "log_loss": [without_truth, with_truth, gain],
    }
    estimate = replace(result, statistic=100 * gain / without_truth, details=pd.DataFrame(details))
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
        *(context_sums(sums, data.context, data.n_contexts) for sums in (gains, losses[0]))
    )
    assumed = ("contexts are independent", EXACT_REPORT, *_unproved(n_folds, n_seeds))
    return replace(estimate, interval=interval, pvalue=pvalue, assumptions=assumed)


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


def _over_contexts(gains: Floats, losses: Floats) -> tuple[Interval | None, float]:
    """Interval for the gain in percent, and the p-value that it is at most zero, from totals."""
    if np.ptp(gains) == 0:
        return None, 1.0  # two models that never differ: no gain, and no spread to judge it by
    n = gains.size
    # Delta method for a ratio of two sums over contexts.
    ratio = float(gains.sum() / losses.sum())
    influence = 100 * (gains - ratio * losses) / losses.mean()
    reach = (
        float(stats.t.ppf(0.975, n - 1))
        * math.sqrt(TRAINING_VARIANCE / n)
        * float(influence.std(ddof=1))
    )
    method = "t over contexts, variance enlarged for shared training data"
    interval = Interval(100 * ratio - reach, 100 * ratio + reach, 0.95, method)
    spread = math.sqrt(TRAINING_VARIANCE) * float(gains.std(ddof=1))
    return interval, float(stats.t.sf(math.sqrt(n) * gains.mean() / spread, n - 1))


def _plan(facts: Facts) -> CallsAndNotes:
    arrays = facts.belief, facts.action, facts.truth
    test = partial(predictive_gain_test, *arrays, context=facts.context, published=facts.published)
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
            reach=Reach.ABOVE,
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
            reach=Reach.ABOVE,
            powered=True,
            scatter_misleads=True,
            published=INTERVAL_ALONE,
        ),
    },
    plan=_plan,
)
