"""The verdict of an evaluation: a table of conditions, the first of which that holds decides.

It rests on the primary test at .05, on nothing that other models or tasks answered, and on no
further test but that of leaked answers. Its sentence says no more than the primary test, its effect
and interval show.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from coherence.analysis.margins import bounds_margins, held_against, smallest_margin
from coherence.checks.covariance import OF_DIRECTION
from coherence.checks.sufficiency import MOST_UNTOLD, SEQUENCES, SHARE, SLOPE
from coherence.printable import capitalised
from coherence.report.variation import Variation, stillness
from coherence.report.verdicts import Verdict
from coherence.report.wording import clean, format_pvalue, points, with_interval
from coherence.result import LEVEL, CheckResult, Estimate, Interval, Lack, rejects
from coherence.statistics.report_noise import Reports

PRIMARY, LEAK, SCORES = "sufficiency", "evidence_leak", "scores"
LEAKED = 0.001  # p-value of `evidence_leak` from which answers are said to know the truth


@dataclass(frozen=True)
class VerdictInput:
    """What a verdict is decided by."""

    primary: CheckResult | None
    leak: CheckResult | None
    scored: bool  # whether beliefs stand alone and were scored
    moves: Variation | None
    margin: float | None
    state_name: str = ""  # what it is that the belief is in, where the table says so
    askable: bool = True  # whether this toolkit asked, so that it can ask again

    @property
    def action(self) -> str | None:
        """Name the action whose difference is shown; None with several states."""
        name = self.says("action")
        return None if name is None else f'"{clean(name)}"'

    @property
    def when(self) -> str:
        """Name the state in which it is chosen more often, or less."""
        if self.state_name:
            return clean(self.state_name)
        states = self.says("states")
        happened, other = states if isinstance(states, list) else ("1", "0")
        return f"the truth is {_quoted(happened)} than when it is {_quoted(other)}"

    @property
    def lack(self) -> Lack | None:
        """What the primary test lacks; None where it has a p-value, or was not run."""
        if self.primary is None or self.tested:
            return None
        return self.primary.lack or Lack.OPEN

    @property
    def tested(self) -> bool:
        """Whether the primary test has a p-value."""
        return self.primary is not None and not math.isnan(self.primary.pvalue or 0.0)

    @property
    def rejected(self) -> bool:
        """Whether the primary test rejects."""
        return self.primary is not None and rejects(self.primary.pvalue)

    @property
    def still(self) -> bool:
        """Whether choices or beliefs hardly vary, and nothing is seen in spite of it."""
        if self.moves is None:
            return False
        return (self.moves.one_sided or self.moves.narrow) and not self.rejected

    def says(self, name: str) -> object:
        """Return a setting of the primary test."""
        return None if self.primary is None else self.primary.settings.get(name)

    def rejects_as_exact(self) -> bool:
        """Whether the direction alone rejects, reports taken as exact."""
        pvalue = self.says("p_direction")
        return isinstance(pvalue, float) and rejects(pvalue, alpha=OF_DIRECTION * LEVEL)

    @property
    def untold(self) -> int:
        """Number of cases whose reports do not tell beliefs apart, where these are too many."""
        n = self.says("n_untold")
        assert self.primary is not None
        known = n if isinstance(n, int) else 0
        return known if known > MOST_UNTOLD * self.primary.n_contexts else 0

    @property
    def noise_unknown(self) -> bool:
        """Whether nothing allows for the noise that reports may have."""
        if self.says("reports") == Reports.DIFFER:
            return bool(self.untold or self.says("in_heaps")) or self.says("test") != SEQUENCES
        return self.says("reports") != Reports.EXACT or bool(self.says("in_heaps"))

    @property
    def turns(self) -> bool:
        """Whether only the turn of the primary test rejects."""
        return bool(self.says("turns"))

    def within_margin(self) -> bool:
        """Whether all plain averages are shown to lie within the margin."""
        if self.margin is None or self.primary is None:
            return False
        return smallest_margin(self.primary) < self.margin

    def follows(self) -> bool:
        """Whether choices are seen to rise with beliefs; also where that is not asked."""
        slope = None if self.primary is None else self.primary.also.get(SLOPE)
        # Where there are too few clusters for an interval, it is not known.
        return slope is None or slope.low > 0 or (slope.value > 0 and math.isnan(slope.low))


TABLE: tuple[tuple[Verdict, Callable[[VerdictInput], bool]], ...] = (
    (Verdict.KNOWS_TRUTH, lambda f: f.leak is not None and rejects(f.leak.pvalue, alpha=LEAKED)),
    (Verdict.OTHER_BELIEF, lambda f: f.lack is Lack.BELIEF),
    (Verdict.FORECASTS, lambda f: f.primary is None and f.scored),
    (Verdict.NOT_TESTED, lambda f: f.primary is None),
    (Verdict.TOO_FEW_CASES, lambda f: f.lack is Lack.CASES),
    (Verdict.HARDLY_MOVES, lambda f: f.lack is Lack.ACTIONS or f.still),
    (Verdict.NOTHING_OPEN, lambda f: f.lack is Lack.OPEN),
    (Verdict.ACTS_OR_NOISY, lambda f: f.rejected and f.noise_unknown),
    (
        Verdict.ACTS_ON_MORE_TURNING,
        lambda f: f.rejected and f.turns,
    ),
    (Verdict.ACTS_ON_MORE, lambda f: f.rejected),
    (Verdict.NOISE_EXPLAINS, VerdictInput.rejects_as_exact),
    (Verdict.WITHIN_MARGIN, VerdictInput.within_margin),
    (Verdict.DOES_NOT_FOLLOW, lambda f: not f.follows()),
    (Verdict.NO_EVIDENCE, lambda f: True),
)
"""Verdicts in the order in which they are asked for, and when they hold."""


def verdict_input(
    results: Sequence[CheckResult],
    moves: Variation | None,
    margin: float | None,
    state_name: str = "",
    *,
    askable: bool = True,
) -> VerdictInput:
    """Gather what a verdict is decided by."""
    by_name = {result.check: result for result in results}
    primary = by_name.get(PRIMARY)
    leak, scored = by_name.get(LEAK), SCORES in by_name
    return VerdictInput(primary, leak, scored, moves, margin, state_name, askable)


def decide(facts: VerdictInput) -> Verdict:
    """Return the first verdict whose condition holds."""
    return next(verdict for verdict, holds in TABLE if holds(facts))


# What it says


def sentence(verdict: Verdict, facts: VerdictInput) -> str:
    """Say a verdict, with the effect and interval that it rests on."""
    if facts.primary is None and verdict is not Verdict.KNOWS_TRUTH:
        return ""  # without the primary test nothing is concluded
    left_out = facts.says("left_out")
    parts = [_SENTENCES[verdict](facts), _beside(verdict, facts)]
    if left_out and facts.tested:
        parts.append(f"{left_out}: left out.")
    # What knows the realised state beyond the evidence is outside of what a margin bounds.
    said = verdict in (Verdict.WITHIN_MARGIN, Verdict.KNOWS_TRUTH)
    if facts.primary and verdict.open and not bounds_margins(facts.primary):
        said = True  # the reason
    if facts.margin is not None and facts.primary and not said:
        parts.append(held_against(facts.primary, facts.margin))
    return " ".join(filter(None, parts))


def _leaked(facts: VerdictInput) -> str:
    assert facts.leak is not None
    return (
        "Its answers know the truth itself: at the same exact posterior they go with the realised "
        f"state, of which the evidence says no more ({_p(facts.leak.pvalue)}).{_one_case(facts)} "
        "Look for answers in the prompt, contamination, or rows that were joined wrongly."
    )


def _one_case(facts: VerdictInput) -> str:
    """Say that a leak is seen in one case alone."""
    assert facts.leak is not None
    without = facts.leak.settings.get("p_without_case")
    if not isinstance(without, float):
        return ""
    left = "nothing is left to test" if math.isnan(without) else _p(without)
    return f" It hangs on one case: without {str(facts.leak.settings['case'])!r} {left}."


def _reason(facts: VerdictInput) -> str:
    assert facts.primary is not None
    return clean(facts.primary.reason)


def _still(facts: VerdictInput) -> str:
    if not facts.still:
        return f"Cannot tell: it hardly moves ({_reason(facts)})."
    assert facts.moves is not None
    return f"Cannot tell: it hardly moves. {stillness(facts.moves)}"


def _acts(facts: VerdictInput) -> str:
    return f"Acts on more than it says: {_points(facts)}{_unsaid(facts)}."


def _or_noisy(facts: VerdictInput) -> str:
    assert facts.primary is not None
    if facts.says("n_persons"):
        return (
            "They act on more than they say, or their single reports are noisy: "
            f"{_points(facts)}. One report of a person on a case cannot tell the two apart. The "
            f"{facts.primary.n_contexts} cases count as {facts.says('n_counting'):g} equal ones."
        )
    if facts.untold:
        return (
            f"Acts on more than it says, or its reports are too noisy: {_points(facts)}. At "
            f"{facts.untold} of {facts.primary.n_contexts} cases reports do not tell beliefs apart."
        )
    if facts.says("reports") == Reports.DIFFER:  # of several states
        return (
            "Acts on more than it says, or its reports are noisy: no test of beliefs over several "
            f"states allows for that ({_p(facts.primary.pvalue)})."
        )
    if heaps := facts.says("in_heaps"):
        return (
            f"Acts on more than it says, or its reports are too coarse: {_points(facts)}. {heaps}."
        )
    tell = "One report a case cannot tell the two apart."
    if facts.says("reports") == Reports.ALIKE:
        tell = (
            "Reports of a case are equal, as copies of one are: if asking again gives them again, "
            "write stated:fixed in a column belief_kind."
        )
    elif facts.askable:
        tell = "Ask each case 3 times to tell, or let answers be computed."
    return f"Acts on more than it says, or its single reports are noisy: {_points(facts)}. {tell}"


def _turning(facts: VerdictInput) -> str:
    points = _points(facts)
    return f"Acts on more than it says: {points}, so that no one number of points sums it up."


def _explained(facts: VerdictInput) -> str:
    assert facts.primary is not None
    differ = facts.says("reports") == Reports.DIFFER
    what = "the spread of its reports" if differ else "the rounding of its reports"
    return (
        f"It looks as if it acted on more than it says, but {what} can explain it: the test that "
        f"allows for it does not reject ({_p(facts.primary.pvalue)}).{_compatible(facts)}"
    )


def _within(facts: VerdictInput) -> str:
    assert facts.primary is not None
    assert facts.margin is not None
    return held_against(facts.primary, facts.margin)


def _not_following(facts: VerdictInput) -> str:
    assert facts.primary is not None
    slope = facts.primary.also[SLOPE]
    between = Interval(slope.low, slope.high)
    if math.isnan(slope.value):
        return f"Its choices are not seen to follow its beliefs: {slope.reason}."
    return (
        "Its choices are not seen to rise with its beliefs: from a belief of 0 to one of 1 the "
        f"action that rises most changes by {with_interval(slope.value, between, ' points')}."
    )


def _no_evidence(facts: VerdictInput) -> str:
    persons = facts.says("n_persons")
    what = "they act on more than they say" if persons else "it acts on more than it says"
    return f"No evidence that {what}.{_compatible(facts)}"


_SENTENCES: dict[Verdict, Callable[[VerdictInput], str]] = {
    Verdict.KNOWS_TRUTH: _leaked,
    Verdict.OTHER_BELIEF: lambda f: (
        "Cannot tell: its beliefs look like confidences in its own answers, not like beliefs in "
        "one state."
    ),
    Verdict.TOO_FEW_CASES: lambda f: f"Cannot tell: too few cases ({_reason(f)}).",
    Verdict.HARDLY_MOVES: _still,
    Verdict.NOTHING_OPEN: lambda f: f"Cannot tell: nothing is left open ({_reason(f)}).",
    Verdict.ACTS_ON_MORE: _acts,
    Verdict.ACTS_ON_MORE_TURNING: _turning,
    Verdict.ACTS_OR_NOISY: _or_noisy,
    Verdict.NOISE_EXPLAINS: _explained,
    Verdict.WITHIN_MARGIN: _within,
    Verdict.DOES_NOT_FOLLOW: _not_following,
    Verdict.NO_EVIDENCE: _no_evidence,
}


def _points(facts: VerdictInput) -> str:
    """Name the difference in points, with its interval."""
    result = facts.primary
    assert result is not None
    pvalue = _p(result.pvalue)
    if facts.turns:
        return (
            f"choices move with the truth in different directions at different beliefs ({pvalue})"
        )
    if math.isnan(result.statistic):
        return f"choices go with the truth at equal stated belief ({pvalue})"
    if facts.action is None:  # one of several differences between several states
        component = clean(result.settings.get("component", "choice"))
        effect = with_interval(result.statistic, result.interval, " points")
        return f"at equal stated belief {component} is {effect} ({pvalue})"
    value, interval = result.statistic, result.interval
    if value < 0:
        value, interval = -value, interval and Interval(-interval.high, -interval.low)
    how = "more" if result.statistic >= 0 else "less"
    chooses = "at equal stated belief it chooses"
    if facts.says("n_persons"):
        chooses = "at the same stated belief of their own they choose"
    return (
        f"{chooses} {facts.action} "
        f"{with_interval(value, interval, ' points')} {how} often when {facts.when} ({pvalue})"
    )


def _unsaid(facts: VerdictInput) -> str:
    share: Estimate | None = facts.primary.also.get(SHARE) if facts.primary else None
    if share is None or math.isnan(share.value):
        return ""
    low, high = max(share.low, 0.0), min(share.high, 1.0)
    return (
        f"; {min(max(share.value, 0.0), 1.0):.0%} [{100 * low:.0f}, {100 * high:.0f}] of what its "
        "choices know of the truth is missing from its stated beliefs (given only where the test "
        "rejects, so on average too large)"
    )


def _compatible(facts: VerdictInput) -> str:
    """Say which effects are compatible with the data."""
    result = facts.primary
    assert result is not None
    if result.interval is None or math.isnan(result.interval.high):
        if reason := clean(result.reason):
            return f" {capitalised(reason)}."
        return " There is no interval: what effect was missed is not known."
    low, high = points([result.interval.low, result.interval.high])
    component = clean(result.settings.get("component", ""))
    of = f" for {component}" if component else ""
    if facts.action is not None:
        chooses = "they choose" if facts.says("n_persons") else "it chooses"
        of = f" in how often {chooses} {facts.action}"
    unknown = facts.says("reports") in (Reports.SINGLE, Reports.ALIKE)
    taken = ", single reports taken as exact" if unknown else ""
    return (
        f" Effects from {low} to {high} points{of} are compatible with the data{taken}; not "
        "rejecting is no evidence of coherence."
    )


def _beside(verdict: Verdict, facts: VerdictInput) -> str:
    """Note where the interval of one of several actions and the test of all differ."""
    result = facts.primary
    if result is None or result.interval is None or not facts.tested or verdict.open:
        return ""
    excludes = result.interval.low > 0 or result.interval.high < 0
    if verdict is Verdict.KNOWS_TRUTH or facts.turns or excludes == facts.rejected:
        return ""
    return (
        f"(The interval {'excludes' if excludes else 'holds'} 0: the test weighs all actions "
        "together, the interval is that of one.)"
    )


def _quoted(label: str) -> str:
    """Set a label apart from the sentence, but for numbers."""
    return clean(label) if label.replace(".", "", 1).isdigit() else f'"{clean(label)}"'


def _p(pvalue: float | None) -> str:
    text = format_pvalue(pvalue)
    return f"p < {text[1:]}" if text.startswith("<") else f"p = {text}"
