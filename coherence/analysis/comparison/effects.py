"""The effects that models are compared by, each the result of a check on the same questions.

What a context adds to an effect is what the check says of it (`CheckResult.contributions`). Effects
that are no check of their own, the spread of reports and the share of unparsed answers, are means
over contexts.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from coherence.analysis.evaluation import EvaluationRows
from coherence.checks.catalogue import declaration
from coherence.checks.check import Call
from coherence.checks.consistency import consistency_of
from coherence.inputs import few_contexts
from coherence.report.variation import Variation, variation
from coherence.result import CheckResult
from coherence.statistics.mean_interval import mean_result
from coherence.statistics.report_noise import variances_within
from coherence.statistics.resample import Clusters, clusters_of, group_of_contexts
from coherence.table.audit import label_rows
from coherence.table.needs import ACTION, TARGET, TARGETS, THETA, P
from coherence.table.runs import Runs
from coherence.table.schema import PARSED

SEVERAL = "beliefs are over more than two states"
COLUMNS = "beliefs have a column for every state"
PERSONS = "several persons judged the same cases, and the effect is that of one agent"
NO_BELIEF = "no parsed belief"
NO_CHOICE = "no parsed belief with a parsed action and a known state"


@dataclass(frozen=True)
class Answers:
    """What one model answered to those questions of a task that all models were asked."""

    rows: Runs  # of one task and model
    reference: str  # prompt of the beliefs that are compared with anything else, of all models
    prompts: tuple[str, ...]  # the other prompt variants
    positive: Any  # label of the state that beliefs are in; None where the labels say it
    labels: tuple[Any, ...]  # all labels of theta
    acted_elsewhere: bool = False  # whether actions were asked with a prompt that not all have
    state: str = "auto"  # what choices are compared with, as for `coherence.analyze`
    _about: dict[tuple[str, ...], "Answers"] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )
    _results: dict[str, dict[str, CheckResult]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    @cached_property
    def evaluation(self) -> EvaluationRows:
        """The rows by what they can be used for."""
        return EvaluationRows(
            self.rows,
            positive=self.positive,
            labels=self.labels,
            reference=self.reference,
            state=self.state,
        )

    @cached_property
    def variation(self) -> Variation:
        """How far beliefs under the reference prompt and choices vary between cases."""
        return variation(self.evaluation.shown(), self.evaluation.runs)

    def clusters(self, contexts: Sequence[str]) -> Clusters:
        """Return the clusters of resampling of contexts: themselves, or the groups they are of."""
        return clusters_of(group_of_contexts(self.rows.table), pd.Index(contexts))

    def about(self, contexts: Sequence[str]) -> "Answers":
        """Return the answers about some contexts; most effects are shown by the same ones."""
        key = tuple(contexts)
        if key not in self._about:
            table = self.rows.table
            kept = table["context"].isin(key)
            part = self if kept.all() else replace(self, rows=self.rows.subset(table[kept]))
            self._about[key] = part
        return self._about[key]

    def results(self, check: str) -> dict[str, CheckResult]:
        """Return the results of a check by name, as an analysis plans it; run once."""
        if check not in self._results:
            declared, found = declaration(check), self._results.setdefault(check, {})
            for step in declared.plan(self.evaluation.data(declared.needs), False):
                if not isinstance(step, Call):
                    continue
                # Draws of a null distribution move neither the estimate nor what contexts add.
                outcome = step.function(
                    **step.cheapest_options, **({"rng": 0} if step.draws else {})
                )
                results = outcome if isinstance(outcome, list) else [outcome]
                found |= {result.check: result for result in results}
        return self._results[check]


@dataclass(frozen=True)
class Effect:
    """What is compared, and where it comes from."""

    name: str  # of the result of `coherence.analyze`, where there is one
    says: str  # what is estimated, in a phrase
    # how it is estimated; None runs the check of its name
    estimate: Callable[["Effect", Answers], CheckResult] | None = None
    lacks: str = NO_BELIEF  # why a model does not have it, where the check does not say
    # whether values on both sides of 0 are equally amiss; else lower is better
    signed: bool = False
    # what must vary, or else it may be small without merit and gives no rank
    of_beliefs: bool = False
    of_choices: bool = False

    def has_no_rank(self, answers: Answers) -> bool:
        """Tell whether beliefs or choices vary too little for a small effect to be a merit."""
        varies = answers.variation
        return (self.of_beliefs and varies.narrow) or (self.of_choices and varies.one_sided)

    def of(self, answers: Answers) -> CheckResult:
        """Estimate the effect; without contributions there is a reason."""
        result = (self.estimate or _by_check)(self, answers)
        if result.contributions is None and not result.reason:
            return replace(result, reason=self.lacks)
        return result

    def nothing(self, reason: str) -> CheckResult:
        """Return a result without an estimate."""
        return CheckResult(self.name, self.says, math.nan, "", None, None, 0, 0, reason=reason)


def _by_check(effect: Effect, answers: Answers) -> CheckResult:
    """Run the check that has the effect, as an analysis plans it."""
    check, evaluation = declaration(effect.name.partition(":")[0]), answers.evaluation
    if P in check.needs and evaluation.states:
        return effect.nothing(COLUMNS)
    if not evaluation.in_two_states:
        return effect.nothing(SEVERAL)
    if check.states_named and evaluation.unpaired:
        return effect.nothing(evaluation.unpaired)
    exact = evaluation.exact_state and TARGET in check.needs
    judged = evaluation.with_action if exact else evaluation.complete_cases
    if evaluation.parsed.empty or ({ACTION, THETA} & set(check.needs) and judged.empty):
        return effect.nothing(NO_BELIEF if evaluation.parsed.empty else NO_CHOICE)
    if evaluation.crossed and not check.of_persons:
        return effect.nothing(PERSONS)
    found = answers.results(check.name)
    whole = found.get(check.name)
    lack = whole.reason if whole else effect.lacks
    return found.get(effect.name, effect.nothing(lack))


def _between_prompts(effect: Effect, answers: Answers) -> CheckResult:
    """Pool all prompt variants that every model was asked."""
    if answers.evaluation.states:
        return effect.nothing(COLUMNS)
    if answers.evaluation.crossed:
        return effect.nothing(PERSONS)
    if not answers.prompts:
        return effect.nothing("no other prompt variant was asked of every model")
    rows = answers.rows.table[~answers.rows.given_z]
    parsed = set(rows.loc[rows["p"].notna(), "prompt"])
    for prompt in (answers.reference, *answers.prompts):
        if prompt not in parsed:
            return effect.nothing(f"no parsed belief under {prompt!r}")
    return consistency_of(rows, answers.reference, list(answers.prompts))


def _within_contexts(effect: Effect, answers: Answers) -> CheckResult:
    """Take the standard deviation of repeated reports, as `EvaluationReport.scatter`."""
    evaluation = answers.evaluation
    if evaluation.parsed.empty:
        return effect.nothing(effect.lacks)
    if evaluation.crossed:
        return effect.nothing(PERSONS)
    data = evaluation.data(TARGETS)
    index = pd.Index(data.contexts, tupleize_cols=False)
    variance = pd.Series(variances_within(data.belief, data.context), index=index)
    # Computed beliefs are expectations themselves, which asking again would not change.
    if evaluation.runs.computed:
        return effect.nothing("computed beliefs are not reported repeatedly")
    variance = variance.dropna()
    if variance.empty:
        return effect.nothing("reports are not repeated")
    return _mean(effect, answers, variance, root=True)


def _unparsed(effect: Effect, answers: Answers) -> CheckResult:
    """Take the share of answers that could not be parsed.

    Another mixture of questions is another rate, whoever answers.
    """
    if answers.acted_elsewhere:
        return effect.nothing("its actions were asked with a prompt that not every model was asked")
    status = label_rows(answers.rows, answers.reference)["status"]
    by_context = (~status.isin(PARSED)).astype(np.float64)
    return _mean(
        effect, answers, by_context.groupby(answers.rows.table["context"]).mean(), root=False
    )


def _mean(
    effect: Effect, answers: Answers, values: "pd.Series[float]", *, root: bool
) -> CheckResult:
    """Return the mean over contexts, or its root, with an interval."""
    of = "probability", None, None, len(answers.rows), len(values)
    result = CheckResult(effect.name, effect.says, math.nan, *of)
    result = mean_result(result, values, answers.clusters(list(values.index)), "value", root=root)
    few = few_contexts(len(values))
    return replace(result, interval=None, reason=few) if few else result


_EXACT, _HAPPENED = "no p_true", "no theta"
_GIVEN_Z = "beliefs given z were not asked of every model"
_EFFECTS = (
    Effect(
        "sufficiency",
        "difference in choice between the states at equal stated belief",
        signed=True,
        of_beliefs=True,
        of_choices=True,
    ),
    Effect(
        "calibration:rmse",
        "root-mean-square error of belief to the exact posterior",
        lacks=_EXACT,
    ),
    Effect(
        "calibration:brier",
        "mean squared error of belief to the realised state",
        lacks=_HAPPENED,
    ),
    Effect(
        "calibration:calibration_error_exact",
        "calibration error to the exact posterior, chance removed",
        lacks=_EXACT,
        of_beliefs=True,
    ),
    Effect(
        "calibration:calibration_error",
        "calibration error to the realised state, chance removed",
        lacks=_HAPPENED,
        of_beliefs=True,
    ),
    Effect(
        "prompt_consistency",
        "root-mean-square difference between prompt variants, report noise removed",
        _between_prompts,
        of_beliefs=True,
    ),
    Effect(
        "iterated_expectation",
        "mean gap between belief and average of beliefs given z",
        lacks=_GIVEN_Z,
        signed=True,
        of_beliefs=True,
    ),
    Effect(
        "iterated_expectation:noise_removed",
        "root-mean-square of that gap, report noise and rounding removed",
        lacks=_GIVEN_Z,
        of_beliefs=True,
    ),
    Effect(
        "report_noise",
        "standard deviation of repeated reports of a case",
        _within_contexts,
        of_beliefs=True,
    ),
    Effect("unreadable", "share of answers that could not be parsed", _unparsed),
)
EFFECTS = {effect.name: effect for effect in _EFFECTS}
"""Name -> effect, in the order of reports. What does not change smoothly with a context has no
contributions, and is not among them: the largest of several drops of a choice share, mutual
information, and the predictive gain, whose folds depend on every context."""
