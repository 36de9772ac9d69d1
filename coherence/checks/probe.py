"""Probed belief: how well the exact posterior can be read off hidden states, and off the evidence.

A ridge-penalised logit predicts the posterior (or the realised state) of each case from the hidden
states of the others; layer and penalty are chosen inside the training folds (Alain and Bengio 2017,
nested). Hidden states are computed from the text: what a regression finds in the text it finds in
the states of an untrained network too (Zhang and Bowman 2018; Hewitt and Liang 2019). So the same
regression on the findings and their pairs stands beside it, and a belief is given only where the
states do better. Assumes independent cases.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from coherence.checks.sufficiency import sufficiency_test
from coherence.inputs import Codes, Floats, require
from coherence.result import CheckResult
from coherence.statistics.evaluation import EvaluationData, evaluation_data, one_dimensional
from coherence.statistics.learners import as_features
from coherence.statistics.mean_interval import PAIRED, difference_interval, difference_pvalue
from coherence.statistics.resample import (
    Clusters,
    Seed,
    check_stream,
    context_means,
    jackknife_groups,
)

FEWEST_CASES = 30
N_FOLDS, N_INNER_FOLDS = 10, 4
PENALTIES = (10.0, 1.0, 0.1, 0.01, 0.001, 0.0001)
"""Of the squared length of the weights, columns having a mean square of 1 together."""
MOST_PAIRED = 300  # columns of evidence whose products are columns too
PROBED, EVIDENCE, STATED = "probed", "evidence", "stated"
NO_BETTER = "hidden states predict the {target} no better than the evidence itself"
NULLS = {
    "gain": "hidden states predict the {target} of other cases no better than the evidence does",
    PROBED: "given the stated belief, actions do not covary with the probed one",
    STATED: "given the probed belief, actions do not covary with the stated one",
}


@dataclass(frozen=True)
class Probe:
    """What can be read off hidden states, beside what can be read off the evidence."""

    target: str  # "exact posterior" or "realised state"
    # by case: context, target, stated, evidence and probed belief (out of fold), layer of the fold
    cases: pd.DataFrame
    # by belief: r2 (share of the target's variance), rmse, and slope of the target on the belief
    beliefs: pd.DataFrame
    layers: pd.DataFrame  # by layer: r2 of it alone, and n_folds that chose it
    gain: CheckResult  # of squared error over the evidence, in shares of the target's variance
    probed: CheckResult  # whether actions go with the probed belief at equal stated belief
    stated: CheckResult  # whether they go with the stated belief at equal probed belief

    @property
    def gains(self) -> bool:
        """Whether hidden states do better than the evidence, so that there is a probed belief."""
        return self.gain.interval is not None and self.gain.interval.low > 0


def probe_estimates(
    hidden: ArrayLike,
    belief: ArrayLike,
    action: ArrayLike | None = None,
    truth: ArrayLike | None = None,
    *,
    features: pd.DataFrame | ArrayLike,
    exact: ArrayLike | None = None,
    layers: ArrayLike | None = None,
    context: ArrayLike | None = None,
    group: ArrayLike | None = None,
    positive: Any = None,
    computed: bool = False,
    rng: Seed = None,
) -> Probe:
    """Read the exact posterior, or the realised state, off hidden states and off the evidence.

    Parameters
    ----------
    hidden : array-like, shape (n, n_layers, width)
        Hidden states of the case of each row; of a case those of its first row count.
    belief : array-like, shape (n,)
        Stated beliefs in [0, 1].
    action : array-like, shape (n,) or (n, n_actions), optional
        Labels, or the probability of each action; missing where none was asked.
    truth : array-like, shape (n,), optional
        Realised states, constant within a context; may be left out with `exact`.
    features : DataFrame or array-like, shape (n, n_features)
        Evidence; numbers stay numbers, all else becomes categories, missing values included.
    exact : array-like, shape (n,), optional
        Exact posterior of the state that the belief is in, which is then predicted.
    layers : array-like, shape (n_layers,), optional
        Names of the layers; None numbers them from 1.
    context : array-like, shape (n,), optional
        Ids of the cases; without them every row is its own.
    group : array-like, shape (n,), optional
        What contexts share: whole groups go into folds and are the units, at least ten.
    positive : Any
        Label of the state that the belief is in; may be left out where the labels say it.
    computed : bool
        Whether beliefs were computed from a model's distribution and have no noise.
    rng : Generator, int or None
        Source of folds and of the draws of the tests.

    Returns
    -------
    Probe
        `gain` has the null that hidden states predict no better than the evidence; `probed` and
        `stated` are `sufficiency_test` with the probed belief in the state's place, and with the
        two exchanged. Where there is no gain they have no numbers, and there is no probed belief.

    Raises
    ------
    InputError
        An array breaks its rule, fewer than 30 cases, or a target that does not vary.

    Notes
    -----
    Columns are standardised over all cases (no target is used) and divided by the root of their
    number. Ten folds of cases; in each, the pair of layer and penalty with the least cross-entropy
    over four folds of the other cases. Evidence has two "layers": its columns, and these with the
    products of all pairs, as long as there are at most 300 columns. The interval is of the mean
    over cases of the difference in squared error, for these training sizes.

    References
    ----------
    Alain and Bengio (2017), ICLR workshop; Hewitt and Liang (2019), EMNLP; Belinkov (2022),
    Computational Linguistics 48(1).

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(1)
    >>> odds, unsaid = rng.normal(size=(2, 60))
    >>> exact, stated = 1 / (1 + np.exp(-odds - unsaid)), 1 / (1 + np.exp(-odds))
    >>> mixed = np.column_stack([odds, unsaid, rng.normal(size=(60, 8))])
    >>> hidden = (mixed @ rng.normal(size=(10, 10)))[:, None]
    >>> evidence = pd.DataFrame({"x_odds": np.round(odds, 1)})  # nothing of what is not said
    >>> found = probe_estimates(hidden, stated, exact=exact, features=evidence, rng=1)
    >>> found.gains, (found.beliefs["r2"] > 0.9).tolist()  # probed, evidence, stated
    (True, [True, False, False])
    """
    rng = check_stream(rng, "probe")
    data = evaluation_data(
        belief,
        action,
        truth,
        context,
        posterior=exact,
        group=group,
        positive=positive,
        missing=True,
    )
    states, first = _of_cases(hidden, data)
    names = np.arange(1, states.shape[1] + 1) if layers is None else np.asarray(layers)
    require(
        names.shape == states.shape[1:2],
        f"layers must name the {states.shape[1]} layers of hidden; received {names.size}.",
    )
    require(
        data.n_contexts >= FEWEST_CASES,
        f"hidden states of at least {FEWEST_CASES} cases are needed to predict some from others; "
        f"here are {data.n_contexts}. Ask about more.",
    )
    require(not data.clusters.too_few, f"{data.clusters.too_few}. Ask about cases of more groups.")
    target, name = _target(data, exact is not None)
    folds = _folds(data.clusters, N_FOLDS, rng)
    seeds = rng.integers(2**31, size=2)
    probe = _predicted([_kernel(states[:, at]) for at in range(states.shape[1])], target, folds)
    baseline = _predicted(_evidence(features, data, first), target, folds)
    said = context_means(one_dimensional(data, "probe"), data.context, data.n_contexts)
    cases = pd.DataFrame(
        {
            "context": list(data.contexts),
            "target": target,
            STATED: said,
            EVIDENCE: baseline.belief,
            PROBED: probe.belief,
            "layer": names[probe.chosen[folds.outer]],
        }
    )
    by_layer = {
        "layer": names,
        "r2": [_accuracy(target, column)["r2"] for column in probe.of_designs],
        "n_folds": np.bincount(probe.chosen, minlength=len(names)),
    }
    found = Probe(
        name,
        cases,
        pd.DataFrame([_accuracy(target, cases[of], of) for of in (PROBED, EVIDENCE, STATED)]),
        pd.DataFrame(by_layer),
        _gain(cases, data, name),
        _blank(PROBED, data, NO_BETTER.format(target=name)),
        _blank(STATED, data, NO_BETTER.format(target=name)),
    )
    if not found.gains:
        return found
    return replace(
        found,
        probed=_moved(found, PROBED, replace(data, computed=computed), int(seeds[0])),
        stated=_moved(found, STATED, replace(data, computed=True), int(seeds[1])),
    )


def _of_cases(hidden: ArrayLike, data: EvaluationData) -> tuple[Floats, Codes]:
    """Return the hidden states of each context, and its first row."""
    states = np.asarray(hidden)
    require(
        states.ndim == 3 and len(states) == data.n_rows and states.dtype.kind == "f",
        f"hidden must be numbers of shape ({data.n_rows}, n_layers, width), a row each of belief; "
        f"received {states.dtype} of shape {states.shape}.",
    )
    first = np.unique(data.context, return_index=True)[1]
    states = states[first].astype(np.float64)
    require(
        bool(np.isfinite(states).all()),
        "hidden must be finite numbers; some are not. Keep the states in float32.",
    )
    return states, first


def _target(data: EvaluationData, is_exact: bool) -> tuple[Floats, str]:
    """Return what is predicted of each context."""
    of_rows, name = data.state, "realised state"
    if is_exact:
        assert data.posterior is not None
        of_rows, name = data.posterior, "exact posterior"
    known = not np.isnan(of_rows).any()
    require(
        known,
        f"the {name} must be known of every case, and of {int(np.isnan(of_rows).sum())} rows it "
        "is not. Pass the exact posteriors as exact, or states as truth (and positive, the state "
        "that the belief is in).",
    )
    target = context_means(of_rows, data.context, data.n_contexts)
    require(
        float(np.ptp(target)) > 1e-9, f"the {name} is the same in all cases: nothing to predict."
    )
    return target, name


def _evidence(features: Any, data: EvaluationData, first: Codes) -> list[Floats]:
    """Return the columns of the evidence, and these with the products of their pairs."""
    numbers, words = (each[first] for each in as_features(features, data.n_rows))
    missing = np.isnan(numbers)
    mean = np.where(missing, 0, numbers).sum(axis=0) / np.maximum((~missing).sum(axis=0), 1)
    filled = np.where(missing, mean, numbers)
    indicators = [pd.get_dummies(column).to_numpy() for column in words.T]
    single = np.hstack([filled, missing, *indicators]).astype(np.float64)
    single = single[:, np.ptp(single, axis=0) > 0]
    n = single.shape[1]
    if not 1 < n <= MOST_PAIRED:
        return [_kernel(single)]
    left, right = np.triu_indices(n, 1)
    return [
        _kernel(single),
        _kernel(np.hstack([single, single[:, left] * single[:, right]])),
    ]


def _kernel(columns: Floats) -> Floats:
    """Return the inner products of cases over standardised columns, shape (n, n)."""
    centred = columns - columns.mean(axis=0)
    spread = centred.std(axis=0)
    varies = spread > 1e-9 * (1 + np.abs(columns).max(axis=0, initial=0))
    standard = centred[:, varies] / spread[varies]
    return np.asarray(standard @ standard.T / max(int(varies.sum()), 1))


@dataclass(frozen=True)
class _Folds:
    outer: Codes  # of each context
    inner: tuple[Codes, ...]  # of each outer fold: of each context, whether in it or not


def _folds(clusters: Clusters, n_folds: int, rng: np.random.Generator) -> _Folds:
    """Assign whole clusters to folds, and for each fold to folds within the others."""
    outer = jackknife_groups(clusters.n, n_folds, rng)
    inner = []
    for fold in range(int(outer.max()) + 1):
        within = np.full(clusters.n, -1, dtype=np.int64)
        rest = outer != fold
        within[rest] = jackknife_groups(int(rest.sum()), N_INNER_FOLDS, rng)
        inner.append(within[clusters.of_context])
    return _Folds(outer[clusters.of_context], tuple(inner))


@dataclass(frozen=True)
class _Predicted:
    """Out-of-fold predictions."""

    belief: Floats  # shape (n_contexts,)
    of_designs: Floats  # shape (n_designs, n_contexts): of each alone, its penalty chosen
    chosen: Codes  # shape (n_folds,): the design of each fold


def _predicted(kernels: list[Floats], target: Floats, folds: _Folds) -> _Predicted:
    """Predict each fold from the others, by the design and penalty that do best within these."""
    of_designs = np.empty((len(kernels), len(target)))
    belief, chosen = np.empty(len(target)), []
    for fold, inner in enumerate(folds.inner):
        held, rest = folds.outer == fold, folds.outer != fold
        losses = np.zeros((len(kernels), len(PENALTIES)))
        for at, kernel in enumerate(kernels):
            for part in range(N_INNER_FOLDS):
                judging, training = inner == part, rest & (inner != part)
                odds = _log_odds(
                    kernel[np.ix_(training, training)],
                    target[training],
                    kernel[np.ix_(judging, training)],
                )
                losses[at] += _cross_entropy(odds, target[judging])
            odds = _log_odds(kernel[np.ix_(rest, rest)], target[rest], kernel[np.ix_(held, rest)])
            best = odds[int(losses[at].argmin())]
            of_designs[at, held] = 1 / (1 + np.exp(-best))
        chosen.append(int(losses.min(axis=1).argmin()))
        belief[held] = of_designs[chosen[-1], held]
    return _Predicted(belief, of_designs, np.array(chosen))


def _cross_entropy(log_odds: Floats, target: Floats) -> Floats:
    return np.asarray((np.logaddexp(0, log_odds) - target * log_odds).sum(axis=1))


def _log_odds(kernel: Floats, target: Floats, held: Floats) -> Floats:
    """Fit a logit of shares under each penalty, and predict; shape (n_penalties, n_held).

    `kernel` and `held` are inner products with the cases that are learnt from.
    """
    odds, ones, predicted = np.zeros(len(target)), np.ones(len(target)), []
    for penalty in PENALTIES:  # from the strongest, each from the one before
        for _ in range(50):  # iteratively reweighted least squares
            likely = 1 / (1 + np.exp(-odds))
            weight = np.maximum(likely * (1 - likely), 1e-6)
            working = np.column_stack([odds + (target - likely) / weight, ones])
            solved = np.linalg.solve(kernel + np.diag(penalty / weight), working)
            constant = solved[:, 0].sum() / solved[:, 1].sum()
            of_cases = solved[:, 0] - constant * solved[:, 1]
            step = kernel @ of_cases + constant - odds
            moved = float(np.abs(step).max())
            odds = np.clip(odds + step * min(1.0, 4 / max(moved, 1e-300)), -30, 30)
            if moved < 1e-2:
                break
        predicted.append(np.clip(constant + held @ of_cases, -30, 30))
    return np.array(predicted)


def _accuracy(target: Floats, belief: Any, name: str = "") -> dict[str, Any]:
    """Say how well a belief foretells the target."""
    belief = np.asarray(belief, dtype=np.float64)
    known = ~np.isnan(belief)
    target, belief = target[known], belief[known]
    squares = float(((target - belief) ** 2).mean())
    spread = float(belief.var())
    slope = float(np.cov(target, belief, ddof=0)[0, 1]) / spread if spread > 1e-12 else math.nan
    return {
        "belief": name,
        "r2": 1 - squares / float(target.var()),
        "rmse": math.sqrt(squares),
        "slope": slope,
    }


def _blank(name: str, data: EvaluationData, reason: str) -> CheckResult:
    return CheckResult(
        check=f"probe:{name}",
        null=NULLS[name],
        statistic=math.nan,
        unit="probability",
        interval=None,
        pvalue=math.nan,
        n_rows=data.n_rows,
        n_contexts=data.n_contexts,
        reason=reason,
    )


def _gain(cases: pd.DataFrame, data: EvaluationData, target: str) -> CheckResult:
    """Compare squared errors of hidden states and evidence by case."""
    truth = cases["target"].to_numpy()
    errors = [(truth - cases[name].to_numpy()) ** 2 for name in (EVIDENCE, PROBED)]
    gains = (errors[0] - errors[1]) / float(truth.var())
    values = data.clusters.values(gains)
    interval = difference_interval(values)
    if interval is not None:
        method = PAIRED.format(clusters=data.clusters.plural)
        interval = replace(interval, method=method)
    return replace(
        _blank("gain", data, "" if interval else "both predict the same"),
        null=NULLS["gain"].format(target=target),
        statistic=float(gains.mean()),
        unit="share",
        interval=interval,
        pvalue=difference_pvalue(values),
        settings={"n_folds": N_FOLDS, "clusters": data.clusters.name},
        assumptions=(data.clusters.independent,),
        contributions=pd.Series(gains - gains.mean(), index=cases["context"]) / len(gains),
    )


def _moved(found: Probe, name: str, data: EvaluationData, seed: int) -> CheckResult:
    """Test whether actions go with one of the two beliefs at equal other."""
    rows = np.flatnonzero(data.known("action"))
    if not data.actions or not rows.size:
        return _blank(name, data, "no action was asked for")
    of_row = data.context[rows]
    probed, said = (found.cases[each].to_numpy()[of_row] for each in (PROBED, STATED))
    result = sufficiency_test(
        one_dimensional(data, "probe")[rows] if name == PROBED else probed,
        pd.DataFrame(data.share[rows], columns=list(data.actions)),
        exact=probed if name == PROBED else said,
        context=of_row,
        group=None if data.group is None else data.group[of_row],
        computed=data.computed,
        rng=seed,
    )
    return replace(result, check=f"probe:{name}", null=NULLS[name])
