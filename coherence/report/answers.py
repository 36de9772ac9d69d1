"""The pages of what was said: for each case the evidence, the answers and what was read of them.

A table of all cases leads to pages of answers; cases that move the primary result most come first,
and equal repetitions are one row. A browser filters and sorts them by a script on the page, without
which all is there too. Everything on them is untrusted; every cell is escaped here, because
templates would take many times as long for tables of this size. Short raw answers stand as they
are, long ones are folded under a beginning: what a model is asked for exactly is stored as every
possible answer with its probability, of which the most probable ones are seen.
"""

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
from markupsafe import Markup, escape

from coherence.printable import counted, significant
from coherence.report.answer_links import PER_PAGE, AnswerLinks
from coherence.report.evaluation import EvaluationReport
from coherence.report.pages import environment, script, visible
from coherence.report.wording import NOT_GIVEN, clean, evaluation_heading
from coherence.result import Family
from coherence.runs.columns import ACTION_PREFIX, FEATURE_PREFIX, LEVEL_COLUMNS
from coherence.runs.runs import Runs, question_kind

MOST_LISTED = 500
"""Cases of a group that are listed."""
RAW_LIMIT = 4000
"""Characters of a raw answer that are shown."""
FOLDED_FROM = 200
"""Characters above which an answer is folded."""
BEGINNING = 120
"""Characters of a folded answer or question that are always seen."""
MOST_PROBABLE = 4
"""Answers of a distribution that are always seen."""
_SUMMARY = 400
Distribution = Mapping[str, float]
_NAME = 60
_RAW = ("raw_belief", "raw_z", "raw_action")
_HEADINGS = {
    "rep": "repetition",
    "p": "belief",
    "p_z": "p(z)",
    "z_state": "z is",
    "order": "named first",
}


@dataclass(frozen=True)
class Filter:
    """Labels by which a browser filters rows; a page names them by their numbers."""

    name: str
    labels: tuple[str, ...]
    numbers: np.ndarray  # of the label of each row; -1 where it has none

    def attribute(self, rows: slice) -> str:
        """Return an attribute with the numbers that occur in these rows; empty for none."""
        numbers = sorted({*self.numbers[rows].tolist()} - {-1})
        return f' data-{self.name}="{" ".join(map(str, numbers))}"' if numbers else ""


def answer_pages(
    evaluation: EvaluationReport, links: AnswerLinks, *, back: str
) -> Iterator[tuple[str, str]]:
    """Render the pages of one evaluation, the table of its cases first."""
    rows = _all_rows(evaluation.rows)
    numbers = rows["context"].astype(str).map(links.shown)
    rows = rows[numbers.notna()]
    number = numbers[numbers.notna()].to_numpy(dtype=np.int64)
    order = np.argsort(number, kind="stable")
    rows, number = rows.iloc[order], number[order]
    # Where each case begins: its rows now stand together.
    starts = [*np.flatnonzero(np.diff(number, prepend=-1)).tolist(), len(number)]
    spans = [slice(start, end) for start, end in pairwise(starts)]
    filters = _filters(evaluation, rows)
    columns, lines = _answers(evaluation.rows, rows, number, filters)
    differ = {each.name for each in filters}
    cases = _cases(evaluation, links, rows, number, spans, differ)
    for case, span in zip(cases, spans, strict=True):
        labels = {each.name: Markup(each.attribute(span)) for each in filters}
        case["state"] = labels.get("state", "")
        case["labels"] = Markup("").join(labels.values())
        # Safe as markup: every cell was escaped. Lines of equal answers are equal.
        case["rows"] = Markup("\n".join(dict.fromkeys(lines[span])))
    shared = {
        "heading": evaluation_heading(evaluation),
        "back": back,
        "filters": filters,
        "script": script("answers.js"),
    }
    yield f"{links.key}.html", _index_page(links, cases, shared)
    template = environment().get_template("answers.html.j2")
    for page in range(links.n_pages):
        name = f"{links.key}-page-{{}}.html"
        yield (
            name.format(page + 1),
            template.render(
                title=f"Answers of {shared['heading']}, page {page + 1}",
                index=f"{links.key}.html",
                number=page + 1,
                n_pages=links.n_pages,
                previous=name.format(page) if page else "",
                next=name.format(page + 2) if page + 1 < links.n_pages else "",
                columns=columns,
                cases=cases[page * PER_PAGE : (page + 1) * PER_PAGE],
                **shared,
            ),
        )


def _all_rows(runs: Runs) -> pd.DataFrame:
    """Return all answers, those to questions with a level below the others.

    Of these one text of a kind and case is kept: level, frame and order tell the others.
    """
    if runs.levels is None:
        return runs.table
    table = runs.levels.table
    if "asked_action" in table:
        of_case = pd.DataFrame({"context": table["context"], "kind": question_kind(table)})
        table = table.assign(asked_action=table["asked_action"].mask(of_case.duplicated(), None))
    return pd.concat([runs.table, table], ignore_index=True)


def moves(evaluation: EvaluationReport) -> dict[str, float]:
    """Return what each case adds to the primary result; nothing where that is not known."""
    for result in evaluation.results:
        if result.family is Family.PRIMARY and result.contributions is not None:
            added = result.contributions.fillna(0.0)
            return dict(zip(added.index.astype(str), added, strict=True)) if added.any() else {}
    return {}


def _filters(evaluation: EvaluationReport, rows: pd.DataFrame) -> list[Filter]:
    """Return that by which rows can be filtered: of which several labels occur."""
    columns = {"action": "action", "state": "theta", "status": "status"}
    filters = []
    for name, column in columns.items():
        if column in rows:
            numbers, labels = pd.factorize(rows[column].astype(object))
            shown = _state_names(evaluation, labels) if name == "state" else labels
            texts = tuple(clean(label, limit=_NAME) for label in shown)
            filters.append(Filter(name, texts, numbers))
    return [each for each in filters if len(each.labels) > 1]


def _state_names(evaluation: EvaluationReport, states: Iterable[Any]) -> list[Any]:
    """Return what the table calls these states, of which two are stored as 0 and 1."""
    unnamed = evaluation.rows.states or evaluation.state_names == EvaluationReport.state_names
    names = {} if unnamed else dict(enumerate(evaluation.state_names))
    return [names.get(state, state) for state in states]


def _index_page(
    links: AnswerLinks, cases: Sequence[Mapping[str, Any]], shared: Mapping[str, Any]
) -> str:
    groups = []
    for group in links.groups:
        shown = [context for context in group.contexts if context in links.shown]
        listed = shown[:MOST_LISTED]
        note = counted(len(group.contexts), "case")
        if len(listed) < len(group.contexts):
            note += f", {len(listed)} of them listed"
        members = [
            (links.page_of(context), clean(context, limit=_NAME) or "(blank)") for context in listed
        ]
        groups.append(
            {"anchor": group.anchor, "title": clean(group.title), "note": note, "members": members}
        )
    pages = [
        (
            f"{links.key}-page-{page + 1}.html",
            f"{page * PER_PAGE + 1}–{min((page + 1) * PER_PAGE, len(links.shown))}",
        )
        for page in range(links.n_pages)
    ]
    columns = list(dict.fromkeys(name for case in cases for name in case["summary"]))
    rows = [
        {
            "url": links.page_of(context),
            "name": case["name"],
            "labels": case["labels"],
            "cells": [case["summary"].get(name, NOT_GIVEN) for name in columns],
        }
        for context, case in zip(links.shown, cases, strict=True)
    ]
    return (
        environment()
        .get_template("groups.html.j2")
        .render(
            title=f"Answers of {shared['heading']}",
            shown_note=_shown_note(links),
            pages=pages,
            columns=columns,
            rows=rows,
            groups=groups,
            **shared,
        )
    )


def _shown_note(links: AnswerLinks) -> str:
    """Say which cases are shown, and in which order."""
    n_shown = len(links.shown)
    if links.n_contexts == 1:
        return "The one case of the table."
    if n_shown == links.n_contexts:
        order = "those that move the result most first" if links.moves else "in table order"
        return f"All {n_shown} cases, {order}."
    which = "those that move the result most" if links.moves else "evenly spaced in table order"
    return f"{n_shown} of {links.n_contexts} cases, {which}."


# Answers


def _columns(runs: Runs, rows: pd.DataFrame) -> list[str]:
    """Return the columns of answers that hold anything, in the order in which they are read."""
    policies = [] if runs.levels is None else runs.levels.policies
    wanted = [
        *("prompt", "z", "z_state"),
        *LEVEL_COLUMNS,
        *runs.beliefs,
        *("p_z", "action", *runs.policies, *policies),
        *("status", "answer_mass", *_RAW),
    ]
    return [name for name in wanted if name in rows and rows[name].notna().any()]


def _heading(column: str) -> str:
    if column.startswith(ACTION_PREFIX):
        return f"P({clean(column.removeprefix(ACTION_PREFIX), limit=_NAME)})"
    return _HEADINGS.get(column, clean(column).replace("_", " "))


def _text(value: Any) -> str:
    """Write a value, unrounded as far as it is ever stated."""
    if value is None or value is pd.NA or value != value:  # NaN alone differs from itself
        return NOT_GIVEN
    if isinstance(value, float | np.floating):
        return significant(float(value), 6)
    return clean(value)


def _answers(
    runs: Runs, rows: pd.DataFrame, number: np.ndarray, filters: Sequence[Filter]
) -> tuple[list[str], list[str]]:
    """Return headings, and the table row of each answer, escaped.

    Where answers of a case are equal in all that is shown, how many stands in place of the
    repetition.
    """
    columns = _columns(runs, rows)
    cells = [_cells(rows[name], raw=name in _RAW) for name in columns]
    lines = ["".join(row) for row in zip(*cells, strict=True)] or [""] * len(rows)
    times = pd.Series(lines, dtype=object).groupby([number, lines]).transform("size")
    first, heading = [], []
    if (times > 1).any():
        heading = ["times"]
        first = [f"<td>× {n}</td>" if n > 1 else "<td></td>" for n in times]
    elif "rep" in rows and rows["rep"].notna().any():
        heading = [_heading("rep")]
        first = _cells(rows["rep"])
    shown = [each for each in filters if each.name != "state"]  # which a case has
    labels = ["".join(f.attribute(slice(at, at + 1)) for f in shown) for at in range(len(rows))]
    starts = first or [""] * len(rows)
    return [*heading, *map(_heading, columns)], [
        f"<tr{label}>{start}{line}</tr>"
        for label, start, line in zip(labels, starts, lines, strict=True)
    ]


def _cells(values: "pd.Series[Any]", *, raw: bool = False) -> list[str]:
    """Return a column's cells, escaped."""
    show, tag = (raw_markup, '<td class="raw">') if raw else (_text, "<td>")
    written: dict[Any, str] = {}  # most values occur many times
    cells = []
    for value in values.tolist():
        text = written.get(value)
        if text is None:
            text = written[value] = f"{tag}{escape(show(value))}</td>"
        cells.append(text)
    return cells


# Cases


def _cases(
    evaluation: EvaluationReport,
    links: AnswerLinks,
    rows: pd.DataFrame,
    number: np.ndarray,
    spans: Sequence[slice],
    differ: Collection[str],
) -> list[dict[str, Any]]:
    """Return what the pages say of each case; its rows share evidence and outcome."""
    features = evaluation.rows.features
    outcomes = [name for name in ("theta", "p_true") if name in rows]
    # The first value that is known, of all cases at once.
    known = rows[["context", *outcomes, *features]].astype(object).groupby(number).first()
    headings = {
        name: clean(name.removeprefix(FEATURE_PREFIX)).replace("_", " ") for name in features
    }
    beliefs = _mean_beliefs(evaluation)
    asked = _asked(rows)
    cases = []
    for at, (record, span) in enumerate(zip(known.to_dict("records"), spans, strict=True)):
        context = str(record["context"])
        facts = _facts(evaluation, links.moves.get(context), record)
        evidence = [
            (headings[name], text)
            for name in features
            if (text := _text(record[name])) != NOT_GIVEN
        ]
        summary = facts | {
            "mean belief": _text(beliefs.get(context)),
            "answers": str(span.stop - span.start),
            **{each: _counts(rows, each, span) for each in ("action", "status") if each in differ},
            "evidence": clean(", ".join(map(" ".join, evidence)), limit=_SUMMARY),
        }
        questions = dict.fromkeys(each for row in asked[span] for each in row)
        cases.append(
            {
                "number": at + 1,
                "name": clean(record["context"], limit=_NAME),
                "facts": facts.items(),
                "evidence": evidence,
                "asked": [(name, _beginning(text), text) for name, text in questions],
                "summary": {name: text for name, text in summary.items() if text},
            }
        )
    return cases


def _facts(
    evaluation: EvaluationReport, moved: float | None, record: Mapping[Any, Any]
) -> dict[str, str]:
    """Return what is known of a case besides its evidence and answers."""
    facts = {}
    if moved is not None:
        facts["moves the result, points"] = significant(100 * moved, 2, sign=True)
    [state] = _state_names(evaluation, [record.get("theta")])
    facts["state"] = _text(state)
    exact = record.get("p_true")
    if isinstance(exact, float | np.floating):
        # Computed, and never stated in more digits.
        facts["exact posterior"] = NOT_GIVEN if np.isnan(exact) else significant(float(exact), 3)
    return {name: text for name, text in facts.items() if text != NOT_GIVEN}


def _mean_beliefs(evaluation: EvaluationReport) -> dict[str, float]:
    """Return the mean belief of each case under the reference prompt."""
    means = evaluation.mean_beliefs
    return {str(context): float(f"{mean:.3g}") for context, mean in means.items()}


def _counts(rows: pd.DataFrame, column: str, span: slice) -> str:
    """Return "yes 12, no 3"."""
    found = rows[column].iloc[span].dropna().astype(object).value_counts()
    return ", ".join(f"{clean(label, limit=_NAME)} {n}" for label, n in found.items())


def _asked(rows: pd.DataFrame) -> list[list[tuple[str, str]]]:
    """Return for each row what its questions were about, and their texts."""

    def column(name: str) -> list[Any]:
        return rows[name].tolist() if name in rows else [None] * len(rows)

    by_row: list[list[tuple[str, str]]] = [[] for _ in range(len(rows))]
    for place, prompt, z, state, belief, action, probability in zip(
        by_row,
        *map(column, ("prompt", "z", "z_state", "asked", "asked_action", "asked_z")),
        strict=True,
    ):
        heading = clean(prompt) if isinstance(prompt, str) else "standard"
        if isinstance(state, str):
            heading = f"given {clean(z)} = {clean(state)}"
        about = {f"belief, {heading}": belief, "action": action, f"P({clean(z)})": probability}
        place += [(name, _shown(text)) for name, text in about.items() if isinstance(text, str)]
    return by_row


def _shown(text: str) -> str:
    """Keep the lines of a question, and show what cannot be seen."""
    return "\n".join(clean(line) for line in text.splitlines())


def _beginning(text: str) -> str:
    """Return the beginning of a long text, on one line."""
    return visible(re.sub(r"\s+", " ", text[:BEGINNING])).strip() + "…" * (len(text) > BEGINNING)


# Raw answers


def raw_markup(value: Any) -> Markup:
    """Return what a cell shows of a raw answer, without a script."""
    if value is None or value is pd.NA or value != value:  # NaN alone differs from itself
        return Markup.escape(NOT_GIVEN)
    text = str(value)
    cut = f" … (cut after {RAW_LIMIT} of {len(text)} characters)" if len(text) > RAW_LIMIT else ""
    whole = visible(text[:RAW_LIMIT]) + cut
    if len(text) <= FOLDED_FROM:
        return Markup.escape(whole)
    return Markup('<details class="long"><summary>{}</summary><div>{}</div></details>').format(
        _summary(text), whole
    )


def _summary(text: str) -> str:
    """Return what is seen of a long answer before it is unfolded."""
    parts = _distributions(text)
    if parts:
        told = (_most_probable(name, masses) for name, masses in parts.items())
        return clean("; ".join(told), limit=_SUMMARY)
    return f"{_beginning(text)} ({len(text)} characters)"


def _distributions(text: str) -> dict[str, Distribution]:
    """Read label -> answer -> probability; the label is empty where there is but one part."""
    if not text.startswith("{"):
        return {}
    try:
        read = json.loads(text)
    except (ValueError, RecursionError):  # cut off, no JSON, or made to be a trap
        return {}
    parts = {"": read} if _is_distribution(read) else read
    return parts if all(map(_is_distribution, parts.values())) else {}


def _is_distribution(read: Any) -> bool:
    return isinstance(read, dict) and len(read) > 1 and all(map(_is_probability, read.values()))


def _is_probability(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1


def _most_probable(name: str, masses: Distribution) -> str:
    """Write "No: 0.50 (0.021), 0.20 (0.0049) … of 101 answers"."""
    ranked = sorted(masses.items(), key=lambda item: -item[1])[:MOST_PROBABLE]
    shown = ", ".join(f"{clean(answer, limit=_NAME)} ({mass:.3g})" for answer, mass in ranked)
    label = f"{clean(name, limit=_NAME)}: " if name else ""
    left = f" … of {len(masses)} answers" if len(masses) > len(ranked) else ""
    return f"{label}{shown}{left}"
