"""Figures 1 and 2 of a paper: choice shares against belief, and gaps of iterated expectations.

As in the figures of the paper on whether models act like rational agents. Text from data is never
read as mathematics.
"""

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from coherence.analysis.paper.results import (
    NOT_RUN,
    PUBLISHED,
    REPAIRED,
    PaperResults,
    evaluation_names,
)
from coherence.plots.results import plot_pairwise_choice
from coherence.plots.style import (
    BLUE,
    FAINT,
    INK,
    SKY,
    Style,
    figure_style,
    frame_axes,
    panels,
    save_figure,
    share_legend,
)
from coherence.report.document import FigureFile, spoken_range
from coherence.report.evaluation import EvaluationReport
from coherence.report.wording import belief_noun, clean
from coherence.result import CheckResult

FORMATS = ("svg", "pdf")
_MOST_PAIRS = 4
_MOST_TASKS = 3  # panels of figure 2 in a line
_NAME = 26  # letters
_PAIRWISE = "monotone_choice:"
_GAP = {PUBLISHED: "iterated_expectation", REPAIRED: "iterated_expectation:relative"}
_FOREST = "iterated_expectation:random_forest"


def write_paper_figures(results: PaperResults, folder: Path) -> list[FigureFile]:
    """Draw Figures 1 and 2 into a folder, as SVG and PDF."""
    of_choices = [
        _choice_figures(report.evaluations, procedure, folder)
        for procedure, report in results.reports.items()
    ]
    return [*of_choices, _gap_figure(results, folder)]


def _save(figure: Figure, path: Path) -> None:
    for ending in FORMATS:
        save_figure(figure, path.with_suffix(f".{ending}"))


def _choice_figures(
    evaluations: Sequence[EvaluationReport], procedure: str, folder: Path
) -> FigureFile:
    """Draw the shares of every pair of actions: a line an evaluation, a column a pair."""
    title = f"Share of an action against belief, {procedure}"
    pairwise = [
        (evaluation, {of.check: of for of in evaluation.results if of.check.startswith(_PAIRWISE)})
        for evaluation in evaluations
    ]
    # In the order of the checks, which an evaluation that lacks a pair must not change.
    named = dict.fromkeys(check for _, results in pairwise for check in results)
    shown = [
        (evaluation, drawn)
        for evaluation, results in pairwise
        if (drawn := {check: of for check, of in results.items() if not of.details.empty})
    ]
    pairs = [check for check in named if any(check in drawn for _, drawn in shown)]
    if not pairs:
        why = "Not drawn: no pair of actions could be compared over bins of belief."
        return FigureFile("", "Figure 1", title, why)
    name = "figure1" if procedure == REPAIRED else f"figure1-{procedure}"
    _draw_choices(shown, pairs[:_MOST_PAIRS], folder / name)
    return FigureFile(name, "Figure 1", title, _choice_caption(shown, pairs, procedure))


def _draw_choices(
    shown: Sequence[tuple[EvaluationReport, dict[str, CheckResult]]],
    pairs: Sequence[str],
    path: Path,
) -> None:
    size = (max(2.9, 3.6 / len(pairs)), 2.3)
    with figure_style({"font.size": 8.5}):
        figure, axes = panels(len(shown) * len(pairs), across=len(pairs), size=size)
        places = iter(axes)
        for evaluation, results in shown:
            for check in pairs:
                ax = next(places)
                if check not in results:
                    _say_empty(ax, check.removeprefix(_PAIRWISE))
                    continue
                result = results[check]
                noun = belief_noun(evaluation.answering)
                plot_pairwise_choice(result, noun=noun, title="", ax=ax)
                # Marked in the caption; a legend in every panel would cover the shares.
                if legend := ax.get_legend():
                    legend.remove()
                ax.set_xlim(-0.03, 1.03)
                ax.set_title(
                    " · ".join(
                        clean(name, limit=_NAME)
                        for name in evaluation_names(evaluation.task, evaluation.model)
                    ),
                    fontsize=8.5,
                    color=INK,
                    loc="left",
                    parse_math=False,
                )
        _save(figure, path)


def _say_empty(ax: Axes, what: str) -> None:
    ax.set_axis_off()
    note = f"{clean(what, limit=_NAME)}:\nnot compared"
    ax.text(0.5, 0.5, note, transform=ax.transAxes, ha="center", color=INK, parse_math=False)


def _choice_caption(
    shown: Sequence[tuple[EvaluationReport, dict[str, CheckResult]]],
    pairs: Sequence[str],
    procedure: str,
) -> str:
    results = [result for _, of_evaluation in shown for result in of_evaluation.values()]
    details = pd.concat([result.details for result in results])
    violated = int((details["violation"].astype(bool) & details["significant"].astype(bool)).sum())
    test = (
        "Fisher's exact test over rows for each pair of bins, uncorrected"
        if procedure == PUBLISHED
        else "the test of the largest drops over contexts, corrected for all pairs of bins of a "
        "panel"
    )
    kinds = {
        "1.96 standard errors over contexts of actions that are probabilities"
        if "se_j" in result.details
        else "Wilson 95% intervals over chosen actions"
        for result in results
    }
    bars = " and ".join(sorted(kinds))
    contexts = spoken_range([result.n_contexts for result in results])
    left_out = (
        f" Of {len(pairs)} pairs {_MOST_PAIRS} are drawn." if len(pairs) > _MOST_PAIRS else ""
    )
    return (
        "A point is the share of the first action among the two, in a quantile bin of belief, at "
        "the mean belief of the bin; its area is in proportion to the answers of the bin. Bars: "
        f"{bars}. Dashed lines join bins with a significant fall of the share by {test}: "
        f"{violated} of {len(details)} pairs of bins. A panel has {contexts} "
        f"contexts.{left_out}"
    )


def _gap_figure(results: PaperResults, folder: Path) -> FigureFile:
    """Draw the median relative gap of every model by task, beside that of fitted forests."""
    title = "Gaps of iterated expectations"
    frame = results.frame()
    wanted = [(procedure, _GAP[procedure]) for procedure in results.reports]
    rows = [
        frame[(frame["procedure"] == procedure) & (frame["check"] == check)]
        for procedure, check in wanted
    ]
    gaps = pd.concat(rows).dropna(subset="estimate")
    if gaps.empty:
        first = results.evaluations[0].task, results.evaluations[0].model
        why = results.why_absent(next(iter(results.reports)), *first, _GAP[REPAIRED])
        return FigureFile("", "Figure 2", title, f"Not drawn: {why}")
    tasks = list(dict.fromkeys(gaps["task"]))
    forests = frame[(frame["check"] == _FOREST)].dropna(subset="estimate")
    n_models = int(gaps.groupby("task")["model"].nunique().max())
    width = max(2.0 + 0.75 * n_models, 3.4)
    with figure_style({"font.size": 9.0}):
        figure, axes = panels(len(tasks), across=_MOST_TASKS, size=(width, 3.1))
        for number, (task, ax) in enumerate(zip(tasks, axes, strict=True)):
            plot_gaps(gaps[gaps["task"] == task], forests[forests["task"] == task], ax)
            name = clean(evaluation_names(task, "")[0], limit=_NAME)
            ax.set_title(name, fontsize=9.5, color=INK, loc="left", parse_math=False)
            if number % _MOST_TASKS:
                ax.set_ylabel("")
        # On one scale, so that tasks can be compared.
        top = max(ax.get_ylim()[1] for ax in axes)
        for ax in axes:
            ax.set_ylim(0, top)
        share_legend(figure, columns=3)
        _save(figure, folder / "figure2")
    return FigureFile("figure2", "Figure 2", title, _gap_caption(results, gaps, forests))


def plot_gaps(gaps: pd.DataFrame, forests: pd.DataFrame, ax: Axes) -> Axes:
    """Draw the median relative gap of the models of a task, with the forests' own."""
    models = list(dict.fromkeys(gaps["model"]))
    procedures = [name for name in (PUBLISHED, REPAIRED) if name in set(gaps["procedure"])]
    width = 0.8 / len(procedures)
    frame_axes(ax)
    for number, procedure in enumerate(procedures):
        rows = gaps[gaps["procedure"] == procedure].set_index("model").reindex(models)
        centres = np.arange(len(models)) + (number - (len(procedures) - 1) / 2) * width
        heights = rows["estimate"].to_numpy(dtype=np.float64)
        colour = SKY if procedure == PUBLISHED else BLUE
        ax.bar(centres, heights, width=width * 0.8, color=colour, label=procedure, zorder=2)
        low, high = (rows[end].to_numpy(dtype=np.float64) for end in ("low", "high"))
        known = ~np.isnan(low)
        ax.vlines(centres[known], low[known], high[known], color=INK, linewidth=1.2, zorder=3)
    _draw_forests(forests.drop_duplicates("model"), models, ax)
    names = [clean(evaluation_names("", model)[1], limit=16) for model in models]
    turned = len(models) > 2 and max(map(len, names)) > 8
    ax.set_xticks(range(len(models)), names)
    for tick in ax.get_xticklabels():
        tick.set_parse_math(False)
        if turned:
            tick.set(rotation=25, ha="right")
    ax.set_xlim(-0.6, len(models) - 0.4)
    ax.set_ylabel("median gap / belief")
    return ax


def _draw_forests(forests: pd.DataFrame, models: list[str], ax: Axes) -> None:
    """Draw the baseline across the bars of every model; models may have had other cases."""
    for row in forests[forests["model"].isin(models)].to_dict("records"):
        start = models.index(row["model"]) - 0.5
        label = None if ax.lines else "forests, with their interval"
        level = [row["estimate"]] * 2
        line: Style = {"color": INK, "linestyle": (0, (4, 2)), "linewidth": 1.2, "zorder": 4}
        ax.plot([start, start + 1], level, **line, label=label)
        if not math.isnan(row["low"]):
            ends = [row["low"]] * 2, [row["high"]] * 2
            shade: Style = {"color": FAINT, "alpha": 0.25, "linewidth": 0, "zorder": 0}
            ax.fill_between([start, start + 1], *ends, **shade)


def _gap_caption(results: PaperResults, gaps: pd.DataFrame, forests: pd.DataFrame) -> str:
    methods = "; ".join(
        f"{procedure}: {method}"
        for procedure, method in dict.fromkeys(
            zip(gaps["procedure"], gaps["interval_method"], strict=True)
        )
        if method
    )
    n = spoken_range([*map(int, gaps["n_contexts"])])
    forest = (
        "The dashed line is the same figure of random forests fitted to the exact posteriors and "
        "asked about cases that they had not seen, its band their interval."
        if len(forests)
        else "There is no baseline of forests: it needs p_true and x_ columns."
    )
    both = "" if PUBLISHED in results.reports else f" {NOT_RUN[PUBLISHED]}"
    return (
        "A bar is the median over contexts of |belief - its average over the values of z| divided "
        f"by the belief, answer noise included; lines are 95% intervals ({methods}). {forest} "
        f"{n} contexts.{both}"
    )
