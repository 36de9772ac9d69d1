"""What a comparison of models found: tables, text, JSON and a page.

Names of tasks and models are untrusted: every value is cleaned, and escaped in HTML.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

import pandas as pd

from coherence.checks.catalogue import check_of, interpretation_of
from coherence.checks.check import Form
from coherence.printable import counted
from coherence.report import page
from coherence.report.document import (
    MISSING,
    Cell,
    Column,
    Heading,
    Look,
    Notes,
    Paragraph,
    Part,
    Row,
    build_table,
    count,
    label,
    pvalue,
)
from coherence.report.effects import hidden_share, threshold
from coherence.report.json import to_plain
from coherence.report.report import Report
from coherence.report.screen import render_parts, spaced
from coherence.report.wording import clean
from coherence.result import Family, rejects

EFFECTS = {
    "task": "task",
    "effect": "name of the result of `coherence.analyze`; of `scores` it is the Brier score",
    "model": "model",
    "estimate": "on the cases that are compared; NaN where there is none or it is withheld",
    "low": "low end of its 95% interval",
    "high": "high end",
    "n_contexts": "cases behind it",
    "reason": "why there is no estimate, no interval or no difference",
}
"""Column of `Comparison.effects` -> what it holds."""
DIFFERENCES = {
    "task": "task",
    "effect": "as in `EFFECTS`",
    "model_a": "first model",
    "model_b": "second model",
    "difference": "first less second, on the scale of the column `scale`",
    "low": "low end of its own 95% interval",
    "high": "high end",
    "pvalue": "of no difference, alone",
    "pvalue_holm": "adjusted over all pairs, effects and tasks",
    "n_contexts": "cases",
    "scale": "estimate, or mean square where the estimate is the root of one",
    "reason": "why there is no difference, no p-value or no interval",
}
"""Column of `Comparison.differences` -> what it holds."""
TITLE = "Models on the same cases"
LEGEND = (
    "Differences are paired by case, first less second, with 95% intervals; p by Holm over all."
)
SCHEMA_VERSION = 2
WIDTH = 100
_ESTIMATE = Column("estimate", ends=("low", "high"), reason="reason")
_CASES = count("n_contexts", "cases")
_OF_CHOICES = (
    Column("", "hidden share", make=lambda row: Cell(hidden_share(row["report"]))),
    Column("", "choices change at", make=lambda row: Cell(threshold(row["report"]))),
)
_FURTHER = (label("effect"), label("model"), _ESTIMATE, _CASES)
_PAIRS = (
    label("effect"),
    label("model_a", "first"),
    label("model_b", "second"),
    Column("difference", ends=("low", "high"), reason="reason"),
    pvalue("pvalue", "p (Holm)", adjusted="pvalue_holm"),
)


@dataclass(frozen=True)
class Comparison:
    """Models on the same cases.

    Parameters
    ----------
    report : Report
        What `analyze` finds of each model with the checks that are compared.
    effects : DataFrame
        A row for each task, effect and model; see `EFFECTS`.
    differences : DataFrame
        A row for each task, effect and pair of models; see `DIFFERENCES`.
    notes : tuple of str
        What was assumed or left out.
    settings : mapping
        What shaped the numbers.
    """

    report: Report
    effects: pd.DataFrame
    differences: pd.DataFrame
    notes: tuple[str, ...]
    settings: Mapping[str, Any]

    @property
    def verdicts(self) -> pd.DataFrame:
        """A row for each task and model, as `Report.verdicts`."""
        return self.report.verdicts.drop(columns="pvalue_bh")  # each was analysed by itself

    def __repr__(self) -> str:
        """Return a line."""
        return f"<Comparison: {self.summary}>"

    @property
    def summary(self) -> str:
        """How many differences there are, in a sentence."""
        tested = self.differences.dropna(subset="pvalue")
        if tested.empty:
            return "No difference could be tested."
        n = sum(map(rejects, tested["pvalue_holm"]))
        pairs = counted(len(tested), "difference was", "differences were")
        lacking = len(self.differences) - len(tested)
        without = f" ({lacking} more cannot be tested)" if lacking else ""
        return f"{pairs} tested{without}: {n or 'none'} at .05 after Holm's correction."

    def parts(self) -> Iterator[Part]:
        """Yield models, effects, differences and verdicts of each task, then notes.

        Models whose data cannot tell come last.
        """
        for task, of_task in groupby(self.report.evaluations, key=lambda each: each.task):
            n = counted(self.settings["n_contexts"][task], "case")
            models = sorted(of_task, key=lambda each: each.headline.open)
            effects = _rows(self.effects[self.effects["task"] == task])
            primary = {row["model"]: row for row in effects[: len(models)]}
            estimate = replace(_ESTIMATE, heading=effects[0]["effect"])
            rows = [
                {
                    **primary[each.model],
                    "verdict": "; ".join(verdict.brief for verdict in each.told),
                    "report": each,
                }
                for each in models
            ]
            known = [of for of in _OF_CHOICES if any(of.cell(row).text != MISSING for row in rows)]
            columns = [label("model"), label("verdict"), estimate, *known, _CASES]
            yield Heading(f"{clean(task, limit=60)}, {n}" if task else n)
            yield build_table(rows, columns)
            if further := effects[len(models) :]:
                yield build_table(further, _FURTHER)
            if len(pairs := self.differences[self.differences["task"] == task]):
                yield build_table(_rows(pairs), _PAIRS)
            for each in models:
                for verdict, words in zip(each.told, each.conclusion, strict=False):
                    yield Paragraph(f"{each.model}: {words}", mark=verdict.mark)
        yield Paragraph(self.summary, Look.STRONG)
        yield Paragraph(LEGEND, Look.SOFT)
        if self.notes:
            yield Notes(self.notes)

    def __str__(self) -> str:
        """Return models, effects, differences and verdicts as text."""
        return render_parts(spaced(list(self.parts())), width=WIDTH)

    def _repr_html_(self) -> str:
        """Return what a notebook shows."""
        return page.render_parts(list(self.parts()))

    def to_json(self) -> str:
        """Return everything as JSON text, equal bytes for equal runs."""
        record = vars(self) | {"schema_version": SCHEMA_VERSION, "summary": self.summary}
        record["verdicts"] = self.verdicts
        del record["report"]  # of which that is the part that was asked for
        return json.dumps(to_plain(record), sort_keys=True, indent=2, allow_nan=False) + "\n"

    def to_html(self) -> str:
        """Return one self-contained page without scripts."""
        return page.render_page(TITLE, list(self.parts()))


def _rows(table: pd.DataFrame) -> list[Row]:
    """Return the rows of a table with effects by the names, and in the units, that readers see."""
    rows: list[Row] = []
    for row in table.to_dict("records"):
        said, check = interpretation_of(row["effect"]), check_of(row["effect"])
        name, primary = said.heading or row["effect"], check and check.family is Family.PRIMARY
        if row.get("scale") == "mean square":  # a difference of two roots is that of their squares
            name = f"{(said.row or name).removesuffix(', points')}, squared"
        elif said.form is Form.POINTS and (said.row or primary):
            name = said.row or f"{name}, points"
            numbers = {"estimate", "difference", "low", "high"} & set(row)
            row |= {number: 100 * row[number] for number in numbers}
        rows.append({str(key): value for key, value in row.items()} | {"effect": name})
    return rows
