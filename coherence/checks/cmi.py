"""Belief sufficiency by information, I(action; truth | belief).

If the stated belief is the belief acted on, the realised state tells nothing more about the action.
The information is counted in windows of contexts of like belief, and compared with that where
realised states are permuted between whole contexts (Runge 2018), so that repetitions of a context
stay together. Mesner and Shalizi's (2021) nearest-neighbour estimate stands alongside.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from coherence.checks.by_name import takes_columns
from coherence.checks.check import (
    INTERVAL_ALONE,
    Call,
    CallsAndNotes,
    Check,
    Interpretation,
    Question,
    blank,
)
from coherence.checks.sufficiency_result import SEPARATED
from coherence.inputs import Codes, Floats, as_codes, as_doubles, require, require_aligned
from coherence.result import EXACT_REPORT, CheckResult
from coherence.runs.needs import NEEDS_STATE_AND_ACTION
from coherence.statistics.adjustment import explained_by, fitted, left_over
from coherence.statistics.evaluation import (
    EvaluationData,
    as_choices,
    in_several_states,
    one_dimensional,
    separated,
)
from coherence.statistics.knn import (
    SPREAD,
    calibrated,
    general_information,
    policy_information,
    scaled_policies,
    sorted_information,
)
from coherence.statistics.learners import feature_frame
from coherence.statistics.permutation import (
    Contexts,
    Permuted,
    contexts_of,
    permutation_blocks,
    permutation_test,
    settled_by_groups,
    too_few,
)
from coherence.statistics.resample import Seed, check_stream, context_means, percentile_interval
from coherence.statistics.windows import (
    Choices,
    chosen,
    local_information,
    moved,
    ranked,
    window_size,
)

NULL = (
    "given the {given}, the {action} of a context is independent of its truth: I({action}; truth | "
    "{columns}) = 0; tested against dependence of any direction and of different directions at "
    "different beliefs"
)
UNIT = "nats"
NO_SPREAD = 1e-12  # standard deviation of information over permutations that is rounding alone
NO_PUBLISHED = "the published estimate takes chosen actions, and here actions are probabilities"
NO_INTERVAL = "no interval of known coverage"
INFORMATION, NEAREST = "information in windows", "nearest neighbours"
"""Quantities of `CheckResult.details`: the one that is tested, and the published estimate."""


@takes_columns("belief", "action", "truth", "context", "group", "condition_on")
def cmi_test(
    belief: ArrayLike,
    action: ArrayLike,
    truth: ArrayLike,
    *,
    data: pd.DataFrame | None = None,
    context: ArrayLike | None = None,
    group: ArrayLike | None = None,
    positive: Any = None,
    condition_on: ArrayLike | pd.DataFrame | None = None,
    isotonic: bool = False,
    k: int = 3,
    n_permutations: int = 2_999,
    published: bool = False,
    n_bootstraps: int = 500,
    rng: Seed = None,
) -> CheckResult:
    """Test whether actions carry information about the truth that the stated belief does not.

    Null: given the belief (and the features or the group), the actions of a case are independent of
    its truth.

    Estimand: the mutual information of action and truth among cases of like belief, less its mean
    where truths are permuted (nats); cases count alike.

    Where actions are probabilities, all of them together (the policy) are independent of the truth:
    a coherent agent's policy is a function of the belief and of what else its case brings, such as
    its text or a taste.

    Parameters
    ----------
    group : array-like, shape (n,), optional
        What contexts share beyond their belief, such as a template: states are permuted within
        groups. Constant within a context.
    positive : Any
        Label of the state that a belief in one state is in, and all others are then the other
        state. Only `isotonic` has to know it, where the labels are not 0 and 1, no and yes, or
        false and true.
    condition_on : DataFrame or array-like, shape (n,) or (n, n_features), optional
        Features of the evidence, for I(action; truth | belief, features). Numbers are scaled to a
        spread like that of beliefs; booleans, text and categories are labels. Contexts then trade
        states only with contexts of like belief and features.
    isotonic : bool
        Take the nearest-neighbour estimate given the isotonic calibration of the belief, fitted
        anew in every permutation and resample. The test is the same: the states are exchangeable
        given the belief or not. Two states and no features only.
    k : int
        Neighbours of the nearest-neighbour estimate; the test does not depend on it.
    n_permutations : int
        Random permutations; ten times as many where the p-value lies within two Monte Carlo errors
        of .05. All arrangements where they are fewer.
    published : bool
        The published procedure instead: the estimate and a percentile interval over resampled
        rows, read as a rejection when it lies above 0. Its error rate is not controlled (rows of a
        context are treated as independent, and duplicated rows bias the estimate upwards).
    n_bootstraps : int
        Row resamples of the published interval.

    Returns
    -------
    CheckResult
        `statistic` is the information in windows less its mean over permutations (nats); it may be
        below 0, by chance. ``settings["window"]`` is how many contexts a window holds. `details`
        holds the information, its mean and standard deviation over permutations and its excess over
        that mean, and the nearest-neighbour estimate (nats; it may be below 0, is not tested, and
        with repetitions its neighbours are the other answers of a case). There is no interval,
        because none of known coverage is at hand. NaN with a reason where fewer than ten contexts
        can be permuted.
        With ``published=True`` `statistic` is the nearest-neighbour estimate, with the paper's
        interval and no p-value.

    Raises
    ------
    InputError
        An array breaks its rule, `isotonic` with more than two states or with features, or with
        two of which it is not known which one the belief is in, `k` not below the number of rows.

    Notes
    -----
    The p-value ranks the information between state and choice that is counted in windows of the 30%
    of contexts nearest in belief (and features), at least eight. A state that matters in different
    directions within a window is seen less than one that matters everywhere. Windows lie about at
    most 60 contexts, and every context weighs the same in them,
    however many answers it has. Blocks of contexts are those of `sufficiency_test`: equal
    beliefs (to 1e-9) together, and neighbouring ones joined until a block holds four contexts;
    given several columns, nearest neighbours no more than .1 apart (.4 standard deviations of a
    numeric feature). Given several columns, contexts that are alike are further apart: what a
    quadratic polynomial of the columns explains is taken out of the choices before they are
    counted, so that choices which only follow the belief are no information. Assumes that contexts
    are independent.

    Probabilities of actions give the information between the policy and the truth. Nearest
    neighbours take each probability in units of its spread, two policies as far apart as the most
    different of them; windows count in which quarter of the window's contexts each probability lies
    (within groups, after what belief and group explain is taken out), so that a state is seen that
    moves their spread alone. There is no published procedure for them, and no calibration of the
    belief.

    References
    ----------
    Mesner and Shalizi (2021), algorithm 1; Runge (2018) for local permutation; Phipson and Smyth
    (2010) for the p-value.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(1)
    >>> belief = rng.integers(0, 21, 400) / 20
    >>> truth = rng.random(400) < belief
    >>> action = rng.random(400) < 0.5 * belief + 0.5 * truth
    >>> cmi_test(belief, action, truth, n_permutations=499, rng=1).pvalue < 0.01
    True
    """
    require_aligned(belief=belief, condition_on=condition_on)
    options: dict[str, Any] = {"positive": positive, "oriented": isotonic, "group": group}
    choices = as_choices(belief, action, truth, context, **options)
    numbers: dict[str, Any] = {"n_permutations": n_permutations, "n_bootstraps": n_bootstraps}
    how: dict[str, Any] = {"k": k, "isotonic": isotonic, "published": published, "rng": rng}
    return cmi(choices, condition_on=condition_on, **numbers, **how)


def cmi(
    choices: EvaluationData,
    *,
    condition_on: ArrayLike | pd.DataFrame | None = None,
    k: int = 3,
    n_permutations: int = 2_999,
    n_bootstraps: int = 500,
    isotonic: bool = False,
    published: bool = False,
    rng: Seed = None,
) -> CheckResult:
    """Run `cmi_test` on validated data."""
    given = _conditioning(choices, condition_on, isotonic)
    generator = check_stream(rng, "cmi")
    settings: dict[str, object] = {"k": k, "published": published}
    if isotonic:
        settings["isotonic"] = True
    if condition_on is not None:
        settings["numeric_features"] = given.numeric
        settings["discrete_features"] = given.discrete
    similar = "belief" if condition_on is None else "belief and features"
    null = NULL.format(
        given=similar,
        action="action" if choices.policy is None else "policy",
        columns="belief" if condition_on is None else "belief, features",
    )
    result = blank(CheckResult, choices, "cmi", null, UNIT, pvalue=math.nan, settings=settings)
    if choices.degenerate:
        return replace(result, reason=choices.degenerate)
    require(
        k < choices.n_rows,
        f"k must be below the number of rows; received k={k} for {choices.n_rows} rows. "
        "Use fewer neighbours.",
    )
    if published and choices.policy is not None:
        return replace(result, pvalue=None, reason=NO_PUBLISHED)
    estimate = partial(_estimate, choices, given, k=k, isotonic=isotonic)
    if published:
        return _published(result, estimate, choices.truth, n_bootstraps, generator)
    line = _on_a_line(given)
    contexts = contexts_of(choices, None if line else given.summary)
    summary = contexts.belief if line else given.summary[contexts.order]
    cuts, pooled = permutation_blocks(summary, contexts.group)
    nothing = SEPARATED if separated(choices) else settled_by_groups(contexts)
    if nothing := nothing or too_few(cuts[0], contexts.state, similar):
        return replace(result, reason=nothing)
    counted = _choices(choices, contexts, summary, line)
    information = local_information(summary, counted, len(choices.states))
    permuted = permutation_test(
        lambda _: information,
        lambda observed, drawn: (observed, drawn),
        cuts,
        contexts.state,
        n_permutations,
        generator,
    )
    nearest = estimate(np.arange(choices.n_rows), choices.truth)
    return replace(
        result,
        statistic=_excess(permuted)[2],
        pvalue=float(permuted.pvalues[0]),
        settings={
            **settings,
            "window": window_size(choices.n_contexts),
            "cluster of resampling": choices.clusters.name,
            **({"pooled": pooled} if pooled else {}),
            **permuted.settings,
        },
        details=_details(nearest, permuted, choices.n_contexts),
        reason=NO_INTERVAL,
        assumptions=(
            choices.clusters.independent,
            EXACT_REPORT,
            f"at similar {similar}, states are exchangeable under the null",
        ),
    )


@dataclass(frozen=True)
class Conditioning:
    """What is conditioned on: beliefs over states, and features of the evidence.

    Numeric features are divided by four standard deviations, so that the central 95% of a normal
    feature spans 1, as beliefs do and as two different labels do; ranks would swamp the 0/1
    distance of the discrete variables. All other features are labels.
    """

    continuous: Floats  # shape (n, n_columns): beliefs, then scaled numeric features
    # shape (n,): code of the combination of discrete features; zeros if there are none
    stratum: Codes
    # shape (n_contexts, n_summaries): context means of the continuous columns and of one indicator
    # per label, by which contexts are compared
    summary: Floats
    # numeric, discrete: names of the features
    numeric: tuple[str, ...] = ()
    discrete: tuple[str, ...] = ()


def _scaled(column: pd.Series[float], name: str) -> Floats:
    require(
        not pd.api.types.is_complex_dtype(column),
        f"condition_on must hold real numbers; {name!r} has complex ones. Give their parts.",
    )
    values = as_doubles(column.to_numpy())
    wrong = ~np.isfinite(values)
    require(
        not wrong.any(),
        f"condition_on must hold finite numbers; {int(wrong.sum())} of {values.size} values of "
        f"{name!r} are not, the first at position {int(np.argmax(wrong))}. "
        "Fill or drop them first.",
    )
    values = values / (float(np.abs(values).max()) or 1.0)  # squares of large numbers overflow
    spread = float(values.std())
    # A constant feature distinguishes nothing; deviations of its last bits must not be blown up.
    return (values - values.mean()) / (SPREAD * spread) if spread > 1e-12 else np.zeros(values.size)


def gather_conditioning(
    belief: Floats, features: ArrayLike | pd.DataFrame | None, context: Codes, n_contexts: int
) -> Conditioning:
    """Gather what is conditioned on."""
    n_rows = len(belief)
    columns = list(belief.reshape(n_rows, -1).T)
    indicators: list[Floats] = []
    stratum = np.zeros(n_rows, dtype=np.int64)
    numeric, discrete = [], []
    nothing = pd.DataFrame(index=range(n_rows))
    frame = nothing if features is None else feature_frame(features, n_rows, "condition_on")
    if not isinstance(features, pd.Series | pd.DataFrame):
        frame = frame.rename(columns=lambda at: f"feature {at + 1}")
    for position, label in enumerate(frame.columns):
        column, name = frame.iloc[:, position], str(label)
        # pandas counts truth values as numeric; here they are two labels.
        if pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column):
            numeric.append(name)
            columns.append(_scaled(column, name))
        else:
            discrete.append(name)
            codes, labels = as_codes(column, f"feature {name!r} of condition_on", n_rows)
            # The context mean of an indicator is the share of its label: distances compare those.
            indicators += [(codes == code).astype(np.float64) for code in range(len(labels))]
            # Renumbered each time: a plain product of many features would leave 64 bits.
            stratum = np.unique(stratum * len(labels) + codes, return_inverse=True)[1]
    summary = context_means(np.column_stack([*columns, *indicators]), context, n_contexts)
    return Conditioning(
        np.stack(columns, axis=1), stratum, summary, tuple(numeric), tuple(discrete)
    )


def _conditioning(
    data: EvaluationData, condition_on: ArrayLike | pd.DataFrame | None, isotonic: bool
) -> Conditioning:
    """Gather what is conditioned on: the belief, or beliefs over several states, and features."""
    several = in_several_states(data)
    if isotonic:
        require(
            not several and condition_on is None and len(data.states) <= 2,
            "isotonic=True calibrates the belief in one of two states; received more states or "
            "features to condition on. Leave it out.",
        )
        require(
            data.policy is None,
            "isotonic=True takes chosen actions; received probabilities of actions. Leave it out.",
        )
    belief = data.belief if several else one_dimensional(data, "cmi_test")
    return gather_conditioning(belief, condition_on, data.context, data.n_contexts)


def _on_a_line(given: Conditioning) -> bool:
    """Tell whether one belief is all that is conditioned on."""
    return bool(given.summary.shape[1] == 1)


def _estimate(
    data: EvaluationData, given: Conditioning, rows: Codes, truth: Codes, *, k: int, isotonic: bool
) -> float:
    """Nearest-neighbour estimate from a choice of rows, repeats allowed, and their truth."""
    truth = np.unique(truth, return_inverse=True)[1]
    columns, stratum = given.continuous[rows], given.stratum[rows]
    if data.policy is not None:
        return policy_information(columns, stratum, scaled_policies(data.policy[rows]), truth, k)
    action = np.unique(data.action[rows], return_inverse=True)[1]
    if not _on_a_line(given):
        return general_information(columns, stratum, action, truth, k)
    belief = columns[:, 0]
    return sorted_information(calibrated(belief, truth) if isotonic else belief, action, truth, k)


def _choices(data: EvaluationData, contexts: Contexts, summary: Floats, line: bool) -> Choices:
    """Return what is counted in windows: choices or policies, or what is left of them."""
    policy, position = data.policy, contexts.position[data.context]
    if line and contexts.group is None:
        return chosen(contexts.share) if policy is None else ranked(policy, position)
    # Contexts that are alike in several columns, or of a group of few contexts, are further apart:
    # choices that only follow the belief would tell of the state.
    explained = explained_by(summary, contexts.group)
    if policy is None:
        return moved(contexts.share, left_over(contexts.share, explained))
    return ranked(policy - fitted(contexts.share, explained)[position], position)


def _excess(permuted: Permuted) -> tuple[float, float, float]:
    """Return the information in windows, its mean over permutations, and how much it exceeds it."""
    observed, mean = float(permuted.observed[0]), float(permuted.drawn.mean())
    # Where permutations move nothing, sums in another order leave a last bit.
    return observed, mean, observed - mean if permuted.drawn.std() > NO_SPREAD else 0.0


def _details(nearest: float, permuted: Permuted, n_contexts: int) -> pd.DataFrame:
    """Tabulate the information in windows and the nearest-neighbour estimate."""
    spread, none = float(permuted.drawn.std()), math.nan
    records = [
        (INFORMATION, window_size(n_contexts), *_excess(permuted), spread),
        (NEAREST, none, nearest, none, none, none),
    ]
    return pd.DataFrame(
        records, columns=["quantity", "contexts", "nats", "permuted", "excess", "sd"]
    )


def _published(
    result: CheckResult,
    estimate: partial[float],
    truth: Codes,
    n_bootstraps: int,
    rng: np.random.Generator,
) -> CheckResult:
    """Estimate with a percentile interval over resampled rows."""
    n_rows = result.n_rows
    value = estimate(np.arange(n_rows), truth)
    resamples = (rng.integers(n_rows, size=n_rows) for _ in range(n_bootstraps))
    draws: Floats = np.array([estimate(rows, truth[rows]) for rows in resamples])
    return replace(
        result,
        statistic=value,
        interval=percentile_interval(draws, "rows"),
        pvalue=None,
        settings={**result.settings, "n_bootstraps": n_bootstraps},
        details=pd.DataFrame({"quantity": ["estimate"], "nats": [value]}),
        assumptions=("rows are independent", "duplicated rows do not bias the estimate (they do)"),
    )


def _plan(data: EvaluationData, published: bool) -> CallsAndNotes:
    yield Call(partial(cmi, data, published=published))


CHECK = Check(
    name="cmi",
    origin="Adapted from the local permutation test of Runge (2018)",
    needs=NEEDS_STATE_AND_ACTION,
    sentences={
        "": Interpretation(
            rejected="The action depends on the state beyond the {belief}: it is not acted on.",
            nominal="the action depends on the realised state beyond the {belief}",
            assumes_exact_reports=True,
            published=INTERVAL_ALONE,
            words="what the truth adds to the belief",
        )
    },
    question=Question.ACTED_ON,
    planted="weight",
    power_draws={"n_permutations": 199},
    plan=_plan,
)
