"""What a check returns: one frozen, unrounded record per test or estimate.

Formatting lives in ``__str__`` and in ``coherence.report``; everything else keeps full precision.
"""

import math
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from enum import StrEnum
from html import escape
from importlib import import_module
from typing import Any, TypeAlias, TypeVar

import pandas as pd

from coherence.errors import InputError
from coherence.printable import significant

WIDTH = 80
"""Columns that printed results take at most."""


def wrapped(opening: str, lines: Sequence[str]) -> str:
    """Return an opening line and further ones below it, none of them wider than 80 columns."""
    indent = [("", "    "), *[("  ", "    ")] * len(lines)]
    # No line ends in "p =": lines are broken at blanks, and not at these.
    whole = [line.replace(" = ", "\0=\0") for line in (opening, *lines)]
    text = "\n".join(
        textwrap.fill(
            line, WIDTH, initial_indent=first, subsequent_indent=later, break_on_hyphens=False
        )
        for (first, later), line in zip(indent, whole, strict=True)
    )
    return text.replace("\0=\0", " = ")


@dataclass(frozen=True)
class Interval:
    """An interval estimate.

    Parameters
    ----------
    low, high : float
        Ends, in the unit of the statistic.
    level : float
        Nominal coverage.
    method : str
        How it was computed, in a few words.
    """

    low: float
    high: float
    level: float = 0.95
    method: str = ""

    def within(self, least: float, most: float) -> "Interval":
        """Return the interval without what lies beyond the range of its quantity.

        Parameters
        ----------
        least, most : float
            Ends of the range; an end of the interval beyond them moves there.

        Returns
        -------
        Interval
            With the coverage that it had: nothing true is left out.
        """
        low, high = (min(max(end, least), most) for end in (self.low, self.high))
        return replace(self, low=low, high=high)


@dataclass(frozen=True)
class Estimate:
    """A further estimate from the data of a test, without a p-value of its own."""

    value: float  # NaN where there is none, and then `reason` says why
    low: float
    high: float
    unit: str
    meaning: str  # what is estimated, and with which weights
    reason: str = ""

    def withheld(self, reason: str) -> "Estimate":
        """Return it without its numbers, where there is a reason not to give them."""
        return replace(self, value=math.nan, low=math.nan, high=math.nan, reason=reason)


LEVEL = 0.05
"""Level of a single test, and of the correction over all tests of a report."""


def rejects(pvalue: float | None, *, alpha: float = LEVEL) -> bool:
    """Tell whether a p-value rejects; what has none, or an undefined one, does not."""
    return pvalue is not None and pvalue <= alpha


class Family(StrEnum):
    """What a result of a report is, and what its p-value is corrected for."""

    PRIMARY = "primary"
    """The one test that the verdict rests on, at .05."""
    SECOND = "second"
    """One of the further tests of a model on a task, corrected among themselves."""
    SCORES = "scores"
    """A test of calibration of forecasts, corrected over all forecasters of the report."""
    ESTIMATE = "estimate"
    """No test in a report, whatever its public function gives."""


class Outcome(StrEnum):
    """How a result ended; reports read it and compare no p-value themselves."""

    REJECTED = "rejected"
    """The p-value rejects, in a report after the correction over the family of the test."""
    UNCORRECTED = "nominal"
    """The p-value rejects alone, but not after the correction."""
    KEPT = "not rejected"
    UNTESTED = "not tested"
    """There is a test, and it has no p-value here."""
    ESTIMATE = "estimate"
    """There is no test."""


class Lack(StrEnum):
    """What a test lacks that has no p-value: what to ask for, or why asking would not help."""

    CASES = "cases"
    ACTIONS = "actions"  # choices or beliefs hardly move
    BELIEF = "belief"  # it is not about the state
    OPEN = "open"  # beliefs leave nothing of the state open, or it never differs at equal belief


# Short names where a signature is shown.
Settings: TypeAlias = Mapping[str, Any]
Estimates: TypeAlias = Mapping[str, Estimate]
Series: TypeAlias = "pd.Series[float]"

EXACT_REPORT = "the belief of a row is the belief itself, not a noisy report of it"


@dataclass(frozen=True, repr=False)
class CheckResult:
    """Outcome of one check.

    Parameters
    ----------
    check : str
        Name of the check, with its variant after a colon ("monotone_choice:yes/no").
    null : str
        The hypothesis that the p-value refers to, or what is estimated where there is no test.
    statistic : float
        The effect in `unit`; NaN when undefined, and then `reason` says why.
    unit : str
        Unit of statistic and interval.
    interval : Interval or None
        Interval for the statistic.
    pvalue : float or None
        None where the check is an estimate and no test.
    n_rows, n_contexts : int
        Rows and contexts that entered.
    n_dropped : int
        Rows left out because a value was missing.
    settings : mapping
        Every option that shaped the number, and beside it what was found, by the names of fields.
    details : DataFrame
        The table behind the statistic.
    assumptions : tuple of str
        What must hold for the p-value and the interval.
    reason : str
        Why a number is NaN or has no interval; empty otherwise.
    lack : Lack or None
        What a test without a p-value lacks, for programs; None where it has one or says no more.
    pvalue_holm, pvalue_bh : float or None
        The p-value adjusted over its family in a report, by Holm and by Benjamini and Hochberg;
        None outside a report. Of the primary test there is no first, and the second is over all
        models and tasks of the report.
    n_tests : int or None
        Tests of the family that have a p-value, over which it is adjusted; None outside a report.
    family : Family or None
        What the result is in a report; None outside one.
    fitted : object
        What was fitted on the way, for figures that draw it; None where there is nothing.
    contributions : Series or None
        What each context adds to the estimate, indexed by context: to first order, the estimate
        less the one without the context. They sum to zero. Where the statistic is a root they are
        those of `mean_square`. None where the estimate does not change smoothly with a context.
    also : mapping
        Further estimates from the same data, by name.
    component, tested : str or None
        Which difference the statistic is, of several, and what the p-value concerns besides.
    mean_square : float or None
        The mean square of which the statistic is the root; chance may push it below 0, where the
        statistic is 0. None where it is no root.
    """

    check: str
    null: str
    statistic: float = math.nan
    unit: str = ""
    # Names in quotes are short where the signature is shown.
    interval: "Interval | None" = None
    pvalue: float | None = None
    n_rows: int = 0
    n_contexts: int = 0
    n_dropped: int = 0
    settings: "Settings" = field(default_factory=dict)
    details: "pd.DataFrame" = field(default_factory=pd.DataFrame, repr=False, compare=False)
    assumptions: tuple[str, ...] = ()
    reason: str = ""
    lack: "Lack | None" = None
    pvalue_holm: float | None = None
    pvalue_bh: float | None = None
    n_tests: int | None = None
    fitted: object = field(default=None, repr=False, compare=False)
    contributions: "Series | None" = field(default=None, repr=False, compare=False)
    mean_square: float | None = field(default=None, repr=False, compare=False)
    also: "Estimates" = field(default_factory=dict, repr=False, compare=False)
    family: "Family | None" = None
    # What was found: these fields, and those that a check's own class of results adds.
    component: str | None = None
    tested: str | None = None

    def __post_init__(self) -> None:
        """Put what was found among the settings, as tables, pages and JSON list it."""
        names = [each.name for each in fields(self)]
        for name in ("component", "tested"):  # of a check of one's own, which names them there
            if getattr(self, name) is None and name in self.settings:
                object.__setattr__(self, name, str(self.settings[name]))
        found = {name: getattr(self, name) for name in names[names.index("component") :]}
        options = {name: value for name, value in self.settings.items() if name not in found}
        known = {name: value for name, value in found.items() if value is not None}
        object.__setattr__(self, "settings", options | known)

    @property
    def variant(self) -> str:
        """What stands behind the colon of its name; empty of a check without variants."""
        return self.check.partition(":")[2]

    @property
    def published(self) -> bool:
        """Whether the papers' own procedure was run."""
        return bool(self.settings.get("published"))

    @property
    def estimate(self) -> float:
        """The effect, in `unit`: another name of `statistic`."""
        return self.statistic

    @property
    def low(self) -> float:
        """Low end of the interval; NaN where there is none."""
        return math.nan if self.interval is None else self.interval.low

    @property
    def high(self) -> float:
        """High end of the interval; NaN where there is none."""
        return math.nan if self.interval is None else self.interval.high

    def outcome(self, *, alpha: float = LEVEL) -> Outcome:
        """Say how the result ended.

        Parameters
        ----------
        alpha : float
            Level of the correction over the family; of the single test where there is no adjusted
            p-value, as outside a report and of the primary test.

        Returns
        -------
        Outcome
            What a sentence about the result may claim at most.

        Examples
        --------
        >>> fields = ("cmi", "", 0.1, "nats", None, 0.03, 50, 50)
        >>> alone, in_report = CheckResult(*fields), CheckResult(*fields, pvalue_holm=0.12)
        >>> str(alone.outcome()), str(in_report.outcome())
        ('rejected', 'nominal')
        """
        if self.pvalue is None:
            return Outcome.ESTIMATE
        if math.isnan(self.pvalue):
            return Outcome.UNTESTED
        if rejects(self.pvalue if self.pvalue_holm is None else self.pvalue_holm, alpha=alpha):
            return Outcome.REJECTED
        return Outcome.UNCORRECTED if rejects(self.pvalue, alpha=alpha) else Outcome.KEPT

    @property
    def unanswered(self) -> bool:
        """Whether `reason` is all there is to say: no effect and no p-value, or an undefined test.

        What papers published is an estimate, whose p-value does not count.
        """
        if self.pvalue is not None and not math.isnan(self.pvalue):
            return False
        untested = self.pvalue is not None and not self.published
        return untested or (bool(self.reason) and math.isnan(self.statistic))

    def to_row(self) -> dict[str, Any]:
        """Return the result as one flat record, unrounded.

        Returns
        -------
        dict
            Scalar fields, with the interval spread over ``low``, ``high`` and ``level``.
        """
        # Columns are the same for every check; what a result lacks is NaN.
        interval = self.interval or Interval(math.nan, math.nan, math.nan, "")
        return {
            "check": self.check,
            "estimate": self.statistic,
            "unit": self.unit,
            "low": interval.low,
            "high": interval.high,
            "level": interval.level,
            "interval_method": interval.method,
            "pvalue": math.nan if self.pvalue is None else self.pvalue,
            "pvalue_holm": math.nan if self.pvalue_holm is None else self.pvalue_holm,
            "pvalue_bh": math.nan if self.pvalue_bh is None else self.pvalue_bh,
            "n_tests": math.nan if self.n_tests is None else float(self.n_tests),
            "outcome": str(self.outcome()),
            "family": "" if self.family is None else str(self.family),
            "n_rows": self.n_rows,
            "n_contexts": self.n_contexts,
            "n_dropped": self.n_dropped,
            "null": self.null,
            "reason": self.reason,
            "lack": "" if self.lack is None else str(self.lack),
        }

    def _lack(self) -> str:
        """Say what the reason is about: a number that is missing, or one that needs a remark."""
        # A test may have a p-value where the size of its effect is undefined, and the reverse.
        tested = self.pvalue is not None and not math.isnan(self.pvalue)
        if math.isnan(self.statistic):
            return "effect undefined" if tested else "undefined"
        return "note" if tested or self.pvalue is None else "p-value undefined"

    def _effect(self) -> str:
        """Effect, interval and p-value on one line."""
        line = f"{significant(self.statistic, 4)} {self.unit}"
        if self.interval is not None:
            low, high = (significant(end, 4) for end in (self.interval.low, self.interval.high))
            line += f", {self.interval.level:.0%} interval [{low}, {high}]"
        known = self.pvalue is not None and not math.isnan(self.pvalue)
        untested = self.pvalue is not None and math.isnan(self.statistic)
        return f"{line}, p = {self.pvalue:.4g}" if known or untested else line

    def estimate_note(self) -> str:
        """Say which effect is shown of several, what p concerns, and why it may lie below 0.

        Returns
        -------
        str
            Sentences; empty where there is one effect and it does not lie below its interval.
        """
        notes = []
        if self.component:
            of = f"; p is that of {self.tested}" if self.tested and self.pvalue is not None else ""
            notes.append(f"The effect shown is {self.component}, adjusted{of}.")
        interval = self.interval
        if interval is not None and interval.low == 0 and self.statistic < 0:
            notes.append(
                "The quantity cannot be negative; its estimate can, by chance, and the interval "
                "starts at 0."
            )
        return " ".join(notes)

    def summary(self) -> str:
        """Return what `print` shows."""
        return str(self)

    def plot(self, **options: Any) -> Any:
        """Draw it by the function of `coherence.plots` for its check; return the axes.

        `options` are those of that function. Raises `InputError` where there is none.
        """
        # By name: checks and figures stand above results.
        check = import_module("coherence.checks.check").check_of(self.check)
        if check is None or not check.figure:
            raise InputError(
                f"plot draws results of checks with a figure of their own; {self.check} has none. "
                "report.plot() draws a report."
            )
        return getattr(import_module("coherence.plots"), check.figure)(self, **options)

    def _lines(self) -> list[tuple[str, str]]:
        """What stands below the effect, by name."""
        about = "what the published number speaks of" if self.published else "estimates"
        lines = [(about if self.pvalue is None else "null", self.null)]
        rows = "1 row" if self.n_rows == 1 else f"{self.n_rows} rows"
        contexts = "1 context" if self.n_contexts == 1 else f"{self.n_contexts} contexts"
        sample = f"{rows} in {contexts}, {self.n_dropped} dropped"
        lines.append(("sample", sample))
        lines += [("note", note)] if (note := self.estimate_note()) else []
        return [*lines, (self._lack(), self.reason)] if self.reason else lines

    def __repr__(self) -> str:
        """Return one line; every field is an attribute."""
        return f"<CheckResult {self.check}: {self._effect()}>"

    def __str__(self) -> str:
        """Return a few lines."""
        shown = [text if name == "sample" else f"{name}: {text}" for name, text in self._lines()]
        return wrapped(f"{self.check}: {self._effect()}", shown)

    def _repr_html_(self) -> str:
        """Return what a notebook shows: the same lines, and the table behind the statistic."""
        rows = "".join(
            f'<tr><th style="text-align:left">{escape(name)}</th>'
            f'<td style="text-align:left">{escape(text)}</td></tr>'
            for name, text in self._lines()
        )
        heading = escape(f"{self.check}: {self._effect()}")
        card = f"<strong>{heading}</strong><table><tbody>{rows}</tbody></table>"
        if self.details.empty:
            return card
        table = self.details.to_html(max_rows=20, border=0, index=False, escape=True)
        return f"{card}<details><summary>details</summary>{table}</details>"


@dataclass(frozen=True)
class ForecastScores:
    """The Brier score of the forecasts of one model, each case counted once; lower is better.

    Of several forecasts of a case the score is the mean over them, and the parts are those of the
    mean forecast.

    Parameters
    ----------
    brier : float
        Mean squared error, from 0 to 1; of beliefs over three states and more the sum over the
        states, from 0 to 2.
    brier_interval : Interval or None
        95% interval over cases, or over their groups.
    miscalibration, discrimination, uncertainty : float
        The parts of the Brier score of the mean forecasts of cases: miscalibration - discrimination
        + uncertainty. With one forecast a case that is `brier`. NaN of three states and more.
    losses : Series
        The squared error of each case.
    n_states : int
        States that the beliefs are over.
    """

    brier: float
    brier_interval: Interval | None
    miscalibration: float = math.nan
    discrimination: float = math.nan
    uncertainty: float = math.nan
    losses: "pd.Series[float]" = field(
        default_factory=lambda: pd.Series(dtype=float), repr=False, compare=False
    )
    n_states: int = 2


Found = TypeVar("Found", bound=CheckResult)


def by_variant(results: Iterable[CheckResult], kind: type[Found]) -> dict[str, Found]:
    """Return the results of one check, which are of a kind of their own, by variant."""
    of_kind = (result for result in results if isinstance(result, kind))
    return {result.variant: result for result in of_kind}


def joined_reasons(*reasons: str) -> str:
    """Join reasons, those that are empty left out."""
    return "; ".join(filter(None, reasons))


def contributions_to_mean(values: "pd.Series[float]") -> "pd.Series[float]":
    """Return what each context adds to the mean of these values, one of each context."""
    return (values - values.mean()) / len(values)
