"""What the tests of one (task, model) together say, how sure one can be, and what to be wary of.

Two sentences head a unit. The first names what fails after the correction over all tests of the
report; the second says how far that can be trusted. Passing proves nothing, so that the second
sentence then says what was left open.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from coherence.analysis.margins import smallest_margin
from coherence.analysis.unit import UnitRows, joined_names
from coherence.analysis.verdict import (
    allowing,
    caused_by,
    furthest,
    misled,
    room_for,
    settled,
    sign_of,
    verdict,
)
from coherence.checks.catalogue import sentences_of
from coherence.report.movement import Movement, room_beside
from coherence.report.wording import belief_noun, clean, format_numbers
from coherence.result import LEVEL, CheckResult, Outcome
from coherence.statistics.scatter import Scatter, scatter_within
from coherence.table.audit import Answering
from coherence.table.printable import WARNING, counted

MOST_NAMED = 4  # pairs of actions can be dozens; the table below names them all
NO_CLAIM = "Nothing here speaks for or against coherence."


@dataclass(frozen=True)
class Said:
    """What is said of one (task, model)."""

    verdicts: tuple[str, ...]  # one per result
    conclusion: tuple[str, ...]  # what the tests together say, and how sure one can be
    cautions: tuple[str, ...]  # what may mislead the tests, or is not known of it


def say(
    results: Sequence[CheckResult], way: Answering, scatter: Scatter, moves: Movement | None = None
) -> Said:
    """Put the results of one (task, model) into words."""
    belief = belief_noun(way)
    allowed = allowing(results)
    return Said(
        verdicts=tuple(
            verdict(result, belief=belief, scatter=scatter, allowed=allowed) for result in results
        ),
        conclusion=conclude(results, belief=belief, scatter=scatter, moves=moves),
        cautions=cautions(results, scatter),
    )


def unit_scatter(unit: UnitRows) -> Scatter:
    """Measure how far the beliefs of equal evidence lie apart."""
    if unit.runs.computed:
        rows = unit.rows[unit.rows["z_state"].isna()].dropna(subset=unit.states or ["p"])
        rows = rows.drop_duplicates(["context", "prompt"])
        return scatter_within(unit.belief(rows), rows["context"], across="wordings")
    rows = unit.judged if len(unit.judged) else unit.stated
    return scatter_within(unit.belief(rows), rows["context"])


def cautions(results: Sequence[CheckResult], scatter: Scatter) -> tuple[str, ...]:
    """Say how far reports scatter, beside the names of the tests that this misleads."""
    suspects = [r for r in results if sentences_of(r.check)[0].scatter_misleads]
    if not suspects:
        return ()
    several = len(suspects) > 1
    exact = f"{_named(suspects)} {'take' if several else 'takes'} reports as exact"
    alone = f"such scatter alone could make {'them' if several else 'it'} reject"
    if math.isnan(scatter.sd):
        return (
            f"how far reports scatter is not known, as no context has several {scatter.across}; "
            f"{exact}, "
            f"and {alone}.",
        )
    size = (
        f"reports of a context differ by {format_numbers([scatter.sd])[0]} between "
        f"{scatter.across} (standard deviation, {counted(scatter.n_groups, 'context')})"
    )
    if scatter.misleads:
        allowed = "; rational_agent allows for it" if allowing(results) is not None else ""
        return (f"{WARNING}: {size}. {exact}: {alone}{allowed}.",)
    return (f"{size}; {exact}.",)


def conclude(
    results: Sequence[CheckResult],
    *,
    belief: str,
    scatter: Scatter | None,
    moves: Movement | None = None,
) -> tuple[str, ...]:
    """Say in two sentences what the tests together say, and how sure one can be."""
    outcomes = [result.outcome() for result in results]
    if not results:
        return "No check could be run.", NO_CLAIM
    if set(outcomes) == {Outcome.ESTIMATE}:
        return "No test could be run: all results are estimates.", NO_CLAIM
    untested = outcomes.count(Outcome.UNTESTED)
    n = len(results) - untested - outcomes.count(Outcome.ESTIMATE)
    if not n:
        return "No test has a p-value; the table says why.", NO_CLAIM
    without = f"; {untested} could not be computed" if untested else ""
    rejected = _of(results, Outcome.REJECTED)
    if rejected:
        many = f"{len(rejected)} of {n} tests {'rejects' if len(rejected) == 1 else 'reject'}"
        return (
            f"{many if n > 1 else 'The one test rejects'}"
            f"{_corrected(rejected[0])}: {_signs(rejected, belief)}{without}.",
            _trust(rejected, scatter, allowing(results)),
        )
    count = f"None of {n} tests rejects" if n > 1 else "The one test does not reject"
    signs = _of(results, Outcome.UNCORRECTED)
    if signs:
        return (
            f"{count}{_corrected(signs[0])}; before it, p is at most {LEVEL} in {_named(signs)}"
            f"{without}.",
            "Among so many tests chance shows such a sign: it proves neither incoherence nor "
            "coherence, and more contexts would tell.",
        )
    return f"{count}{without}.", _still_possible(_of(results, Outcome.KEPT), moves)


def _of(results: Sequence[CheckResult], outcome: Outcome) -> list[CheckResult]:
    return [result for result in results if result.outcome() is outcome]


def _named(results: Sequence[CheckResult]) -> str:
    names = [clean(result.check) for result in results]
    more = [f"{len(names) - MOST_NAMED} more"] if len(names) > MOST_NAMED else []
    return joined_names([*names[:MOST_NAMED], *more]) if names else ""


def _corrected(result: CheckResult) -> str:
    # Results that were not adjusted stand alone, and nothing is corrected.
    several = result.n_tests is not None and result.n_tests > 1
    return f" after the correction over {result.n_tests} tests" if several else ""


def _signs(rejected: Sequence[CheckResult], belief: str) -> str:
    """Name what fails, once where several tests look for the same."""
    by_sign: dict[str, list[CheckResult]] = {}
    for result in rejected:
        by_sign.setdefault(sign_of(result, belief), []).append(result)
    return "; ".join(f"{sign} ({_named(of_sign)})" for sign, of_sign in by_sign.items())


def _trust(
    rejected: Sequence[CheckResult], scatter: Scatter | None, allowed: CheckResult | None
) -> str:
    suspect = [result for result in rejected if misled(result, scatter)]
    if suspect and scatter is not None:
        cause = caused_by(scatter)
        if allowed is not None and allowed.outcome() is Outcome.REJECTED:
            return (
                f"A coherent agent fails anywhere in at most {LEVEL:.0%} of reports, as long as "
                f"contexts are independent; {cause} does not explain it: {settled(allowed)}."
            )
        if allowed is not None and len(suspect) == len(rejected):
            return (
                f"That does not show incoherence: {cause} suffices to explain it; "
                f"{settled(allowed)}."
            )
        if len(suspect) == len(rejected):
            return (
                f"That does not show incoherence: {cause} could cause it alone, in an agent that "
                "acts on its belief."
            )
        return (
            f"A coherent agent fails anywhere in at most {LEVEL:.0%} of reports, but {cause} could "
            f"make {_named(suspect)} reject alone."
        )
    sure = (
        f"A coherent agent fails anywhere in at most {LEVEL:.0%} of reports, as long as contexts "
        "are independent"
    )
    takes_exact = any(sentences_of(result.check)[0].scatter_misleads for result in rejected)
    if not takes_exact:
        return f"{sure}."
    unknown = scatter is None or math.isnan(scatter.sd)
    known = ", which this table cannot show" if unknown else ""
    return f"{sure} and reports do not scatter around the belief acted on{known}."


def _still_possible(kept: Sequence[CheckResult], moves: Movement | None) -> str:
    """Say what the first test with an interval leaves open; the order of checks puts it first."""
    for result in kept:
        if result.interval is not None and not math.isnan(result.interval.high):
            reach = smallest_margin(result)  # of all actions, not only of the one that is shown
            if math.isnan(reach):
                reach = furthest(result.interval, sentences_of(result.check)[0].one_sided)
            beside = room_beside(moves, reach, result.unit)
            beside = f", {beside}" if beside and reach else ""
            return (
                f"Passing proves nothing: {clean(result.check)} {room_for(result, reach)}{beside}."
            )
    return "Passing proves nothing, and without an interval it is not known what was missed."
