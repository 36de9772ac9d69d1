"""What a comparison of models found: tables, sentences, JSON, a picture and a page."""

import json
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from html import escape
from typing import Any

import pandas as pd

from coherence.analysis.comparison.effects import EFFECTS
from coherence.analysis.comparison.wording import LEGEND, ordered, rank_text
from coherence.report.json import to_plain
from coherence.report.wording import clean, format_numbers
from coherence.result import rejects
from coherence.table.printable import counted

SCHEMA_VERSION = 1
WIDTH = 100
N_NOTES = 8

SHOWN = ("task", "effect", "model", "estimate", "low", "high", "rank_low", "rank_high", "letters")


@dataclass(frozen=True)
class Comparison:
    """Models on the same cases.

    Parameters
    ----------
    estimates : DataFrame
        A row for each task, effect and model; columns of `ESTIMATES`.
    differences : DataFrame
        A row for each task, effect and pair of models; columns of `DIFFERENCES`.
    notes : tuple of str
        What was assumed, left out or not compared.
    settings : mapping
        What shaped the numbers.
    """

    estimates: pd.DataFrame
    differences: pd.DataFrame
    notes: tuple[str, ...]
    settings: Mapping[str, Any]

    def __repr__(self) -> str:
        """Return a line."""
        sizes = (
            counted(self.estimates[name].nunique(), name) for name in ("model", "task", "effect")
        )
        return f"<Comparison: {', '.join(sizes)}>"

    def _repr_html_(self) -> str:
        """Return what a notebook shows: what was found, and every estimate with its ranks."""
        shown = self.estimates[[name for name in SHOWN if name in self.estimates.columns]]
        table = shown.to_html(index=False, border=0, escape=True, float_format="{:.4g}".format)
        return f"<p>{escape(clean(self.summary))}</p>{table}"

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
        return (
            f"{pairs} compared: {counts[0]} differ at a false discovery rate of 5%, "
            f"{counts[1]} after Holm's correction."
        )

    def __str__(self) -> str:
        """Return estimates, ranks and letters as text, a line or two for each effect."""
        lines: list[str] = []
        seen = None
        for task, effect, rows in self.effects():
            if task != seen:
                lines += [*([""] if lines else []), self._heading(task)]
                seen = task
            lines += _effect_lines(effect, rows)
        lines += ["", *textwrap.wrap(self.summary, WIDTH), *textwrap.wrap(f"({LEGEND})", WIDTH)]
        notes = [f"note: {clean(note)}" for note in self.notes[:N_NOTES]]
        if len(self.notes) > N_NOTES:
            notes.append(f"note: {len(self.notes) - N_NOTES} more in `notes`")
        return "\n".join([*lines, *notes])

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
        }
        return json.dumps(to_plain(record), sort_keys=True, indent=2, allow_nan=False) + "\n"

    def to_svg(self) -> str:
        """Return the picture as SVG text: a panel for each effect, a line for each model."""
        from coherence.analysis.comparison.rank_plot import render_comparison

        return render_comparison(self.estimates)

    def to_html(self) -> str:
        """Return one self-contained page without scripts."""
        from coherence.analysis.comparison.page import render_page

        return render_page(
            self.effects(),
            self.differences,
            summary=self.summary,
            n_contexts=self.settings["n_contexts"],
            notes=self.notes,
        )


def _effect_lines(effect: str, rows: pd.DataFrame) -> list[str]:
    known = ordered(rows)
    numbers = format_numbers([float(value) for value in known["estimate"]])
    # No break within a model's entry.
    entries = [
        f"{clean(row['model'], limit=30)} {number} {row['letters']} ({rank_text(row)})".replace(
            " ", "\u00a0"
        )
        for row, number in zip(known.to_dict("records"), numbers, strict=True)
    ]
    body = textwrap.wrap("  ".join(entries), WIDTH, initial_indent="    ", subsequent_indent="    ")
    lines = [f"  {effect}: {EFFECTS[effect].says}", *body]
    for row in rows[rows["rank_low"].isna()].to_dict("records"):
        lines.append(f"    without {clean(row['model'], limit=30)}: {clean(row['reason'])}")
    return [line.replace("\u00a0", " ") for line in lines]
