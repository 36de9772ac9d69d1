"""Which figures a report shows, what stands under them, and which cannot be drawn and why.

Of one (task, model): choices by belief and realised state, pairwise choice,
beliefs by action and calibration; of many, one forest of effects for each test that they share. A
figure is planned first; pages turn it into SVG, ``--figures`` into files, and both draw the same.
"""

import math
from collections.abc import Iterator, Sequence
from functools import partial

import pandas as pd

from coherence.checks.monotone import MonotoneResult
from coherence.checks.sufficiency_result import Sufficiency
from coherence.plots import beliefs as belief_plot
from coherence.plots import offers as offers_plot
from coherence.plots import results as result_plot
from coherence.plots import states as state_plot
from coherence.plots.style import shared_spans
from coherence.report.document import Figure
from coherence.report.evaluation import FEW, EvaluationReport, evaluation_key
from coherence.report.scores import PARTS
from coherence.report.wording import belief_noun, clean, format_numbers
from coherence.result import LEVEL, CheckResult

MOST_PAIRS = 6
MOST_ACTIONS = 4
MOST_ROWS = 60  # of a forest
AT_EQUAL_BELIEF = "Choices at equal belief"


def all_figures(
    evaluations: Sequence[EvaluationReport],
) -> Iterator[tuple[EvaluationReport | None, Figure]]:
    """Plan every figure of a report."""
    for number, evaluation in enumerate(evaluations, start=1):
        for figure in evaluation_figures(evaluation, evaluation_key(number)):
            yield evaluation, figure
    if len(evaluations) > FEW:
        yield from ((None, figure) for figure in forest_figures(evaluations))


def evaluation_figures(evaluation: EvaluationReport, key: str) -> list[Figure]:
    """Plan the figures of one (task, model), the main test first."""
    noun = belief_noun(evaluation.answering)
    kinds = (_states, _offers, _pairs, _beliefs, _reliability, _calibration)
    return [figure for plan in kinds for figure in plan(evaluation, key, noun)]


def _states(evaluation: EvaluationReport, key: str, noun: str) -> Iterator[Figure]:
    """Plan a panel for each action."""
    table = evaluation.figures.get("choices_by_state")
    if table is None:
        return
    test = evaluation.primary or Sufficiency("sufficiency", "")
    actions = _drawn(table)
    scales = shared_spans(
        [state_plot.shown_shares(table[table["action"] == action]) for action in actions]
    )
    exact, n = test.state == "exact", table["action"].nunique()
    names = state_plot.BY_POSTERIOR if exact else evaluation.state_names
    draw = partial(state_plot.plot_state_panels, table, actions, scales, noun=noun, states=names)
    sides = "where the exact posterior is above, and below, what it is on average at that belief"
    if not exact:
        sides = "of cases with {1}, and with {0}".format(*map(clean, names))
    caption = (
        f"Share of the action by {noun}, {sides}; both as {test.check} takes them, dots larger the "
        "more cases they hold, with 95% intervals over cases.",
        "Each person is compared at the own belief." if test.n_persons is not None else "",
        f"{test.left_out}: left out." if test.left_out else "",
        "Panels differ in their scale." if len(set(scales)) > 1 else "",
        f"Of {n} actions, those with the widest gaps." if n > max(len(actions), 2) else "",
    )
    lines = -(-len(actions) // state_plot.PANELS_BESIDE)
    text = " ".join(filter(None, caption))
    yield Figure(f"{key}-states", AT_EQUAL_BELIEF, text, draw, 0.7 + 2.9 * lines, further=False)


def _drawn(table: pd.DataFrame) -> list[object]:
    """Choose the actions to draw, the one that rises most with the belief first."""
    first = state_plot.rising_action(table)
    actions = [first, *(action for action in dict.fromkeys(table["action"]) if action != first)]
    if len(actions) == 2:
        return [first]  # it reads more easily than one that falls
    sides = table.pivot_table(index=["action", "bin"], columns="state", values="share")
    gap = (sides[1] - sides[0]).abs().groupby("action").max()
    kept = set(gap.sort_values(ascending=False, kind="stable").index[:MOST_ACTIONS])
    return [action for action in actions if action in kept]


# Stakes and stated chances


def _offers(evaluation: EvaluationReport, key: str, noun: str) -> Iterator[Figure]:
    """Plan what choices do with stake and belief, or with the stated chance."""
    for result in evaluation.results:
        table, variant = result.details, result.check.partition(":")[2]
        if (columns := offers_plot.columns_of(table)) is None:
            continue
        caption = (
            "Who answers the stated chance takes the lottery more often the higher it is; lanes "
            "that differ are what the order of the options does. Bars: 95% intervals over cases."
            if columns == offers_plot.CHANCES
            else f"A lane a stake, from never to always: a point is a fifth of cases by {noun}. "
            "Acting on that belief is the dashed step. Bars: 95% intervals over cases."
        )
        draw = partial(offers_plot.plot_offers, result, noun=noun, title="")
        title, height = offers_plot.TITLES[columns], offers_plot.height_for(table)
        yield Figure(f"{key}-{variant}", title, caption, draw, height, further=False)


# Pairs of actions


def _pairs(evaluation: EvaluationReport, key: str, noun: str) -> Iterator[Figure]:
    pairwise = [
        result
        for result in evaluation.results
        if isinstance(result, MonotoneResult) and not result.details.empty
    ]
    # Ten actions make 45 pairs; the ones with the strongest evidence are worth a look.
    shown = sorted(pairwise, key=_evidence)[:MOST_PAIRS] if len(pairwise) > MOST_PAIRS else pairwise
    if not shown:
        return
    binned = [result_plot.choice_bins(result.details) for result in shown]
    scales = shared_spans([result_plot.shown_shares(bins) for bins in binned])
    some = f" Of {len(pairwise)} pairs {MOST_PAIRS} are drawn." * (len(pairwise) > MOST_PAIRS)
    widest = max(scales, key=lambda span: span[1] - span[0])
    for number, (result, scale) in enumerate(zip(shown, scales, strict=True), 1):
        draw = partial(result_plot.plot_pairwise_choice, result, noun=noun, title="", scale=scale)
        other = " Its axis of shares is not that of the figures beside it."
        caption = _pair_caption(result) + other * (scale != widest) + some
        title = result_plot.title_of_pair(result.pair)
        yield Figure(f"{key}-pair-{number}", title, caption, draw)


def _evidence(result: CheckResult) -> tuple[float, float]:
    """Sort by p-value, and by effect where the published procedure gives none."""
    pvalue = 1.0 if result.pvalue is None or math.isnan(result.pvalue) else result.pvalue
    return pvalue, 0.0 if math.isnan(result.statistic) else -result.statistic


def _pair_caption(result: MonotoneResult) -> str:
    details = result.details
    violated = details["violation"].astype(bool)
    significant = int((violated & details["significant"].astype(bool)).sum())
    expected = clean(result.direction)
    # The direction was then chosen by the data, and the caption says which it was.
    if expected == "either":
        expected = f"monotone (tested as {result.direction_tested or expected})"
    bars = "Bars: 95% intervals over cases. " if "low_j" in details else ""
    return (
        f"Expected to be {expected}. {violated.sum()} of {len(details)} pairs of bins are "
        f"reversed, {significant} significantly{' (dashed)' if significant else ''}. "
        f"{bars}Area of the points: choices in a bin."
    )


# Beliefs


def _beliefs(evaluation: EvaluationReport, key: str, noun: str) -> Iterator[Figure]:
    table = evaluation.figures.get("beliefs")
    if table is None:
        return
    caption = f"Histogram of the {noun}."
    if (table["n_actions"] > 0).any():
        whole = pd.api.types.is_integer_dtype(table["n"])
        counted = (
            " among the answers that chose each action"
            if whole
            else ", each answer counted with the probability of the action"
        )
        caption = f"Histograms of the {noun}{counted}, on one scale."
    draw = partial(belief_plot.draw_beliefs, table, noun=noun)
    title, height = belief_plot.title_of(table, noun), belief_plot.height_for(table)
    yield Figure(f"{key}-beliefs", title, caption, draw, height)


def _reliability(evaluation: EvaluationReport, key: str, noun: str) -> Iterator[Figure]:
    """Yield a reliability diagram for each prompt whose forecasts were scored."""
    scored = [result for result in evaluation.scored if not result.details.empty]
    several_prompts = len(scored) > 1
    for number, result in enumerate(scored, start=1):
        prompt = f", prompt {clean(result.prompt)}" if several_prompts else ""
        forecast = f"mean {noun} of a case" if result.averaged else noun
        band = (
            "Pale: where the curve of a calibrated forecaster lies (pointwise, in 95% of redrawn "
            "outcomes). "
            if result.details["low"].notna().any()
            else ""
        )
        mcb, dsc, unc = format_numbers([getattr(result.fitted, part) for part in PARTS])
        bars = evaluation.figures.get("forecasts") if number == 1 else None
        caption = (
            f"How often it happened, by isotonic regression on the {forecast}. {band}On the "
            f"dashed line forecasts are calibrated. MCB {mcb}, DSC {dsc}, UNC {unc}."
            + ("" if bars is None else " Along the lower edge: how often each was forecast.")
        )
        draw = partial(belief_plot.draw_reliability, result.details, bars, noun=noun)
        yield Figure(
            f"{key}-reliability-{number}",
            belief_plot.RELIABILITY + prompt,
            caption,
            draw,
            4.2,
            further=False,
        )


def _calibration(evaluation: EvaluationReport, key: str, noun: str) -> Iterator[Figure]:
    bins = evaluation.figures.get("calibration")
    if bins is None:
        return
    caption = (
        "Share of true cases in bins with about equally many answers; bars: 95% intervals over "
        "cases. On the dotted line, beliefs are calibrated."
    )
    if belief_plot.is_exact(bins):
        caption = (
            "Pale: exact posterior and mean belief of single cases. Joined: means in bins with "
            "about equally many answers; bars: 95% intervals over cases. On the dotted line, "
            "beliefs are right."
        )
    draw = partial(
        belief_plot.draw_calibration,
        bins,
        evaluation.figures.get("contexts"),
        noun=noun,
        state=evaluation.state_names[1],
    )
    # A little taller than wide, for a square between the labels.
    yield Figure(f"{key}-calibration", belief_plot.calibration_title(bins), caption, draw, 4.2)


# Over evaluations


def forest_figures(evaluations: Sequence[EvaluationReport]) -> list[Figure]:
    """Plan a figure of the primary effect, where several evaluations have it in one unit."""
    by_unit: dict[str, list[tuple[EvaluationReport, CheckResult]]] = {}
    for evaluation in evaluations:
        if (result := evaluation.primary) and math.isfinite(result.statistic):
            by_unit.setdefault(result.unit, []).append((evaluation, result))
    shared = [pairs for pairs in by_unit.values() if len(pairs) > 1]
    return [_forest(f"forest-{at}", pairs) for at, pairs in enumerate(shared, start=1)]


def _forest(key: str, pairs: Sequence[tuple[EvaluationReport, CheckResult]]) -> Figure:
    shown = sorted(pairs, key=lambda pair: -pair[1].statistic)
    half = MOST_ROWS // 2
    cut = len(shown) > MOST_ROWS
    if cut:  # both ends of the order
        shown = [*shown[:half], *shown[-half:]]
    effects = [
        {"task": evaluation.task, "model": evaluation.model, **result.to_row()}
        for evaluation, result in shown
    ]
    check = pairs[0][1].check
    caption = (
        f"Effect of {clean(check)} in each evaluation with its 95% interval; full where the test "
        f"rejects (p at most {LEVEL})."
    )
    caption += f" Of {len(pairs)} evaluations, the {half} at each end are drawn." if cut else ""
    draw = partial(result_plot.plot_forest, pd.DataFrame(effects), title="")
    height = result_plot.height_of_forest(len(effects))
    return Figure(key, result_plot.title_of_forest(check), caption, draw, height)
