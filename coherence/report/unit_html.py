"""One (task, model) on a page: its answer, results, figures and what became of the answers."""

import math
from collections.abc import Sequence
from typing import Any

import pandas as pd

from coherence.report import wording
from coherence.report.answer_links import AnswerLinks
from coherence.report.answering import answering_sentences, belief_noun
from coherence.report.movement import little_sentence, moves_sentence
from coherence.report.page_figures import is_overview, unit_figures
from coherence.report.page_parts import breakable, environment, setting_rows, visible
from coherence.report.questions import answers, next_step
from coherence.report.result_columns import COLUMNS
from coherence.report.state_figures import is_lead
from coherence.report.statuses import (
    audit_cells,
    audit_columns,
    bound_cells,
    repair_sentence,
    status_groups,
)
from coherence.report.twins import sensitivity_sentence, twin_cells, twin_note
from coherence.report.unit import Unit
from coherence.result import CheckResult, Outcome
from coherence.table.audit import STATED

RAW_LIMIT = 300  # characters of a raw answer; enough to see why it could not be read
BOUNDS_NOTE = (
    "The ends are the rates if every unreadable answer had gone the one way or the other; "
    "they hold for these answers and leave out sampling."
)
_RAW_COLUMNS = ("raw_belief", "raw_z", "raw_action")


def effect_cells(result: CheckResult) -> dict[str, Any]:
    """Return effect, interval and p-values of a result, as the tables of a page show them."""
    effect, interval = wording.format_effect(result)
    # The unit is set smaller than the number, which readers compare down the column.
    number, _, unit = effect.partition(" ")
    return {
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
        # Of a rejection, or of a sign that does not survive the correction.
        "mark": {Outcome.REJECTED: "●", Outcome.UNCORRECTED: "○"}.get(result.outcome(), ""),
        "flagged": result.outcome() is Outcome.REJECTED,
    }


def result_row(result: CheckResult, verdict: str) -> dict[str, Any]:
    """Return all that a page says of a result."""
    return effect_cells(result) | {
        "check": breakable(result.check),
        "verdict": wording.full_verdict(result, verdict),
        "further": [wording.clean(column.cell(result)) for column in COLUMNS],
        "null_label": "Estimates" if result.pvalue is None else "Null hypothesis",
        "null": wording.clean(result.null),
        "assumptions": "; ".join(
            wording.clean(assumption).rstrip(".") for assumption in result.assumptions
        ),
        "method": wording.clean(result.interval.method) if result.interval is not None else "",
        "settings": ", ".join(f"{name} = {value}" for name, value in setting_rows(result.settings)),
    }


def short_context(unit: Unit, key: str, *, page: str, answers: str) -> dict[str, Any]:
    """Return what the page of many units says of one: its results without a word or a figure."""
    return {
        "short": True,
        "key": key,
        "heading": wording.unit_heading(unit),
        "page": page,
        "answers": answers,
        "interval_heading": wording.interval_heading(unit.results),
        "rows": [effect_cells(r) | {"check": breakable(r.check)} for r in unit.results],
    }


def unit_context(unit: Unit, key: str, links: AnswerLinks | None = None) -> dict[str, Any]:
    """Return all that a page says of a unit, its figures drawn."""
    unreadable_columns, unreadable = _unreadable(unit)
    figures, missing_figures = unit_figures(unit, key, links)
    return {
        "short": False,
        "key": key,
        "heading": wording.unit_heading(unit),
        "answers": "" if links is None else links.index(),
        "conclusion": unit.conclusion,
        "alerts": [wording.clean(alert) for alert in unit.alerts],
        "sensitivity": sensitivity_sentence(unit),
        "cautions": [sentence[:1].upper() + sentence[1:] for sentence in unit.cautions],
        "further_headings": [column.heading for column in COLUMNS],
        "interval_heading": wording.interval_heading(unit.results),
        "moves": moves_sentence(unit.movement),
        "little": little_sentence(unit.movement),
        "next": next_step(unit),
        "questions": _questions(unit),
        "answering": [
            wording.clean(sentence[:1].upper() + sentence[1:])
            for sentence in answering_sentences(unit.answering)
        ],
        "notes": [wording.clean(note) for note in unit.other_notes],
        "answer_tables": _tables(unit, key, links),
        # What moves and the main test stand with the answer, the others behind the numbers.
        "overview": [figure for figure in figures if is_overview(figure)],
        "lead": [figure for figure in figures if is_lead(figure)],
        "figures": [f for f in figures if not (is_lead(f) or is_overview(f))],
        "missing_figures": missing_figures,
        "unreadable_columns": unreadable_columns,
        "unreadable": unreadable,
    }


def _questions(unit: Unit) -> list[dict[str, Any]]:
    """Return the results under their questions, those of the default report apart from others.

    Each has the places of its dot and interval on an axis that the results of one question share
    where they have one unit of measurement.
    """
    questions = []
    for asked, group in answers(unit.results, unit.verdicts):
        rows = []
        for answer in group:
            measured = [a.result for a in group if a.result.unit == answer.result.unit]
            row = result_row(answer.result, answer.verdict)
            row |= {"words": answer.words, "leads": answer.leads}
            row["dot"] = _dot(answer.result, measured)
            rows.append(row)
        questions.append({"question": asked, "rows": rows})
    return questions


def _dot(result: CheckResult, measured: Sequence[CheckResult]) -> dict[str, float] | None:
    """Place a statistic, its interval and zero on an axis of 100; None where it is undefined."""
    ends = [0.0]
    for each in measured:
        ends.append(each.statistic)
        ends += [each.interval.low, each.interval.high] if each.interval is not None else []
    finite = [end for end in ends if math.isfinite(end)]
    least, most = min(finite), max(finite)
    if not math.isfinite(result.statistic) or most == least:
        return None

    def place(value: float) -> float:
        return round(4 + 92 * (value - least) / (most - least), 2)

    dot = {"zero": place(0.0), "at": place(result.statistic)}
    interval = result.interval
    if interval is not None and math.isfinite(interval.low) and math.isfinite(interval.high):
        dot |= {"low": place(interval.low), "high": place(interval.high)}
    return dot


def question(units: Sequence[Unit]) -> str:
    """Ask what a page answers, of the kind of belief that it is about."""
    nouns = {belief_noun(unit.answering) for unit in units}
    if len(nouns) > 1:
        return "Could these beliefs be the ones acted on?"
    return f"Could the {next(iter(nouns), STATED)} be the belief acted on?"


def render_unit_page(unit: Unit, key: str, links: AnswerLinks | None) -> str:
    """Render the page of one unit among many."""
    return (
        environment()
        .get_template("unit_page.html.j2")
        .render(
            title=f"{wording.unit_heading(unit)} – belief coherence report",
            question=question([unit]),
            unit=unit_context(unit, key, links),
        )
    )


def _tables(unit: Unit, key: str, links: AnswerLinks | None) -> list[dict[str, Any]]:
    """Return the tables of counts and numbers that follow the results."""
    status_urls = _status_urls(unit, key, links)
    tables = []
    for title, (headings, rows), note in (
        ("Beside rational twins", twin_cells(unit), twin_note(unit)),
        ("Answers", audit_cells(unit), repair_sentence(unit).capitalize()),
        ("If the unreadable answers had all gone one way", bound_cells(unit), BOUNDS_NOTE),
    ):
        if not rows:
            continue
        names = audit_columns(unit) if title == "Answers" else headings
        cells = [
            [{"text": wording.clean(row[0]), "url": None}]
            + [
                {
                    "text": text,
                    "url": status_urls.get((row[0], name)) if title == "Answers" else None,
                }
                for name, text in zip(names[1:], row[1:], strict=True)
            ]
            for row in rows
        ]
        table = {"title": title, "headings": headings, "rows": cells, "note": wording.clean(note)}
        tables.append(table)
    return tables


def _status_urls(unit: Unit, key: str, links: AnswerLinks | None) -> dict[tuple[str, str], str]:
    """Link each count of a status to the contexts in which it occurred."""
    if links is None:
        return {}
    return {
        (asked, status): links.group(
            f"{key}-status-{number}", f"Status {status}, {asked}", contexts
        )
        for number, ((asked, status), contexts) in enumerate(status_groups(unit).items(), start=1)
    }


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
                    "text": visible(text[:RAW_LIMIT]),
                    "cut": cut,
                    "raw": known and column in _RAW_COLUMNS,
                }
            )
        rows.append(cells)
    return [wording.clean(column).replace("_", " ") for column in unit.unreadable.columns], rows
