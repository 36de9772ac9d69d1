"""What every view of one (task, model) shows, made once: terminal, page and notebook lay it out.

Results stand under the questions that they answer, in plain words, with numbers formatted; counts
of answers are tables of text; everything else is sentences. Names come from files
and model output: whatever leaves this module is cleaned, and a page escapes it besides.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

from coherence.checks.catalogue import check_of, interpretation_of
from coherence.checks.check import Leader, Question
from coherence.checks.persons import OWN_BELIEF
from coherence.decoding.decode import FAILURES, LOW_MASS
from coherence.printable import counted
from coherence.report.document import Cell, Column, Kind, Table, build_table, count
from coherence.report.evaluation import EvaluationReport, Step
from coherence.report.next_steps import next_step
from coherence.report.variation import little_sentence, moves_sentence
from coherence.report.wording import (
    NOT_GIVEN,
    answering_notes,
    as_shown,
    clean,
    evaluation_heading,
    format_interval,
    format_pvalue,
    interval_heading,
)
from coherence.result import CheckResult, ForecastScores, Outcome
from coherence.runs.audit import MISSING, audit_table
from coherence.runs.notes import Note

UNPARSED = "share_unreadable"
_STATUS_HEADINGS = {
    "sum_not_one": "sum not 1",
    "out_of_range": "out of range",
    LOW_MASS: "low mass",
    UNPARSED: "unparsed in all",
}


@dataclass(frozen=True)
class Row:
    """A result as every view shows it."""

    result: CheckResult
    verdict: str = ""  # its sentence, with the reason of an undefined number
    words: str = ""  # what it asks in plain words; empty where no question is known
    leads: bool = True  # whether it stands in the default report; the others are secondary

    @cached_property
    def check(self) -> str:
        """Name of the check, with its variant."""
        return clean(self.result.check)

    @property
    def rejects(self) -> bool:
        """Whether the test rejects."""
        return self.result.outcome() is Outcome.REJECTED

    @property
    def is_nominal(self) -> bool:
        """Whether the test rejects alone, and not after the correction."""
        return self.result.outcome() is Outcome.UNCORRECTED

    @property
    def defined(self) -> bool:
        """Whether it has an estimate or a p-value."""
        return not (math.isnan(self.result.statistic) and math.isinf(_pvalue(self.result)))

    @property
    def mark(self) -> str:
        """What a table says of the test; empty where it does not reject."""
        return "rejects" if self.rejects else "nominal" if self.is_nominal else ""

    @property
    def component(self) -> str:
        """The difference of probabilities that the effect is; empty where it is none."""
        return clean(self.result.settings.get("component", ""))

    @cached_property
    def numbers(self) -> tuple[str, str, str]:
        """Statistic, its unit and its interval."""
        result, interval = self.result, self.result.interval
        # The estimate shares its decimals with the ends: it is read against them.
        ends = () if interval is None else (interval.low, interval.high)
        number, *shown = format_interval([result.statistic, *ends])
        evaluation = "" if math.isnan(result.statistic) else clean(result.unit)
        if evaluation.startswith("%"):  # "3.2% of log-loss", but "3.2 nats"
            number, evaluation = f"{number}%", evaluation[1:].lstrip()
        unknown = all(math.isnan(end) for end in ends)
        return number, evaluation, NOT_GIVEN if unknown else f"[{shown[0]}, {shown[1]}]"

    @property
    def effect(self) -> str:
        """Statistic with its unit."""
        return " ".join(filter(None, self.numbers[:2]))

    @property
    def pvalue(self) -> str:
        """P-value of the test alone; a dash where there is none."""
        return format_pvalue(self.result.pvalue)

    @property
    def holm(self) -> str:
        """P-value adjusted by Holm, which bounds the chance of any false rejection; or empty."""
        return _adjusted(self.result.pvalue_holm)

    @property
    def bh(self) -> str:
        """The same by Benjamini and Hochberg, which bounds the share of false ones; or empty."""
        return _adjusted(self.result.pvalue_bh)

    @property
    def tested(self) -> str:
        """P-value, with Holm's in brackets where there is one."""
        return f"{self.pvalue} ({self.holm})" if self.holm else self.pvalue

    @property
    def sample(self) -> str:
        """How many rows and contexts entered, and how many rows could not."""
        left_out = f", {self.result.n_dropped} left out" if self.result.n_dropped else ""
        rows = counted(self.result.n_rows, "row")
        return f"{rows}, {counted(self.result.n_contexts, 'case')}{left_out}"


def _adjusted(pvalue: float | None) -> str:
    return "" if pvalue is None or math.isnan(pvalue) else format_pvalue(pvalue)


def _checked(row: Row) -> Cell:
    return Cell(row.check, {"": row.result.check})


def _effect(row: Row) -> Cell:
    """Show an effect, and say which it is where it is one of several."""
    result = row.result
    record, component = result.to_row(), str(result.settings.get("component", ""))
    exact = {
        "": record["estimate"],
        **{key: record[key] for key in ("low", "high", "level", "unit")},
    }
    undefined = math.isnan(result.statistic)
    note = result.reason if undefined else result.estimate_note() * bool(component)
    return Cell(row.effect, exact | {"component": component}, note, is_reason=undefined)


def _counted(n: int) -> Cell:
    return Cell(str(n), {"": n})


CHECK = Column("check", kind=Kind.LABEL, make=_checked)
WORDS = Column(
    "",
    "",
    Kind.LABEL,
    make=lambda row: Cell(f"{row.words} ({row.check})" if row.words else row.check),
)
EFFECT = Column("effect", kind=Kind.LABEL, make=_effect)
PLAIN_EFFECT = Column("", "effect", Kind.LABEL, make=lambda row: Cell(row.effect))
PVALUE = Column("p", make=lambda row: Cell(row.pvalue, {"": row.result.pvalue}))
HOLM = Column(
    "p_holm",
    "p by Holm",
    make=lambda row: Cell(row.holm or NOT_GIVEN, {"": row.result.pvalue_holm}),
)
TESTED = Column("", "p (Holm)", make=lambda row: Cell(row.tested))
MARK = Column("", "", Kind.LABEL, make=lambda row: Cell(row.mark))
CONTEXTS = Column("contexts", make=lambda row: _counted(row.result.n_contexts))
ROWS = Column("rows", make=lambda row: _counted(row.result.n_rows))
"""Columns of tables of results."""


def interval_column(heading: str) -> Column:
    """Return the column of the intervals of results."""
    return Column("", heading, Kind.INTERVAL, make=lambda row: Cell(row.numbers[2]))


@dataclass(frozen=True)
class View:
    """All that is said of an evaluation, in the order in which it is read."""

    heading: str  # "task · model"
    moves: str  # how far beliefs, truth and choices vary; empty where it is not known
    little: str  # a warning where they hardly vary
    conclusion: tuple[str, ...]  # what the tests together say, and how sure one can be
    next: Step  # what to do next
    alerts: tuple[Note, ...]  # what every p-value and interval hangs on
    interval: str  # heading of the intervals
    questions: tuple[tuple[str, tuple[Row, ...]], ...]
    answers: Table
    cautions: tuple[Note, ...]  # what may mislead tests
    answering: tuple[Note, ...]  # how the answers were elicited
    notes: tuple[Note, ...]  # what was left out, assumed, noticed
    rows: tuple[Row, ...] = field(repr=False)  # in the order of the checks


def view(evaluation: EvaluationReport) -> View:
    """Put an evaluation into words and cells."""
    questions = rows_by_question(evaluation.results, evaluation.verdicts)
    of_result = {id(row.result): row for _, group in questions for row in group}
    return View(
        heading=evaluation_heading(evaluation),
        moves=moves_sentence(evaluation.variation),
        # A verdict that it hardly moves says so itself.
        little="" if evaluation.verdict.says_variation else little_sentence(evaluation.variation),
        conclusion=tuple(map(clean, evaluation.conclusion)),
        next=next_step(evaluation),
        alerts=tuple(map(as_shown, evaluation.alerts)),
        interval=interval_heading(evaluation.results),
        questions=tuple((question, tuple(group)) for question, group in questions),
        answers=_answers(evaluation),
        cautions=tuple(map(as_shown, evaluation.cautions)),
        answering=tuple(map(as_shown, answering_notes(evaluation.answering))),
        notes=tuple(map(as_shown, evaluation.remarks)),
        rows=tuple(of_result[id(result)] for result in evaluation.results),
    )


def rows_by_question(
    results: Sequence[CheckResult], verdicts: Sequence[str]
) -> list[tuple[str, list[Row]]]:
    """Group results by the question that they answer, and tell which lead (`Leader`)."""
    by_check: dict[str, list[CheckResult]] = {}
    for result in results:
        by_check.setdefault(_family(result), []).append(result)
    groups: dict[str, list[Row]] = {question: [] for question in Question}
    for result, verdict in zip(results, verdicts, strict=True):
        check, beside = check_of(result.check), by_check[_family(result)]
        question = Question.FURTHER if check is None else check.question
        words = "" if check is None else interpretation_of(result.check).words
        if isinstance(result.fitted, ForecastScores) and result.fitted.n_states > 2:
            words = interpretation_of(result.check).heading
        if result.settings.get("test") == OWN_BELIEF:
            words = "choices at equal own belief"
        leads = _leads(result, beside, Leader.FIRST_ESTIMATE if check is None else check.leader)
        of_pairs = check is not None and check.leader is Leader.SMALLEST_P and len(beside) > 1
        if of_pairs and result is min(beside, key=_pvalue):
            words += f", smallest p of {len(beside)} pairs"
        groups[question].append(Row(result, _full_verdict(result, verdict), words, leads))
    return [(question, group) for question, group in groups.items() if group]


def _leads(result: CheckResult, beside: Sequence[CheckResult], leader: Leader) -> bool:
    """Tell whether a result leads those of its check."""
    declared = check_of(result.check) and interpretation_of(result.check)
    above = result.interval is not None and result.interval.low > 0
    if declared and (declared.leads or (declared.leads_above_0 and above)):
        return True
    if result.pvalue is not None:
        found = result.outcome() in (Outcome.REJECTED, Outcome.UNCORRECTED)
        return leader is not Leader.SMALLEST_P or found or result is min(beside, key=_pvalue)
    if any(other.pvalue is not None for other in beside):
        return False
    known = [other for other in beside if not math.isnan(other.statistic)]
    if leader is Leader.LARGEST and known:
        return result is max(known, key=lambda other: other.statistic)
    return result is beside[0]


def _full_verdict(result: CheckResult, verdict: str) -> str:
    """Return a verdict with the reason, which one of an unanswered result holds itself."""
    sentence, reason = clean(verdict), clean(result.reason)
    return f"{sentence} ({reason})" if reason and not result.unanswered else sentence


def _family(result: CheckResult) -> str:
    return result.check.partition(":")[0]  # also of a part, which is a check of its own


def _pvalue(result: CheckResult) -> float:
    return math.inf if result.pvalue is None or math.isnan(result.pvalue) else result.pvalue


def sample_sentences(results: Sequence[CheckResult]) -> list[str]:
    """Say how many rows and contexts entered, checks with equal numbers together."""
    groups: dict[str, list[str]] = {}
    for result in results:
        dropped = f", {result.n_dropped} left out for missing values" if result.n_dropped else ""
        size = f"{counted(result.n_rows, 'row')} in {counted(result.n_contexts, 'case')}"
        groups.setdefault(f"{size}{dropped}", []).append(clean(result.check))
    return [f"{size}: {', '.join(checks)}" for size, checks in groups.items()]


def _answers(evaluation: EvaluationReport) -> Table:
    """Count what became of the answers; failures that did not occur have no column."""
    if evaluation.statuses.empty:
        return Table()
    table = audit_table(evaluation.statuses)
    shown = [name for name in ("repaired", LOW_MASS, *FAILURES, MISSING) if table[name].any()]
    columns = [
        Column("question", kind=Kind.LABEL),
        *(count(name, _STATUS_HEADINGS.get(name, name)) for name in ("asked", "ok", *shown)),
        Column(UNPARSED, _STATUS_HEADINGS[UNPARSED], Kind.SHARE),
    ]
    said = repair_sentence(evaluation)
    return build_table(table.to_dict("records"), columns, title="Answers", caption=said)


def repair_sentence(evaluation: EvaluationReport) -> str:
    """Say which repairs there were; empty if none."""
    if evaluation.statuses.empty:
        return ""
    # The names may be a categorical, whose accessor has no text functions.
    kind = evaluation.statuses["status"].astype(str).str.partition(":")
    repairs = evaluation.statuses["rows"][kind[0] == "repaired"].groupby(kind[2]).sum()
    said = [
        f"{n} {clean(name)}" for name, n in repairs.sort_values(ascending=False).items() if name
    ]
    return f"repaired answers by what was repaired: {', '.join(said)}" if said else ""


def status_groups(evaluation: EvaluationReport) -> dict[tuple[str, str], list[str]]:
    """Return the contexts behind each count of `View.answers` but "asked" and "ok"."""
    if evaluation.statuses.empty or evaluation.labels.empty:
        return {}
    counted_columns = {column.name for column in _answers(evaluation).columns}
    names = counted_columns - {"question", "asked", "ok", UNPARSED}
    status = evaluation.labels["status"].astype(str)
    column = status.where(~status.str.startswith("repaired:"), "repaired")
    counts = column.isin(names)
    contexts = evaluation.rows.table.loc[counts, "context"].astype(str)
    by = [evaluation.labels["question"][counts].astype(str), column[counts]]
    groups = contexts.groupby(by, sort=False)
    return {(str(q), str(c)): list(dict.fromkeys(inside)) for (q, c), inside in groups}
