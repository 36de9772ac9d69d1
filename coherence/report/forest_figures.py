"""The figures that hold all units: one forest of effects for each test that several units share."""

import math
from collections.abc import Callable, Sequence
from functools import partial

import pandas as pd

from coherence.plots.forest import height_for, plot_forest, title_of
from coherence.report.planned_figure import Figure
from coherence.report.ranking import Ranked, shared_tests
from coherence.report.wording import clean, component_of, unit_heading
from coherence.result import LEVEL, CheckResult

MOST_FORESTS, MOST_ROWS = 8, 60
CHOSEN = (
    " Each is the difference in the probability of one action, the surest in its unit, which the "
    "results name."
)


def forest_figures(
    ranked: Sequence[Ranked], url_of: Callable[[Ranked], str] | None = None
) -> list[Figure]:
    """Plan a figure for each test and unit of measurement that several units share."""
    checks = shared_tests([row.unit for row in sorted(ranked, key=lambda row: row.number)])
    figures: list[Figure] = []
    for check in checks:
        by_measure: dict[str, list[tuple[Ranked, CheckResult]]] = {}
        for row in ranked:
            for result in row.unit.results:
                if result.check == check and math.isfinite(result.statistic):
                    by_measure.setdefault(result.unit, []).append((row, result))
        for pairs in by_measure.values():
            if len(pairs) > 1:
                key = f"forest-{len(figures) + 1}"
                figures.append(_forest(key, check, pairs, url_of))
    return figures[:MOST_FORESTS]


def _forest(
    key: str,
    check: str,
    pairs: Sequence[tuple[Ranked, CheckResult]],
    url_of: Callable[[Ranked], str] | None,
) -> Figure:
    shown = sorted(pairs, key=lambda pair: -pair[1].statistic)
    cut = len(shown) > MOST_ROWS
    if cut:  # both ends of the order
        shown = [*shown[: MOST_ROWS // 2], *shown[-(MOST_ROWS // 2) :]]
    effects, names = [], {}
    for row, result in shown:
        effect = {"task": row.unit.task, "model": row.unit.model, **result.to_row()}
        if url_of is not None:
            effect["url"] = url_of(row)
            names[effect["url"]] = unit_heading(row.unit)
        effects.append(effect)
    without = sum(math.isnan(effect["low"]) for effect in effects)
    caption = (
        f"Effect of {clean(check)} in each unit with its 95% interval; full where the test rejects "
        f"after Holm's correction over all tests (p at most {LEVEL})."
        + (CHOSEN if any(component_of(result) for _, result in shown) else "")
        + (f" {without} effects have no interval." if without else "")
        + (f" Of {len(pairs)} units, the {MOST_ROWS // 2} at each end are drawn." if cut else "")
    )
    draw = partial(plot_forest, pd.DataFrame(effects), title="")
    return Figure(key, title_of(check), caption, draw, height_for(len(effects)), names)
