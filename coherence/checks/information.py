"""Action information: how much better belief and action predict the state than the belief does.

The reverse of the predictive gain: the state of contexts that were left out is predicted from the
stated belief, and from the belief and the action. Where the exact posterior is known it stands for
the realised state: the error that an action can take away is the same on average, and the toss of a
coin that nothing foresees is left out. An estimate; assumes independent contexts.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from coherence.checks.by_name import takes_columns
from coherence.checks.check import NEVER, Call, CallsAndNotes, Check, Interpretation
from coherence.checks.leak import exact_of_contexts
from coherence.inputs import (
    Codes,
    Floats,
    few_contexts,
    require,
    whole_number,
)
from coherence.result import EXACT_REPORT, CheckResult, Family, Interval
from coherence.statistics.canonical_order import in_canonical_order
from coherence.statistics.evaluation import EvaluationData, as_choices, one_dimensional
from coherence.statistics.mean_interval import interval_or_reason
from coherence.statistics.resample import (
    Seed,
    bootstrap_ratio,
    check_stream,
    context_folds,
    context_means,
    jackknife_groups,
    percentile_interval,
)
from coherence.table.needs import NEEDS_STATE_AND_ACTION
from coherence.table.notes import Code, Note, not_run

ESTIMATED = (
    "share of the squared error of predicting the state from the belief that the action saves"
)
UNIT = "% of squared error"
MODELS = ["without action", "with action", "gain"]
KNOTS = 5  # of the spline of the belief
N_INNER_FOLDS = 4  # that judge penalties
# Fold assignments that errors are averaged over: with 5, those of the same table moved the interval
# in or out of 0 (benchmarks/validity/fold_assignments.py).
N_SEEDS = 50
# Ridge penalties of the action, in contexts; with the last the action is left out.
PENALTIES = (1.0, 10.0, 100.0, math.inf)
PUBLISHED_TREES = 100  # scikit-learn's own number, and leaves of one row
EXACT, REALISED = "exact posterior", "realised state"
# Contexts judge models that other contexts have trained, which the spread of gains between
# contexts does not show (see `coherence.checks.predictive`).
TRAINING_VARIANCE = 1.5
NO_PUBLISHED = "the published procedure takes chosen actions, and here actions are probabilities"


@takes_columns("belief", "action", "truth", "exact", "context", "group")
def action_information(
    belief: ArrayLike,
    action: ArrayLike,
    truth: ArrayLike,
    *,
    data: pd.DataFrame | None = None,
    exact: ArrayLike | None = None,
    context: ArrayLike | None = None,
    group: ArrayLike | None = None,
    positive: Any = None,
    n_folds: int = 5,
    n_seeds: int = N_SEEDS,
    n_bootstraps: int = 2000,
    published: bool = False,
    rng: Seed = None,
) -> CheckResult:
    """Estimate how much the action helps to predict the state beyond the stated belief.

    Null: none is tested.

    Estimand: the part of the mean squared error of predicting the state from the belief that the
    action saves, by regressions trained on tables of this size (percent); cases count alike.

    Parameters
    ----------
    belief : array-like, shape (n,) or (n, 2)
        Stated probability of one of two states, in [0, 1], or of both.
    action : array-like, shape (n,) or (n, n_actions)
        Labels, or the probability of each action; a DataFrame's columns name the actions.
    truth : array-like, shape (n,)
        Labels; constant within a context.
    data : DataFrame, optional
        Table; arguments of shape (n,) may then name its columns, and lists of names several.
    exact : array-like, shape (n,), optional
        Exact posterior probability of one of the states; constant within a context. Predicted in
        place of the state.
    context : array-like, shape (n,), optional
        Ids of the evidence; without them every row is its own context.
    group : array-like, shape (n,), optional
        What contexts share beyond their belief: whole groups go into folds and are the clusters of
        the interval, at least ten of them. Constant within a context.
    positive : Any
        Label of the state that the belief is in, where the labels are more than two: all others
        are then the other state.
    n_folds : int
        Folds, assigned by context.
    n_seeds : int
        Repetitions of the whole cross-validation with other folds, over which squared errors are
        averaged. Folds depend on the number of the repetition and on what contexts hold, and on
        nothing else; of the published procedure they are drawn.
    n_bootstraps : int
        Resamples of rows for the published interval.
    published : bool
        Random forests with scikit-learn's own settings, the realised state, one cross-validation,
        rows as clusters and a percentile bootstrap.
    rng : Generator, int or None
        Source of folds, forests and resamples of the published procedure. Otherwise it is not used:
        the same data give the same result, in any order of the rows and under any context ids.

    Returns
    -------
    CheckResult
        `statistic` is ``100 (E1 - E2) / E1`` for the mean squared errors without and with the
        action, in percent, with contexts that count alike; there is no p-value. With `exact` the
        variance of the state, ``exact (1 - exact)``, is added to both errors, so that the estimate
        is that of the realised state with less noise. `details` has both errors and the gain, with
        the Monte Carlo error that folds leave in it.

    Raises
    ------
    InputError
        An array breaks its rule, or `published` is combined with `exact`.

    Notes
    -----
    Assumes independent contexts. Predictions are those of a ridge regression on a cubic spline of
    the belief, to which indicators of the actions, alone and times the belief, are added. How much
    these are shrunk, or that they are left out, is chosen on held-out contexts of the training
    folds. Noise of reports makes the action of a coherent agent informative, too: what is estimated
    says how much the action tells beyond the statement, not why.

    The interval describes regressions trained on samples of this size. Contexts judge what others
    have trained, for which the variance between contexts is enlarged by half.

    References
    ----------
    Hoerl and Kennard (1970), Technometrics 12(1), on ridge regression; Breiman (2001), Machine
    Learning 45(1), on the published forests; Chernozhukov et al. (2018), Econometrics Journal
    21(1), section 3.4, on averages over fold assignments.

    Examples
    --------
    >>> import coherence
    >>> runs = coherence.simulate("noisy", n_contexts=40, n_reps=2, rng=1)
    >>> rows = runs[runs["action"].notna()]
    >>> result = action_information(
    ...     rows["p"], rows["action"], rows["theta"], exact=rows["p_true"], context=rows["context"],
    ...     n_seeds=1, rng=1,
    ... )
    >>> result.unit, result.pvalue
    ('% of squared error', None)
    """
    options: dict[str, Any] = {"positive": positive, "posterior": exact, "group": group}
    choices = as_choices(belief, action, truth, context, **options)
    require(
        len(choices.states) < 3,
        f"truth must have two states, or positive must name the one that the belief is in; "
        f"received {len(choices.states)} states. Name it, to tell it from all others.",
    )
    require(
        not (published and exact is not None),
        "exact must be left out with published=True, which predicts the realised state; received "
        "both. Leave one of them out.",
    )
    return _action_information(
        choices,
        n_folds=whole_number(n_folds, "n_folds", 2),
        n_seeds=1 if published else whole_number(n_seeds, "n_seeds", 1),
        n_bootstraps=whole_number(n_bootstraps, "n_bootstraps", 2),
        published=published,
        rng=rng,
    )


def _action_information(
    choices: EvaluationData,
    *,
    n_folds: int = 5,
    n_seeds: int = N_SEEDS,
    n_bootstraps: int = 2000,
    published: bool = False,
    rng: Seed = None,
) -> CheckResult:
    """Run `action_information` on validated data; of its posteriors where there are any."""
    held, clusters = one_dimensional(choices, "action_information"), choices.clusters
    generator, posterior = check_stream(rng, "action_information"), None
    if choices.posterior is not None:
        posterior = exact_of_contexts(choices)[choices.context]
    target = choices.truth.astype(np.float64) if posterior is None else posterior
    n_seeds = 1 if published else n_seeds
    settings: dict[str, Any] = {
        "learner": "random_forest" if published else "ridge",
        "published": published,
        "target": REALISED if posterior is None else EXACT,
        "n_folds": n_folds,
        "n_seeds": n_seeds,
        "cluster of resampling": "row" if published else clusters.name,
        "folds": "drawn" if published else "by content",
        **({"n_trees": PUBLISHED_TREES, "n_bootstraps": n_bootstraps} if published else {}),
    }
    result = CheckResult(
        check="action_information",
        null=ESTIMATED,
        statistic=math.nan,
        unit=UNIT,
        interval=None,
        pvalue=None,
        n_rows=choices.n_rows,
        n_contexts=choices.n_contexts,
        settings=settings,
    )
    if reason := _no_estimate(choices, target, published) or (
        "" if published else clusters.too_few
    ):
        return replace(result, reason=reason)
    cluster = clusters.of_context[choices.context]
    share = choices.share[:, int(len(choices.actions) == 2) :]
    if published:
        (stream,) = generator.spawn(1)
        folds = jackknife_groups(clusters.n, n_folds, stream)[cluster]
        of_seeds = _of_forests(np.column_stack([held, share]), target, folds, stream)[None]
    else:
        weight = 1 / np.bincount(choices.context)[choices.context]
        squares = partial(_of_regressions, *_designs(held, share), target, weight)
        content = _content(replace(choices, belief=held), cluster, clusters.n, target)
        folds_of = partial(context_folds, cluster, content)
        of_seeds = np.array([squares(folds_of, n_folds, number) for number in range(n_seeds)])
    # The variance of the state, which no prediction takes away.
    if posterior is not None:
        of_seeds += posterior * (1 - posterior)
    without, with_action = of_seeds.mean(axis=0)
    details = pd.DataFrame({"model": MODELS})
    if published:
        first, second = without, with_action
    else:
        first, second = context_means(
            np.column_stack([without, with_action]), choices.context, choices.n_contexts
        ).T
    gains = first - second
    details["mean_squared_error"] = [first.mean(), second.mean(), gains.mean()]
    if n_seeds > 1:
        of_gains = (of_seeds[:, 0] - of_seeds[:, 1]).mean(axis=1)
        error = float(of_gains.std(ddof=1)) / math.sqrt(n_seeds)
        details["monte_carlo_error"] = [math.nan, math.nan, error]
    saved = float(gains.sum() / first.sum())
    result = replace(result, statistic=100 * saved, details=details)
    if published:
        draws = bootstrap_ratio(gains, first, n_resamples=n_bootstraps, rng=generator)
        method = f"percentile bootstrap over rows, errors held fixed, {n_bootstraps} resamples"
        return replace(
            result,
            interval=Interval(*percentile_interval(100 * draws), 0.95, method),
            assumptions=("rows are independent", EXACT_REPORT),
        )
    # A ratio of means varies as the mean of these, to first order.
    influence = (gains - saved * first) / first.mean()
    values = 100 * (saved + math.sqrt(TRAINING_VARIANCE) * influence)
    interval, reason = interval_or_reason(values, clusters, "gains")
    if interval is not None:
        method = f"{interval.method}, variance enlarged for shared training data"
        interval = replace(interval, method=method).within(-math.inf, 100.0)
    index = pd.Index(choices.contexts, tupleize_cols=False)
    return replace(
        result,
        interval=interval,
        reason=reason,
        assumptions=(clusters.independent,),
        contributions=pd.Series(100 * influence / len(influence), index=index, name="contribution"),
    )


def _no_estimate(data: EvaluationData, target: Floats, published: bool) -> str:
    """Say why nothing can be estimated; empty where it can."""
    if published and data.policy is not None:
        return NO_PUBLISHED
    if len(data.actions) < 2:
        return f"only one action was seen ({data.actions[0]!r})"
    if np.ptp(target) <= 0:
        known = REALISED if np.isin(target, (0, 1)).all() else EXACT
        return f"the {known} is the same in every context"
    return few_contexts(data.n_contexts)


def _designs(belief: Floats, share: Floats) -> tuple[Floats, Floats]:
    """Spline of the belief, and what actions add to it: alone and times the belief; centred."""
    from sklearn.preprocessing import SplineTransformer

    distinct = np.unique(belief).size
    spline = np.empty((len(belief), 0))
    if distinct > 1:
        knots = min(KNOTS, distinct)
        transformer = SplineTransformer(knots, degree=min(3, knots - 1), include_bias=False)
        spline = np.asarray(transformer.fit_transform(belief[:, None]))
    added = np.hstack([share, share * (belief - belief.mean())[:, None]])
    return _standardised(spline), _standardised(added)


def _standardised(columns: Floats) -> Floats:
    spread = columns.std(axis=0)
    return np.asarray((columns - columns.mean(axis=0)) / np.where(spread > 1e-12, spread, 1.0))


def _content(
    choices: EvaluationData, cluster: Codes, n_clusters: int, target: Floats
) -> NDArray[np.uint64]:
    """Number clusters by what they hold, for `context_folds`: no id and no order of rows enters."""
    of_clusters = replace(
        choices, context=cluster, contexts=tuple(range(n_clusters)), group=None, groups=()
    )
    words = np.empty((len(target), 0), dtype=np.object_)
    ordered, _, content = in_canonical_order(of_clusters, (target[:, None], words))
    return content[np.argsort(ordered.contexts)]


def _of_regressions(
    spline: Floats,
    added: Floats,
    target: Floats,
    weight: Floats,
    folds_of: Callable[[int, int | list[int]], Codes],
    n_folds: int,
    number: int,
) -> Floats:
    """Squared errors of left-out rows by ridge regressions, shape (2, n): without action, with it.

    `folds_of` assigns rows to so many folds, by a seed. Sums of squares and products of the columns
    are all that a regression and its total squared error need.
    """
    columns = np.hstack([np.ones((len(target), 1)), spline, added, target[:, None]])
    n_plain = 1 + spline.shape[1]

    def products(rows: Codes) -> Floats:
        return np.asarray(columns[rows].T @ (weight[rows, None] * columns[rows]))

    def fitted(train: Floats, penalty: float) -> Floats:
        """Coefficients of the columns whose combination is prediction minus target."""
        kept = n_plain if math.isinf(penalty) else len(train) - 1
        ridge = np.ones(kept)
        ridge[0], ridge[n_plain:] = 0.0, penalty
        coefficients = np.zeros(len(train))
        coefficients[-1] = -1.0
        found = np.linalg.solve(train[:kept, :kept] + np.diag(ridge), train[:kept, -1])
        coefficients[:kept] = found
        return coefficients

    errors = np.empty((2, len(target)))
    folds = folds_of(n_folds, number)
    for fold in range(int(folds.max()) + 1):
        inner, test = folds_of(N_INNER_FOLDS, [number, 1 + fold]), folds == fold
        parts = [products(np.flatnonzero(~test & (inner == part))) for part in range(N_INNER_FOLDS)]
        train = np.sum(parts, axis=0)
        losses = np.zeros(len(PENALTIES))
        for judge in parts:
            for at, penalty in enumerate(PENALTIES):
                coefficients = fitted(train - judge, penalty)
                losses[at] += coefficients @ judge @ coefficients
        chosen = PENALTIES[int(np.argmin(losses))]
        for model, penalty in enumerate((math.inf, chosen)):
            errors[model, test] = (columns[test] @ fitted(train, penalty)) ** 2
    return errors


def _of_forests(
    predictors: Floats, target: Floats, folds: Codes, rng: np.random.Generator
) -> Floats:
    """Squared errors of left-out rows by random forests, shape (2, n): without action, with it."""
    from sklearn.ensemble import RandomForestRegressor

    found, seed = np.empty((2, len(target))), int(rng.integers(2**31))
    for fold in range(int(folds.max()) + 1):
        test = folds == fold
        for at, columns in enumerate((predictors[:, :1], predictors)):
            forest = RandomForestRegressor(PUBLISHED_TREES, random_state=seed, n_jobs=1)
            found[at, test] = forest.fit(columns[~test], target[~test]).predict(columns[test])
    return np.asarray((target - found) ** 2)


def _by_name(runs: object) -> bool:
    """It takes scikit-learn's import and a second, and accuses nobody: it must be asked for."""
    return False


def _plan(data: EvaluationData, published: bool) -> CallsAndNotes:
    if data.belief.ndim > 1:
        n_states = data.belief.shape[1]
        needs = "action information needs a belief in one of two."
        yield not_run(f"beliefs over {n_states} states: {needs}", "action_information")
        return
    known = data.known("posterior")
    if not known.all() or published:
        if known.any() and not published:
            yield Note(
                Code.STATE,
                f"p_true is known in {known.sum()} of {len(known)} rows: action information "
                "predicts the realised state.",
            )
        data = replace(data, posterior=None)
    estimate = partial(_action_information, data, published=published)
    yield Call(estimate, data.n_dropped, twins=NEVER)


CHECK = Check(
    name="action_information",
    needs=NEEDS_STATE_AND_ACTION,
    sentences={
        "": Interpretation(
            estimate="Beside the {belief}, the action saves {value:.1f}% of the squared error of "
            "predicting the state.",
            published="Beside the {belief}, the action saves {value:.1f}% of the squared error of "
            "predicting the state, by random forests over rows.",
            no_twin_reason="twins have no exact posterior of their own",
        ),
    },
    family=Family.ESTIMATE,
    plan=_plan,
    by_itself=_by_name,
)
