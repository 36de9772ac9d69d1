"""The answers of a log as values: what a model said is decoded as when it is elicited here.

What a program wrote as a number is a number. Nothing is clipped, and what was not parsed keeps its
text.
"""

import math
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import Any

import pandas as pd

from coherence.decoding.decode import WITHHELD, decode_belief, decode_choice, worst
from coherence.decoding.ranges import STATED_SUM
from coherence.errors import InputError
from coherence.runs.cells import numbers
from coherence.runs.columns import PERCENT, Scale, is_belief
from coherence.runs.logs.log_format import PICKED, AnswerLog, Record

OFF_FORM = "repaired:layout"
"""At best the status of an answer in which the log itself, looking for its form, found none."""
_WITHOUT_TEXT = {"length": "truncated", WITHHELD: "refused"}
_BARE_NUMBER = re.compile(r"[0-9]+(?:[.,][0-9]*)?|[.,][0-9]+")


class Probability(float):
    """A number that a program of ours read of a reply: a probability, whatever scale is given."""


@dataclass(frozen=True)
class AnswerForm:
    """How answers are to be read."""

    actions: tuple[str, ...] = ()  # the options that were offered, where the log does not name them
    positive: str | None = None  # label of theta = 1
    line: Scale | None = None  # of beliefs that are no probabilities
    pattern: re.Pattern[str] | None = None  # of the number that is the belief, among words


@dataclass(frozen=True, slots=True)
class Cell:
    """A value, its status, and the text it was read from; None where a program wrote the value."""

    value: object
    status: str
    raw: str | None = None


def belief_cell(value: Any, reason: str | None = None, *, line: Scale | None = None) -> Cell:
    """Read a belief; `reason` is why the answer ended, where it was cut or withheld."""
    if value is None or value == "":  # the sample ended before an answer
        return Cell(None, _WITHOUT_TEXT.get(reason or "", "unparsed"))
    line = None if isinstance(value, Probability) else line
    stated = isinstance(value, str | bool)
    if stated and line in (None, PERCENT):
        return Cell(*_decoded_belief(str(value), reason, percent=line is not None), str(value))
    # Alone in its cell: of other texts on a scale nothing says which number is meant.
    typed = isinstance(value, float)
    number = float(value if typed else numbers(pd.Series([value], dtype=object)).values[0])
    low, high = (0.0, 1.0) if line is None else sorted((line.low, line.high))
    if not math.isfinite(number):
        return Cell(None, "unparsed", str(value))
    # Not clipped: 101 of 100 is an answer that cannot be meant.
    if not low <= number <= high:
        return Cell(None, "out_of_range", str(value))
    return Cell(number if line is None else float(line.probability(number)), "ok")


def _decoded_belief(text: str, reason: str | None, *, percent: bool) -> tuple[float | None, str]:
    """Decode a belief: a number alone, or the lines No and Yes."""
    bare = percent and _BARE_NUMBER.fullmatch(text.strip()) is not None
    number = decode_belief(
        f"{text.strip()}%" if bare else text, form="number", finish_reason=reason
    )
    # Logs do not say which of the two forms was asked for: what is unparsed as the one may be the
    # other.
    lines = decode_belief(text, finish_reason=reason)
    unparsed = not number.readable and (lines.readable or number.status == "unparsed")
    best = lines if unparsed or lines.status == "ok" else number
    # Where percentages were asked for, one with its sign is no repair.
    return best.value, "ok" if percent and best.status == "repaired:percent" else best.status


def _distribution(values: Mapping[str, object], line: Scale | None) -> Cell:
    """Read the beliefs in several states: a dictionary of them, if they are a distribution."""
    cells = {column: belief_cell(value, line=line) for column, value in values.items()}
    shares = {column: cell.value for column, cell in cells.items() if isinstance(cell.value, float)}
    raw = "; ".join(f"{column}={value}" for column, value in values.items())
    if len(shares) < len(cells):
        return Cell(None, worst([cell.status for cell in cells.values()]), raw)
    # One state alone is a belief of which the others were not logged: there is no sum to miss.
    if len(shares) > 1 and abs(math.fsum(shares.values()) - 1) > STATED_SUM:
        return Cell(None, "sum_not_one", raw)
    return Cell(shares, worst([cell.status for cell in cells.values()]))


def _action_cell(
    value: object, reason: str | None, options: Sequence[str], *, by_letter: bool = False
) -> Cell:
    """Read an action; a label that a program wrote needs no reading, and no list of options."""
    if value is None or value == "":
        return Cell(None, _WITHOUT_TEXT.get(reason or "", "unparsed"))
    if not options:
        return Cell(value, "ok")
    text = str(value)
    decoded = decode_choice(text, options, finish_reason=reason)
    if decoded.value is None and by_letter:
        # Multiple choice is asked by letter; the option's own words come first all the same.
        letters = [chr(ord("A") + position) for position in range(min(len(options), 26))]
        letter = decode_choice(text, letters, finish_reason=reason)
        if letter.value is not None:
            return Cell(options[letters.index(letter.value)], letter.status, text)
    return Cell(decoded.value, decoded.status, text)


_Read = Callable[[object, str | None], Cell]  # of a value, and why the answer ended


def _reply(log: AnswerLog, record: Record, name: str) -> tuple[Any, str | None, str | None]:
    """Return what a field holds, what the log took for the answer, and why it ended too early."""
    answer, value = log.fields.get("answer", name), record.get(name)
    reason, picked = record.get("finish_reason"), record.get(PICKED)
    # A scorer of the log read the reply as it was, and knows how it ended; and what a scorer took
    # from a reply may be whole all the same.
    cut = reason in _WITHOUT_TEXT and value == record.get(answer) and picked is None
    chosen = picked if isinstance(picked, str) and name == answer else None
    return value, chosen, str(reason) if cut else None


def _read_reply(
    value: Any, picked: str | None, reason: str | None, read: _Read, pattern: Any = None
) -> Cell:
    """Read the last place that a pattern finds in a reply, else what the log picked, or all of it.

    `picked` is empty where the log looked for an answer and found none.
    """
    if pattern is not None:
        text = "" if value is None else str(value)
        found = [match[min(pattern.groups, 1)] or "" for match in pattern.finditer(text)]
        cell = read(found[-1] if found else value, reason)
        if found:
            return replace(cell, raw=text)
        return cell if cell.value is None else Cell(None, "unparsed", text)  # a refusal stays one
    if picked:
        return replace(read(picked, reason), raw=str(value))
    cell = read(value, reason)
    if picked is None or cell.value is None:
        return cell
    return replace(cell, status=worst([OFF_FORM, cell.status]))


def _beliefs(log: AnswerLog, fields: Mapping[str, str], form: AnswerForm) -> list[Cell]:
    """Read the beliefs of a log: one number, or of several states a dictionary of them."""
    if "p" not in fields:
        return [
            _distribution({column: record.get(name) for column, name in fields.items()}, form.line)
            for record in log.records
        ]
    # Answers are read once, however often they were given.
    read = lru_cache(maxsize=None, typed=True)(partial(belief_cell, line=form.line))
    replies = (_reply(log, record, fields["p"]) for record in log.records)
    return [_read_reply(*reply, read, form.pattern) for reply in replies]


def _action(log: AnswerLog, record: Record, name: str, form: AnswerForm) -> Cell | None:
    """Read an action; None where a program that names them says that none was asked for."""
    if name in log.labels:
        return _action_cell(record[name], None, ()) if name in record else None
    # The user's word for what was offered comes before the log's, which letters may stand for.
    options = form.actions or record.get("choices")
    if not isinstance(options, tuple):
        # The answers themselves suggest what to write after --actions.
        texts = Counter(str(other.get(name)).strip()[:40] for other in log.records)
        listed = ", ".join(f"{text!r} ({count})" for text, count in texts.most_common(4))
        raise InputError(
            f"{log.file}: it does not say which actions were offered. Name them: "
            f"--actions A,B. The most frequent answers are {listed}."
        )
    read = partial(_action_cell, options=options, by_letter=not form.actions)
    return _read_reply(*_reply(log, record, name), read)


def stated_numbers(log: AnswerLog, name: str) -> list[float]:
    """Return the numbers without a percent sign that a field holds, or what was picked of it."""
    replies = (_reply(log, record, name) for record in log.records)
    texts = [picked or value for value, picked, _ in replies if not isinstance(value, Probability)]
    said = pd.Series(texts, dtype=object)
    return [*map(float, numbers(said).bare)]


def answers_of(log: AnswerLog, fields: Mapping[str, str], form: AnswerForm) -> pd.DataFrame:
    """Return the answers of a log, a row each, under the names of columns."""
    stated = {column: name for column, name in fields.items() if is_belief(column)}
    # Answers are decoded; all else is as the log has it.
    rows: dict[str, list[Any]] = {
        column: [record.get(name) for record in log.records]
        for column, name in fields.items()
        if column not in stated and column != "action"
    }
    answers: list[Sequence[Cell | None]] = []
    if stated:
        beliefs = _beliefs(log, stated, form)
        for column in stated:
            rows[column] = [
                belief.value[column] if isinstance(belief.value, dict) else belief.value
                for belief in beliefs
            ]
        rows["raw_belief"] = _raw(beliefs, rows.get("raw_belief"))
        answers.append(beliefs)
    if "action" in fields:
        actions = [_action(log, record, fields["action"], form) for record in log.records]
        rows["action"] = [cell and cell.value for cell in actions]
        rows["raw_action"] = _raw(actions, rows.get("raw_action"))
        answers.append(actions)
    rows["status"] = [
        worst([cell.status for cell in cells if cell is not None])
        for cells in zip(*answers, strict=True)
    ]
    return pd.DataFrame(rows, dtype=object)


def _raw(cells: Sequence[Cell | None], logged: Sequence[object] | None) -> list[object]:
    """Return raw answers; a text that was logged beside a number stays the raw one of that."""
    return [
        cell.raw if cell is not None and cell.raw is not None else text
        for cell, text in zip(cells, logged or [None] * len(cells), strict=True)
    ]
