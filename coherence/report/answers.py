"""The pages of what was said: for each case the evidence, the answers and what was read of them.

A table of all cases leads to pages of answers; cases that move the primary result most come first,
and equal repetitions are one row. Everything on them is untrusted; every cell is escaped here,
because templates would take many times as long for tables of this size. Short raw answers stand as
they are, long ones are folded under their beginning.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
from markupsafe import Markup, escape

from coherence.printable import counted, significant
from coherence.report.evaluation import EvaluationReport
from coherence.report.page import environment
from coherence.report.wording import NOT_GIVEN, clean, evaluation_heading, visible
from coherence.runs.columns import ACTION_PREFIX, FEATURE_PREFIX, OFFER_COLUMNS
from coherence.runs.runs import Runs, question_kind

PER_PAGE = 100
RAW_LIMIT = 4000
"""Characters of a raw answer that are shown."""
FOLDED_FROM = 200
"""Characters above which an answer is folded."""
BEGINNING = 120
"""Characters of a folded answer or question that are always seen."""
_SUMMARY = 400
_NAME = 60
_RAW = ("raw_belief", "raw_z", "raw_action")
_HEADINGS = {
    "rep": "repetition",
    "p": "belief",
    "p_z": "p(z)",
    "z_state": "z is",
    "order": "named first",
}


def answer_pages(
    evaluation: EvaluationReport, key: str, *, most: int, back: str
) -> Iterator[tuple[str, str]]:
    """Render the pages of one evaluation, the table of its cases first.

    Names of files are made of its `key` and of numbers; no text of a table enters one. `most` cases
    have their answers written: those that move the primary result most, in this order. Where that
    is not known they stay in the order of the table, and of too many some are taken.
    """
    added, named = moves(evaluation), evaluation.rows.table["context"].drop_duplicates().astype(str)
    contexts, kept = named.tolist(), min(most, len(named))
    if added:
        # Equal ones stay in the order of the table.
        chosen = sorted(contexts, key=lambda each: -abs(added.get(each, 0.0)))[:kept]
    else:
        # Evenly spaced and not drawn: equal pages for equal data.
        chosen = [contexts[at * len(contexts) // kept] for at in range(kept)]
    rows = _all_rows(evaluation.rows)
    numbers = rows["context"].astype(str).map({name: at for at, name in enumerate(chosen)})
    rows = rows[numbers.notna()]
    number = numbers[numbers.notna()].to_numpy(dtype=np.int64)
    order = np.argsort(number, kind="stable")
    rows, number = rows.iloc[order], number[order]
    # Where each case begins: its rows now stand together.
    starts = [*np.flatnonzero(np.diff(number, prepend=-1)).tolist(), len(number)]
    spans = [slice(start, end) for start, end in pairwise(starts)]
    columns, lines = _answers(evaluation.rows, rows, number)
    cases = _cases(evaluation, added, rows, number, spans)
    n_pages = -(-len(cases) // PER_PAGE)
    for at, (case, span) in enumerate(zip(cases, spans, strict=True)):
        case["url"] = f"{key}-page-{at // PER_PAGE + 1}.html#context-{at + 1}"
        # Safe as markup: every cell was escaped. Lines of equal answers are equal.
        case["rows"] = Markup("\n".join(dict.fromkeys(lines[span])))
    page_names = [f"{key}-page-{page + 1}.html" for page in range(n_pages)]
    heading = evaluation_heading(evaluation)
    shared = {"heading": heading, "back": back, "n_pages": n_pages, "pages": page_names}
    summary = list(dict.fromkeys(name for case in cases for name in case["summary"]))
    which = "those that move the result most first" if added else "in table order"
    note = f"{len(cases)} of {counted(len(contexts), 'case')}, {which}."
    about = {"shown_note": note, "columns": summary, "cases": cases, "missing": NOT_GIVEN}
    index = environment().get_template("cases.html.j2")
    yield f"{key}.html", index.render(**about, per_page=PER_PAGE, **shared)
    template = environment().get_template("answers.html.j2")
    for page, name in enumerate(page_names):
        shown = cases[page * PER_PAGE : (page + 1) * PER_PAGE]
        about = {"index": f"{key}.html", "columns": columns, "cases": shown}
        yield name, template.render(**about, number=page + 1, **shared)


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
    if evaluation.primary is None or evaluation.primary.contributions is None:
        return {}
    added = evaluation.primary.contributions.fillna(0.0)
    return dict(zip(added.index.astype(str), added, strict=True)) if added.any() else {}


# Answers


def _columns(runs: Runs, rows: pd.DataFrame) -> list[str]:
    """Return the columns of answers that hold anything, in the order in which they are read."""
    policies = [] if runs.levels is None else runs.levels.policies
    wanted = [
        *("person", "prompt", "z", "z_state"),
        *OFFER_COLUMNS,
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


def _answers(runs: Runs, rows: pd.DataFrame, number: np.ndarray) -> tuple[list[str], list[str]]:
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
    starts = first or [""] * len(rows)
    return [*heading, *map(_heading, columns)], [
        f"<tr>{start}{line}</tr>" for start, line in zip(starts, lines, strict=True)
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
    added: Mapping[str, float],
    rows: pd.DataFrame,
    number: np.ndarray,
    spans: Sequence[slice],
) -> list[dict[str, Any]]:
    """Return what the pages say of each case; its rows share evidence and outcome."""
    features = evaluation.rows.features
    outcomes = [name for name in ("theta", "p_true") if name in rows]
    # The first value that is known, of all cases at once.
    known = rows[["context", *outcomes, *features]].astype(object).groupby(number).first()
    headings = {
        name: clean(name.removeprefix(FEATURE_PREFIX)).replace("_", " ") for name in features
    }
    means = evaluation.mean_beliefs  # under the reference prompt
    beliefs = {str(context): float(f"{mean:.3g}") for context, mean in means.items()}
    differ = [each for each in ("action", "status") if each in rows and rows[each].nunique() > 1]
    asked = _asked(rows)
    cases = []
    for at, (record, span) in enumerate(zip(known.to_dict("records"), spans, strict=True)):
        context = str(record["context"])
        facts = _facts(evaluation, added.get(context), record)
        evidence = [
            (headings[name], text)
            for name in features
            if (text := _text(record[name])) != NOT_GIVEN
        ]
        summary = facts | {
            "mean belief": _text(beliefs.get(context)),
            "answers": str(span.stop - span.start),
            **{each: _counts(rows, each, span) for each in differ},
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
    state, names = record.get("theta"), evaluation.state_names
    if state in (0, 1) and not evaluation.rows.states and names != EvaluationReport.state_names:
        state = names[state]  # what the table calls it
    facts["state"] = _text(state)
    exact = record.get("p_true")
    if isinstance(exact, float | np.floating):
        # Computed, and never stated in more digits.
        facts["exact posterior"] = NOT_GIVEN if np.isnan(exact) else significant(float(exact), 3)
    return {name: text for name, text in facts.items() if text != NOT_GIVEN}


def _counts(rows: pd.DataFrame, column: str, span: slice) -> str:
    """Return "yes 12, no 3"."""
    found = rows[column].iloc[span].dropna().astype(object).value_counts()
    return ", ".join(f"{clean(label, limit=_NAME)} {n}" for label, n in found.items())


def _asked(rows: pd.DataFrame) -> list[list[tuple[str, str]]]:
    """Return for each row what its questions were about, and their texts."""
    names = ["prompt", "z", "z_state", "asked", "asked_action", "asked_z"]
    by_row = []
    texts = rows.reindex(columns=names).itertuples(index=False, name=None)
    for prompt, z, state, belief, action, probability in texts:
        heading = clean(prompt) if isinstance(prompt, str) else "standard"
        if isinstance(state, str):
            heading = f"given {clean(z)} = {clean(state)}"
        about = {f"belief, {heading}": belief, "action": action, f"P({clean(z)})": probability}
        known = {name: text for name, text in about.items() if isinstance(text, str)}
        by_row.append([(name, _shown(text)) for name, text in known.items()])
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
    seen = f"{_beginning(text)} ({len(text)} characters)"
    return Markup('<details class="long"><summary>{}</summary><div>{}</div></details>').format(
        seen, whole
    )
