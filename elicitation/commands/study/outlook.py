"""A study seen from outside: what it would ask, and what its store has. No model is loaded."""

from collections.abc import Sequence

from coherence.printable import counted
from coherence.report.document import build_table, count, label
from coherence.report.layout import render_parts
from elicitation.asking.overview import preview
from elicitation.commands.elicit_options import respondent_of
from elicitation.commands.study.units import STORE, Unit, held_answers

_COLUMNS = (
    label("model"),
    label("task"),
    label("state"),
    count("questions"),
    count("stored", "in store"),
)


def render_outlook(units: Sequence[Unit]) -> str:
    """Return a table of all units: their questions, and the answers that the store has."""
    held = held_answers(units[0].folder)
    rows, n_left = [], 0
    for unit in units:
        name = respondent_of(unit.options, unit.source()).in_store()
        seen = preview(unit.plan(), model_name=name, store=unit.folder / STORE)
        finished = unit.answered(held) is not None
        n_left += 0 if finished else seen.n_left
        row = {"model": unit.model.name, "task": unit.task.name}
        row |= {"state": "finished" if finished else "begun" if seen.n_stored else "not begun"}
        rows.append(row | {"questions": seen.n_distinct, "stored": seen.n_stored})
    return f"{render_parts([build_table(rows, _COLUMNS)])}\n{counted(n_left, 'answer')} to ask"
