"""A report as one self-contained HTML page: inline figures, no scripts, nothing loaded elsewhere.

Task and model names, action labels and raw answers are untrusted. The template escapes every value;
only figures are inserted as markup, and those are rebuilt element by element from a parsed tree.
"""

import json
import math
import re
import shlex
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from coherence.report import wording
from coherence.report.answering import STATED, answering_sentences, belief_noun
from coherence.report.json import to_plain
from coherence.report.page_figures import unit_figures
from coherence.report.result_columns import COLUMNS
from coherence.report.statuses import audit_cells, bound_cells, repair_sentence
from coherence.report.twins import sensitivity_sentence, twin_cells, twin_note
from coherence.report.unit import Unit
from coherence.result import LEVEL, CheckResult, Outcome

TITLE = "Belief coherence report"
RAW_LIMIT = 300  # characters of a raw answer; enough to see why it could not be read
BOUNDS_NOTE = (
    "The ends are the rates if every unreadable answer had gone the one way or the other; "
    "they hold for these answers and leave out sampling."
)
_RAW_COLUMNS = ("raw_belief", "raw_z", "raw_action")


def _visible(text: str) -> str:
    """Write control characters and direction overrides of a raw answer as escapes, to be seen."""
    return "".join(
        repr(character)[1:-1]
        if character not in "\n\t" and unicodedata.category(character) in wording.UNPRINTABLE
        else character
        for character in text
    )


def _breakable(check: str) -> Markup:
    """Let a narrow column break a check's name after its underscores and colon only."""
    # Markup.join escapes the parts.
    return Markup("<wbr>").join(re.split(r"(?<=[_:/])", wording.clean(check)))


def _value(value: Any) -> str:
    if value is None:
        return wording.NOT_GIVEN
    if isinstance(value, str):
        return wording.clean(value)
    return wording.clean(json.dumps(to_plain(value), sort_keys=True, ensure_ascii=False))


def _settings(settings: Mapping[str, Any]) -> list[tuple[str, str]]:
    return [(wording.clean(name), _value(settings[name])) for name in sorted(settings)]


def _result_row(result: CheckResult, verdict: str) -> dict[str, Any]:
    effect, interval = wording.format_effect(result)
    # The unit is set smaller than the number, which readers compare down the column.
    number, _, unit = effect.partition(" ")
    return {
        "check": _breakable(result.check),
        "effect": number,
        "unit": unit,
        "interval": interval,
        "pvalue": wording.format_pvalue(result.pvalue),
        # Holm bounds the chance of any false rejection, Benjamini-Hochberg the share of false ones.
        "adjusted": [
            (name, wording.format_pvalue(value))
            for name, value in (("Holm", result.pvalue_holm), ("BH", result.pvalue_bh))
            if value is not None and not math.isnan(value)
        ],
        "mark": _mark(result),
        "flagged": result.outcome() is Outcome.REJECTED,
        "verdict": wording.full_verdict(result, verdict),
        "further": [wording.clean(column.cell(result)) for column in COLUMNS],
        "null_label": "Estimates" if result.pvalue is None else "Null hypothesis",
        "null": wording.clean(result.null),
        "assumptions": "; ".join(
            wording.clean(assumption).rstrip(".") for assumption in result.assumptions
        ),
        "method": wording.clean(result.interval.method) if result.interval is not None else "",
        "settings": ", ".join(f"{name} = {value}" for name, value in _settings(result.settings)),
    }


def _mark(result: CheckResult) -> str:
    """Return the mark of a rejection, or of a sign that does not survive the correction."""
    return {Outcome.REJECTED: "●", Outcome.UNCORRECTED: "○"}.get(result.outcome(), "")


def _overview(unit: Unit, checks: list[str]) -> list[dict[str, Any]]:
    # Units may have run different checks; each column of the overview is one check.
    by_check = {wording.clean(result.check): result for result in unit.results}
    cells = []
    for check in checks:
        result = by_check.get(check)
        if result is None:
            cells.append({"text": wording.NOT_GIVEN, "mark": "", "flagged": False})
        else:
            tested = result.pvalue is not None and not math.isnan(result.pvalue)
            text = (
                f"p {wording.format_pvalue(result.pvalue)}".replace("<", "< ")
                if tested
                else wording.format_effect(result)[0]
            )
            rejected = result.outcome() is Outcome.REJECTED
            cells.append({"text": text, "mark": _mark(result), "flagged": rejected})
    return cells


def _unreadable(unit: Unit) -> tuple[list[str], list[list[dict[str, Any]]]]:
    rows = []
    for record in unit.unreadable.to_dict("records"):
        cells = []
        for column, value in record.items():
            known = not pd.isna(value)
            text = str(value) if known else wording.NOT_GIVEN
            # The page stays small, and says so where it leaves something out.
            cut = (
                f"cut after {RAW_LIMIT} of {len(text)} characters" if len(text) > RAW_LIMIT else ""
            )
            cells.append(
                {
                    "text": _visible(text[:RAW_LIMIT]),
                    "cut": cut,
                    "raw": known and column in _RAW_COLUMNS,
                }
            )
        rows.append(cells)
    return [wording.clean(column).replace("_", " ") for column in unit.unreadable.columns], rows


def _unit_context(unit: Unit, key: str, checks: list[str]) -> dict[str, Any]:
    tables = [
        {
            "title": title,
            "headings": headings,
            "rows": [[wording.clean(row[0]), *row[1:]] for row in rows],
            "note": wording.clean(note),
        }
        for title, (headings, rows), note in (
            ("Beside rational twins", twin_cells(unit), twin_note(unit)),
            ("Answers", audit_cells(unit), repair_sentence(unit).capitalize()),
            ("If the unreadable answers had all gone one way", bound_cells(unit), BOUNDS_NOTE),
        )
        if rows
    ]
    unreadable_columns, unreadable = _unreadable(unit)
    figures, missing_figures = unit_figures(unit, key)
    return {
        "key": key,
        "heading": wording.unit_heading(unit),
        "conclusion": unit.conclusion,
        "sensitivity": sensitivity_sentence(unit),
        "cautions": [sentence[:1].upper() + sentence[1:] for sentence in unit.cautions],
        "further_headings": [column.heading for column in COLUMNS],
        "interval_heading": wording.interval_heading(unit.results),
        "rows": [
            _result_row(result, verdict)
            for result, verdict in zip(unit.results, unit.verdicts, strict=True)
        ],
        "overview": _overview(unit, checks),
        "answering": [
            wording.clean(sentence[:1].upper() + sentence[1:])
            for sentence in answering_sentences(unit.answering)
        ],
        "notes": [wording.clean(note) for note in unit.notes],
        "answer_tables": tables,
        "figures": figures,
        "missing_figures": missing_figures,
        "unreadable_columns": unreadable_columns,
        "unreadable": unreadable,
    }


def _question(units: Sequence[Unit]) -> str:
    """Ask what the page answers, of the kind of belief that it is about."""
    nouns = {belief_noun(unit.answering) for unit in units}
    if len(nouns) > 1:
        return "Could these beliefs be the ones acted on?"
    return f"Could the {next(iter(nouns), STATED)} be the belief acted on?"


def _command(settings: Mapping[str, Any]) -> str:
    # RUNS stands for the table: the analysis is given rows and does not know their file.
    words = ["coherence analyze RUNS"]
    if settings.get("seed") is not None:
        words.append(f"--seed {wording.clean(settings['seed'])}")
    if settings.get("strict"):
        words.append("--strict")
    if settings.get("published"):
        words.append("--published")
    if settings.get("twins") is not None:
        words.append(f"--twin {settings['twins']}")
    for label in settings.get("positive", ()):
        words.append(f"--positive {shlex.quote(wording.clean(label))}")
    if settings.get("reference") is not None:
        words.append(f"--reference {shlex.quote(wording.clean(settings['reference']))}")
    if settings.get("merge_labels") is not None:
        words.append("--merge-labels" if settings["merge_labels"] else "--no-merge-labels")
    checks = settings.get("checks")
    if checks:
        names = checks if isinstance(checks, str) else ",".join(map(str, checks))
        words.append(f"--checks {wording.clean(names)}")
    return " ".join(words)


def render_html(units: Sequence[Unit], settings: Mapping[str, Any]) -> str:
    """Render a report as a page.

    Parameters
    ----------
    units : sequence of Unit
        One per (task, model).
    settings : mapping
        How the analysis was run.

    Returns
    -------
    str
        A complete HTML document, equal text for equal reports.
    """
    checks = list(
        dict.fromkeys(wording.clean(result.check) for unit in units for result in unit.results)
    )
    # A checkout that was never installed does not know its version.
    version = settings.get("version")
    parts = [
        f"{len(units)} unit{'' if len(units) == 1 else 's'} (task · model)",
        f"{len(checks)} checks",
    ]
    parts += [f"coherence {wording.clean(version)}"] if version not in (None, "unknown") else []
    # Undefined names raise: a misspelt one would print nothing, and nobody would notice.
    environment = Environment(
        loader=PackageLoader("coherence", "report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template("page.html.j2").render(
        title=TITLE,
        question=_question(units),
        subtitle=" · ".join(parts),
        legend=(
            f"● rejected after Holm's correction over all tests (p ≤ {LEVEL}); "
            f"○ a sign that does not survive it; estimates without a test are shown as numbers; "
            f"{wording.NOT_GIVEN} not run."
        ),
        overview_checks=[_breakable(check) for check in checks],
        units=[
            _unit_context(unit, f"unit-{number}", checks)
            for number, unit in enumerate(units, start=1)
        ],
        # The number of processes changes no result, and would change the bytes of the page.
        settings=_settings({name: value for name, value in settings.items() if name != "n_jobs"}),
        command=_command(settings),
    )
