"""Which figures a page shows of one (task, model), what stands under them, and which are missing.

Choices by state, pairwise choice, beliefs by action and calibration, each with a caption that says
what is drawn; where one cannot be drawn, a sentence says why.
"""

import math
from collections.abc import Iterator
from functools import partial

import pandas as pd

from coherence.plots import beliefs as belief_plot
from coherence.plots import calibration as calibration_plot
from coherence.plots import calibration_gaps as gap_plot
from coherence.plots import movement as movement_plot
from coherence.plots import pairwise as pairwise_plot
from coherence.plots import sensitivity as sensitivity_plot
from coherence.plots import twins as twin_plot
from coherence.plots.choices import policy_columns
from coherence.plots.scales import Span, shared_spans
from coherence.report.answer_links import AnswerLinks
from coherence.report.answering import belief_noun
from coherence.report.movement import over_contexts
from coherence.report.planned_figure import Figure, own_scale
from coherence.report.state_figures import state_figures
from coherence.report.twins import twinned
from coherence.report.unit import Unit
from coherence.report.wording import clean
from coherence.result import LEVEL, CheckResult
from coherence.statistics.bins import belief_bins

MOST_PAIRS = 6


def unit_figures(
    unit: Unit, key: str, links: AnswerLinks | None = None
) -> tuple[list[Figure], list[str]]:
    """Plan the figures of one (task, model), what moves and the main test first."""
    noun = belief_noun(unit.answering)
    of_states, missing = state_figures(unit, key, noun, links)
    leading = [
        *_movement_figure(unit, key, noun),
        *of_states,
        *_twin_figure(unit, key),
        *_sensitivity_figure(unit, key),
    ]
    figures, left_out = _pairwise_figures(unit, key, noun, links)
    missing += left_out
    beliefs = unit.beliefs
    acted = policy_columns(beliefs) or [name for name in ("action",) if name in beliefs]
    chosen = bool(beliefs[acted].notna().any(axis=None))
    if not figures:
        why = "the monotone-choice check was not run" if chosen else "there are no readable actions"
        missing.append(f"No plot of pairwise choice: {why}.")
    if "belief" not in beliefs or beliefs["belief"].notna().sum() == 0:
        why = "no row has a readable belief that is one number"
        return leading + figures, [*missing, f"No plots of the belief: {why}."]
    figures.append(_belief_figure(beliefs, key, noun, by_action=chosen))
    calibration = list(_calibration_figure(beliefs, key, noun, links))
    if not calibration:
        why = "neither a truth coded 0/1 nor the exact posterior is known"
        missing.append(f"No calibration plot: {why}.")
    return leading + figures + calibration, missing


def is_overview(figure: Figure) -> bool:
    """Tell whether a figure shows what moves."""
    return figure.key.endswith("-moves")


def _movement_figure(unit: Unit, key: str, noun: str) -> Iterator[Figure]:
    """Yield what moves, where a truth is known to hold beliefs against."""
    means, of_truth = over_contexts(unit.beliefs)
    means = means.dropna()
    if not of_truth or len(means) < 2:
        return
    actions = {} if unit.movement is None else unit.movement.actions
    right = "" if of_truth == "state" else " On the dotted line it is right."
    caption = (
        f"A point a context: its mean {noun} against the {of_truth}.{right} Histograms of both"
        + (", and how often each action was chosen." if actions else ".")
    )
    draw = partial(
        movement_plot.plot_movement,
        means["belief"],
        means["truth"],
        actions,
        of_truth="realised state" if of_truth == "state" else of_truth,
        noun=noun,
    )
    yield Figure(f"{key}-moves", "What moves", caption, draw, 3.4)


def _twin_figure(unit: Unit, key: str) -> Iterator[Figure]:
    """Yield the picture of results among their twins, where there are any."""
    shown = [result for result, _ in twinned(unit)]
    if not shown:
        return
    caption = (
        "Bands: the middle 95% of rational twins, which have the noise of these reports. Points: "
        f"what was observed, with its value at the right; full where at most {LEVEL:.0%} of twins "
        "are as extreme, an arrow where it lies beyond the scale."
    )
    draw = partial(twin_plot.plot_twins, shown, title="")
    height = twin_plot.height_for(len(shown))
    yield Figure(f"{key}-twins", twin_plot.TITLE, caption, draw, height)


def _sensitivity_figure(unit: Unit, key: str) -> Iterator[Figure]:
    if unit.sensitivity is None:
        return
    caption = (
        "What is left of the hidden shift, with its 95% interval, if all reports of a context "
        "missed the belief by the same noise, which no repetition shows. The curve ends where "
        "nothing can be told any more."
    )
    draw = partial(sensitivity_plot.plot_sensitivity, unit.sensitivity, title="")
    yield Figure(f"{key}-sensitivity", sensitivity_plot.TITLE, caption, draw)


def _pairwise_figures(
    unit: Unit, key: str, noun: str, links: AnswerLinks | None
) -> tuple[list[Figure], list[str]]:
    pairwise = [
        result
        for result in unit.results
        if result.check.split(":")[0] == "monotone_choice" and not result.details.empty
    ]
    # Ten actions make 45 pairs; the ones with the strongest evidence against monotone choice are
    # worth a look.
    many = len(pairwise) > MOST_PAIRS
    shown = sorted(pairwise, key=_strength)[:MOST_PAIRS] if many else pairwise
    left_out = (
        f"Of {len(pairwise)} pairs of actions, the {MOST_PAIRS} with the strongest evidence "
        "of reversals are drawn."
    )
    spans = [pairwise_plot.shown_shares(pairwise_plot.choice_bins(r.details)) for r in shown]
    scales = shared_spans(spans) if spans else []
    figures = [
        _pairwise_figure(
            result,
            f"{key}-pair-{number}",
            noun,
            unit.beliefs,
            links,
            scale,
            own_scale(scale, scales),
        )
        for number, (result, scale) in enumerate(zip(shown, scales, strict=True), start=1)
    ]
    return figures, [left_out] if many else []


def _strength(result: CheckResult) -> tuple[float, float]:
    """Sort by p-value, and by effect where the published procedure gives none."""
    pvalue = 1.0 if result.pvalue is None or math.isnan(result.pvalue) else result.pvalue
    return pvalue, 0.0 if math.isnan(result.statistic) else -result.statistic


def _pairwise_figure(
    result: CheckResult,
    key: str,
    noun: str,
    beliefs: pd.DataFrame,
    links: AnswerLinks | None,
    scale: Span,
    about_scale: str,
) -> Figure:
    details, settings = result.details, result.settings
    bins = pairwise_plot.choice_bins(details)
    counts = bins["n"]
    reversed_pairs = details[details["violation"].astype(bool)]
    significant = reversed_pairs["significant"].astype(bool).sum()
    expected = clean(settings.get("direction", "increasing"))
    # The direction was then chosen by the data, and the caption says which it was.
    if expected == "either":
        expected = f"monotone (tested as {settings.get('direction_tested', 'either')})"
    policies = "se_j" in details
    # Sums of probabilities may be far below one.
    least, most = (
        [f"{end:.2g}" if policies else f"{end:.0f}" for end in (counts.min(), counts.max())]
        if len(counts)
        else ["", ""]
    )
    sizes = f"{least} to {most} choices" if len(counts) else "no choices"
    barred = "low_j" in details
    bars = "Bars: 95% intervals over contexts. " if barred else ""
    caption = (
        f"Expected to be {expected}. {len(reversed_pairs)} of {len(details)} pairs of bins are "
        f"reversed, {significant} significantly{' (dashed)' if significant else ''}. "
        f"{bars}Area of the points: {sizes}{' to be expected' if policies else ''} in a bin."
        f"{about_scale}"
    )
    title = pairwise_plot.title_of(pairwise_plot.pair_of(result))
    urls, names = _choice_links(result, bins, beliefs, key, links)
    draw = partial(
        pairwise_plot.plot_pairwise_choice, result, noun=noun, title="", urls=urls, scale=scale
    )
    return Figure(key, title, caption, draw, names=names)


def _choice_links(
    result: CheckResult,
    bins: pd.DataFrame,
    beliefs: pd.DataFrame,
    key: str,
    links: AnswerLinks | None,
) -> tuple[dict[int, str], dict[str, str]]:
    """Link each bin of a pair of actions to its contexts."""
    urls: dict[int, str] = {}
    names: dict[str, str] = {}
    n_bins = result.settings.get("n_bins")
    if links is None or n_bins is None or "belief" not in beliefs:
        return urls, names
    choices = _decided(beliefs)
    belief = choices["belief"].to_numpy(dtype=float)
    bin_of = belief_bins(belief, int(n_bins))
    means = pd.Series(belief).groupby(bin_of).mean()
    for position, mean in zip(bins["bin"], bins["belief"], strict=True):
        # Bins with too few contexts have no number of their own in the table of the test.
        same = means.index[(means - mean).abs() < 1e-9]
        if len(same):
            inside = choices[bin_of == same[0]]
            low, high = inside["belief"].min(), inside["belief"].max()
            title = f"{result.check}, beliefs from {low:.3f} to {high:.3f}"
            url = links.group(f"{key}-bin-{position + 1}", title, inside["context"])
            urls[int(position)], names[url] = url, f"answers: {title}"
    return urls, names


def _decided(beliefs: pd.DataFrame) -> pd.DataFrame:
    """Return the rows with belief and action."""
    columns = policy_columns(beliefs) or ["action"]
    if not set(columns) <= set(beliefs.columns):
        return beliefs.iloc[:0]
    acted = beliefs[columns].notna().any(axis=1)
    return beliefs[acted & beliefs["belief"].notna()]


def _belief_figure(beliefs: pd.DataFrame, key: str, noun: str, *, by_action: bool) -> Figure:
    rows = belief_plot.by_action(beliefs)
    if not by_action:
        caption = f"Histogram of the {noun}."
    elif "weight" in rows:
        caption = (
            f"Histograms of the {noun}, each answer counted with the probability of the action, on "
            "one scale."
        )
    else:
        caption = (
            f"Histograms of the {noun} among the answers that chose each action, on one scale."
        )
    title = belief_plot.title_of(rows, noun)
    draw = partial(belief_plot.plot_beliefs, beliefs, noun=noun, title="")
    return Figure(f"{key}-beliefs", title, caption, draw, belief_plot.height_for(rows))


def _calibration_figure(
    beliefs: pd.DataFrame, key: str, noun: str, links: AnswerLinks | None
) -> Iterator[Figure]:
    """Yield the plot of calibration where there is something to compare beliefs with."""
    outcome = calibration_plot.calibration_outcome(beliefs)
    if outcome is None:
        return
    if outcome[1] == "p_true":
        caption = (
            "Pale: exact posterior and mean belief of single contexts. Joined: means in bins with "
            "about equally many answers; bars: 95% intervals over contexts. On the dotted line, "
            "beliefs are right."
        )
    else:
        caption = (
            "Share of true cases in bins with about equally many answers; bars: 95% intervals "
            "over contexts. On the dotted line, beliefs are calibrated."
        )
    bins = calibration_plot.calibration_table(beliefs)
    names: dict[str, str] = {}
    if links is not None:
        rows = calibration_plot.calibration_bins(beliefs)
        for position, inside in rows.groupby("bin"):
            low, high = inside["belief"].min(), inside["belief"].max()
            label = f"Calibration, beliefs from {low:.3f} to {high:.3f}"
            anchor = f"{key}-calibration-{int(str(position)) + 1}"
            url = links.group(anchor, label, inside["context"])
            names[url] = f"answers: {label}"
        bins = bins.assign(url=list(names))
    of_context = None if links is None else links.context
    title = calibration_plot.title_of(beliefs)
    draw = partial(
        calibration_plot.plot_calibration, beliefs, noun=noun, title="", bins=bins, link=of_context
    )
    # A little taller than wide, for a square between the labels.
    yield Figure(f"{key}-calibration", title, caption, draw, 4.2, names)
    if gap_plot.are_small(gap_plot.gap_table(beliefs)):
        yield _gap_figure(beliefs, key, noun)


def _gap_figure(beliefs: pd.DataFrame, key: str, noun: str) -> Figure:
    """Plan the figure of misses that are too small to be seen in the one of calibration."""
    caption = (
        "How far the points of the figure before lie from its dotted line, on a scale of their "
        "own: above 0 beliefs are too low. Bars: 95% intervals over contexts."
    )
    title = gap_plot.title_of(beliefs)
    draw = partial(gap_plot.plot_calibration_gaps, beliefs, noun=noun, title="")
    return Figure(f"{key}-gaps", title, caption, draw)
