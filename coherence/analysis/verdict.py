"""What results say in words: a sentence for each, and two that head a (task, model).

The words follow how a test ended after the correction over the whole report, and how much of that
noise in the reports explains. Only a test that rejects after the correction accuses, and not one
that noise may have misled. A test that does not reject is never called evidence of coherence: what
follows is the interval of effects that are compatible with the data.
"""

import math
from collections.abc import Sequence
from enum import Enum

from coherence.analysis.margins import smallest_margin
from coherence.analysis.unit import joined_names
from coherence.checks.catalogue import sentences_of
from coherence.errors import InputError
from coherence.report.movement import Movement, room_beside
from coherence.report.wording import clean, format_numbers
from coherence.result import LEVEL, CheckResult, Interval, Outcome
from coherence.statistics.scatter import Scatter
from coherence.table.printable import WARNING, counted

RATIONAL = "rational_agent"
"""The test that allows for noise in the reports, and so tells whether noise suffices."""
NO_INTERVAL = "There is no interval: what effect was missed is not known."
_NO_EVIDENCE = "Not rejecting is not evidence of coherence"
_COVERAGE = (
    "Such an interval holds the true effect in 95% of all studies, not of those alone that do not "
    "reject."
)
MOST_NAMED = 4  # pairs of actions can be dozens; the table below names them all


class Noise(Enum):
    """How much of a rejection noise in the reports explains."""

    NOTHING = 1  # the test does not take reports as exact, or their noise is too small to mislead
    PERHAPS = 2  # it may be all of it: no test that allows for noise has a p-value
    ENOUGH = 3  # the test that allows for noise does not reject
    TOO_LITTLE = 4  # that test rejects too


_SURE = f"A coherent agent fails anywhere in at most {LEVEL:.0%} of reports"
_IF = f"{_SURE}, as long as contexts are independent"
_SOME = f"{_SURE}, but {{cause}} could make {{suspects}} reject alone."
_STANDS = f"{_IF}; {{cause}} does not explain it: {{settled}}."
_REJECTED: dict[Noise, tuple[str, str, str]] = {
    Noise.NOTHING: ("{rejected}", f"{_IF}{{exact}}.", f"{_IF}{{exact}}."),
    Noise.PERHAPS: (
        "{Sign}, which {cause} could cause alone.",
        "That does not show incoherence: {cause} could cause it alone, in an agent that acts on "
        "its belief.",
        _SOME,
    ),
    Noise.ENOUGH: (
        "{Sign}, which {cause} suffices to explain: {settled}.",
        "That does not show incoherence: {cause} suffices to explain it; {settled}.",
        _SOME,
    ),
    Noise.TOO_LITTLE: ("{rejected}", _STANDS, _STANDS),
}
"""What noise explains of a rejection -> what the result says, how far the rejections of a unit are
trusted where noise explains all of them, and where it explains some."""
_SETTLED = {
    Outcome.REJECTED: "rational_agent, which allows for report noise, rejects too",
    Outcome.UNCORRECTED: "rational_agent, which allows for it, does not survive the correction "
    "(p = {p})",
    Outcome.KEPT: "rational_agent, which allows for it, sees no more (p = {p})",
}
"""How the test that allows for noise ended -> what it says of the others."""


def _explained(
    result: CheckResult, scatter: Scatter | None, allowed: CheckResult | None
) -> tuple[Noise, dict[str, str]]:
    """Return what noise explains of a rejection, and the words for it."""
    suspect = result.pvalue is not None and sentences_of(result.check)[0].scatter_misleads
    if not suspect or scatter is None or not scatter.misleads:
        return Noise.NOTHING, {}
    cause = (
        f"report noise (standard deviation {scatter.sd:.2f} between {scatter.across} of a context)"
    )
    if allowed is None:
        return Noise.PERHAPS, {"cause": cause}
    outcome = allowed.outcome()
    settled = _SETTLED[outcome].format(p=format_numbers([allowed.pvalue or 0.0])[0])
    noise = Noise.TOO_LITTLE if outcome is Outcome.REJECTED else Noise.ENOUGH
    return noise, {"cause": cause, "settled": settled}


def allowing(results: Sequence[CheckResult]) -> CheckResult | None:
    """Return the test that allows for noise in the reports, where it was run and has a p-value."""
    for result in results:
        if result.check == RATIONAL and result.pvalue is not None:
            return None if math.isnan(result.pvalue) else result
    return None


# What one result means


def verdict(
    result: CheckResult,
    *,
    alpha: float = LEVEL,
    belief: str = "stated belief",
    scatter: Scatter | None = None,
    allowed: CheckResult | None = None,
) -> str:
    """Say what a result means."""
    sentences_of(result.check)  # raises where no check declares it
    tested = result.pvalue is not None and not math.isnan(result.pvalue)
    if result.reason and math.isnan(result.statistic) and not tested:
        return f"Undefined: {result.reason}."
    if result.settings.get("published"):
        sentence = _filled("published", "the published procedure", result, belief)
    elif result.pvalue is None:
        sentence = _filled("estimate", "an estimate", result, belief)
    elif not tested:
        # An effect may stand where its test is undefined, as when every gap is exactly 0.
        return f"Not tested: {result.reason}."
    else:
        sentence = _tested(result, alpha, belief, scatter, allowed)
    return " ".join(filter(None, [sentence, result.estimate_note()]))


def _tested(
    result: CheckResult,
    alpha: float,
    belief: str,
    scatter: Scatter | None,
    allowed: CheckResult | None,
) -> str:
    """Say how a test ended."""
    sentences, outcome = sentences_of(result.check)[0], result.outcome(alpha=alpha)
    if outcome is Outcome.KEPT and sentences.kept:
        return f"{_filled('kept', 'a test', result, belief)} {_interval_sentence(result)}"
    noise, words = _explained(result, scatter, allowed)
    template = _REJECTED[noise][0]
    if outcome is Outcome.REJECTED and template == "{rejected}":
        return _filled("rejected", "a test", result, belief)
    sign = _filled("sign", "a test", result, belief)
    if outcome is Outcome.KEPT:
        return f"No sign that {sign}. {_interval_sentence(result)}"
    if outcome is Outcome.UNCORRECTED:
        tests = f"{result.n_tests} tests" if result.n_tests else "all tests of the report"
        return f"A sign that {sign}, which does not survive the correction over {tests}."
    return template.format(Sign=f"{sign[:1].upper()}{sign[1:]}", **words)


def _interval_sentence(result: CheckResult) -> str:
    """Say which effects are compatible with the data of a test that does not reject."""
    if result.interval is None or math.isnan(result.interval.high):
        return NO_INTERVAL
    return f"{_effects_within(result, result.interval)} are compatible with the data."


def _filled(which: str, what: str, result: CheckResult, belief: str) -> str:
    """Return a sentence that the check of a result declares."""
    sentences, variant = sentences_of(result.check)
    template = getattr(sentences, which)
    if not template:
        raise InputError(
            f"check must declare a sentence for {what}; {result.check!r} has none, and its p-value "
            f"is {result.pvalue}. Add it to the declaration of the check."
        )
    # Only the sentence is a template: names from data are filled in and never read as one.
    above = result.interval is not None and result.interval.low > 0
    return str(
        template.format(
            value=result.statistic,
            variant=variant,
            belief=belief,
            position="lies above 0" if above else "does not lie above 0",
        )
    )


def largest_compatible_effect(interval: Interval, one_sided: bool) -> float:
    """Return the largest effect within an interval, on the side that is tested; 0 for none."""
    if one_sided:
        return max(interval.high, 0.0)
    return max(abs(interval.low), abs(interval.high))


def _effects_within(result: CheckResult, interval: Interval) -> str:
    """Name the effects of an interval."""
    low, high = format_numbers([interval.low, interval.high])
    return f"Effects in [{low}, {high}]{_unit_of(result)} ({interval.level:.0%} interval)"


def _unit_of(result: CheckResult) -> str:
    unit = clean(result.unit)
    return unit if unit[:1] == "%" else f" {unit}"


# What the results of a (task, model) say together


def conclude(
    results: Sequence[CheckResult],
    *,
    belief: str,
    scatter: Scatter | None,
    moves: Movement | None = None,
) -> tuple[str, ...]:
    """Say in two sentences what the tests together say, and how sure one can be.

    What tests of calibration say stands apart: a coherent agent may be badly calibrated.
    """
    of_calibration = [r for r in results if sentences_of(r.check)[0].of_calibration]
    if of_calibration:
        others = [result for result in results if result not in of_calibration]
        tested = any(result.pvalue is not None for result in others)
        said = conclude(others, belief=belief, scatter=scatter, moves=moves) if tested else ()
        return *said, *_calibration(of_calibration, belief)
    ended: dict[Outcome, list[CheckResult]] = {outcome: [] for outcome in Outcome}
    for result in results:
        ended[result.outcome()].append(result)
    untested, estimates = ended[Outcome.UNTESTED], ended[Outcome.ESTIMATE]
    n = len(results) - len(untested) - len(estimates)
    if not n:
        lack = "No test has a p-value; the table says why."
        if not untested:
            lack = "No test could be run: all results are estimates."
            if all(math.isnan(result.statistic) for result in results):
                lack = "No check could be run."
        return lack, "Nothing here speaks for or against coherence."
    without = f"; {len(untested)} could not be computed" if untested else ""
    if rejected := ended[Outcome.REJECTED]:
        many = f"{len(rejected)} of {n} tests {'rejects' if len(rejected) == 1 else 'reject'}"
        # What several tests look for is named once.
        by_sign: dict[str, list[CheckResult]] = {}
        for result in rejected:
            by_sign.setdefault(_filled("sign", "a sign", result, belief), []).append(result)
        signs = "; ".join(f"{sign} ({_named(of_sign)})" for sign, of_sign in by_sign.items())
        return (
            f"{many if n > 1 else 'The one test rejects'}{_corrected(rejected[0])}: "
            f"{signs}{without}.",
            _trust(rejected, scatter, allowing(results)),
        )
    count = f"None of {n} tests rejects" if n > 1 else "The one test does not reject"
    if signs_alone := ended[Outcome.UNCORRECTED]:
        moving = moves is None or not (moves.narrow or moves.one_sided)
        more = ", and more contexts would tell" if moving else ""
        return (
            f"{count}{_corrected(signs_alone[0])}; before it, p is at most {LEVEL} in "
            f"{_named(signs_alone)}{without}.",
            "Among so many tests chance shows such a sign: it proves neither incoherence nor "
            f"coherence{more}.",
        )
    return f"{count}{without}.", _non_rejection_sentence(ended[Outcome.KEPT], moves)


def _calibration(results: Sequence[CheckResult], belief: str) -> tuple[str, ...]:
    """Say how tests of calibration ended."""
    ended = [result.outcome() for result in results]
    if all(outcome is Outcome.UNTESTED for outcome in ended):
        return (f"Calibration was not tested: {results[0].reason}.",)
    corrected = next(map(_corrected, (r for r in results if r.n_tests)), "")
    if Outcome.REJECTED not in ended:
        return (
            f"Calibration of the {belief}s is not rejected{corrected}.",
            "Not rejecting is not evidence of calibration: the scores say how far off it may be.",
        )
    rejected = [r for r, outcome in zip(results, ended, strict=True) if outcome is Outcome.REJECTED]
    return (
        f"The {belief}s are not calibrated ({_named(rejected)} rejects{corrected}).",
        f"A calibrated forecaster is rejected anywhere in at most {LEVEL:.0%} of reports, as long "
        "as outcomes of different contexts are independent. A coherent agent may be badly "
        "calibrated.",
    )


def _named(results: Sequence[CheckResult]) -> str:
    names = [clean(result.check) for result in results]
    more = [f"{len(names) - MOST_NAMED} more"] if len(names) > MOST_NAMED else []
    return joined_names([*names[:MOST_NAMED], *more])


def _corrected(result: CheckResult) -> str:
    # Results that were not adjusted stand alone, and nothing is corrected.
    several = result.n_tests is not None and result.n_tests > 1
    return f" after the correction over {result.n_tests} tests" if several else ""


def _trust(
    rejected: Sequence[CheckResult], scatter: Scatter | None, allowed: CheckResult | None
) -> str:
    """Say how far rejections can be trusted."""
    found = [(result, *_explained(result, scatter, allowed)) for result in rejected]
    suspects = [result for result, noise, _ in found if noise is not Noise.NOTHING]
    # What noise explains of one suspect it explains of all.
    noise, words = next(((noise, words) for _, noise, words in found if words), (Noise.NOTHING, {}))
    exact = ""
    if any(sentences_of(result.check)[0].scatter_misleads for result in rejected):
        unknown = scatter is None or math.isnan(scatter.sd)
        exact = " and reports have no noise around the belief acted on"
        exact += ", which this table cannot show" if unknown else ""
    words |= {"exact": exact, "suspects": _named(suspects) if suspects else ""}
    of_all, of_some = _REJECTED[noise][1:]
    return (of_all if len(suspects) == len(rejected) else of_some).format(**words)


def _non_rejection_sentence(kept: Sequence[CheckResult], moves: Movement | None) -> str:
    """Name the effects compatible with the first test, in the order of checks, that has any.

    The largest of an interval, printed as a bound behind a test that does not reject, held .745 to
    .90 of true effects where power is high. An interval holds 95% over all studies.
    """
    bounded = False
    for result in kept:
        if result.interval is not None and not math.isnan(result.interval.high):
            shown = largest_compatible_effect(
                result.interval, sentences_of(result.check)[0].one_sided
            )
            reach = smallest_margin(result)  # of all actions, not only of the one that is shown
            if math.isnan(reach):
                reach = shown
            if reach == 0:
                bounded = True
                continue
            beside = room_beside(moves, reach, result.unit)
            largest = f"the largest is {beside}" if beside else ""
            if reach > shown + 1e-6:
                largest = f"in one of the other actions up to {format_numbers([reach])[0]}"
                largest += f", {beside}" if beside else ""
            effects = _effects_within(result, result.interval)
            return (
                f"{_NO_EVIDENCE}: {effects[0].lower()}{effects[1:]} are compatible with the data "
                f"of {clean(result.check)}{f'; {largest}' if largest else ''}. {_COVERAGE}"
            )
    if bounded:
        return f"{_NO_EVIDENCE} in what was not tested."
    return f"{_NO_EVIDENCE}, and without an interval it is not known what was missed."


def cautions(results: Sequence[CheckResult], scatter: Scatter) -> tuple[str, ...]:
    """Say how much noise reports have, alongside the names of the tests that this misleads."""
    suspects = [r for r in results if sentences_of(r.check)[0].scatter_misleads]
    if not suspects:
        return ()
    several = len(suspects) > 1
    exact = f"{_named(suspects)} {'take' if several else 'takes'} reports as exact"
    alone = f"such noise alone could make {'them' if several else 'it'} reject"
    if math.isnan(scatter.sd):
        return (
            f"report noise is not known, as no context has several {scatter.across}; "
            f"{exact}, and {alone}.",
        )
    contexts = counted(scatter.n_groups, "context")
    size = (
        f"reports of a context differ by {format_numbers([scatter.sd])[0]} between "
        f"{scatter.across} (standard deviation, {contexts})"
        if scatter.sd
        else f"reports of a context do not differ between {scatter.across} ({contexts})"
    )
    if scatter.misleads:
        allowed = "; rational_agent allows for it" if allowing(results) is not None else ""
        return (f"{WARNING}: {size}. {exact}: {alone}{allowed}.",)
    return (f"{size}; {exact}.",)
