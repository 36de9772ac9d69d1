"""Which figures a report shows, what stands under them, and which cannot be drawn and why.

Of one (task, model): what moves, choices by belief and realised state, twins, pairwise choice,
beliefs by action and calibration; of many, one forest of effects for each test that they share. A
figure is planned first; pages turn it into SVG, ``--figures`` into files, and both draw the same.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import pandas as pd
from markupsafe import Markup

from coherence.plots import beliefs as belief_plot
from coherence.plots import calibration as calibration_plot
from coherence.plots import pairwise as pairwise_plot
from coherence.plots import sensitivity as sensitivity_plot
from coherence.plots import states as state_plot
from coherence.plots import twins as twin_plot
from coherence.plots.forest import height_for, plot_forest, title_of
from coherence.plots.scales import WHOLE_FROM, Span, shared_spans
from coherence.plots.variation import plot_variation
from coherence.rational.noisy_shares import NoisyShares, with_noise
from coherence.report.answer_links import AnswerLinks
from coherence.report.evaluation import EvaluationReport
from coherence.report.figure_svg import render_svg
from coherence.report.ranking import FEW, Ranked, evaluation_key, rank, shared_tests
from coherence.report.variation import over_contexts
from coherence.report.wording import belief_noun, clean, evaluation_heading, format_numbers
from coherence.result import LEVEL, CheckResult, ForecastScores, Outcome
from coherence.statistics.bins import belief_bins
from coherence.statistics.report_noise import ReportNoise
from coherence.statistics.state_shares import StateShares
from coherence.table.runs import Runs

MOST_PAIRS = 6
MOST_ACTIONS = 4
MOST_FORESTS, MOST_ROWS = 8, 60
PRIMARY, COVARIANCE, RATIONAL = "sufficiency", "residual_covariance", "rational_agent"
"""The tests of what the bars allow: of reports as they are, and with the noise around them."""
POINT = 0.05  # height of a point and its edge over that of the axis


@dataclass(frozen=True)
class Figure:
    """A figure of one (task, model), or of all."""

    # unique in the report, of letters, digits and hyphens: prefix of ids, and name of a file
    key: str
    title: str  # what it shows
    caption: str  # how to read it
    draw: Callable[..., Any]  # takes an ``ax``
    height: float = 3.5  # inches
    # address -> what a reader who does not see the point is told that it leads to
    names: Mapping[str, str] = field(default_factory=dict)
    width: float = 5.0  # inches; a wide one takes the whole line of a page
    place: str = "further"  # "overview" and "lead" stand with the answer, others behind the numbers

    @property
    def size(self) -> tuple[float, float]:
        """Width and height in inches."""
        return self.width, self.height

    @property
    def svg(self) -> Markup:
        """The figure as an SVG element that may stand in a page as it is."""
        # The title element is what a screen reader says in place of the figure.
        title = f"{self.title}. {self.caption}"
        drawn = render_svg(self.draw, key=self.key, title=title, size=self.size, names=self.names)
        # Safe as markup: rebuilt from a parsed tree, whose serialiser escapes all text.
        return Markup(drawn)


class Links:
    """Where the points of one figure lead, and what each address is called."""

    def __init__(self, key: str, links: AnswerLinks | None) -> None:
        self.key, self.links = key, links
        self.names: dict[str, str] = {}

    def group(self, anchor: str, what: str, rows: pd.DataFrame) -> str:
        """Link the contexts of some rows, whose beliefs name them."""
        assert self.links is not None
        title = f"{what}, beliefs from {rows['belief'].min():.3f} to {rows['belief'].max():.3f}"
        url = self.links.group(f"{self.key}-{anchor}", title, rows["context"])
        self.names[url] = f"answers: {title}"
        return url


def all_figures(
    evaluations: Sequence[EvaluationReport],
) -> Iterator[tuple[EvaluationReport | None, Figure]]:
    """Plan every figure of a report."""
    for number, evaluation in enumerate(evaluations, start=1):
        yield from (
            (evaluation, figure)
            for figure in evaluation_figures(evaluation, evaluation_key(number))[0]
        )
    if len(evaluations) > FEW:
        yield from ((None, figure) for figure in forest_figures(rank(evaluations)[1]))


def evaluation_figures(
    evaluation: EvaluationReport, key: str, links: AnswerLinks | None = None
) -> tuple[list[Figure], list[str]]:
    """Plan the figures of one (task, model), what moves and the main test first."""
    noun, beliefs = belief_noun(evaluation.answering), evaluation.beliefs
    figures, missing = [*_movement(evaluation, key, noun)], []
    planned = (
        _states(evaluation, key, noun, links),
        _twins(evaluation, key),
        _sensitivity(evaluation, key),
        _pairs(evaluation, key, noun, links),
        _beliefs(evaluation, key, noun),
        _reliability(evaluation, key, noun),
        _calibration(beliefs, key, noun, links) if _known(beliefs) else (),
    )
    for step in (each for part in planned for each in part):
        if isinstance(step, Figure):
            figures.append(step)
        else:
            missing.append(step)
    return figures, missing


Steps = Iterable[Figure | str]
"""Figures, and sentences on those that cannot be drawn."""


def _known(beliefs: pd.DataFrame) -> bool:
    return "belief" in beliefs and bool(beliefs["belief"].notna().any())


def _movement(evaluation: EvaluationReport, key: str, noun: str) -> Iterator[Figure]:
    """Yield what moves, where a truth is known to hold beliefs against."""
    means, of_truth = over_contexts(evaluation.beliefs)
    means = means.dropna()
    if not of_truth or len(means) < 2:
        return
    actions = {} if evaluation.variation is None else evaluation.variation.actions
    right = "" if of_truth == "state" else " On the dotted line it is right."
    caption = (
        f"A point a context: its mean {noun} against the {of_truth}.{right} Histograms of both"
        + (", and how often each action was chosen." if actions else ".")
    )
    draw = partial(
        plot_variation,
        means["belief"],
        means["truth"],
        actions,
        of_truth="realised state" if of_truth == "state" else of_truth,
        noun=noun,
    )
    yield Figure(f"{key}-moves", "What moves", caption, draw, 3.4, place="overview")


# The main test: choices by belief and realised state


def _states(evaluation: EvaluationReport, key: str, noun: str, links: AnswerLinks | None) -> Steps:
    """Plan a panel for each action, or say why there is none."""
    found = state_plot.shares_by_state(evaluation.beliefs)
    if found.reason:
        yield f"No plot of choices by state: {found.reason}."
        return
    rows = state_plot.judged(evaluation.beliefs)
    report_noise = (
        evaluation.scatter
        if evaluation.scatter is not None and evaluation.scatter.exceeds
        else None
    )
    fitted = [
        result.fitted for result in evaluation.results if isinstance(result.fitted, NoisyShares)
    ]
    noisy = bool(fitted) and report_noise is not None
    if noisy:
        # The bars allow for report noise where it misleads and the agent behind it was fitted.
        names = ("belief", "action", "truth", "context")
        found = with_noise(found, fitted[0], *(rows[name] for name in names))
    table = found.table
    actions = _drawn(table)
    shown = table[table["action"].isin(actions)]
    scales = shared_spans(
        [state_plot.shown_shares(table[table["action"] == action]) for action in actions]
    )
    to = Links(f"{key}-states", links)
    draw = partial(
        state_plot.plot_state_panels,
        found,
        actions,
        scales,
        noun=noun,
        states=evaluation.state_names,
        urls=_state_urls(found, rows, to),
    )
    ran = {result.check for result in evaluation.results}
    alone = RATIONAL if noisy else COVARIANCE
    caption = (
        _bars(noun, report_noise, noisy=noisy),
        _hidden_bars(shown, scales),
        _outside(evaluation, table, shown, PRIMARY if PRIMARY in ran else alone),
        "Panels differ in their scale." if len(set(scales)) > 1 else "",
    )
    text, width = " ".join(filter(None, caption)), {1: 5.4, 2: 8.0}.get(len(actions), 11.0)
    title = "Choices by belief and realised state"
    yield Figure(to.key, title, text, draw, 3.5, to.names, width, place="lead")
    if table["action"].nunique() > max(len(actions), 2):
        yield (
            f"Of {table['action'].nunique()} actions, the {MOST_ACTIONS} whose shares differ most "
            "from what beliefs alone would give are drawn by state."
        )


def _drawn(table: pd.DataFrame) -> list[object]:
    """Choose the actions to draw, the one that rises most with the belief first."""
    first = state_plot.rising_action(table)
    actions = [first, *(action for action in dict.fromkeys(table["action"]) if action != first)]
    if len(actions) == 2:
        return [first]  # it reads more easily than one that falls
    half = (table["band_high"] - table["band_low"]).clip(lower=1e-9)
    away = ((table["share"] - table["expected"]).abs() / half).groupby(table["action"]).max()
    kept = set(away.sort_values(ascending=False, kind="stable").index[:MOST_ACTIONS])
    return [action for action in actions if action in kept]


def _state_urls(found: StateShares, rows: pd.DataFrame, to: Links) -> dict[tuple[int, int], str]:
    """Link each bin and state to its contexts."""
    if to.links is None:
        return {}
    urls = {}
    states = rows["truth"].astype(int).to_numpy()
    for position, state in sorted({*zip(found.bin_of_row.tolist(), states.tolist(), strict=True)}):
        inside = rows[(found.bin_of_row == position) & (states == state)]
        urls[position, state] = to.group(f"{position + 1}-{state}", f"State {state}", inside)
    return urls


def _bars(noun: str, report_noise: ReportNoise | None, *, noisy: bool) -> str:
    """Say how the figure is read, and what its bars assume of report noise."""
    points = "Points: share of the action in a bin of beliefs and a state, with 95% intervals."
    sure = "all of them at once in 95% of tables"
    size = f"SD {report_noise.sd:.2f} over {report_noise.across}" if report_noise else ""
    if noisy:
        return (
            f"{points} Pale bars: what the nearest rational agent allows, whose reports have the "
            f"noise of these ({size}), {sure}; at equal report its belief is higher where the "
            "state is 1."
        )
    exact = "The bars take each report for the belief itself"
    noise = (
        f"{exact}, and these reports have noise ({size}): a point outside may be noise alone, for "
        "which rational_agent and the twins allow."
    )
    return (
        f"{points} Pale bars: what the {noun} alone allows, {sure}; thin lines: what it gives on "
        f"average. {noise if report_noise else f'{exact}.'}"
    )


def _hidden_bars(shown: pd.DataFrame, scales: Sequence[Span]) -> str:
    """Say where bars are so low that the points hide them, as of choices that hardly vary."""
    tallest = float((shown["band_high"] - shown["band_low"]).max())
    span = max(high - low for low, high in scales)
    if tallest >= POINT * (1.0 if span >= WHOLE_FROM else span):
        return ""
    height = format_numbers([tallest])[0]
    return f"Here the points hide their bars, or nearly: they are at most {height} high."


def _outside(
    evaluation: EvaluationReport, table: pd.DataFrame, shown: pd.DataFrame, test: str
) -> str:
    """Say how many points beliefs alone do not allow, and what a test sees that they do not."""
    if n_outside := int(shown["outside"].sum()):
        verb = "lies outside its bar" if n_outside == 1 else "lie outside their bars"
        return f"{n_outside} of {len(shown)} points {verb} (ringed)."
    rejects = any(
        result.check == test and result.outcome() is Outcome.REJECTED
        for result in evaluation.results
    )
    # Else a reader takes the figure for the answer.
    beyond = (
        f" {test} rejects all the same: it adds up over all beliefs what no single point shows."
    )
    return "No point lies outside its bar." + (
        beyond if rejects and not table["outside"].any() else ""
    )


# Twins and unseen noise


def _twins(evaluation: EvaluationReport, key: str) -> Steps:
    shown = [result for result in evaluation.results if result.twins is not None]
    if shown:
        caption = (
            "Bands: the middle 95% of rational twins, which have the noise of these reports. "
            "Points: what was observed, with its value at the right; full where at most "
            f"{LEVEL:.0%} of twins are as extreme, an arrow where it lies beyond the scale."
        )
        draw = partial(twin_plot.plot_twins, shown, title="")
        height = twin_plot.height_for(len(shown))
        yield Figure(f"{key}-twins", twin_plot.TITLE, caption, draw, height)


def _sensitivity(evaluation: EvaluationReport, key: str) -> Steps:
    if evaluation.sensitivity is not None:
        caption = (
            "What is left of the hidden shift, with its 95% interval, if all reports of a context "
            "missed the belief by the same noise, which no repetition shows. The curve ends where "
            "nothing can be told any more."
        )
        draw = partial(sensitivity_plot.plot_sensitivity, evaluation.sensitivity, title="")
        yield Figure(f"{key}-sensitivity", sensitivity_plot.TITLE, caption, draw)


# Pairs of actions


def _pairs(evaluation: EvaluationReport, key: str, noun: str, links: AnswerLinks | None) -> Steps:
    pairwise = [
        result
        for result in evaluation.results
        if result.check.split(":")[0] == "monotone_choice" and not result.details.empty
    ]
    shown = pairwise
    if len(pairwise) > MOST_PAIRS:
        # Ten actions make 45 pairs; the ones with the strongest evidence are worth a look.
        shown = sorted(pairwise, key=_evidence)[:MOST_PAIRS]
        yield (
            f"Of {len(pairwise)} pairs of actions, the {MOST_PAIRS} with the strongest evidence "
            "of reversals are drawn."
        )
    if not pairwise:
        chosen = bool(Runs(evaluation.beliefs).acted.any())
        why = "the monotone-choice check was not run" if chosen else "there are no parsed actions"
        yield f"No plot of pairwise choice: {why}."
        return
    spans = [pairwise_plot.shown_shares(pairwise_plot.choice_bins(r.details)) for r in shown]
    scales = shared_spans(spans)
    widest = max(scales, key=lambda span: span[1] - span[0])
    for number, (result, scale) in enumerate(zip(shown, scales, strict=True), start=1):
        bins = pairwise_plot.choice_bins(result.details)
        to = Links(f"{key}-pair-{number}", links)
        draw = partial(
            pairwise_plot.plot_pairwise_choice,
            result,
            noun=noun,
            title="",
            urls=_bin_urls(result, bins, evaluation.beliefs, to),
            scale=scale,
        )
        other = " Its axis of shares is not that of the figures beside it."
        caption = _pair_caption(result, bins) + ("" if scale == widest else other)
        title = pairwise_plot.title_of(pairwise_plot.pair_of(result))
        yield Figure(to.key, title, caption, draw, names=to.names)


def _evidence(result: CheckResult) -> tuple[float, float]:
    """Sort by p-value, and by effect where the published procedure gives none."""
    pvalue = 1.0 if result.pvalue is None or math.isnan(result.pvalue) else result.pvalue
    return pvalue, 0.0 if math.isnan(result.statistic) else -result.statistic


def _pair_caption(result: CheckResult, bins: pd.DataFrame) -> str:
    details, settings = result.details, result.settings
    violated = details["violation"].astype(bool)
    significant = int((violated & details["significant"].astype(bool)).sum())
    expected = clean(settings.get("direction", "increasing"))
    # The direction was then chosen by the data, and the caption says which it was.
    if expected == "either":
        expected = f"monotone (tested as {settings.get('direction_tested', 'either')})"
    policies = "se_j" in details
    sizes = "no choices"
    if len(bins):
        # Sums of probabilities may be far below one.
        least, most = (
            f"{n:.2g}" if policies else f"{n:.0f}" for n in bins["n"].agg(["min", "max"])
        )
        sizes = f"{least} to {most} choices"
    bars = "Bars: 95% intervals over contexts. " if "low_j" in details else ""
    return (
        f"Expected to be {expected}. {violated.sum()} of {len(details)} pairs of bins are "
        f"reversed, {significant} significantly{' (dashed)' if significant else ''}. "
        f"{bars}Area of the points: {sizes}{' to be expected' if policies else ''} in a bin."
    )


def _bin_urls(
    result: CheckResult, bins: pd.DataFrame, beliefs: pd.DataFrame, to: Links
) -> dict[int, str]:
    """Link each bin of a pair of actions to its contexts."""
    n_bins = result.settings.get("n_bins")
    if to.links is None or n_bins is None or not _known(beliefs):
        return {}
    choices = beliefs[Runs(beliefs).acted & beliefs["belief"].notna()]
    belief = choices["belief"].to_numpy(dtype=float)
    bin_of = belief_bins(belief, int(n_bins))
    means = pd.Series(belief).groupby(bin_of).mean()
    urls = {}
    for position, mean in zip(bins["bin"], bins["belief"], strict=True):
        # Bins with too few contexts have no number of their own in the table of the test.
        same = means.index[(means - mean).abs() < 1e-9]
        if len(same):
            inside = choices[bin_of == same[0]]
            urls[int(position)] = to.group(f"bin-{position + 1}", result.check, inside)
    return urls


# Beliefs


def _beliefs(evaluation: EvaluationReport, key: str, noun: str) -> Steps:
    beliefs = evaluation.beliefs
    if not _known(beliefs):
        yield "No plots of the belief: no row has a parsed belief that is one number."
        return
    rows = belief_plot.by_action(beliefs)
    counted = (
        ", each answer counted with the probability of the action"
        if "weight" in rows
        else " among the answers that chose each action"
    )
    caption = f"Histogram of the {noun}."
    if Runs(beliefs).acted.any():
        caption = f"Histograms of the {noun}{counted}, on one scale."
    draw = partial(belief_plot.plot_beliefs, beliefs, noun=noun, title="")
    title, height = belief_plot.title_of(rows, noun), belief_plot.height_for(rows)
    yield Figure(f"{key}-beliefs", title, caption, draw, height)


def _reliability(evaluation: EvaluationReport, key: str, noun: str) -> Steps:
    """Yield a reliability diagram for each prompt whose forecasts were scored."""
    scored = [
        (result, result.fitted)
        for result in evaluation.results
        if isinstance(result.fitted, ForecastScores) and not result.details.empty
    ]
    several_prompts, number = len(scored) > 1, 0
    for result, scores in scored:
        parts = [("", scores.miscalibration, scores.discrimination, scores.uncertainty)]
        if len(scores.by_state):
            columns = scores.by_state[["state", "miscalibration", "discrimination", "uncertainty"]]
            parts = list(columns.itertuples(index=False, name=None))
        prompt = f", prompt {clean(result.settings['prompt'])}" if several_prompts else ""
        band = (
            "Pale: where the curve of a calibrated forecaster lies (pointwise, in 95% of redrawn "
            "outcomes). "
            if result.details["low"].notna().any()
            else ""
        )
        for state, *of_state in parts:
            number += 1
            mcb, dsc, unc = format_numbers(of_state)
            bars = number == 1 and not state and "belief" in evaluation.beliefs
            caption = (
                f"How often it happened, by isotonic regression on the {noun}. {band}On the dashed "
                f"line forecasts are calibrated. MCB {mcb}, DSC {dsc}, UNC {unc}."
                + (" Along the lower edge: how often each was forecast." if bars else "")
            )
            draw = partial(
                calibration_plot.plot_reliability,
                result,
                forecasts=evaluation.beliefs["belief"].dropna() if bars else None,
                state=state or None,
                noun=noun,
                title="",
            )
            yield Figure(
                f"{key}-reliability-{number}",
                calibration_plot.RELIABILITY + (f", {clean(state)}" if state else "") + prompt,
                caption,
                draw,
                4.2,
                place="lead",
            )


def _calibration(beliefs: pd.DataFrame, key: str, noun: str, links: AnswerLinks | None) -> Steps:
    if calibration_plot.calibration_outcome(beliefs) is None:
        yield "No calibration plot: neither a truth coded 0/1 nor the exact posterior is known."
        return
    caption = (
        "Share of true cases in bins with about equally many answers; bars: 95% intervals over "
        "contexts. On the dotted line, beliefs are calibrated."
    )
    if calibration_plot.is_exact(beliefs):
        caption = (
            "Pale: exact posterior and mean belief of single contexts. Joined: means in bins with "
            "about equally many answers; bars: 95% intervals over contexts. On the dotted line, "
            "beliefs are right."
        )
    bins = calibration_plot.calibration_table(beliefs)
    to = Links(f"{key}-calibration", links)
    if links is not None:
        rows = calibration_plot.calibration_bins(beliefs)
        urls = [
            to.group(str(number), "Calibration", inside)
            for number, (_, inside) in enumerate(rows.groupby("bin"), start=1)
        ]
        bins = bins.assign(url=urls)
    draw = partial(
        calibration_plot.plot_calibration,
        beliefs,
        noun=noun,
        title="",
        bins=bins,
        link=None if links is None else links.context,
    )
    # A little taller than wide, for a square between the labels.
    yield Figure(to.key, calibration_plot.title_of(beliefs), caption, draw, 4.2, to.names)
    if calibration_plot.are_small(calibration_plot.gap_table(beliefs)):
        # Misses that are too small to be seen in the figure of calibration.
        caption = (
            "How far the points of the figure before lie from its dotted line, on a scale of their "
            "own: above 0 beliefs are too low. Bars: 95% intervals over contexts."
        )
        draw = partial(calibration_plot.plot_calibration_gaps, beliefs, noun=noun, title="")
        title = calibration_plot.gap_title(beliefs)
        yield Figure(f"{key}-gaps", title, caption, draw)


# Over evaluations


def forest_figures(
    ranked: Sequence[Ranked], url_of: Callable[[Ranked], str] | None = None
) -> list[Figure]:
    """Plan a figure for each test and unit of measurement that several evaluations share."""
    figures: list[Figure] = []
    for check in shared_tests(
        [row.evaluation for row in sorted(ranked, key=lambda row: row.number)]
    ):
        by_measure: dict[str, list[tuple[Ranked, CheckResult]]] = {}
        for row in ranked:
            for result in row.evaluation.results:
                if result.check == check and math.isfinite(result.statistic):
                    by_measure.setdefault(result.unit, []).append((row, result))
        for pairs in by_measure.values():
            if len(pairs) > 1:
                figures.append(_forest(f"forest-{len(figures) + 1}", check, pairs, url_of))
    return figures[:MOST_FORESTS]


def _forest(
    key: str,
    check: str,
    pairs: Sequence[tuple[Ranked, CheckResult]],
    url_of: Callable[[Ranked], str] | None,
) -> Figure:
    shown = sorted(pairs, key=lambda pair: -pair[1].statistic)
    half = MOST_ROWS // 2
    cut = len(shown) > MOST_ROWS
    if cut:  # both ends of the order
        shown = [*shown[:half], *shown[-half:]]
    effects, names = [], {}
    for row, result in shown:
        effect = {"task": row.evaluation.task, "model": row.evaluation.model, **result.to_row()}
        if url_of is not None:
            effect["url"] = url_of(row)
            names[effect["url"]] = evaluation_heading(row.evaluation)
        effects.append(effect)
    without = sum(math.isnan(effect["low"]) for effect in effects)
    caption = (
        f"Effect of {clean(check)} in each evaluation with its 95% interval; full where the test "
        f"rejects after Holm's correction over all tests (p at most {LEVEL})."
    )
    if any(result.settings.get("component") for _, result in shown):
        caption += (
            " Each is the difference in the probability of one action, the surest in its "
            "evaluation, which the results name."
        )
    caption += f" {without} effects have no interval." if without else ""
    caption += f" Of {len(pairs)} evaluations, the {half} at each end are drawn." if cut else ""
    draw = partial(plot_forest, pd.DataFrame(effects), title="")
    return Figure(key, title_of(check), caption, draw, height_for(len(effects)), names)
