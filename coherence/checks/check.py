"""What a check declares of itself, once; planning, verdicts, reports, commands and pages read it.

A check is a file of this folder that ends in ``CHECK = Check(...)``, and a line in the list
`coherence.checks.CHECKS`. It takes arrays: `coherence.analysis.evaluation` reads them off the
columns of an evaluation and hands them over as `EvaluationData`.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum, StrEnum
from functools import cache, partial
from importlib import import_module
from inspect import signature
from typing import Any, TypeVar

from coherence.checks import CHECKS
from coherence.errors import InputError, closest
from coherence.printable import capitalised
from coherence.result import CheckResult, Family
from coherence.runs.needs import MATCHING_QUESTIONS, STAKES_QUESTIONS
from coherence.runs.notes import Note
from coherence.runs.runs import Runs
from coherence.statistics.evaluation import EvaluationData
from coherence.statistics.resample import Seed

ANY = "*"
"""Key of the sentences of variants that data name, such as pairs of actions."""
Result = TypeVar("Result", bound=CheckResult)
INTERVAL_ALONE = "The published interval {position}; its error rate is not controlled."


class Question(StrEnum):
    """What results answer, in the order of a report; they stand below it."""

    ACTED_ON = "Is it the belief acted on?"
    WHICH = "Which belief is acted on?"
    STAKES = "Does it act where its belief pays?"
    FOLLOWS = "Do choices follow the belief?"
    TOGETHER = "Do beliefs hang together?"
    RIGHT = "Are they right?"
    KNOWS = "Do they know more than the evidence?"
    FURTHER = "What else was estimated"


class Form(Enum):
    """How the short table shows an estimate with its interval."""

    POINTS = 1  # a difference of probabilities, in hundredths
    PERCENT = 2
    NUMBER = 3


@dataclass(frozen=True)
class Interpretation:
    """What a result is, and what it means: a sentence for each way in which it can end.

    Templates of `str.format`: ``{value}`` is the statistic, ``{variant}`` what follows the colon in
    the name of the result, ``{position}`` where its interval lies, ``{belief}`` the kind of belief
    ("stated belief"). A sentence that is left out is one that cannot be needed; a result that needs
    it all the same is an error.
    """

    # rejected, not_rejected: the test rejects, or does not ("No evidence that ...", with `nominal`,
    # where it is left out).
    rejected: str = ""
    not_rejected: str = ""
    # what the test looks for, as a clause behind "that": what is said where it rejects alone and
    # not after the correction, or where report noise may be why
    nominal: str = ""
    estimate: str = ""  # there is no test; left out, `words` and the value
    published: str = ""  # the papers' own procedure was run
    # whether the test takes reports as exact and rejects where they are noisy
    assumes_exact_reports: bool = False
    # whether the test is of calibration, of which a coherent agent may lack any amount
    of_calibration: bool = False
    words: str = ""  # what it is, in plain words, where results stand in a table
    heading: str = ""  # the same where models are compared; the name of the result, if empty
    row: str = ""  # name of its row in the short table, with the unit; empty where it has none
    form: Form = Form.POINTS  # of the row
    unless: str = ""  # variant whose row makes this one needless

    @property
    def of_estimate(self) -> str:
        """The sentence of an estimate."""
        return self.estimate or f"{capitalised(self.words)}: {{value:.3f}}."


def estimated(words: str, row: str = "", form: Form = Form.POINTS) -> Interpretation:
    """Return what an estimate is that says its words and its value, and no more."""
    return Interpretation(words=words, row=row, form=form)


def blank(
    kind: type[Result], data: Any, check: str, null: str, unit: str, **further: Any
) -> partial[Result]:
    """Return a kind of result, of all rows of an evaluation or `CaseRows`, that lacks its numbers.

    Called with what was found, or with the reason why nothing was, it makes the result.
    """
    sample = {"n_rows": data.n_rows, "n_contexts": data.n_contexts, "n_dropped": data.n_dropped}
    return partial(kind, check, null, unit=unit, **sample | further)


Call = Callable[..., CheckResult | Sequence[CheckResult]]
"""A check with its arguments (`functools.partial`), but for `rng`, which it gets if it takes it."""
Plan = Iterator[Call | Note]
"""The calls of a check, in the order of their results, and notes on what is left out and why."""


def run(call: Call, rng: Seed, **options: Any) -> list[CheckResult]:
    """Run a call with a source of randomness, where it takes one; return its results."""
    outcome = call(**options, **({"rng": rng} if "rng" in signature(call).parameters else {}))
    return [outcome] if isinstance(outcome, CheckResult) else [*outcome]


@dataclass(frozen=True)
class Check:
    """Declaration of a check."""

    name: str  # what users ask for and results are called, before a colon and the variant
    # an entry of `coherence.runs.needs.EVIDENCE`; it decides which rows the check is given.
    needs: tuple[str, ...]
    # variant of the result, "" for none and `ANY` for every other -> what it says
    sentences: Mapping[str, Interpretation]
    # turns data, and whether the papers' own procedures were asked for, into calls and notes; only
    # called where there are rows with what is needed
    plan: Callable[[EvaluationData, bool], Plan]
    # "Published: SOURCE", "Adapted from SOURCE", or "Ours"
    origin: str = "Ours"
    of_papers: bool = True  # whether it runs where the papers' own procedures were asked for
    figure: str = ""  # the function of `coherence.plots` that draws its result; empty for none
    states_named: bool = False  # of two states, the check must know which belief is in which
    every_prompt: bool = False  # whether rows under other prompts than the reference enter it
    # whether it runs on these rows where no check was named; one that was named always does
    by_itself: Callable[[Runs], bool] = lambda runs: True
    family: Family = Family.SECOND  # what its results are in a report
    # whether it takes contexts that several persons judged, with what belongs to whom
    of_persons: bool = False
    question: Question = Question.FURTHER  # under which its results stand
    beside_primary: bool = False  # whether verdicts on the primary test stand with what it finds
    of_truth: bool = False  # whether it compares beliefs with the truth, whatever choices do
    takes_margin: bool = False  # whether what it finds is compared with a margin
    # parameter of simulated agents that gives an effect to be found (`coherence.power`); empty for
    # none; and which draws of a null distribution are enough there
    planted: str = ""
    power_draws: Mapping[str, int] = field(default_factory=dict)
    # further checks on the same rows: with this one where it was named, else as they declare
    parts: tuple["Check", ...] = ()

    @property
    def spoken(self) -> str:
        """The name in a sentence."""
        return self.name.replace("_", " ")


def declaration(name: str) -> Check:
    """Return what a check of `CHECKS` declares; importing its module is what takes the time."""
    check: Check = import_module(f"coherence.checks.{CHECKS[name]}").CHECK
    return check


@cache
def declarations() -> tuple[Check, ...]:
    """Return all declarations, those of parts behind the check that they belong to."""
    checks = map(declaration, CHECKS)
    return tuple(member for check in checks for member in (check, *check.parts))


@cache
def check_of(result: str) -> Check | None:
    """Return the check that declares a result; None where none does."""
    # A part may bear the name of a variant ("iterated_expectation:random_forest").
    by_name = {check.name: check for check in declarations()}
    return by_name.get(result) or by_name.get(result.partition(":")[0])


def declared_name(result: str) -> str:
    """Return the name of the check that declares a result."""
    check = check_of(result)
    return result.partition(":")[0] if check is None else check.name


def variant_of(result: str) -> str:
    """Return what follows the name of the check in that of a result, without the colon."""
    return result.removeprefix(declared_name(result)).removeprefix(":")


@cache
def interpretation_of(result: str) -> Interpretation:
    """Return what is declared of a result by its name."""
    check = check_of(result)
    for key in () if check is None else (variant_of(result), ANY):
        if check is not None and key in check.sentences:
            return check.sentences[key]
    raise InputError(
        f"check must be declared in coherence.checks; received a result of {result!r}. "
        f"{closest(result, [check.name for check in declarations()])}"
    )


def unmet_needs(runs: Runs) -> dict[str, tuple[str, ...]]:
    """Say what each check lacks in a table; of questions that are asked on purpose, none does."""
    unmet = runs.unmet()
    on_purpose = unmet & {MATCHING_QUESTIONS, STAKES_QUESTIONS}
    needs = {name: declaration(name).needs for name in CHECKS}
    return {
        name: tuple(need for need in needed if need in unmet)
        for name, needed in needs.items()
        if not on_purpose.intersection(needed)
    }
