"""Said, acted on, represented: three beliefs of a model about the same cases, side by side.

A belief that is not identified has no number, and says why: nothing ranks what was not measured.
"""

import math
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from coherence.checks.probe import EVIDENCE, PROBED, Probe
from coherence.plots import matching as matching_plot
from coherence.report.acted_on import DIFFERENCE, SHARE, SWING, percent
from coherence.report.document import Column, Kind, Table, build_table, label
from coherence.report.evaluation import EvaluationReport
from coherence.report.figures import Figure
from coherence.report.wording import belief_noun, clean, format_pvalue
from coherence.result import CheckResult
from coherence.statistics.mean_interval import mean_result
from coherence.statistics.resample import Clusters

DISTANCE = "calibration:rmse"
_COLUMNS = (
    label("belief"),
    Column(
        "distance",
        "distance to the exact posterior, points",
        Kind.NUMBER,
        digits=0,
        ends=("low", "high"),
        reason="why",
    ),
    label("beyond", "what is known beyond what is said"),
)
CAPTION = (
    "Distance: root-mean-square over cases, in hundredths of probability, with 95% intervals. That "
    "of the belief acted on includes the error of estimating it from the choices of a case; the "
    "one represented is predicted for each case from the others."
)


def three_beliefs(evaluation: EvaluationReport, probe: Probe | str) -> Table:
    """Return a row each for what is said, acted on and represented.

    Parameters
    ----------
    evaluation : EvaluationReport
        With the checks ``calibration`` and ``matching``.
    probe : Probe or str
        What can be read off hidden states, or why they were not read.

    Returns
    -------
    Table
        Beliefs that are not identified have a reason in place of a number.
    """
    found = {result.check: result for result in evaluation.results}
    rows = [
        {"belief": "said", "beyond": "", **_distance(found.get(DISTANCE), "it was not measured")},
        {"belief": "acted on", **_acted_on(found)},
        {"belief": "represented", **_represented(probe)},
    ]
    return build_table(
        rows, _COLUMNS, title="Said, acted on, represented", caption=CAPTION, name="beliefs"
    )


def _distance(result: CheckResult | None, why: str) -> dict[str, Any]:
    if result is None or math.isnan(result.statistic):
        reason = why if result is None else result.reason
        return {"distance": math.nan, "low": math.nan, "high": math.nan, "why": clean(reason)}
    value, low, high = (100 * each for each in (result.statistic, result.low, result.high))
    return {"distance": value, "low": low, "high": high, "why": clean(result.reason)}


def _acted_on(found: dict[str, CheckResult]) -> dict[str, Any]:
    """Say how far the belief acted on is from the truth, and what part of it goes unsaid."""
    swing, difference, share = (found.get(name) for name in (SWING, DIFFERENCE, SHARE))
    if difference is None:
        why = "no choice was asked for" if swing is None else swing.reason
        return {**_distance(None, f"not identified: {why}"), "beyond": ""}
    beyond = ""
    if share is not None:
        beyond = clean(share.reason)
        if not math.isnan(share.statistic):
            beyond = f"{percent(share)} of its weight is the exact posterior's"
    cases = difference.details
    if cases["exact"].isna().any():
        return {**_distance(None, "the exact posterior is not known"), "beyond": beyond}
    squares = (cases["acted_on"] - cases["exact"]).astype(float) ** 2
    clusters = Clusters("context", np.arange(len(cases)))
    root = mean_result(difference, squares, clusters, "distance", root=True)
    return {**_distance(root, ""), "beyond": beyond}


def _represented(probe: Probe | str) -> dict[str, Any]:
    """Say how far what hidden states tell is from the truth, and whether choices go with it."""
    if isinstance(probe, str):
        return {**_distance(None, probe), "beyond": ""}
    rmse = dict(zip(probe.beliefs["belief"], probe.beliefs["rmse"], strict=True))
    if not probe.gains:
        told, read = (f"{100 * rmse[name]:.0f}" for name in (EVIDENCE, PROBED))
        why = f"not identified: {probe.probed.reason} ({read} points off, the evidence {told})"
        return {**_distance(None, why), "beyond": ""}
    moved = probe.probed
    beyond = clean(moved.reason)
    if moved.pvalue is not None and not math.isnan(moved.pvalue):
        beyond = f"choices go with it at equal stated belief: p = {format_pvalue(moved.pvalue)}"
    value = {"distance": 100 * rmse[PROBED], "low": math.nan, "high": math.nan, "why": ""}
    return {**value, "beyond": beyond}


def beliefs_figures(evaluation: EvaluationReport) -> Iterator[Figure]:
    """Yield the three beliefs of each case, or what choices do where none is acted on."""
    found = {result.check: result for result in evaluation.results}
    noun = belief_noun(evaluation.answering)
    if (difference := found.get(DIFFERENCE)) is not None:
        cases = difference.details
        caption = (
            f"Exact posterior, {noun}, and belief acted on with the middle 95% of what the choices "
            "of the case leave."
        )
        draw = partial(matching_plot.draw_cases, cases, noun=noun)
        height = matching_plot.height_for(cases)
        yield Figure("cases", matching_plot.CASES, caption, draw, height)
        draw = partial(matching_plot.draw_acted_on, cases, noun=noun)
        caption = (
            "A point a case, with the middle 95% of what its choices leave. On the dashed line "
            "what is said is acted on."
        )
        yield Figure("acted-on", matching_plot.AGAINST_STATED, caption, draw, 4.2)
    elif (swing := found.get(SWING)) is not None and not swing.details.empty:
        draw = partial(matching_plot.draw_chances, swing.details)
        caption = (
            "Who answers the stated chance takes the lottery more often the higher it is; lines "
            "apart are what the order of the options does."
        )
        yield Figure("chances", matching_plot.CHANCES, caption, draw)
