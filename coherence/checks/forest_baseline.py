"""Random-forest baseline of the iterated expectation: the gap of a learner that fits well.

It is not coherent by construction. Forests learn the exact posterior given x, the exact posterior
given x and z, and P(z | x), each apart, and predict contexts that they have not seen; nothing makes
the predictions average out. A model's own gap is read against theirs. Needs the exact posteriors; z
may be any number of discrete variables.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd

from coherence.checks.check import Call, CallsAndNotes, Check, Interpretation, Question
from coherence.inputs import MIN_CONTEXTS, Codes, Floats, few_contexts, whole_number
from coherence.result import CheckResult
from coherence.runs.needs import NEEDS_GIVEN_Z
from coherence.runs.notes import not_run
from coherence.runs.read import with_columns
from coherence.runs.runs import Runs
from coherence.statistics.evaluation import EvaluationData
from coherence.statistics.mean_interval import NO_SPREAD, median_interval
from coherence.statistics.resample import clusters_of, group_of_contexts, jackknife_groups

NAME = "iterated_expectation:random_forest"
NULL = "median of |gap| / belief of random forests fitted to the exact posteriors"
UNIT = "of belief"
KEY = ["context", "z", "z_state"]
MAX_CONTEXTS = 2000  # forests of more take minutes, and a median of as many hardly moves
PARTS = 3  # of the contexts; a forest sees all but one


def _ordinal(column: pd.Series) -> pd.Series:
    """Numbers as they are (forests split on missing ones), labels as ordinal codes."""
    if pd.api.types.is_numeric_dtype(column):
        return column.astype(np.float64)
    codes = pd.Categorical(column.astype("string")).codes  # a missing label has a code too: -1
    return pd.Series(codes, index=column.index, dtype=np.float64)


def _questions(runs: pd.DataFrame, names: list[str]) -> tuple[pd.DataFrame, pd.DataFrame, str]:
    """One row per context, one per context and value of z, and the column of P(z | x)."""
    target = "p_z_true" if "p_z_true" in runs.columns and runs["p_z_true"].notna().any() else "p_z"
    coded = runs.assign(**{name: _ordinal(runs[name]) for name in names})
    conditional = coded["z_state"].notna()
    # Repetitions and prompts share evidence and exact posterior; a stated P(z | x) is averaged over
    # them.
    plain = (
        coded[~conditional]
        .dropna(subset="p_true")
        .groupby("context", observed=True)[[*names, "p_true"]]
        .first()
        .reset_index()
    )
    by_state = coded[conditional].dropna(subset=["p_true", target]).groupby(KEY, observed=True)
    pieces = (
        by_state[[*names, "p_true"]]
        .first()
        .assign(**{target: by_state[target].mean().round(12)})
        .reset_index()
    )
    wanted = runs[conditional].groupby("z", observed=True)["z_state"].nunique()
    whole = pieces.groupby(["context", "z"], observed=True)["z_state"].transform("size") == pieces[
        "z"
    ].map(wanted).astype(int)
    pieces = pieces[whole & pieces["context"].isin(plain["context"])]
    return plain[plain["context"].isin(pieces["context"])], pieces, target


def _forest(features: Floats, target: Floats, context: Codes, parts: Codes, n_trees: int) -> Floats:
    """Predict every row by a forest that has seen no row of its context's part, shape (n,)."""
    from sklearn.ensemble import RandomForestRegressor

    predicted = np.empty(target.size)
    for part in range(PARTS):
        held = parts[context] == part
        # A fixed seed: what two models are compared with must not differ between them.
        forest = RandomForestRegressor(n_trees, random_state=0, n_jobs=1)
        predicted[held] = forest.fit(features[~held], target[~held]).predict(features[held])
    return predicted


def random_forest_baseline(runs: pd.DataFrame, *, n_trees: int = 50) -> CheckResult:
    """Estimate the iterated-expectation gap of random forests fitted to the exact posteriors.

    Estimates the median over contexts of ``|gap| / belief`` with predictions for contexts left out
    in the place of stated beliefs; no test.

    Parameters
    ----------
    runs : DataFrame
        Columns ``context``, ``z``, ``z_state``, ``p_z``, ``p_true`` and evidence columns ``x_*``.
        ``p_true`` is P(theta | x) on ordinary rows and P(theta | x, z = z_state) on rows with a
        ``z_state``; ``p_z_true``, where present, is learned instead of the stated ``p_z``.
    n_trees : int
        Trees of each of the three forests: a context is predicted by the one that was grown on the
        other two thirds of the contexts.

    Returns
    -------
    CheckResult
        `statistic` is the median of ``|gap| / belief``, with an interval over contexts (the forests
        are kept). `details` has one row per context and z: the prediction given x, its
        reconstruction from the predictions given z, the gap, and the exact posterior. NaN with a
        reason without ``p_true``, without evidence columns, or with fewer than ten complete
        contexts.

    Raises
    ------
    InputError
        A column besides ``p_true`` and the evidence is missing, or `n_trees` is below 1.

    Notes
    -----
    Assumes independent contexts. Labels enter as ordinal codes, a missing label as a code of its
    own; the value of z as one indicator per variable and value. Predicted P(z | x) are normalised
    to sum to 1 over the values of a variable.

    The estimate belongs to the cases: given ``p_true`` and ``p_z_true`` it is the same for every
    model that was asked about them, whatever it answered, and for any order of rows and columns.
    Of more than 2000 complete contexts as many are taken, always the same, and `assumptions` says
    so.

    References
    ----------
    Breiman (2001), Machine Learning 45(1), for the forests.

    Examples
    --------
    >>> import coherence
    >>> runs = coherence.simulate("rational", n_contexts=60, n_reps=2, rng=1)
    >>> random_forest_baseline(runs, n_trees=10).unit
    'of belief'
    """
    runs = with_columns(runs, (*KEY, "p_z"))
    n_trees = whole_number(n_trees, "n_trees", 1)
    return _baseline(runs, Runs(runs).features, n_trees)


def _baseline(runs: pd.DataFrame, features: Sequence[str], n_trees: int = 50) -> CheckResult:
    """Run `random_forest_baseline` on validated rows."""
    names = sorted(features)  # forests draw columns by position: another order, another forest
    undefined = CheckResult(
        check=NAME,
        null=NULL,
        unit=UNIT,
        n_rows=len(runs),
        n_contexts=int(runs["context"].nunique()),
        settings={"n_trees": n_trees, "max_contexts": MAX_CONTEXTS},
    )
    if "p_true" not in runs.columns or not runs["p_true"].notna().any():
        missing = "no exact posterior: the column p_true is missing or empty"
        return replace(undefined, reason=missing)
    if not names:
        return replace(undefined, reason="no evidence: no column starts with x_")
    plain, pieces, target = _questions(runs, names)
    if few := few_contexts(len(plain), "with an exact posterior for every value of z"):
        return replace(undefined, reason=few)

    n_complete = len(plain)
    plain, pieces = _taken(plain, pieces, names)
    taken = f"{len(plain)} of {n_complete} contexts stand for all, the same ones for every model"
    details = _predicted(plain, pieces, names, target, n_trees)
    relative = (details["gap"].abs() / details["belief"].where(details["belief"] > 0)).dropna()
    context = details.loc[relative.index, "context"]
    if context.nunique() < MIN_CONTEXTS:
        few = f"fewer than {MIN_CONTEXTS} contexts have a prediction above 0"
        return replace(undefined, reason=few)
    gaps = relative.to_numpy(dtype=np.float64)
    codes, contexts = pd.factorize(context)
    clusters = clusters_of(group_of_contexts(runs), contexts)
    interval, reason = None, clusters.too_few
    if not reason:
        named = clusters.plural
        interval = median_interval(gaps, clusters.of_context[codes], clusters=named)
        reason = "" if interval else NO_SPREAD.format(what="gap", clusters=named)
    return replace(
        undefined,
        statistic=float(np.median(gaps)),
        interval=interval,
        n_rows=len(details),
        n_contexts=len(plain),
        settings={
            **undefined.settings,
            "weights_from": target,
            "cluster of resampling": clusters.name,
        },
        details=details,
        assumptions=(clusters.independent, *([taken] if len(plain) < n_complete else ())),
        reason=reason,
    )


def _taken(
    plain: pd.DataFrame, pieces: pd.DataFrame, names: list[str]
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Order contexts by their evidence, so that no name matters, and take at most the maximum."""
    ordered = plain.sort_values([*names, "p_true"], kind="stable", ignore_index=True)
    if len(ordered) > MAX_CONTEXTS:
        taken = np.random.default_rng(0).permutation(len(ordered))[:MAX_CONTEXTS]
        ordered = ordered.iloc[np.sort(taken)].reset_index(drop=True)
    rank = pd.Index(ordered["context"]).get_indexer(pieces["context"])
    by_rank = np.argsort(rank, kind="stable")
    return ordered, pieces.iloc[by_rank[rank[by_rank] >= 0]].reset_index(drop=True)


def _predicted(
    plain: pd.DataFrame, pieces: pd.DataFrame, names: list[str], target: str, n_trees: int
) -> pd.DataFrame:
    """Predict beliefs, beliefs given z and P(z | x) out of sample, and reconstruct the first."""
    order = pd.Index(plain["context"])
    context = order.get_indexer(pieces["context"])
    value_of_z = pieces["z"].astype(str) + "\x1f" + pieces["z_state"].astype(str)
    indicators = pd.get_dummies(value_of_z).to_numpy(dtype=np.float64)
    evidence = np.column_stack([pieces[names].to_numpy(dtype=np.float64), indicators])
    plain_evidence = plain[names].to_numpy(dtype=np.float64)
    parts = jackknife_groups(len(plain), PARTS, np.random.default_rng(0))
    fit = partial(_forest, parts=parts, n_trees=n_trees)
    belief = fit(plain_evidence, plain["p_true"].to_numpy(), np.arange(len(plain)))
    pieces = pieces.assign(
        given_z=fit(evidence, pieces["p_true"].to_numpy(), context),
        weight=fit(evidence, pieces[target].to_numpy(dtype=np.float64), context),
    )
    pieces["product"] = pieces["given_z"] * pieces["weight"]
    by_variable = pieces.groupby(["context", "z"], observed=True)
    sums = by_variable[["product", "weight"]].sum().reset_index()
    position = order.get_indexer(sums["context"])
    details = sums[["context", "z"]].assign(
        belief=belief[position],
        # Forests fit each P(z | x) apart, so that they need not sum to 1.
        reconstructed=sums["product"] / sums["weight"].where(sums["weight"] > 0),
        p_true=plain["p_true"].to_numpy()[position],
    )
    details["gap"] = details["belief"] - details["reconstructed"]
    return details


def _plan(data: EvaluationData, published: bool) -> CallsAndNotes:
    assert data.runs is not None
    runs = data.runs.table
    features = [name for name in data.runs.features if runs[name].notna().any()]
    if "p_true" not in runs.columns or not features:
        note = (
            "no p_true or no x_ columns: the gap of a fitted predictor was not computed "
            "alongside that of the model."
        )
        yield not_run(note, NAME)
        return
    yield Call(partial(_baseline, runs, features), draws=False)


CHECK = Check(
    name=NAME,
    origin="Adapted from the forests of Yamin et al.",
    needs=NEEDS_GIVEN_Z,
    sentences={
        "": Interpretation(
            estimate="For comparison: forests fitted to the exact posteriors have a median gap "
            "of {value:.1%} of the belief.",
            words="gaps to a random forest, relative to the belief",
        )
    },
    question=Question.TOGETHER,
    plan=_plan,
    # It takes a quarter of the time of a small table, and compares: it must be asked for.
    by_itself=lambda runs: False,
)
