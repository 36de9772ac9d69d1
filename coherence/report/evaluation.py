"""What a report knows of one (task, model): plain data that every renderer reads.

`coherence.analyze` fills it. It stands below the renderers, `coherence.report.report` above them.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from typing import Any

import pandas as pd

from coherence.checks.check import interpretation_of
from coherence.checks.scores import ScoresResult
from coherence.checks.sufficiency_result import Sufficiency, primary_of
from coherence.decoding.decode import PARSED
from coherence.printable import capitalised, clean, counted, format_numbers
from coherence.result import CheckResult, Family, Outcome
from coherence.runs.notes import Level, Note, why_not_run
from coherence.runs.runs import MISSING, ElicitationSummary, Runs
from coherence.runs.states import STATE_NAMES
from coherence.statistics.figure_tables import over_contexts
from coherence.statistics.report_noise import ReportNoise

NARROW_SD = 0.05
"""Standard deviation of beliefs over contexts below which they hardly vary."""
ONE_SIDED_SHARE = 0.95
"""Share of the most frequent action from which choices hardly vary."""
MOST_ACTIONS = 5


@dataclass(frozen=True)
class Variation:
    """How far beliefs and choices vary between contexts, under the reference prompt."""

    # low, high, sd: range and standard deviation of the contexts' mean beliefs; NaN where belief is
    # not one number or nothing is known
    low: float = math.nan
    high: float = math.nan
    sd: float = math.nan
    truth: str = ""  # what belief is held against: "exact posterior", "state" or ""
    # truth_low, truth_high: its range
    truth_low: float = math.nan
    truth_high: float = math.nan
    # spearman's, of mean belief with it over contexts; NaN where one of them is constant
    rank_correlation: float = math.nan
    # action -> its share, the most frequent first
    actions: Mapping[str, float] = field(default_factory=dict)
    # standard deviation over contexts of the share of the action that varies most
    action_sd: float = math.nan
    n_contexts: int = 0  # with a parsed belief
    of: str = "case"  # what means are of: where persons judge, each judgement

    @property
    def narrow(self) -> bool:
        """Whether beliefs hardly vary between contexts."""
        return self.sd < NARROW_SD

    @property
    def one_sided(self) -> bool:
        """Whether nearly all choices are one action."""
        return max(self.actions.values(), default=0.0) >= ONE_SIDED_SHARE

    @property
    def little(self) -> bool:
        """Whether one of them hardly varies."""
        return self.narrow or self.one_sided


FEW = 3
"""Evaluations up to which a report shows everything at once."""


def evaluation_key(number: int) -> str:
    """Return the name of an evaluation in ids and files: its number, which no model can choose."""
    return f"evaluation-{number}"


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
    # name in `coherence.statistics.figure_tables.TABLES` -> what a figure of beliefs draws
    figures: Mapping[str, pd.DataFrame] = field(default_factory=dict, repr=False, compare=False)
    # name -> why there is none
    no_figures: Mapping[str, str] = field(default_factory=dict, repr=False, compare=False)
    # mean belief of each context, by its name, for the pages of answers
    mean_beliefs: "pd.Series[float]" = field(
        default_factory=lambda: pd.Series(dtype=float), repr=False, compare=False
    )
    # how the answers were elicited; None where that was not asked
    answering: ElicitationSummary | None = None
    stakes: Verdict | None = None  # what is said first of a table with stakes
    margin: float | None = None  # the largest difference that counts as none; None if not named
    # the verdict in a sentence, and what the further tests say
    conclusion: tuple[str, ...] = ()
    # how far reports of equal evidence lie apart; None where that was not asked
    scatter: ReportNoise | None = None
    # all rows of the runs table that belong to it, for the pages of answers; untrusted text
    rows: Runs = field(default_factory=lambda: Runs(pd.DataFrame()), repr=False, compare=False)
    # ``question`` and ``status`` of each of them, from `coherence.runs.runs.label_rows`.
    labels: pd.DataFrame = field(default_factory=pd.DataFrame, repr=False, compare=False)
    # what figures call the state that the belief is not in, and the one that it is in; untrusted
    state_names: tuple[str, str] = STATE_NAMES
    state_name: str = ""  # what theta = 1 is, where the table says it; untrusted
    askable: bool = True  # whether this toolkit asked, so that it can ask again
    # how far beliefs and choices vary; None where that was not asked
    variation: Variation | None = None
    settled_by_choice: bool = False  # whether the truth seems to follow from the choice
    command: str = ""  # what gives the report again, as it was typed; empty in Python
    page: str = ""  # the page that was written; empty for none
    file: str = ""  # its name, where no task and model is named

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


def variation(beliefs: pd.DataFrame, runs: Runs, reference: pd.DataFrame) -> Variation:
    """Measure how far beliefs and choices vary, of parsed `beliefs` or all rows of `reference`."""
    drawn = any(name in beliefs for name in ("action", *runs.policies))
    table = beliefs if drawn else runs.table
    if "loss" in runs.names:  # choices at stakes may have no belief of their own
        table = reference
    policies = [name for name in runs.policies if name in table and table[name].notna().any()]
    if policies:
        chosen = table[policies].astype(float).rename(columns=runs.action_names)
        chosen = chosen[chosen.notna().all(axis=1)]
    elif "action" in table and table["action"].notna().any():
        chosen = pd.get_dummies(table["action"].dropna().astype(str), dtype=float)
    else:
        chosen = pd.DataFrame()
    shares = chosen.mean().sort_values(ascending=False, kind="stable")
    actions = {str(name): float(share) for name, share in shares.items()}
    action_sd = math.nan
    if len(chosen):
        by_action = chosen.groupby(table.loc[chosen.index, "context"]).mean().std()
        action_sd = float(by_action.max())
    judged = "person" in runs.names  # at the belief of each: those of a case may average out
    if judged:
        whose = runs.table["person"].reindex(beliefs.index)
        each = pd.Series([*zip(beliefs["context"], whose, strict=True)], beliefs.index)
        beliefs = beliefs.assign(context=each)
    means, of_truth = over_contexts(beliefs)
    if means.empty:
        return Variation(actions=actions, action_sd=action_sd)
    belief, truth = means["belief"], means["truth"]
    ranks = means.dropna().rank()
    constant = len(ranks) < 3 or (ranks.nunique() < 2).any()
    return Variation(
        float(belief.min()),
        float(belief.max()),
        float(belief.std()) if len(belief) > 1 else math.nan,
        of_truth,
        float(truth.min()),
        float(truth.max()),
        math.nan if constant else float(ranks["belief"].corr(ranks["truth"])),
        actions,
        action_sd,
        len(means),
        "judgement" if judged else "case",
    )


def moves_sentence(moves: Variation | None) -> str:
    """Say what moves: range of beliefs and of the truth, their rank correlation, action shares."""
    if moves is None:
        return ""
    parts = []
    if not math.isnan(moves.low):
        text = f"beliefs {_number(moves.low)} to {_number(moves.high)}"
        text += "" if math.isnan(moves.sd) else f" (SD {format_numbers([moves.sd])[0]})"
        if moves.truth == "exact posterior":
            text += (
                f" while the exact posterior runs from {_number(moves.truth_low)} to "
                f"{_number(moves.truth_high)}"
            )
        if not math.isnan(moves.rank_correlation):
            against = "" if moves.truth == "exact posterior" else f" with the {moves.truth}"
            text += f" (rank correlation{against} {moves.rank_correlation:z.2f})"
        of = counted(moves.n_contexts, moves.of) if moves.n_contexts else "cases"
        parts.append(f"{text}, means of {of}")
    if moves.actions:
        shares = list(moves.actions.items())
        named = [f"{clean(name, limit=30)} {share:.1%}" for name, share in shares[:MOST_ACTIONS]]
        if len(shares) > MOST_ACTIONS:
            named.append(f"{len(shares) - MOST_ACTIONS} more")
        parts.append(f"actions {', '.join(named)}")
    return f"{'; '.join(parts)}." if parts else ""


def stillness(moves: Variation) -> str:
    """Say how little beliefs or choices vary, which they do."""
    said = []
    if moves.narrow:
        low, high = (f"{100 * end:.0f}" for end in (moves.low, moves.high))
        said.append(f"it states {low}%" if low == high else f"it states {low} to {high}%")
        if moves.truth:
            ends = f"{100 * moves.truth_low:.0f} to {100 * moves.truth_high:.0f}%"
            said[-1] += f" where the {moves.truth} runs from {ends}"
    if moves.one_sided:
        action, share = next(iter(moves.actions.items()))
        said.append(f"{share:.1%} of its choices are {clean(action, limit=30)}")
    return f"{capitalised(', and '.join(said))}."


def _number(value: float) -> str:
    return f"{value:.2f}" if value >= 0.1 or value < 5e-4 else f"{value:.3f}"
