"""One answer of a log -> value, status and raw text.

What a program wrote as a number is a number; what a model said is decoded, as when it is elicited.
Nothing is clipped, and what was not parsed keeps its text.
"""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from coherence.decoding.decode import decode_belief, decode_choice, worst
from coherence.table.roles import Scale
from coherence.table.schema import FAILURES, STATE_SUM_TOLERANCE, STATUSES

OFF_FORM = "repaired:layout"
"""At best the status of an answer in which the log itself, looking for its form, found none."""
_BARE_NUMBER = re.compile(r"[0-9]+(?:[.,][0-9]*)?|[.,][0-9]+")
_WRITTEN_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,4})?")


@dataclass(frozen=True, slots=True)
class Cell:
    """A value, its status, and the text it was read from; None where a program wrote the value."""

    value: object
    status: str
    raw: str | None = None


def as_number(value: object) -> float | None:
    """Return a number that a program wrote, as a number or as text; None for anything else."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        try:
            return float(value)
        except OverflowError:  # whole numbers in JSON may have any length
            return math.inf if value > 0 else -math.inf
    # float() would also take "nan", "1_000" and digits of other scripts.
    if isinstance(value, str) and _WRITTEN_NUMBER.fullmatch(value.strip()):
        return float(value)
    return None


def read_belief(text: str, reason: str | None, *, percent: bool) -> tuple[float | None, str]:
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


def belief_cell(
    value: object,
    reason: str | None,
    *,
    percent: bool,
    scale: Scale | None = None,
) -> Cell:
    """Read a belief; `reason` is why the answer ended, where it was cut or withheld."""
    # The sample ended before an answer.
    if value is None or value == "":
        return Cell(None, "unparsed")
    if scale is not None:
        return _on_scale(value, scale)
    number = None if isinstance(value, str) else as_number(value)
    if number is None:
        return Cell(*read_belief(str(value), reason, percent=percent), str(value))
    if not math.isfinite(number):
        return Cell(None, "unparsed", str(value))
    # Not clipped: 101 of 100 is an answer that cannot be meant.
    share = number / 100.0 if percent else number
    return Cell(share, "ok") if 0 <= share <= 1 else Cell(None, "out_of_range", str(value))


def _on_scale(value: object, scale: Scale) -> Cell:
    """Read a number on a scale, alone in its cell: of other texts nothing says which is meant."""
    number = as_number(value)
    if number is None or not math.isfinite(number):
        return Cell(None, "unparsed", str(value))
    low, high = sorted((scale.low, scale.high))
    if not low <= number <= high:
        return Cell(None, "out_of_range", str(value))
    return Cell(float(scale.probability(number)), "ok")


def distribution_cells(
    values: Mapping[str, object], *, percent: bool, scale: Scale | None = None
) -> Cell:
    """Read the beliefs in several states."""
    cells = {
        column: belief_cell(value, None, percent=percent, scale=scale)
        for column, value in values.items()
    }
    shares = {column: cell.value for column, cell in cells.items() if isinstance(cell.value, float)}
    raw = "; ".join(f"{column}={value}" for column, value in values.items())
    status = worst([cell.status for cell in cells.values()])
    if len(shares) < len(cells):
        return Cell(None, status, raw)
    # One state alone is a belief of which the others were not logged: there is no sum to miss.
    if len(shares) > 1 and abs(math.fsum(shares.values()) - 1) > STATE_SUM_TOLERANCE:
        return Cell(None, "sum_not_one", raw)
    return Cell(shares, status)


def action_cell(
    value: object, reason: str | None, options: Sequence[str], *, by_letter: bool
) -> Cell:
    """Read an action."""
    if value is None or value == "":
        return Cell(None, "unparsed")
    # A label that a program wrote needs no reading, and no list to be read against.
    if not options:
        return Cell(value, "ok")
    text = str(value)
    decoded = decode_choice(text, options, finish_reason=reason)
    option, status = decoded.value, decoded.status
    if option is None and by_letter:
        # Multiple choice is asked by letter; the option's own words come first all the same.
        letters = [chr(ord("A") + position) for position in range(min(len(options), 26))]
        letter = decode_choice(text, letters, finish_reason=reason)
        if letter.value is not None:
            option, status = options[letters.index(letter.value)], letter.status
    return Cell(option, status, text)


def picked_cell(
    value: object, picked: Sequence[str] | None, read: Callable[[object], Cell]
) -> Cell:
    """Read an answer where the log itself may have picked it out of the reply."""
    if not picked:
        cell = read(value)
        off_form = picked is not None and cell.value is not None
        return replace(cell, status=worst([OFF_FORM, cell.status])) if off_form else cell
    raw = None if value is None else str(value)
    cells = [replace(read(word), raw=raw) for word in picked]
    return next((cell for cell in cells if cell.value is not None), cells[-1])


def found_cell(value: object, pattern: re.Pattern[str], read: Callable[[object], Cell]) -> Cell:
    """Read the belief that a pattern finds among words: its group, of several places the last."""
    if value is None or value == "":
        return read(value)
    found = [match[min(pattern.groups, 1)] or "" for match in pattern.finditer(str(value))]
    if found:
        return replace(read(found[-1]), raw=str(value))
    cell = read(value)  # a refusal stays one
    return cell if cell.value is None else Cell(None, "unparsed", str(value))


def row_status(cells: Sequence[Cell], logged: object) -> str:
    """Return the status of a row, for which the log may name one."""
    decoded = worst([cell.status for cell in cells])
    if not isinstance(logged, str) or logged not in STATUSES:
        return decoded if logged in (None, "") else str(logged)
    if logged in FAILURES and any(cell.value is None and cell.raw is None for cell in cells):
        return worst([logged, *(cell.status for cell in cells if cell.raw is not None)])
    return worst([logged, decoded])
