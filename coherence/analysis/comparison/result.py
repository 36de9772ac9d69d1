"""What a comparison of models found: tables, text, JSON, a picture and a page.

Names of tasks and models are untrusted: every value is cleaned, and escaped in HTML, where figures
alone, which are rebuilt element by element from a parsed tree, go in as markup.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from html import escape
from typing import Any

import pandas as pd
from markupsafe import Markup

from coherence.analysis.comparison.effects import EFFECTS
from coherence.report.document import MISSING, Cell, Column, Row, Table, build_table, label, pvalue
from coherence.report.json import to_plain
from coherence.report.layout import render_parts
from coherence.report.pages import render_table
from coherence.report.wording import clean
from coherence.result import rejects
from coherence.table.printable import counted, span

ESTIMATES = {
    "task": "task",
    "effect": "what is compared",
    "model": "model",
    "estimate": "estimate; NaN where there is none",
    "low": "low end of its own 95% interval",
    "high": "high end",
    "n_contexts": "cases behind it, the same for all models of the effect",
    "rank_low": "lowest rank it may have, 1 for the value closest to 0; none of what is not ranked",
    "rank_high": "highest rank; all ranks of an effect hold together in 95%",
    "letters": "models that share a letter cannot be told apart",
    "reason": "why there is no estimate, no rank or no interval",
}
"""Column of `Comparison.estimates` -> what it holds."""
DIFFERENCES = {
    "task": "task",
    "effect": "what is compared",
    "model_a": "first model",
    "model_b": "second model",
    "difference": "first less second, on the scale of the column `scale`",
    "low": "low end of its own 95% interval",
    "high": "high end",
    "pvalue": "of no difference, alone",
    "pvalue_ranks": "adjusted for all pairs of the effect, by which letters are told apart",
    "n_contexts": "cases",
    "scale": "estimate, or mean square where the estimate is the root of one",
    "reason": "why there is no p-value or no interval",
    "pvalue_bh": "adjusted over all pairs, effects and tasks, by Benjamini and Hochberg",
    "pvalue_holm": "the same by Holm",
}
"""Column of `Comparison.differences` -> what it holds."""
VARIATION = {
    "task": "task",
    "model": "model",
    "belief_sd": "standard deviation of its mean beliefs over cases",
    "action": "its most frequent action",
    "action_share": "share of that among its choices",
    "moves": "false where beliefs or choices hardly vary",
}
"""Column of `Comparison.variation` -> what it holds."""
LEGEND = (
    "ranks from the value closest to 0, of either sign; models that share a letter cannot be told "
    "apart; the ranks of an effect hold together in 95%"
)
TITLE = "Models on the same cases"
SCHEMA_VERSION = 1
WIDTH = 80
N_NOTES = 8


def _rank(row: Row) -> Cell:
    if pd.isna(row["rank_low"]):
        return Cell(MISSING, note=row["reason"])
    return Cell(span(row["rank_low"], row["rank_high"]))


MODELS = (
    label("model"),
    Column("estimate", ends=("low", "high"), reason="reason"),
    Column("", "rank", make=_rank),
    label("letters"),
)
PAIRS = (
    label("model_a", "first"),
    label("model_b", "second"),
    Column("difference", ends=("low", "high"), reason="reason"),
    pvalue("pvalue"),
    pvalue("pvalue_ranks", "p for ranks"),
    pvalue("pvalue_bh", "p, BH over all"),
)


@dataclass(frozen=True)
class Comparison:
    """Models on the same cases.

    Parameters
    ----------
    estimates : DataFrame
        A row for each task, effect and model; `ESTIMATES` says what its columns hold.
    differences : DataFrame
        A row for each task, effect and pair of models; see `DIFFERENCES`.
    notes : tuple of str
        What was assumed, left out or not compared.
    settings : mapping
        What shaped the numbers.
    variation : DataFrame
        A row for each task and model; see `VARIATION`.
    """

    estimates: pd.DataFrame
    differences: pd.DataFrame
    notes: tuple[str, ...]
    settings: Mapping[str, Any]
    variation: pd.DataFrame = field(default_factory=pd.DataFrame)

    def __repr__(self) -> str:
        """Return a line."""
        sizes = (
            counted(self.estimates[name].nunique(), name) for name in ("model", "task", "effect")
        )
        return f"<Comparison: {', '.join(sizes)}>"

    def _repr_html_(self) -> str:
        """Return what a notebook shows: what was found, and every estimate with its ranks."""
        tables = "".join(map(render_table, self.tables()))
        return f"<p>{escape(clean(self.summary))}</p>{tables}"

    def tables(self) -> list[Table]:
        """Return a table for each task: every effect with the models, the closest to 0 first."""
        rows: dict[str, list[Row]] = {}
        parts: dict[str, dict[int, str]] = {}
        for task, effect, of_effect in self.effects():
            here = rows.setdefault(task, [])
            says = f"{effect}: {EFFECTS[effect].says}"
            parts.setdefault(task, {})[len(here)] = says
            here += _in_order(of_effect)
        return [
            build_table(rows[task], MODELS, title=self._heading(task), parts=parts[task])
            for task in rows
        ]

    def effects(self) -> Iterator[tuple[str, str, pd.DataFrame]]:
        """Yield task, effect and rows of the estimates, in the order of the tables."""
        for (task, effect), rows in self.estimates.groupby(["task", "effect"], sort=False):
            yield str(task), str(effect), rows

    @property
    def summary(self) -> str:
        """How many differences there are, in a sentence."""
        tested = self.differences["pvalue"].notna()
        if not tested.any():
            return "No difference could be tested."
        counts = [
            sum(rejects(value) for value in self.differences.loc[tested, f"pvalue_{name}"])
            for name in ("bh", "holm")
        ]
        n = int(tested.sum())
        pairs = counted(n, "pair of models was", "pairs of models and effects were")
        others = len(tested) - n
        without = f" ({others} more cannot be tested)" if others else ""
        return (
            f"{pairs} compared{without}: {counts[0]} differ at a false discovery rate of 5%, "
            f"{counts[1]} after Holm's correction."
        )

    def __str__(self) -> str:
        """Return estimates, ranks and letters as text."""
        tables = [part for table in self.tables() for part in (table, "")]
        notes = [f"note: {note}" for note in self.notes[:N_NOTES]]
        if len(self.notes) > N_NOTES:
            notes.append(f"note: {len(self.notes) - N_NOTES} more in `notes`")
        return render_parts([*tables, self.summary, f"({LEGEND})", *notes], width=WIDTH)

    def _heading(self, task: str) -> str:
        n = self.settings["n_contexts"][task]
        return f"{clean(task, limit=60)}, {n} cases" if task else f"{n} cases"

    def to_json(self) -> str:
        """Return everything as JSON text, equal bytes for equal runs."""
        record = {
            "schema_version": SCHEMA_VERSION,
            "settings": dict(self.settings),
            "summary": self.summary,
            "notes": self.notes,
            "estimates": self.estimates,
            "differences": self.differences,
            "variation": self.variation,
        }
        return json.dumps(to_plain(record), sort_keys=True, indent=2, allow_nan=False) + "\n"

    def to_svg(self) -> str:
        """Return the picture as SVG text: a panel for each effect, a line for each model."""
        from coherence.plots.ranks import render_panels

        several = self.estimates["task"].nunique() > 1
        return render_panels(
            [
                (f"{clean(task, limit=24)} · {effect}" if several else effect, rows)
                for task, effect, rows in self.effects()
            ],
            signed={name for name, effect in EFFECTS.items() if effect.signed},
        )

    def to_html(self) -> str:
        """Return one self-contained page without scripts."""
        from coherence.report.pages import environment

        tasks: dict[str, list[dict[str, Any]]] = {}
        for number, (task, effect, rows) in enumerate(self.effects()):
            here = (self.differences["task"] == task) & (self.differences["effect"] == effect)
            shown = _section(effect, rows, self.differences[here], f"effect-{number}")
            tasks.setdefault(task, []).append(shown)
        template = environment("coherence", "analysis/comparison").get_template("page.html.j2")
        return template.render(
            title=TITLE,
            summary=self.summary,
            legend=LEGEND[:1].upper() + LEGEND[1:] + ".",
            tasks=[
                {
                    "name": clean(task, limit=80) or "All cases",
                    "n": self.settings["n_contexts"][task],
                    "effects": shown,
                }
                for task, shown in tasks.items()
            ],
            notes=[clean(note) for note in self.notes],
        )


def _in_order(rows: pd.DataFrame) -> list[Row]:
    """Return the rows of an effect, the model with the estimate closest to 0 first."""
    order = rows.assign(distance=rows["estimate"].abs().where(rows["rank_low"].notna()))
    order = order.sort_values(["distance", "rank_low", "model"], kind="stable")
    return [
        {**row, "letters": row["letters"] if isinstance(row["letters"], str) else ""}
        for row in order.to_dict("records")
    ]


def _section(effect: str, rows: pd.DataFrame, pairs: pd.DataFrame, key: str) -> dict[str, Any]:
    """Lay out an effect for the page: a figure, and tables of models and of pairs."""
    from coherence.plots.ranks import height_for, plot_ranks
    from coherence.report.figure_svg import render_svg

    figure = render_svg(
        partial(plot_ranks, rows, signed=EFFECTS[effect].signed, title=""),
        key=key,
        title=f"{effect}: estimates and rank intervals of {len(rows)} models",
        size=(4.2, height_for(len(rows))),
    )
    scale = "estimates"
    if (pairs["scale"] == "mean square").any():
        scale = "mean squares, of which the estimate is the root"
    caption = f"Differences of {scale}, first less second."
    return {
        "name": effect,
        "says": EFFECTS[effect].says,
        "n": int(rows["n_contexts"].max()),
        "figure": Markup(figure),
        "tables": [
            build_table(_in_order(rows), MODELS),
            build_table(pairs.to_dict("records"), PAIRS, caption=caption),
        ],
    }
