"""The page of a study: what was asked, what the tests say, which models differ, where all lies."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from coherence.printable import counted, numbered
from coherence.report.document import Cell, Column, Kind, Table, build_table, count, label
from coherence.report.evaluation import EvaluationReport
from coherence.report.pages import environment
from coherence.report.variation import little_sentence
from coherence.report.view import view
from coherence.report.wording import answering_notes, clean
from coherence.result import Outcome
from coherence.runs.notes import Level
from elicitation.asking.session import Tally
from elicitation.commands.study.study_file import Study
from elicitation.commands.study.units import RUNS, Session

_ASKED = (
    label("task"),
    label("model"),
    label("answers_are", "answers are"),
    count("n_answers", "answers"),
    Column("parsed", kind=Kind.SHARE),
    count("repaired"),
    count("cut"),
    Column("", "table", Kind.LABEL, make=lambda row: Cell("parquet", link=row["link"])),
)


@dataclass(frozen=True)
class Compared:
    """What the page says of the comparison of models."""

    summary: str  # what was found, or why nothing was compared
    notes: Sequence[str] = ()  # what was assumed, left out or not compared
    tables: Sequence[Table] = ()  # of the differences in each task


def render_page(
    study: Study,
    finished: Sequence[tuple[Session, Tally]],
    missing: Sequence[str],
    conclusions: Sequence[EvaluationReport],
    compared: Compared | None,
    links: Mapping[str, str],
) -> str:
    """Render the page of a study."""
    n_answers = sum(done.total for _, done in finished)
    tasks: dict[str, list[dict[str, Any]]] = {}
    for unit in conclusions:
        said = {
            "model": clean(str(unit.model)),
            "conclusion": [*map(clean, unit.conclusion)],
            "cautions": [*map(clean, [*_little(unit), *unit.cautions])],
            "untested": _untested(unit),
        }
        tasks.setdefault(clean(str(unit.task)), []).append(said)
    template = environment("elicitation", "commands/study").get_template("page.html.j2")
    return template.render(
        title=clean(study.name),
        subtitle=(
            f"{counted(len({each.model for each in study.sessions}), 'model')}, "
            f"{counted(len({each.task for each in study.sessions}), 'task')}; "
            f"{n_answers:,} {numbered(n_answers, 'answer')}"
        ),
        missing=[clean(label) for label in missing],
        tasks=[{"name": name, "units": units} for name, units in tasks.items()],
        comparison=None
        if compared is None
        else {
            "summary": clean(compared.summary),
            "notes": [*map(clean, compared.notes)],
            "tables": compared.tables,
        },
        asked=build_table(
            [_row(unit, done) for unit, done in finished],
            _ASKED,
            title="What was asked",
            caption="Answers of each model on each task.",
        ),
        links=links,
    )


def _little(unit: EvaluationReport) -> list[str]:
    """Say where beliefs or choices hardly vary, and where answers are hardly those of the model."""
    little = little_sentence(unit.variation)
    notes = answering_notes(unit.answering)
    warnings = [str(note) for note in notes if note.level is Level.WARNING]
    return [*([little] if little else []), *warnings]


def _untested(unit: EvaluationReport) -> list[str]:
    """Say which tests have no p-value and why, and what was left out or assumed."""
    shown = view(unit)
    lines = [
        f"{row.check}: {row.verdict}"
        for row in shown.rows
        if row.result.outcome() is Outcome.UNTESTED
        # A check that has a test elsewhere, and here an estimate alone.
        or (row.leads and row.result.pvalue is None and row.result.reason)
    ]
    return [*lines, *map(str, [*shown.alerts, *shown.notes])]


def _row(unit: Session, done: Tally) -> dict[str, Any]:
    return {
        "task": unit.task,
        "model": unit.model,
        "answers_are": unit.options.answers,
        "n_answers": done.total,
        "parsed": done.readable / done.total,
        "repaired": done.repaired,
        "cut": done.truncated,
        "link": f"{RUNS}/{unit.path.name}",
    }
