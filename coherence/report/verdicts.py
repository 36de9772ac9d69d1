"""The verdicts of an evaluation: one record each, the first of which that holds is its verdict.

A verdict rests on the primary test at .05, on nothing that other models or tasks answered, and on
no further test but that of leaked answers; of a table with stakes one that rests on these stands
first. Its sentence says no more than the test, its effect and interval show. Screen, page,
comparison, JSON and the tables of docs read the records.
"""

import math
from dataclasses import dataclass
from functools import cached_property, partial

from coherence.checks.check import check_of
from coherence.checks.leak import NAME as LEAK
from coherence.checks.leak import LeakResult
from coherence.checks.scores import NAME as SCORES
from coherence.checks.scores import ScoresResult
from coherence.checks.stakes import CLEAR, IGNORES, MOVES, StakesResult
from coherence.checks.stakes import NAME as STAKES
from coherence.checks.sufficiency import MOST_UNTOLD, OF_DIRECTION, PLAIN, SEQUENCES, SHARE, SLOPE
from coherence.checks.sufficiency_result import Sufficiency
from coherence.errors import InputError
from coherence.printable import capitalised
from coherence.report import next_steps
from coherence.report.evaluation import EvaluationReport, Verdict, stillness
from coherence.report.wording import (
    clean,
    format_pvalue,
    percent,
    points,
    share_with_interval,
    with_interval,
)
from coherence.result import (
    LEVEL,
    CheckResult,
    Estimate,
    Family,
    Interval,
    Lack,
    by_variant,
    rejects,
)
from coherence.statistics.report_noise import Reports

NOT_RUN = Sufficiency("", "", math.nan, "", None, None, 0, 0)
LEAKED = 0.001  # p-value of `evidence_leak` from which answers are said to know the truth
FEWEST_OF_MARGIN = 40  # cases from which a loss is compared with a margin
REJECTS, CANNOT_TELL, NOT_REJECTED, SHOWS, NO_MARK = "✗", "?", "·", "✓", ""
"""Marks: a test rejects, the data cannot tell, it does not reject, a margin is shown, no test."""


@dataclass(frozen=True)
class VerdictInput:
    """What a verdict is decided by: an evaluation none of whose numbers is withheld yet."""

    evaluation: EvaluationReport

    @cached_property
    def of_stakes(self) -> dict[str, StakesResult]:
        """What `coherence.stakes_estimates` found, by variant."""
        return by_variant(self.evaluation.results, StakesResult)

    @cached_property
    def leak(self) -> LeakResult | None:
        """Result of the test of leaked answers; None where it was not run."""
        return by_variant(self.evaluation.results, LeakResult).get("")

    @cached_property
    def primary(self) -> Sufficiency | None:
        """Result of the primary test; None where it was not run."""
        return self.evaluation.primary

    @property
    def found(self) -> Sufficiency:
        """What it found; nothing where it was not run."""
        return self.primary or NOT_RUN

    @property
    def action(self) -> str | None:
        """Name the action whose difference is shown; None with several states."""
        name = self.found.action
        return None if name is None else f'"{clean(name)}"'

    @property
    def when(self) -> str:
        """Name the state in which it is chosen more often, or less."""
        if self.evaluation.state_name:
            return clean(self.evaluation.state_name)
        happened, other = self.found.states or ("1", "0")
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
        moves = self.evaluation.variation
        return moves is not None and moves.little and not self.rejected

    def rejects_as_exact(self) -> bool:
        """Whether the direction alone rejects, reports taken as exact."""
        return rejects(self.found.p_direction, alpha=OF_DIRECTION * LEVEL)

    @property
    def untold(self) -> int:
        """Number of cases whose reports do not tell beliefs apart, where these are too many."""
        known = self.found.n_untold or 0
        return known if known > MOST_UNTOLD * self.found.n_contexts else 0

    @property
    def noise_unknown(self) -> bool:
        """Whether nothing allows for what reports, or groups, may leave unsaid."""
        if self.found.coarse or self.found.small_groups:
            return True
        if self.found.reports == Reports.DIFFER:
            unsure = bool(self.untold or self.found.in_heaps) or self.opposes
            return unsure or self.found.test != SEQUENCES
        return self.found.reports != Reports.EXACT or bool(self.found.in_heaps)

    @property
    def opposes(self) -> bool:
        """Whether choices go against the truth, as they do where answers differ in their belief."""
        return self.primary is not None and self.primary.statistic < 0 and not self.turns

    @property
    def turns(self) -> bool:
        """Whether only the turn of the primary test rejects."""
        return bool(self.found.turns)

    @property
    def leaked(self) -> bool:
        """Whether answers go with the truth beyond all evidence."""
        return self.leak is not None and rejects(self.leak.pvalue, alpha=LEAKED)

    def within_margin(self) -> bool:
        """Whether all plain averages are shown to lie within the margin."""
        if self.evaluation.margin is None or self.primary is None:
            return False
        return smallest_margin(self.primary) < self.evaluation.margin

    def follows(self) -> bool:
        """Whether choices are seen to rise with beliefs; also where that is not asked."""
        if self.primary is None or self.stakes is not None:  # these say whether they do
            return True
        slope = self.primary.also.get(SLOPE)
        # Where there are too few clusters for an interval, it is not known.
        return slope is None or slope.low > 0 or (slope.value > 0 and math.isnan(slope.low))

    @property
    def stakes(self) -> str | None:
        """What choices do as stakes change, as the check says; None where there are none."""
        return (self.movement.moves or "") if self.of_stakes else None

    @property
    def movement(self) -> StakesResult:
        """How choices move with stakes, of a table that has some."""
        return self.of_stakes["movement"]

    def loses_little(self) -> bool:
        """Whether the loss against acting on the belief is shown to be within the margin."""
        loss = self.of_stakes["loss"]
        below = self.evaluation.margin is not None and loss.high < self.evaluation.margin
        return below and loss.n_contexts >= FEWEST_OF_MARGIN


def family_of(verdict: Verdict) -> Family | None:
    """Return the family of the check that a verdict rests on; None of none."""
    check = check_of(verdict.rests_on)
    return None if check is None else check.family


def decide(facts: VerdictInput) -> Verdict:
    """Return the first verdict whose condition holds."""
    return next(verdict for verdict in OF_PRIMARY if verdict.holds(facts))


def decide_stakes(facts: VerdictInput) -> Verdict | None:
    """Return what is said first of a table with stakes; None where it has none."""
    if facts.stakes is None:
        return None
    return next(verdict for verdict in OF_STAKES if verdict.holds(facts))


# What it says


def sentence(verdict: Verdict, facts: VerdictInput) -> str:
    """Say a verdict, with the effect and interval that it rests on."""
    primary, left_out = facts.primary, facts.found.left_out
    parts = [verdict.sentence(facts)]
    if left_out and facts.tested:
        parts.append(f"{left_out}: left out.")
    if (taken_for := facts.found.taken_for) and facts.tested:
        parts.append(f"{capitalised(str(taken_for))}.")
    named = None if verdict.says_margin else facts.evaluation.margin
    # Where nothing bounds it, one that cannot tell has said the reason.
    if primary and named and not (verdict.open and math.isnan(smallest_margin(primary))):
        parts.append(held_against(primary, named))
    return " ".join(filter(None, parts))


def _leaked(facts: VerdictInput) -> str:
    pvalue = facts.leak.pvalue if facts.leak else None
    return (
        "Its answers know the truth itself: at the same exact posterior they go with the realised "
        f"state, of which the evidence says no more ({_p(pvalue)}). "
        "Look for answers in the prompt, contamination, or rows that were joined wrongly."
    )


def _reason(facts: VerdictInput) -> str:
    return clean(facts.found.reason)


def _still(facts: VerdictInput) -> str:
    moves = facts.evaluation.variation
    if not facts.still:
        others_left_out = moves is not None and len(moves.actions) > 1
        what = "what can be tested" if others_left_out else "it"
        return f"Cannot tell: {what} hardly moves ({_reason(facts)})."
    assert moves is not None
    return f"Cannot tell: it hardly moves. {stillness(moves)}"


def _acts(facts: VerdictInput) -> str:
    return f"Acts on more than it says: {_points(facts)}{_unsaid(facts)}."


def _or_noisy(facts: VerdictInput) -> str:
    found = facts.found
    who = "They act on more than they say" if found.n_persons else "Acts on more than it says"
    tested = "persons" if found.n_persons else "more than two states"
    counting = f"{found.n_counting:g}" if found.n_counting is not None else ""
    differ, alike = (found.reports == kind for kind in (Reports.DIFFER, Reports.ALIKE))
    ask = "Ask each case 3 times to tell, or let answers be computed."
    alone = ask if facts.evaluation.askable else "One report a case cannot tell the two apart."
    # What holds -> what else it may be, and why that is not known: the first that holds.
    causes = (
        (found.coarse, "reports are too coarse", f"The test of {tested} allows for no rounding."),
        (
            found.small_groups,
            "groups differ in how they report",
            "Groups of fewer than 8 cases do not show whether each has curves of its own.",
        ),
        (
            found.n_persons,
            "their single reports are noisy",
            "One report of a person on a case cannot tell the two apart. The "
            f"{found.n_contexts} cases count as {counting} equal ones.",
        ),
        (
            facts.untold,
            "its reports are too noisy",
            f"At {facts.untold} of {found.n_contexts} cases reports do not tell beliefs apart.",
        ),
        (
            differ and found.test != SEQUENCES,
            "its reports are noisy",
            "No test of beliefs over several states allows for that.",
        ),
        (found.in_heaps, "its reports are too coarse", f"{found.in_heaps}."),
        (
            differ,
            "on a belief of its own in each answer",
            "Reports of a case differ, and so may the beliefs acted on.",
        ),
        (
            alike,
            "its reports are noisy",
            "Reports of a case are equal, as copies of one are: if asking again gives them again, "
            "write stated:fixed in a column belief_kind.",
        ),
        (True, "its single reports are noisy", alone),
    )
    other, why = next((other, why) for holds, other, why in causes if holds)
    return f"{who}, or {other}: {_points(facts)}. {why}"


def _turning(facts: VerdictInput) -> str:
    points = _points(facts)
    return f"Acts on more than it says: {points}, so that no one number of points sums it up."


def _explained(facts: VerdictInput) -> str:
    differ = facts.found.reports == Reports.DIFFER
    what = "the spread of its reports" if differ else "the rounding of its reports"
    return (
        f"It looks as if it acted on more than it says, but {what} can explain it: the test that "
        f"allows for it does not reject ({_p(facts.found.pvalue)}).{_compatible(facts)}"
    )


def _within(facts: VerdictInput) -> str:
    assert facts.evaluation.margin is not None
    return held_against(facts.found, facts.evaluation.margin)


def _not_following(facts: VerdictInput) -> str:
    slope = facts.found.also[SLOPE]
    between = Interval(slope.low, slope.high)
    if math.isnan(slope.value):
        return f"Its choices are not seen to follow its beliefs: {slope.reason}."
    return (
        "Its choices are not seen to rise with its beliefs: from a belief of 0 to one of 1 the "
        f"action that rises most changes by {with_interval(slope.value, between, ' points')}."
    )


def _no_evidence(facts: VerdictInput) -> str:
    persons = facts.found.n_persons
    what = "they act on more than they say" if persons else "it acts on more than it says"
    return f"No evidence that {what}.{_compatible(facts)}"


def _points(facts: VerdictInput) -> str:
    """Name the difference in points, with its interval."""
    result = facts.found
    pvalue = _p(result.pvalue)
    if facts.turns:
        return (
            f"choices move with the truth in different directions at different beliefs ({pvalue})"
        )
    if math.isnan(result.statistic):
        return f"choices go with the truth at equal stated belief ({pvalue})"
    if facts.action is None:  # one of several differences between several states
        component = clean(result.component or "choice")
        effect = with_interval(result.statistic, result.interval, " points")
        return f"at equal stated belief {component} is {effect} ({pvalue})"
    value, interval = result.statistic, result.interval
    if value < 0:
        value, interval = -value, interval and Interval(-interval.high, -interval.low)
    how = "more" if result.statistic >= 0 else "less"
    chooses = "at equal stated belief it chooses"
    if facts.found.n_persons:
        chooses = "at the same stated belief of their own they choose"
    return (
        f"{chooses} {facts.action} "
        f"{with_interval(value, interval, ' points')} {how} often when {facts.when} ({pvalue})"
    )


def _unsaid(facts: VerdictInput) -> str:
    share: Estimate | None = facts.found.also.get(SHARE)
    if share is None or math.isnan(share.value):
        return ""
    return (
        f"; {share_with_interval(share)} of what its choices know of the truth is missing from its "
        "stated beliefs (given only where the test rejects, so on average too large)"
    )


def _compatible(facts: VerdictInput) -> str:
    """Say which effects are compatible with the data."""
    result = facts.found
    if result.interval is None or math.isnan(result.interval.high):
        if reason := clean(result.reason):
            return f" {capitalised(reason)}."
        return " There is no interval: what effect was missed is not known."
    low, high = points([result.interval.low, result.interval.high])
    component = clean(result.component or "")
    of = f" for {component} at equal belief" if component else ""
    if facts.action is not None:
        chooses = "they choose" if facts.found.n_persons else "it chooses"
        of = f" in how often {chooses} {facts.action} at equal belief"
    if result.hides_all:
        return (
            f" Its reports are too noisy or too coarse to tell{of}: they may hide any difference."
        )
    unknown = facts.found.reports in (Reports.SINGLE, Reports.ALIKE)
    taken = ", reports taken as free of noise" if unknown else ""
    return (
        f" Effects from {low} to {high} points{of} are compatible with the data{taken}; not "
        "rejecting is no evidence of coherence."
    )


def _quoted(label: str) -> str:
    """Set a label apart from the sentence, but for numbers."""
    return clean(label) if label.replace(".", "", 1).isdigit() else f'"{clean(label)}"'


def _p(pvalue: float | None) -> str:
    text = format_pvalue(pvalue)
    return f"p < {text[1:]}" if text.startswith("<") else f"p = {text}"


# Of stakes


def _pays(facts: VerdictInput) -> str:
    within = f"{100 * (facts.evaluation.margin or 0):g} of 100 at stake"
    return f"Acts where its stated belief pays, to within {within}{_stakes_up_to(facts)}."


def _stakes_open(facts: VerdictInput) -> str:
    movement = facts.movement
    why = clean(movement.reason) or f"choices move {percent(movement)} of what beliefs ask for"
    return f"Cannot tell whether it moves with the stakes: {why}{_stakes_up_to(facts)}."


def _moves(opening: str, facts: VerdictInput) -> str:
    """Say how often it acts where that pays, and where it loses."""
    told, points = facts.movement, f"{100 * CLEAR:.0f} points or more below and above the stated"
    cases = f"{told.n_clear} of {told.n_contexts} cases"
    where = f"in the {cases} (counted alike) with stakes {points} belief, it acts in"
    if not told.crossed:
        where = (
            f"where a tenth of all stakes lie {points} belief ({cases}, one stake each), it acts in"
        )
    some = f" {capitalised(clean(told.reason))}." if told.reason else ""
    return (
        f"{opening} the stakes: {where} {told.pays:.0%} of choices that pay by as much, and in "
        f"{told.loses:.0%} of those that lose as much{_stakes_up_to(facts)}.{some}"
    )


def _stakes_up_to(facts: VerdictInput) -> str:
    highest = facts.movement.highest
    return "" if highest is None else f" (stakes up to {highest})"


# The records

OF_PRIMARY: tuple[Verdict, ...] = (
    Verdict(
        "knows_truth",
        REJECTS,
        "it knows what no evidence tells: is the answer in the prompt?",
        holds=lambda f: f.leaked,
        sentence=_leaked,
        next_step=next_steps.look,
        rests_on=LEAK,
        of_mark=LEAK,
        says_margin=True,  # what knows the truth beyond the evidence is not what a margin bounds
    ),
    Verdict(
        "other_belief",
        CANNOT_TELL,
        "beliefs look like confidences in its own answers: `--prediction`, `--gold`",
        holds=lambda f: f.lack is Lack.BELIEF,
        sentence=lambda f: (
            "Cannot tell: its beliefs look like confidences in its own answers, not like beliefs "
            "in one state."
        ),
        next_step=next_steps.name_predictions,
        of_other_belief=True,
    ),
    Verdict(
        "forecasts",
        NO_MARK,
        "beliefs alone, which are scored",
        holds=lambda f: f.primary is None and bool(by_variant(f.evaluation.results, ScoresResult)),
        sentence=lambda f: "",
        next_step=next_steps.plan,
        rests_on=SCORES,
    ),
    Verdict(
        "not_tested",
        NO_MARK,
        "other checks were asked for",
        holds=lambda f: f.primary is None,
        sentence=lambda f: "",
        next_step=next_steps.look_or_plan,
        rests_on="",
    ),
    Verdict(
        "too_few_cases",
        CANNOT_TELL,
        "ask about more cases",
        holds=lambda f: f.lack is Lack.CASES,
        sentence=lambda f: f"Cannot tell: too few cases ({_reason(f)}).",
        next_step=next_steps.more_cases,
    ),
    Verdict(
        "hardly_moves",
        CANNOT_TELL,
        "nearly the same whatever the evidence, which shows nothing",
        holds=lambda f: f.lack is Lack.ACTIONS or f.still,
        sentence=_still,
        next_step=next_steps.vary,
        says_variation=True,
    ),
    Verdict(
        "nothing_open",
        CANNOT_TELL,
        "its beliefs settle the truth",
        holds=lambda f: f.lack is Lack.OPEN,
        sentence=lambda f: f"Cannot tell: nothing is left open ({_reason(f)}).",
        next_step=next_steps.vary_if_still,
    ),
    Verdict(
        "acts_on_more_or_noisy",
        REJECTS,
        "as `acts_on_more`, unless reports hide beliefs acted on, which they do not tell",
        holds=lambda f: f.rejected and f.noise_unknown,
        sentence=_or_noisy,
        next_step=next_steps.look,
    ),
    Verdict(
        "acts_on_more_turning",
        REJECTS,
        "as `acts_on_more`, the other way at some beliefs",
        holds=lambda f: f.rejected and f.turns,
        sentence=_turning,
        next_step=next_steps.look,
    ),
    Verdict(
        "acts_on_more",
        REJECTS,
        "at equal stated belief its choices go with the truth",
        holds=lambda f: f.rejected,
        sentence=_acts,
        next_step=next_steps.look,
    ),
    Verdict(
        "noise_explains",
        NOT_REJECTED,
        "the spread or rounding of its reports can explain it",
        holds=VerdictInput.rejects_as_exact,
        sentence=_explained,
        next_step=next_steps.sharper,
    ),
    Verdict(
        "within_margin",
        SHOWS,
        "the average difference is below a margin that you named",
        holds=VerdictInput.within_margin,
        sentence=_within,
        next_step=next_steps.plan,
        says_margin=True,
    ),
    Verdict(
        "does_not_follow",
        NOT_REJECTED,
        "choices are not seen to rise with beliefs",
        holds=lambda f: not f.follows(),
        sentence=_not_following,
        next_step=next_steps.vary_if_still,
    ),
    Verdict(
        "no_evidence",
        NOT_REJECTED,
        "none of these; the interval says what remains possible",
        holds=lambda f: True,
        sentence=_no_evidence,
        next_step=next_steps.plan,
    ),
)
"""Verdicts in the order in which they are asked for."""
OF_STAKES: tuple[Verdict, ...] = (
    Verdict(
        "ignores_stakes",
        REJECTS,
        "its choices do not move with the stakes as its beliefs ask",
        holds=lambda f: f.stakes == IGNORES,
        sentence=partial(_moves, "Ignores"),
        next_step=next_steps.look,
        rests_on=STAKES,
        of_mark="stakes ignored",
    ),
    Verdict(
        "acts_where_it_pays",
        SHOWS,
        "it loses less than a margin that you named",
        holds=VerdictInput.loses_little,
        sentence=_pays,
        next_step=next_steps.plan,
        rests_on=STAKES,
    ),
    Verdict(
        "moves_with_stakes",
        NOT_REJECTED,
        "its choices move with the stakes",
        holds=lambda f: f.stakes == MOVES,
        sentence=partial(_moves, "Moves with"),
        next_step=next_steps.plan,
        rests_on=STAKES,
    ),
    Verdict(
        "stakes_open",
        CANNOT_TELL,
        "whether choices move with the stakes is not known",
        holds=lambda f: True,
        sentence=_stakes_open,
        next_step=next_steps.plan,
        rests_on=STAKES,
    ),
)
"""Those of a table with stakes in its rows, which stand before the others."""
VERDICTS = {verdict.code: verdict for verdict in (*OF_PRIMARY, *OF_STAKES)}
"""Every verdict by its code."""
NOT_TESTED = VERDICTS["not_tested"]


def as_margin(value: object) -> float:
    """Validate a margin."""
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not number or not 0 < float(value) < 1:  # type: ignore[arg-type]
        raise InputError(
            f"margin must be a number between 0 and 1, a difference of probabilities; received "
            f"{value!r}. Give the largest difference that you would call none, such as 0.05."
        )
    return float(value)  # type: ignore[arg-type]


def smallest_margin(result: CheckResult) -> float:
    """Return the margin above which plain averages are excluded; NaN where nothing bounds them."""
    plain = result.also.get(PLAIN)
    if plain is None or math.isnan(plain.value):
        return math.nan
    ends = result.details[["plain_low", "plain_high"]].dropna()
    return float(ends.abs().to_numpy().max())


def held_against(result: CheckResult, margin: float) -> str:
    """Say whether the plain average lies within the margin."""
    asked, least = f"{100 * margin:g} points", smallest_margin(result)
    if math.isnan(least):
        plain = result.also.get(PLAIN)
        why = plain.reason if plain is not None and plain.reason else result.reason
        return f"Nothing can be held against a margin of {asked}: {clean(why)}."
    # To the side that keeps the sentence true.
    amount = f"{math.ceil(1000 * least) / 10:g} points"
    if least < margin:
        return (
            f"Within {asked}: two one-sided tests at 2.5% exclude average differences of any "
            f"choice at equal belief above {amount}, every case weighed alike."
        )
    ends = result.details
    if (ends["plain_low"] > margin).any() or (ends["plain_high"] < -margin).any():
        return (
            f"Beyond {asked}: the average difference of a choice at equal belief, every case "
            "weighed alike, is larger."
        )
    return (
        f"Not shown to be within {asked}: average differences of a choice at equal belief of up to "
        f"{amount} are not excluded, every case weighed alike."
    )
