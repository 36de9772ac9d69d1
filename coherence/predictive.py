"""Predictive gain: how much better the realised state lets one predict the action, once the belief is known.

Nested CatBoost classifiers, action ~ belief against action ~ belief + truth, and the same with evidence features on both sides, are
compared by out-of-sample log-loss; all rows of a context fall into one fold. The context is the unit of the interval and of the test.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy import stats

from coherence.inputs import ChoiceData, Codes, Floats, as_choices, require, whole_number
from coherence.resample import Seed, as_generator, bootstrap_ratio, context_folds, context_sums, percentile_interval
from coherence.result import CheckResult, Interval

NULL = "given belief{features}, truth does not help to predict the action out of sample"
UNIT = "% of log-loss"
MAX_ITERATIONS = 1000
DEPTHS = (2, 6)  # small trees for weak signals, the published depth for strong interactions
PATIENCE = 20  # iterations without improvement on held-out contexts before a fit stops
LEARNING_RATE = 0.1
PUBLISHED_DEPTH = 6


@dataclass(frozen=True)
class Setting:
    """Tree depth and number of iterations of one model."""

    depth: int
    iterations: int


@dataclass(frozen=True)
class _Frequencies:
    """The model where there is nothing to learn from: one action, or features that do not vary."""

    share: Floats

    def predict_proba(self, design: pd.DataFrame) -> Floats:
        return np.tile(self.share, (len(design), 1))


def _has_variation(design: pd.DataFrame) -> bool:
    return any(design[name].nunique(dropna=False) > 1 for name in design.columns)


def _classifier(setting: Setting, seed: int, n_actions: int, **options: Any) -> Any:
    from catboost import CatBoostClassifier

    # One thread: the caller decides what runs in parallel, and equal results must not depend on the machine.
    return CatBoostClassifier(
        depth=setting.depth,
        iterations=setting.iterations,
        loss_function="MultiClass" if n_actions > 2 else "Logloss",
        random_seed=seed,
        thread_count=1,
        allow_writing_files=False,
        verbose=False,
        **options,
    )


def _row_losses(model: Any, design: pd.DataFrame, action: Codes, seen: Codes, n_train: int, n_actions: int) -> Floats:
    """Log-loss of each row, in nats.

    Predictions are mixed with the uniform distribution at weight n_actions / (n_train + n_actions), so that an action that the training
    folds never saw costs a finite loss (the same for both models).
    """
    predicted = np.zeros((len(design), n_actions))
    predicted[:, seen] = model.predict_proba(design)
    mixed = (n_train * predicted + 1.0) / (n_train + n_actions)
    losses: Floats = -np.log(mixed[np.arange(len(design)), action])
    return losses


def _fit(design: pd.DataFrame, action: Codes, setting: Setting, seed: int, categorical: list[str], **options: Any) -> tuple[Any, Codes]:
    seen, codes = np.unique(action, return_inverse=True)
    if seen.size == 1 or not _has_variation(design):
        return _Frequencies(np.bincount(codes) / codes.size), seen  # CatBoost refuses such data
    model = _classifier(setting, seed, seen.size, cat_features=categorical, **options)
    model.fit(design, codes)
    return model, seen


def _choose_setting(design: pd.DataFrame, action: Codes, inner: Codes, seed: int, categorical: list[str]) -> Setting:
    """Choose depth and iterations by the log-loss on one inner fold of held-out contexts."""
    from catboost import Pool

    train, held = inner != 0, inner == 0
    seen, codes = np.unique(action[train], return_inverse=True)
    known = np.isin(action[held], seen)
    if seen.size == 1 or not known.any() or not _has_variation(design[train]):
        return Setting(DEPTHS[0], 1)
    held_codes = np.searchsorted(seen, action[held][known])
    fitted = Pool(design[train], codes, cat_features=categorical)
    judged = Pool(design[held][known], held_codes, cat_features=categorical)
    best = (math.inf, Setting(DEPTHS[0], 1))
    for depth in DEPTHS:
        model = _classifier(
            Setting(depth, MAX_ITERATIONS), seed, seen.size, learning_rate=LEARNING_RATE, early_stopping_rounds=PATIENCE, use_best_model=True
        )
        model.fit(fitted, eval_set=judged)
        loss = min(next(iter(model.get_best_score()["validation"].values())), math.inf)
        if loss < best[0]:
            best = (loss, Setting(depth, max(1, model.tree_count_)))
    return best[1]


def _cross_fitted_losses(design: pd.DataFrame, data: ChoiceData, folds: Codes, inner_seed: int, seed: int, published: bool) -> Floats:
    """Out-of-fold log-loss of each row."""
    categorical = [str(name) for name in design.columns if not pd.api.types.is_numeric_dtype(design[name])]
    n_actions = len(data.actions)
    losses = np.empty(data.n_rows)
    for fold in range(int(folds.max()) + 1):
        train, test = folds != fold, folds == fold
        part = design[train]
        if published:
            setting, options = Setting(PUBLISHED_DEPTH, MAX_ITERATIONS), {}
        else:
            # The same inner split serves both models, so that they differ by the truth alone.
            inner = context_folds(data.context, data.n_contexts, 4, np.random.default_rng([inner_seed, fold]))[train]
            setting = _choose_setting(part, data.action[train], inner, seed, categorical)
            options = {"learning_rate": LEARNING_RATE}
        model, seen = _fit(part, data.action[train], setting, seed, categorical, **options)
        losses[test] = _row_losses(model, design[test], data.action[test], seen, int(train.sum()), n_actions)
    return losses


def _as_features(features: Any, n_rows: int) -> pd.DataFrame:
    if isinstance(features, pd.DataFrame):
        frame = features.reset_index(drop=True)
    else:
        frame = pd.DataFrame(np.asarray(features, dtype=object)).infer_objects()
    require(len(frame) == n_rows, f"features must have one row per belief; received {len(frame)} rows for {n_rows}.")
    require(frame.shape[1] > 0, "features must have at least one column; received none. Leave the argument out instead.")
    columns: dict[str, Any] = {}
    for position, name in enumerate(frame.columns):
        column = frame[name]
        if pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column):
            columns[f"feature {position}: {name}"] = column.to_numpy(dtype=np.float64, na_value=np.nan)
        else:
            # A missing category is evidence that was not shown: a category of its own.
            columns[f"feature {position}: {name}"] = column.astype(object).where(column.notna(), "(not shown)").astype(str).to_numpy(dtype=object)
    return pd.DataFrame(columns)


def _designs(data: ChoiceData, features: pd.DataFrame | None) -> tuple[pd.DataFrame, pd.DataFrame]:
    belief = data.belief if data.belief.ndim == 2 else data.belief[:, None]
    base = pd.DataFrame({f"belief {state}": belief[:, state] for state in range(belief.shape[1])})
    if features is not None:
        base = pd.concat([base, features], axis=1)
    truth = data.truth.astype(np.float64) if len(data.states) == 2 else data.truth.astype(str).astype(object)
    return base, base.assign(truth=truth)


def predictive_gain_test(
    belief: ArrayLike,
    action: ArrayLike,
    truth: ArrayLike,
    *,
    features: pd.DataFrame | ArrayLike | None = None,
    context: ArrayLike | None = None,
    n_folds: int = 5,
    n_seeds: int = 5,
    n_bootstraps: int = 2000,
    published: bool = False,
    rng: Seed = None,
) -> CheckResult:
    """Test whether the realised state improves the prediction of the action beyond the stated belief.

    Null: out of sample, a model that also sees the truth predicts the action no better than one that sees the belief (and the features).

    Parameters
    ----------
    belief : array-like, shape (n,) or (n, n_states)
        Stated probabilities in [0, 1].
    action, truth : array-like, shape (n,)
        Labels; `truth` is constant within a context.
    features : DataFrame or array-like, shape (n, n_features), optional
        Evidence given to both models. Numbers stay numbers, everything else becomes a CatBoost category, missing values included.
    context : array-like, shape (n,), optional
        Ids of the evidence; without them every row is its own context.
    n_folds : int
        Folds, dealt by context.
    n_seeds : int
        Repetitions of the whole cross-validation with other folds; losses are averaged over them.
    n_bootstraps : int
        Resamples of contexts for the interval.
    published : bool
        Depth 6 and 1000 iterations without stopping, and an interval over resampled rows. It overfits small tables: on a true null it
        loses several percent, and a moderate signal stays hidden.
    rng : Generator, int or None
        Source of folds and CatBoost seeds.

    Returns
    -------
    CheckResult
        `statistic` is ``100 (L1 - L2) / L1`` for the log-losses without and with the truth; the interval resamples contexts, whose
        losses are held fixed; the p-value is a one-sided studentised test of the mean gain per context. `details` has the two losses
        and the gain in nats per choice. With ``published=True`` there is no p-value.

    Raises
    ------
    InputError
        An array breaks its rule.

    Notes
    -----
    Assumes independent contexts. Depth (2 or 6) and iterations (at most 1000) are chosen for each model on held-out contexts of the
    training folds. Under the null the gain is at or below zero on average, because the larger model spends its freedom on noise; the
    test is then conservative. The interval describes the procedure fitted to samples of this size, not the best possible prediction.

    References
    ----------
    Dorogush, Ershov and Gulin (2018) for CatBoost; Nadeau and Bengio (2003) on tests of cross-validated losses.
    """
    data = as_choices(belief, action, truth, context)
    n_folds = whole_number(n_folds, "n_folds", 2)
    n_seeds = whole_number(n_seeds, "n_seeds", 1)
    n_bootstraps = whole_number(n_bootstraps, "n_bootstraps", 2)
    generator = as_generator(rng)
    evidence = None if features is None else _as_features(features, data.n_rows)
    check = "predictive_gain" if evidence is None else "predictive_gain:features"
    null = NULL.format(features="" if evidence is None else " and features")
    settings: dict[str, Any] = {"published": published, "n_folds": n_folds, "n_seeds": n_seeds, "n_bootstraps": n_bootstraps}
    settings["depths"] = [PUBLISHED_DEPTH] if published else list(DEPTHS)
    settings["max_iterations"] = MAX_ITERATIONS
    if data.degenerate:
        pvalue = None if published else math.nan
        return CheckResult(check, null, math.nan, UNIT, None, pvalue, data.n_rows, data.n_contexts, settings=settings, reason=data.degenerate)

    base, full = _designs(data, evidence)
    losses = np.zeros((2, data.n_rows))
    for seed in generator.integers(2**31, size=n_seeds):
        folds = context_folds(data.context, data.n_contexts, n_folds, np.random.default_rng(seed))
        for model, design in enumerate((base, full)):
            losses[model] += _cross_fitted_losses(design, data, folds, int(seed), int(seed), published) / n_seeds

    if published:
        unit_losses, gains = losses[0], losses[0] - losses[1]
        units, pvalue = "rows", None
    else:
        unit_losses = context_sums(losses[0], data.context, data.n_contexts)
        gains = context_sums(losses[0] - losses[1], data.context, data.n_contexts)
        units, pvalue = "contexts", _mean_gain_pvalue(gains)
    low, high = percentile_interval(100 * bootstrap_ratio(gains, unit_losses, n_resamples=n_bootstraps, rng=generator))
    total, with_truth = float(losses[0].mean()), float(losses[1].mean())
    return CheckResult(
        check=check,
        null=null,
        statistic=100 * (total - with_truth) / total,
        unit=UNIT,
        interval=Interval(low, high, 0.95, f"percentile bootstrap over {units}, losses held fixed, {n_bootstraps} resamples"),
        pvalue=pvalue,
        n_rows=data.n_rows,
        n_contexts=data.n_contexts,
        settings=settings,
        details=pd.DataFrame({"model": ["without truth", "with truth", "gain"], "log_loss": [total, with_truth, total - with_truth]}),
        assumptions=(f"{units} are independent", "losses of contexts in different folds are treated as independent"),
    )


def _mean_gain_pvalue(gains: Floats) -> float:
    """One-sided studentised test that the mean gain per context is at most zero."""
    spread = float(gains.std(ddof=1))
    if spread == 0:
        return 1.0  # two models that never differ: no gain
    return float(stats.t.sf(math.sqrt(gains.size) * gains.mean() / spread, gains.size - 1))
