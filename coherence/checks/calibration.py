"""How close stated beliefs are to the exact posterior and to what happened.

These are estimates alongside the coherence checks: a coherent agent may be badly calibrated, and a
calibrated one incoherent.
"""

from functools import partial

import numpy as np

from coherence.checks.check import Check, Interpretation, Plan, Question, blank
from coherence.inputs import few_contexts
from coherence.result import CheckResult
from coherence.runs.needs import TARGETS
from coherence.runs.notes import Code, Note, not_run
from coherence.statistics.evaluation import EvaluationData
from coherence.statistics.mean_interval import mean_result
from coherence.statistics.resample import context_means

# With outcomes that happen in 2.4% of cases, intervals held the true score in none of the tables in
# which none happened, of 30 to 200 cases, and in nearly all others.
ONE_OUTCOME = "no interval of scores, because all cases had the same outcome"


def calibration_of(data: EvaluationData, *, by_state: bool) -> CheckResult:
    """Estimate the distance of beliefs to the realised state, or to the exact posterior.

    The Brier score (a squared error) or the root-mean-square error (a probability); cases count
    alike.
    """
    target, clusters = data.state if by_state else data.posterior, data.clusters
    assert target is not None
    what = "mean squared error of belief to the realised state"
    name, unit = "calibration:brier", "squared error"
    if not by_state:
        what = "root-mean-square error of belief to the exact posterior"
        name, unit = "calibration:rmse", "probability"
    options = {"cluster of resampling": clusters.name}
    further = {"settings": options, "assumptions": (clusters.independent,)}
    result = blank(CheckResult, data, name, what, unit, **further)
    if few := few_contexts(data.n_contexts):
        return result(reason=few)
    squares = context_means((data.belief - target) ** 2, data.context, data.n_contexts)
    result = mean_result(result, data.by_context(squares), clusters, "error", root=not by_state)
    if by_state and clusters.n > 1 and not np.ptp(target):  # of an exact posterior it is the root
        return result(interval=None, reason=ONE_OUTCOME)
    return result()


def _plan(data: EvaluationData, published: bool) -> Plan:
    """Compare beliefs with each target in the rows in which it is known."""
    exact, state = data.known("posterior"), ~np.isnan(data.state)
    theta = data.known("truth").any()
    if not exact.any() and not state.any():
        lack = "no p_true" if theta else "neither theta nor p_true"
        lack = lack if data.n_rows else "no parsed belief"
        yield not_run(f"{lack}: calibration was not estimated.", "calibration")
        return
    if not exact.any():
        text = "no p_true: beliefs were compared with what happened, not with the exact posterior."
        yield Note(Code.STATE, text)
    elif not exact.all():
        yield Note(
            Code.STATE,
            f"p_true is known in {exact.sum()} of {len(exact)} rows: "
            "the distances to the exact posterior are those of these rows.",
        )
    if not theta:
        text = "no theta: beliefs were compared with the exact posterior, not with what happened."
        yield Note(Code.STATE, text)
    for rows, by_state in ((exact, False), (state, True)):
        if rows.any():
            yield partial(calibration_of, data.subset(rows), by_state=by_state)


CHECK = Check(
    name="calibration",
    origin="Published: the root-mean-square error, and Brier's (1950) score",
    needs=TARGETS,
    sentences={
        "rmse": Interpretation(
            estimate="The {belief}s miss the exact posterior by {value:.3f} (root mean square).",
            words="RMSE to the exact posterior",
            row="RMSE to the posterior, points",
        ),
        "brier": Interpretation(
            estimate="The squared error against what happened is {value:.3f} on average.",
            words="Brier score",
            row="Brier score, hundredths",
            unless="rmse",
        ),
    },
    plan=_plan,
    of_persons=True,
    states_named=True,
    question=Question.RIGHT,
    of_truth=True,
)
