"""Words that all views of a report share: numbers with intervals, p-values, kinds of answers.

Names of tasks, models and actions come from files and model output; `clean` makes them safe to
print. It and `format_numbers` stand in `coherence.printable`, where figures have them too.
"""

import math
import unicodedata
from collections.abc import Sequence

from coherence.checks.check import interpretation_of
from coherence.printable import UNPRINTABLE, counted, evaluation_name
from coherence.printable import clean as clean
from coherence.printable import decimals_of as decimals_of
from coherence.printable import format_interval as format_interval
from coherence.printable import format_numbers as format_numbers
from coherence.report.evaluation import EvaluationReport
from coherence.result import CheckResult, Estimate, Interval
from coherence.runs.notes import Code, Note, warning
from coherence.runs.runs import STATED, ElicitationSummary
from coherence.statistics.report_noise import ReportNoise

NOT_GIVEN = "–"
ALERT = "Warning"
"""What stands before a note on which every p-value and interval hangs."""
LOW = 0.5
"""Median probability of the form below which a report warns."""
_POLICIES = (
    "actions are probabilities that were computed, and no action was drawn: the checks of belief "
    "against action test the policy."
)
MOST_NAMED = 8
"""Evaluations that a sentence names; those beyond are counted."""
REVEALED = "revealed"
KINDS = {
    "stated:drawn": ("stated belief", "stated, drawn as text and parsed"),
    "stated:fixed": ("stated belief", "stated, the same whenever it is asked for"),
    "stated:forced": (
        "forced stated belief",
        "stated, drawn among the answers that have the form",
    ),
    "stated:masked": (
        "forced stated belief",
        "stated, drawn by a server that allowed only tokens of the form, which is not what the "
        "model would say given the form",
    ),
    "stated:exact": (
        "computed stated belief",
        "stated, the mean of the distribution over all answers that have the form",
    ),
    "token": ("next-token belief", "the probability of the next token"),
    "sampled": ("sampled belief", "the share of drawn answers"),
    REVEALED: ("revealed belief", "revealed by how texts go on"),
}
"""Kind of belief -> what titles, sentences and axes call it, and how it was elicited."""


def format_pvalue(pvalue: float | None) -> str:
    """Format a p-value with three decimals; a dash where there is no test."""
    if pvalue is None or math.isnan(pvalue):
        return NOT_GIVEN
    # Permutation p-values below that say more of the number of permutations than of the data.
    return "<0.001" if pvalue < 0.001 else f"{pvalue:.3f}"


def points(values: Sequence[float]) -> list[str]:
    """Return differences of probabilities that belong together in points, hundredths.

    Whole ones; with one decimal where they span less than five points, or all are below one.
    """
    hundredths = [100 * value for value in values]
    wide = max(hundredths) - min(hundredths) >= 5 or len(values) == 1
    digits = 0 if wide and max(map(abs, hundredths)) >= 0.95 else 1
    return format_interval(hundredths, digits)


def with_interval(value: float, interval: Interval | None, unit: str = "") -> str:
    """Return a difference of probabilities in points, its interval behind it.

    An estimate beyond what a difference can be is shown as the end of its range.
    """
    value = min(max(value, -1.0), 1.0)
    if interval is None or math.isnan(interval.low) or math.isnan(interval.high):
        (shown,) = points([value])
        return f"{shown}{unit.removesuffix('s') if shown == '1' else unit}"
    interval = interval.within(-1.0, 1.0)
    shown, low, high = points([value, interval.low, interval.high])
    return f"{shown}{unit.removesuffix('s') if shown == '1' else unit} [{low}, {high}]"


def percent(result: CheckResult) -> str:
    """Return a share in percent, with its interval where there is one."""
    ends = (result.statistic, result.low, result.high)
    value, low, high = format_interval([100 * each for each in ends], 0)
    return f"{value}%" if result.interval is None else f"{value}% [{low}, {high}]"


def share_with_interval(share: Estimate) -> str:
    """Return a share in percent, its interval behind it, neither beyond 0 and 100."""
    within = [min(max(each, 0.0), 1.0) for each in (share.value, share.low, share.high)]
    value, low, high = format_interval([100 * each for each in within], 0)
    return f"{value}% [{low}, {high}]"


def numbers(result: CheckResult) -> str:
    """Return an estimate, with its interval where there is one."""
    value, low, high = format_interval([result.statistic, result.low, result.high])
    return value if result.interval is None else f"{value} [{low}, {high}]"


def noise_alone(result: CheckResult, scatter: ReportNoise | None) -> str:
    """Name what could cause a rejection by itself: noise of reports that a test takes as exact."""
    suspect = result.pvalue is not None and interpretation_of(result.check).assumes_exact_reports
    if not suspect or scatter is None or not scatter.exceeds:
        return ""
    return f"report noise (standard deviation {scatter.sd:.2f} between {scatter.across} of a case)"


def evaluation_heading(evaluation: EvaluationReport) -> str:
    """Return "task · model", with whatever of the two is named; else the name of the file."""
    if evaluation.file and not (evaluation.task or evaluation.model):
        return clean(evaluation.file, limit=80)
    return evaluation_name(evaluation.task, evaluation.model)


def evaluations_named(evaluations: Sequence[EvaluationReport]) -> str:
    """Name evaluations, and count those beyond a few."""
    named = [evaluation_heading(evaluation) for evaluation in evaluations[:MOST_NAMED]]
    more = [f"{len(evaluations) - MOST_NAMED} more"] if len(evaluations) > MOST_NAMED else []
    return ", ".join([*named, *more])


def belief_noun(answering: ElicitationSummary | None) -> str:
    """Return what titles, sentences and axes call the belief."""
    kinds = answering.kinds if answering else ()
    nouns = {KINDS[kind][0] if kind in KINDS else "belief" for kind in kinds}
    return "belief" if len(nouns) > 1 else next(iter(nouns), STATED)


def answering_notes(answering: ElicitationSummary | None) -> list[Note]:
    """Return how the answers were elicited; a warning comes first."""
    if answering is None or not answering.known:
        return []
    notes = []
    if low := [part["median"] for part in answering.masses if part["median"] < LOW]:
        # Of small shares 1.8e-06 must not read as 0.
        share = f"{min(low):.1%}" if min(low) >= 0.001 else f"{min(low):.1g}"
        unasked = "of its probability lies on the form asked for: it would seldom say this unasked."
        notes.append(warning(Code.FORM_MASS, f"{share} {unasked}"))
    total = sum(answering.kinds.values())
    for kind, rows in answering.kinds.items():
        whole = "" if rows == total else f" ({rows} of {counted(total, 'row')})"
        text = f"beliefs are {KINDS.get(kind, ('', kind))[1]}{whole}."
        notes.append(Note(Code.BELIEF_KIND, text))
    if answering.policies:
        notes.append(Note(Code.POLICIES, _POLICIES))
    if answering.masses:
        of = " and ".join(
            f"{_mass(part['median'])} in {_ROWS[part['of']]} (median; smallest "
            f"{_mass(part['smallest'])}; {counted(part['rows'], 'row')})"
            for part in answering.masses
        )
        text = f"the form of the answers had a probability of {of}."
        notes.append(Note(Code.FORM_MASS, text))
    return notes


def _mass(mass: float) -> str:
    """Tiny masses are the ones that matter: 1.8e-06 must not read as 0."""
    return f"{mass:.2g}" if 0 < mass < 0.001 else format_numbers([mass])[0]


_ROWS = {
    "belief alone": "rows with a belief alone",
    "action": "rows with an action",
    "level": "questions with a level",
}


def visible(text: str) -> str:
    """Write control characters and direction overrides of a raw answer as escapes, to be seen."""
    # Nearly all answers are plain, and are looked at once.
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        repr(character)[1:-1]
        if character not in "\n\t" and unicodedata.category(character) in UNPRINTABLE
        else character
        for character in text
    )
