"""Belief sufficiency by information, I(action; truth | belief).

If the stated belief is the belief acted on, the realised state tells nothing more about the action:
as much as where states are permuted between whole contexts of like belief, so that repetitions of a
context stay together.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from coherence.checks.by_name import takes_columns
from coherence.checks.check import INTERVAL_ALONE, Check, Interpretation, Plan, Question, blank
from coherence.checks.sufficiency_result import SEPARATED
from coherence.inputs import Codes, require
from coherence.result import EXACT_REPORT, CheckResult
from coherence.runs.needs import NEEDS_STATE_AND_ACTION
from coherence.statistics import permutation
from coherence.statistics.adjustment import explained_by, fitted, left_over
from coherence.statistics.evaluation import EvaluationData, as_choices, one_dimensional
from coherence.statistics.knn import calibrated, nearest_information
from coherence.statistics.resample import Seed, check_stream, percentile_interval

NULL = (
    "given the belief, the {action} of a context is independent of its truth: I({action}; truth | "
    "belief) = 0; tested against dependence of any direction and of different directions at "
    "different beliefs"
)
UNIT = "nats"
NEIGHBOURS = 3  # of the nearest-neighbour estimate; the test does not depend on them
NO_SPREAD = 1e-12  # standard deviation of information over permutations that is rounding alone
NO_PUBLISHED = "the published estimate takes chosen actions, and here actions are probabilities"
NO_INTERVAL = "no interval of known coverage"
INFORMATION, NEAREST = "information in windows", "nearest neighbours"
"""Quantities of `CheckResult.details`: the one that is tested, and the published estimate."""


@takes_columns("belief", "action", "truth", "context", "group")
def cmi_test(
    belief: ArrayLike,
    action: ArrayLike,
    truth: ArrayLike,
    *,
    data: pd.DataFrame | None = None,
    context: ArrayLike | None = None,
    group: ArrayLike | None = None,
    positive: Any = None,
    isotonic: bool = False,
    n_permutations: int = 2_999,
    published: bool = False,
    n_bootstraps: int = 500,
    rng: Seed = None,
) -> CheckResult:
    """Test whether actions carry information about the truth that the stated belief does not.

    Null: given the belief (and the group), the actions of a case are independent of its truth.

    Estimand: the mutual information of action and truth among cases of like belief, less its mean
    where truths are permuted (nats); cases count alike.

    Where actions are probabilities, all of them together (the policy) are independent of the truth:
    a coherent agent's policy is a function of the belief and of what else its case brings, such as
    its text or a taste.

    Parameters
    ----------
    isotonic : bool
        Take the nearest-neighbour estimate given the isotonic calibration of the belief, fitted
        anew in every resample; the test is the same. Two states and chosen actions only.
    n_permutations : int
        Random permutations; ten times as many where the p-value lies within two Monte Carlo errors
        of .05. All arrangements where they are fewer.
    published : bool
        The published procedure instead: the nearest-neighbour estimate, with a percentile interval
        over resampled rows and no p-value. Its error rate is not controlled (rows of a context are
        treated as independent, and duplicated rows bias the estimate upwards).

    Returns
    -------
    CheckResult
        `statistic` is the information in windows less its mean over permutations (nats); it may be
        below 0, by chance. ``settings["window"]`` is how many contexts a window holds. `details`
        holds the information, its mean and standard deviation over permutations and its excess over
        that mean, and of chosen actions the nearest-neighbour estimate (nats; it may be below 0, is
        not tested, and with repetitions its neighbours are the other answers of a case). There is
        no interval of known coverage. NaN with a reason where fewer than ten contexts can be
        permuted.

    Raises
    ------
    InputError
        An array breaks its rule, `isotonic` with more than two states, or with two of which it is
        not known which one the belief is in.

    Notes
    -----
    The information between state and choice is counted in windows of the 30% of contexts nearest in
    belief, at least eight, about at most 60 contexts; every context weighs the same, however many
    answers it has. States trade places within blocks of four contexts and more, equal beliefs
    together. Within groups, and of beliefs over several states, contexts that are alike are further
    apart: what a spline, or a quadratic polynomial, of the belief explains is taken out of the
    choices first. Of probabilities, windows count in which quarter of the window's contexts each
    lies, so that a state is seen that moves their spread alone. Assumes that contexts are
    independent.

    References
    ----------
    Mesner and Shalizi (2021), algorithm 1, with three neighbours; Runge (2018) for local
    permutation; Phipson and Smyth (2010) for the p-value.

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
    options: dict[str, Any] = {"positive": positive, "oriented": isotonic, "group": group}
    choices = as_choices(belief, action, truth, context, **options)
    numbers: dict[str, Any] = {"n_permutations": n_permutations, "n_bootstraps": n_bootstraps}
    return cmi(choices, isotonic=isotonic, published=published, rng=rng, **numbers)


def cmi(
    choices: EvaluationData,
    *,
    n_permutations: int = 2_999,
    n_bootstraps: int = 500,
    isotonic: bool = False,
    published: bool = False,
    rng: Seed = None,
) -> CheckResult:
    """Run `cmi_test` on validated data."""
    several, policy = choices.in_several_states, choices.policy
    if isotonic:
        require(
            not several and len(choices.states) <= 2 and policy is None,
            "isotonic=True calibrates the belief in one of two states, and takes chosen actions; "
            "received more states, or probabilities of actions. Leave it out.",
        )
    belief = choices.belief if several else one_dimensional(choices, "cmi_test")
    generator = check_stream(rng, "cmi")
    settings: dict[str, object] = {"k": NEIGHBOURS, "published": published}
    if isotonic:
        settings["isotonic"] = True
    null = NULL.format(action="action" if policy is None else "policy")
    result = blank(CheckResult, choices, "cmi", null, UNIT, pvalue=math.nan, settings=settings)
    if choices.degenerate:
        return result(reason=choices.degenerate)
    if published and policy is not None:
        return result(pvalue=None, reason=NO_PUBLISHED)

    def nearest(rows: Codes) -> float:
        """Nearest-neighbour estimate from a choice of rows, repeats allowed."""
        action, truth = (
            np.unique(codes[rows], return_inverse=True)[1]
            for codes in (choices.action, choices.truth)
        )
        given = calibrated(belief[rows], truth) if isotonic else belief[rows]
        return nearest_information(given, action, truth, NEIGHBOURS)

    every_row = np.arange(choices.n_rows)
    if published:
        return _published(result, nearest, every_row, n_bootstraps, generator)
    contexts = permutation.contexts_of(choices)
    cuts = permutation.permutation_blocks(contexts.belief, contexts.group)
    nothing = SEPARATED if choices.separated else permutation.settled_by_groups(contexts)
    if nothing := nothing or permutation.too_few(cuts[0], contexts):
        return result(reason=nothing)
    counted = _choices(choices, contexts)
    information = permutation.local_information(contexts.belief, counted, len(choices.states))
    pvalues, observed, drawn, of_draws = permutation.permutation_test(
        lambda _: information,
        lambda observed, drawn: (observed, drawn),
        cuts,
        contexts.state,
        n_permutations,
        generator,
    )
    value, mean = float(observed[0]), float(drawn.mean())
    spread, window, none = float(drawn.std()), permutation.window_size(choices.n_contexts), math.nan
    # Where permutations move nothing, sums in another order leave a last bit.
    excess = value - mean if spread > NO_SPREAD else 0.0
    records: list[tuple[Any, ...]] = [(INFORMATION, window, value, mean, excess, spread)]
    if policy is None:
        records.append((NEAREST, none, nearest(every_row), none, none, none))
    return result(
        statistic=excess,
        pvalue=float(pvalues[0]),
        settings={
            **settings,
            "window": window,
            "cluster of resampling": choices.clusters.name,
            **of_draws,
        },
        details=pd.DataFrame(
            records, columns=["quantity", "contexts", "nats", "permuted", "excess", "sd"]
        ),
        reason=NO_INTERVAL,
        assumptions=(
            choices.clusters.independent,
            EXACT_REPORT,
            "at similar belief, states are exchangeable under the null",
        ),
    )


def _choices(data: EvaluationData, contexts: permutation.Contexts) -> permutation.Choices:
    """Return what is counted in windows: choices or policies, or what is left of them."""
    policy, position = data.policy, np.argsort(contexts.order)[data.context]
    if contexts.belief.ndim == 1 and contexts.group is None:
        if policy is None:
            return permutation.chosen(contexts.share)
        return permutation.ranked(policy, position)
    # Contexts that are alike in several columns, or of a group of few contexts, are further apart:
    # choices that only follow the belief would tell of the state.
    explained = explained_by(contexts.belief, contexts.group)
    if policy is None:
        return permutation.moved(contexts.share, left_over(contexts.share, explained))
    return permutation.ranked(policy - fitted(contexts.share, explained)[position], position)


def _published(
    result: partial[CheckResult],
    estimate: Callable[[Codes], float],
    every_row: Codes,
    n_bootstraps: int,
    rng: np.random.Generator,
) -> CheckResult:
    """Estimate with a percentile interval over resampled rows."""
    n_rows, value = len(every_row), estimate(every_row)
    draws = [estimate(rng.integers(n_rows, size=n_rows)) for _ in range(n_bootstraps)]
    return result(
        statistic=value,
        interval=percentile_interval(np.array(draws), "rows"),
        pvalue=None,
        settings={**result.keywords["settings"], "n_bootstraps": n_bootstraps},
        details=pd.DataFrame({"quantity": ["estimate"], "nats": [value]}),
        assumptions=("rows are independent", "duplicated rows do not bias the estimate (they do)"),
    )


def _plan(data: EvaluationData, published: bool) -> Plan:
    yield partial(cmi, data, published=published)


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
