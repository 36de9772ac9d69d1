"""Figures 1 and 2 of a paper: choice shares against belief, and gaps of iterated expectations.

As in the figures of the paper on whether models act like rational agents. Text from data is never
read as mathematics.
"""

from collections.abc import Sequence
from pathlib import Path

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from coherence.analysis.paper.results import PUBLISHED, REPAIRED, PaperResults, evaluation_names
from coherence.plots.results import plot_pairwise_choice
from coherence.plots.style import (
    BLUE,
    FAINT,
    INK,
    SKY,
    figure_style,
    frame_axes,
    panels,
    points_with_intervals,
    save_figure,
    share_legend,
)
from coherence.report.document import FigureFile
from coherence.report.evaluation import EvaluationReport
from coherence.report.wording import belief_noun, clean

_MOST_TASKS = 3  # panels of figure 2 in a line
_NAME = 26  # letters
_PAIRWISE = "monotone_choice:"
_FORESTS = "forests"
# What figure 2 shows -> procedures and check, place beside a model, colour.
_GAPS = {
    PUBLISHED: ((PUBLISHED,), "iterated_expectation", -0.2, SKY),
    REPAIRED: ((REPAIRED,), "iterated_expectation:relative", 0.0, BLUE),
    _FORESTS: ((REPAIRED, PUBLISHED), "iterated_expectation:random_forest", 0.2, FAINT),
}
_CHOICES = (
    "A point is the share of the first action among the two, in a quantile bin of belief, at the "
    "mean belief of the bin; its area is in proportion to the answers of the bin. Bars: 95% "
    "intervals. Dashed lines join bins with a significant fall of the share, by "
)
_TESTS = {
    PUBLISHED: "Fisher's exact test over rows for each pair of bins, uncorrected.",
    REPAIRED: "the test of the largest drops over contexts, corrected for all pairs of bins.",
}
_CAPTION = (
    "The median over contexts of |belief - its average over the values of z| divided by the "
    "belief, answer noise included, with its 95% interval; beside it that of random forests fitted "
    "to the exact posteriors and asked about cases that they had not seen, where the table has "
    "p_true and x_ columns."
)


def write_paper_figures(results: PaperResults, folder: Path) -> list[FigureFile]:
    """Draw Figures 1 and 2 into a folder, as SVG and PDF."""
    of_choices = [
        _choice_figure(report.evaluations, procedure, folder)
        for procedure, report in results.reports.items()
    ]
    return [*of_choices, _gap_figure(results.frame(), folder)]


def _save(figure: Figure, path: Path) -> None:
    for ending in ("svg", "pdf"):
        save_figure(figure, path.with_suffix(f".{ending}"))


def _entitle(ax: Axes, *names: str) -> None:
    text = " · ".join(clean(name, limit=_NAME) for name in names)
    ax.set_title(text, fontsize=8.5, color=INK, loc="left", parse_math=False)


def _choice_figure(
    evaluations: Sequence[EvaluationReport], procedure: str, folder: Path
) -> FigureFile:
    """Draw the shares of every pair of actions: a line an evaluation, a column a pair."""
    title = f"Share of an action against belief, {procedure}"
    of_each = [
        (
            evaluation,
            {
                result.check: result
                for result in evaluation.results
                if result.check.startswith(_PAIRWISE) and not result.details.empty
            },
        )
        for evaluation in evaluations
    ]
    shown = [(evaluation, of) for evaluation, of in of_each if of]
    pairs = list(dict.fromkeys(check for _, of in shown for check in of))
    if not pairs:
        return FigureFile("", "Figure 1", title, "Not drawn: no pair of actions was compared.")
    name = "figure1" if procedure == REPAIRED else f"figure1-{procedure}"
    size = (max(2.9, 3.6 / len(pairs)), 2.3)
    with figure_style({"font.size": 8.5}):
        figure, axes = panels(len(shown) * len(pairs), across=len(pairs), size=size)
        drawn = [(evaluation, of.get(check)) for evaluation, of in shown for check in pairs]
        for ax, (evaluation, result) in zip(axes, drawn, strict=True):
            if result is None:
                ax.set_axis_off()
                continue
            noun = belief_noun(evaluation.answering)
            plot_pairwise_choice(result, noun=noun, title="", ax=ax)
            # Marked in the caption; a legend in every panel would cover the shares.
            if legend := ax.get_legend():
                legend.remove()
            ax.set_xlim(-0.03, 1.03)
            _entitle(ax, *evaluation_names(evaluation.task, evaluation.model))
        _save(figure, folder / name)
    return FigureFile(name, "Figure 1", title, _CHOICES + _TESTS[procedure])


def _gap_figure(frame: pd.DataFrame, folder: Path) -> FigureFile:
    """Draw the median relative gap of every model by task, beside that of fitted forests."""
    title = "Gaps of iterated expectations"
    gaps = pd.concat(
        [
            frame[frame["procedure"].isin(procedures) & (frame["check"] == check)]
            .drop_duplicates(["task", "model"])
            .assign(of=of, beside=beside)
            for of, (procedures, check, beside, _) in _GAPS.items()
        ]
    ).dropna(subset="estimate")
    tasks, models = (list(dict.fromkeys(gaps[name])) for name in ("task", "model"))
    if not tasks:
        return FigureFile("", "Figure 2", title, "Not drawn: no gaps were estimated.")
    gaps["at"] = gaps["model"].map(models.index) + gaps["beside"]
    with figure_style({"font.size": 9.0}):
        size = (max(2.0 + 0.75 * len(models), 3.4), 3.1)
        figure, axes = panels(len(tasks), across=_MOST_TASKS, size=size)
        for task, ax in zip(tasks, axes, strict=True):
            frame_axes(ax)
            for of, rows in gaps[gaps["task"] == task].groupby("of"):
                points = {"color": _GAPS[str(of)][-1], "label": of}
                points_with_intervals(ax, rows, place="at", value="estimate", points=points)
            names = [clean(evaluation_names("", model)[1], limit=16) for model in models]
            ax.set_xticks(range(len(models)), names, rotation=25, ha="right", parse_math=False)
            ax.set_xlim(-0.6, len(models) - 0.4)
            ax.set_ylabel("median gap / belief")
            _entitle(ax, evaluation_names(task, "")[0])
        # On one scale, so that tasks can be compared.
        top = max(ax.get_ylim()[1] for ax in axes)
        for ax in axes:
            ax.set_ylim(0, top)
        share_legend(figure, columns=3)
        _save(figure, folder / "figure2")
    return FigureFile("figure2", "Figure 2", title, _CAPTION)
