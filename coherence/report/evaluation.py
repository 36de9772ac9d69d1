"""What a report knows of one (task, model): plain data that every renderer reads.

`coherence.analyze` fills it. It stands below the renderers, `coherence.report.report` above them.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from typing import Any

import pandas as pd

from coherence.checks.catalogue import interpretation_of
from coherence.checks.scores import ScoresResult
from coherence.checks.sufficiency_result import Sufficiency, primary_of
from coherence.decoding.decode import PARSED
from coherence.report.variation import Variation
from coherence.result import CheckResult, Family, Outcome
from coherence.runs.audit import MISSING, ElicitationSummary
from coherence.runs.notes import Level, Note, why_not_run
from coherence.runs.runs import Runs
from coherence.runs.states import STATE_NAMES
from coherence.statistics.figure_tables import FigureTables
from coherence.statistics.report_noise import ReportNoise

FEW = 3
"""Evaluations up to which a report shows everything at once."""


def evaluation_key(number: int) -> str:
    """Return the name of an evaluation in ids and files: its number, which no model can choose."""
    return f"evaluation-{number}"


@dataclass(frozen=True)
class Source:
    """The commands that go on from a report of the command line, as they would be typed."""

    analyze: str  # gives the report again
    page: str = ""  # the page that was written; empty for none
    file: str = ""  # name of the file, where no task and model is named


@dataclass(frozen=True)
class Step:
    """What to do next."""

    text: str = ""
    command: str = ""  # of the shell or of Python, as it is typed
    on_page: bool = True  # whether it says anything to a reader of the page


@dataclass(frozen=True, eq=False)
class Verdict:
    """One verdict, as `coherence.report.verdicts` declares it; everything else reads it."""

    code: str  # what programs and files know it by
    mark: str  # what stands before its sentence
    words: str  # what it means, for a table of all verdicts
    # holds, sentence: of what it is decided by, `coherence.report.verdicts.VerdictInput`
    holds: Callable[[Any], bool]
    sentence: Callable[[Any], str]
    next_step: Callable[["EvaluationReport"], Step]
    rests_on: str = "sufficiency"  # the check that it rests on; empty for none
    of_mark: str = "primary test, p ≤ .05"  # what its mark of a rejection stands for
    of_other_belief: bool = False  # whether beliefs are in something else, and no check is of them
    says_variation: bool = False  # whether its sentence says how little varies
    says_margin: bool = False  # whether nothing is to be added of a margin

    def __str__(self) -> str:
        """Return its code."""
        return self.code

    def __reduce__(self) -> tuple[Callable[[str], "Verdict"], tuple[str]]:
        """Pickle it as its code: the conditions and sentences are functions."""
        return _declared, (self.code,)

    @property
    def brief(self) -> str:
        """Mark and code, as a cell of a table has them."""
        return " ".join(filter(None, [self.mark, *self.code.split("_")]))

    @property
    def marked(self) -> bool:
        """Whether it says what a rejection found."""
        return self.mark == "✗"

    @property
    def open(self) -> bool:
        """Whether the data cannot tell."""
        return self.mark == "?"

    @property
    def reason(self) -> str:
        """Why numbers are withheld that a verdict which cannot tell does not stand by."""
        return f"cannot tell: {self.code.replace('_', ' ')}"


def _declared(code: str) -> Verdict:
    verdict: Verdict = import_module("coherence.report.verdicts").VERDICTS[code]
    return verdict


@dataclass(frozen=True)
class EvaluationReport:
    """All checks of one (task, model)."""

    # task, model: names as they stand in the runs table; untrusted text
    task: str
    model: str
    results: tuple[CheckResult, ...]  # in the order of the checks
    verdicts: tuple[str, ...]  # one plain sentence per result
    verdict: Verdict  # what the primary test says
    notes: tuple[Note, ...] = ()  # what was left out and why, what was assumed, warnings
    # columns ``question`` (prompt name, prompt name "with action", or "given z"), ``status``,
    # ``rows``
    statuses: pd.DataFrame = field(default_factory=pd.DataFrame, repr=False, compare=False)
    # what figures of beliefs draw
    figures: FigureTables = field(default_factory=FigureTables, repr=False, compare=False)
    # mean belief of each context, by its name, for the pages of answers
    mean_beliefs: "pd.Series[float]" = field(
        default_factory=lambda: pd.Series(dtype=float), repr=False, compare=False
    )
    # up to a handful of rows with status neither ok nor repaired: ``context``, ``prompt``,
    # ``z_state``, ``status`` and the raw answers, as far as known; untrusted text
    unreadable: pd.DataFrame = field(default_factory=pd.DataFrame, repr=False, compare=False)
    # how the answers were elicited; None where that was not asked
    answering: ElicitationSummary | None = None
    stakes: Verdict | None = None  # what is said first of a table with stakes
    margin: float | None = None  # the largest difference that counts as none; None if not named
    # the verdict in a sentence, and what the further tests say
    conclusion: tuple[str, ...] = ()
    cautions: tuple[Note, ...] = ()  # what may mislead tests
    # how far reports of equal evidence lie apart; None where that was not asked
    scatter: ReportNoise | None = None
    # all rows of the runs table that belong to it, for the pages of answers; untrusted text
    rows: Runs = field(default_factory=lambda: Runs(pd.DataFrame()), repr=False, compare=False)
    # ``question`` and ``status`` of each of them, from `coherence.runs.audit.label_rows`.
    labels: pd.DataFrame = field(default_factory=pd.DataFrame, repr=False, compare=False)
    # what figures call the state that the belief is not in, and the one that it is in; untrusted
    state_names: tuple[str, str] = STATE_NAMES
    state_name: str = ""  # what theta = 1 is, where the table says it; untrusted
    askable: bool = True  # whether this toolkit asked, so that it can ask again
    # how far beliefs and choices vary; None where that was not asked
    variation: Variation | None = None
    settled_by_choice: bool = False  # whether the truth seems to follow from the choice
    source: Source | None = None  # where it comes from; None in Python

    @property
    def headline(self) -> Verdict:
        """What is said first: of stakes where there are any, else the verdict."""
        return self.stakes or self.verdict

    @property
    def told(self) -> tuple[Verdict, ...]:
        """The headline, and beside one of stakes that the primary test rejects."""
        both = self.verdict.marked and self.headline is not self.verdict
        return (self.headline, self.verdict) if both else (self.headline,)

    @cached_property
    def primary(self) -> Sufficiency | None:
        """Result of the primary test; None where it was not run."""
        return primary_of(self.results)

    @property
    def scored(self) -> tuple[ScoresResult, ...]:
        """The results of forecasts that have scores."""
        return tuple(r for r in self.results if isinstance(r, ScoresResult) and r.fitted)

    @property
    def alerts(self) -> tuple[Note, ...]:
        """Those of the notes on which every p-value and interval hangs."""
        return tuple(note for note in self.notes if note.level is Level.ALERT)

    @property
    def remarks(self) -> tuple[Note, ...]:
        """The other notes."""
        return tuple(note for note in self.notes if note.level is not Level.ALERT)

    @property
    def further_tests(self) -> tuple[CheckResult, ...]:
        """The tests beside the primary one that have a p-value, but for those of calibration.

        That which the verdict rests on is no further test.
        """
        return tuple(
            result
            for result in self.results
            if result.family is Family.SECOND
            and result.check != self.verdict.rests_on
            and not interpretation_of(result.check).of_calibration
            and result.outcome() is not Outcome.UNTESTED
        )

    @property
    def unparsed_share(self) -> float:
        """Share of the answers that could not be parsed."""
        if self.statuses.empty:
            return 0.0
        unparsed = ~self.statuses["status"].astype(str).isin(PARSED)
        return float(self.statuses["rows"][unparsed].sum() / self.statuses["rows"].sum())

    @property
    def blanks_alone(self) -> bool:
        """Whether all of these are blank cells, of a table that does not say why."""
        status = self.statuses["status"].astype(str) if len(self.statuses) else pd.Series(dtype=str)
        return bool(status.isin([*PARSED, MISSING]).all())

    def absent(self, *names: str) -> str:
        """Return why there is no result of the first of these names; empty where nothing says."""
        note = why_not_run(self.notes, *names)
        return "" if note is None else note.text
