"""The pages of what was said: for each context the evidence, the answers and what was read of them.

Static pages without a script. Everything on them is untrusted; every cell is escaped here, because
templates would take many times as long for tables of this size. Short raw answers stand as they
are, long ones are folded under a beginning: what a model is asked for exactly is stored as every
possible answer with its probability, of which the most probable ones are seen.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
from markupsafe import Markup, escape

from coherence.report.answer_links import PER_PAGE, AnswerLinks
from coherence.report.evaluation import EvaluationReport
from coherence.report.pages import environment, visible
from coherence.report.wording import NOT_GIVEN, clean, evaluation_heading
from coherence.table.printable import counted
from coherence.table.runs import Runs
from coherence.table.schema import ACTION_PREFIX, FEATURE_PREFIX

MOST_LISTED = 500
"""Contexts of a group that are listed."""
RAW_LIMIT = 4000
"""Characters of a raw answer that are shown."""
FOLDED_FROM = 200
"""Characters above which an answer is folded."""
BEGINNING = 120
"""Characters of a folded answer that are always seen."""
MOST_PROBABLE = 4
"""Answers of a distribution that are always seen."""
_SUMMARY = 400
Distribution = Mapping[str, float]
_NAME = 60
_RAW = ("raw_belief", "raw_z", "raw_action")
_OUTCOMES = {"theta": "state", "p_true": "exact posterior"}
_HEADINGS = {"rep": "repetition", "p": "belief", "p_z": "p(z)", "z_state": "z is"}


def answer_pages(
    evaluation: EvaluationReport, links: AnswerLinks, *, back: str
) -> Iterator[tuple[str, str]]:
    """Render the pages of one evaluation."""
    heading = evaluation_heading(evaluation)
    yield f"{links.key}.html", _index_page(links, heading, back)
    numbers = evaluation.rows.table["context"].astype(str).map(links.shown)
    rows = evaluation.rows.table[numbers.notna()]
    number = numbers[numbers.notna()].to_numpy(dtype=np.int64)
    order = np.argsort(number, kind="stable")
    rows, number = rows.iloc[order], number[order]
    columns = _columns(evaluation.rows, rows)
    lines = _lines(rows, columns)
    # Where each context begins: rows of a context now stand together.
    starts = [*np.flatnonzero(np.diff(number, prepend=-1)).tolist(), len(number)]
    contexts = _contexts(rows, evaluation.rows.features, lines, number, starts)
    template = environment().get_template("answers.html.j2")
    for page in range(links.n_pages):
        name = f"{links.key}-page-{{}}.html"
        yield (
            name.format(page + 1),
            template.render(
                title=f"Answers of {heading}, page {page + 1}",
                heading=heading,
                back=back,
                index=f"{links.key}.html",
                number=page + 1,
                n_pages=links.n_pages,
                previous=name.format(page) if page else "",
                next=name.format(page + 2) if page + 1 < links.n_pages else "",
                columns=[_heading(column) for column in columns],
                contexts=contexts[page * PER_PAGE : (page + 1) * PER_PAGE],
            ),
        )


def _index_page(links: AnswerLinks, heading: str, back: str) -> str:
    def page_of(context: str) -> str:
        return links.page_of(context)

    groups = []
    for group in links.groups:
        shown = [context for context in group.contexts if context in links.shown]
        listed = shown[:MOST_LISTED]
        note = counted(len(group.contexts), "context")
        if len(listed) < len(group.contexts):
            note += f", {len(listed)} of them listed"
        members = [
            (page_of(context), clean(context, limit=_NAME) or "(blank)") for context in listed
        ]
        groups.append(
            {"anchor": group.anchor, "title": clean(group.title), "note": note, "members": members}
        )
    n_shown = len(links.shown)
    pages = [
        (
            f"{links.key}-page-{page + 1}.html",
            f"{page * PER_PAGE + 1}–{min((page + 1) * PER_PAGE, n_shown)}",
        )
        for page in range(links.n_pages)
    ]
    whole = f"All {n_shown} contexts, in the order of the table."
    if n_shown == 1:
        whole = "The one context of the table."
    part = f"{n_shown} of {links.n_contexts} contexts, evenly spaced in the order of the table."
    return (
        environment()
        .get_template("groups.html.j2")
        .render(
            title=f"Answers of {heading}",
            heading=heading,
            back=back,
            shown_note=whole if n_shown == links.n_contexts else part,
            pages=pages,
            groups=groups,
        )
    )


def _columns(runs: Runs, rows: pd.DataFrame) -> list[str]:
    """Return the columns of answers that hold anything, in the order in which they are read."""
    wanted = [
        *("prompt", "rep", "z", "z_state"),
        *runs.beliefs,
        *("p_z", "action", *runs.policies),
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
        return f"{value:.6g}"
    return clean(value)


def _lines(rows: pd.DataFrame, columns: list[str]) -> list[str]:
    """Return the table row of each answer, escaped."""
    cells = []
    for name in columns:
        show, tag = (raw_markup, '<td class="raw">') if name in _RAW else (_text, "<td>")
        written: dict[Any, str] = {}  # most values occur many times
        column = []
        for value in rows[name].tolist():
            text = written.get(value)
            if text is None:
                text = written[value] = f"{tag}{escape(show(value))}</td>"
            column.append(text)
        cells.append(column)
    return [f"<tr>{''.join(row)}</tr>" for row in zip(*cells, strict=True)]


def _contexts(
    rows: pd.DataFrame,
    features: Sequence[str],
    lines: list[str],
    number: np.ndarray,
    starts: list[int],
) -> list[dict[str, Any]]:
    """Return what the pages say of each context; its rows share evidence and outcome."""
    outcomes = [name for name in _OUTCOMES if name in rows]
    # The first value that is known, of all contexts at once.
    shared = rows[["context", *outcomes, *features]].astype(object).groupby(number).first()
    headings = {name: _OUTCOMES[name] for name in outcomes} | {
        name: clean(name.removeprefix(FEATURE_PREFIX)).replace("_", " ") for name in features
    }
    contexts = []
    asked = _asked(rows)
    records = shared.to_dict("records")
    for at, (record, (start, end)) in enumerate(zip(records, pairwise(starts), strict=True)):
        exact = record.get("p_true")
        if isinstance(exact, float | np.floating) and exact == exact:
            record["p_true"] = f"{exact:.3g}"  # computed, and never stated in more digits
        told = {name: _text(value) for name, value in record.items()}
        known = {str(name): text for name, text in told.items() if text != NOT_GIVEN}
        contexts.append(
            {
                "number": at + 1,
                "name": clean(record["context"], limit=_NAME),
                "outcome": [(headings[name], known[name]) for name in outcomes if name in known],
                "evidence": [(headings[name], known[name]) for name in features if name in known],
                "asked": list(dict.fromkeys(each for row in asked[start:end] for each in row)),
                # Safe as markup: every cell was escaped.
                "rows": Markup("\n".join(lines[start:end])),
            }
        )
    return contexts


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
    beginning = visible(re.sub(r"\s+", " ", text[:BEGINNING])).strip()
    return f"{beginning}… ({len(text)} characters)"


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
