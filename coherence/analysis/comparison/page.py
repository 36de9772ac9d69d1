"""The page of a comparison: one self-contained HTML document without scripts.

Names of tasks and models are untrusted: the template escapes every value, and only figures, which
are rebuilt element by element from a parsed tree, go in as markup.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import pandas as pd
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from coherence.analysis.comparison.effects import EFFECTS
from coherence.analysis.comparison.rank_plot import WIDTH, draw_effect
from coherence.analysis.comparison.wording import LEGEND, difference_cells, rank_text
from coherence.plots.ranks import height_for
from coherence.report.figure_svg import render_svg
from coherence.report.wording import NOT_GIVEN, clean, format_numbers

TITLE = "Models on the same cases"


def _estimate_row(row: dict[Any, Any]) -> dict[str, str]:
    known = not pd.isna(row["rank_low"])
    if not known:
        reason = clean(row["reason"])
        blank = dict.fromkeys(("estimate", "interval", "rank", "letters"), NOT_GIVEN)
        return {"model": clean(row["model"], limit=80), **blank, "reason": reason}
    estimate, low, high = format_numbers([row["estimate"], row["low"], row["high"]])
    return {
        "model": clean(row["model"], limit=80),
        "estimate": estimate,
        "interval": NOT_GIVEN if pd.isna(row["low"]) else f"[{low}, {high}]",
        "rank": rank_text(row),
        "letters": row["letters"],
        "reason": clean(row["reason"]),
    }


def _effect(effect: str, rows: pd.DataFrame, pairs: pd.DataFrame, key: str) -> dict[str, Any]:
    figure = render_svg(
        partial(draw_effect, rows, title=""),
        key=key,
        title=f"{effect}: estimates and rank intervals of {len(rows)} models",
        size=(WIDTH, height_for(len(rows))),
    )
    squared = EFFECTS[effect].squared
    return {
        "name": effect,
        "says": EFFECTS[effect].says,
        "n": int(rows["n_contexts"].max()),
        "figure": Markup(figure),
        "without": [
            f"{clean(row['model'], limit=80)}: {clean(row['reason'])}"
            for row in rows[rows["rank_low"].isna()].to_dict("records")
        ],
        "rows": [_estimate_row(row) for row in rows.to_dict("records")],
        "scale": "mean squares, of which the estimate is the root" if squared else "estimates",
        "pairs": [
            [
                clean(row["model_a"], limit=60),
                clean(row["model_b"], limit=60),
                *difference_cells(row),
            ]
            for row in pairs.to_dict("records")
        ],
    }


def render_page(
    effects: Iterable[tuple[str, str, pd.DataFrame]],
    differences: pd.DataFrame,
    *,
    summary: str,
    n_contexts: Mapping[str, int],
    notes: Sequence[str],
) -> str:
    """Render a comparison as a page."""
    tasks: dict[str, list[dict[str, Any]]] = {}
    for number, (task, effect, rows) in enumerate(effects):
        pairs = differences[(differences["task"] == task) & (differences["effect"] == effect)]
        tasks.setdefault(task, []).append(_effect(effect, rows, pairs, f"effect-{number}"))
    # Undefined names raise: a misspelt one would print nothing, and nobody would notice.
    environment = Environment(
        loader=PackageLoader("coherence", "analysis/comparison"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template("page.html.j2").render(
        title=TITLE,
        summary=summary,
        legend=LEGEND[:1].upper() + LEGEND[1:] + ".",
        tasks=[
            {"name": clean(task, limit=80) or "All cases", "n": n_contexts[task], "effects": shown}
            for task, shown in tasks.items()
        ],
        notes=[clean(note) for note in notes],
    )
