"""What results say in words: a sentence for each, and what the further tests of an evaluation say.

The words follow how a test ended after the correction over its family, and how much of that noise
in the reports explains. Only a test that rejects after the correction accuses, and not one that
noise may have misled. A test that does not reject is never called evidence of coherence: what
follows is the interval of effects that are compatible with the data. The verdict itself is made in
`coherence.report.verdicts`.
"""

import math
from collections.abc import Sequence
from enum import Enum

from coherence.analysis.evaluation import joined_names
from coherence.checks.catalogue import interpretation_of, variant_of
from coherence.checks.scores import ScoresResult
from coherence.checks.sufficiency import NAME as PRIMARY
from coherence.checks.sufficiency import SEQUENCES
from coherence.checks.sufficiency_result import primary_of
from coherence.errors import InputError
from coherence.printable import capitalised, counted, numbered
from coherence.report.wording import clean, format_numbers
from coherence.result import LEVEL, CheckResult, Outcome
from coherence.runs.notes import Code, Level, Note
from coherence.statistics.report_noise import ReportNoise, Reports

NO_INTERVAL = "There is no interval: what effect was missed is not known."
MOST_NAMED = 4  # pairs of actions can be dozens; the table below names them all


class Noise(Enum):
    """How much of a rejection noise in the reports explains."""

    NOTHING = 1  # the test does not take reports as exact, or their noise is too small to mislead
    PERHAPS = 2  # it may be all of it: no test that allows for noise has a p-value
    ENOUGH = 3  # the test that allows for noise does not reject
    TOO_LITTLE = 4  # that test rejects too


_SURE = f"A coherent agent fails any of them in at most {LEVEL:.0%} of studies"
_IF = f"{_SURE}, as long as cases are independent"
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
"""What noise explains of a rejection -> what the result says, how far the rejections of an
evaluation are trusted where noise explains all of them, and where it explains some."""
_SETTLED = {
    Outcome.REJECTED: f"{PRIMARY}, which allows for report noise, rejects too",
    Outcome.KEPT: f"{PRIMARY}, which allows for it, sees no more (p = {{p}})",
}
"""How the test that allows for noise ended -> what it says of the others."""


def _explained(
    result: CheckResult, scatter: ReportNoise | None, allowed: CheckResult | None
) -> tuple[Noise, dict[str, str]]:
    """Return what noise explains of a rejection, and the words for it."""
    suspect = result.pvalue is not None and interpretation_of(result.check).assumes_exact_reports
    if not suspect or scatter is None or not scatter.exceeds:
        return Noise.NOTHING, {}
    cause = f"report noise (standard deviation {scatter.sd:.2f} between {scatter.across} of a case)"
    if allowed is None:
        return Noise.PERHAPS, {"cause": cause}
    outcome = allowed.outcome()
    settled = _SETTLED[outcome].format(p=format_numbers([allowed.pvalue or 0.0])[0])
    noise = Noise.TOO_LITTLE if outcome is Outcome.REJECTED else Noise.ENOUGH
    return noise, {"cause": cause, "settled": settled}


def noise_robust_test(results: Sequence[CheckResult]) -> CheckResult | None:
    """Return the test that allows for noise in the reports, where it was run and has a p-value."""
    result = primary_of(results)
    if result is None or result.reports != Reports.DIFFER or result.test != SEQUENCES:
        return None
    return result if result.pvalue is not None and not math.isnan(result.pvalue) else None


# What one result means


def sentence_of(
    result: CheckResult,
    *,
    belief: str = "stated belief",
    scatter: ReportNoise | None = None,
    allowed: CheckResult | None = None,
) -> str:
    """Say what a result means."""
    interpretation_of(result.check)  # raises where no check declares it
    if result.unanswered:
        # An effect may stand where its test is undefined, as when every gap is exactly 0.
        lacking = "Undefined" if math.isnan(result.statistic) else "Not tested"
        return f"{lacking}: {result.reason}."
    if result.published:
        sentence = _filled("published", "the published procedure", result, belief)
    elif result.pvalue is None:
        sentence = _filled("of_estimate", "an estimate", result, belief)
    else:
        sentence = _tested(result, belief, scatter, allowed)
    return " ".join(filter(None, [sentence, result.estimate_note()]))


def _tested(
    result: CheckResult,
    belief: str,
    scatter: ReportNoise | None,
    allowed: CheckResult | None,
) -> str:
    """Say how a test ended."""
    sentences, outcome = interpretation_of(result.check), result.outcome()
    if outcome is Outcome.KEPT and sentences.not_rejected:
        return f"{_filled('not_rejected', 'a test', result, belief)} {_interval_sentence(result)}"
    noise, words = _explained(result, scatter, allowed)
    template = _REJECTED[noise][0]
    if outcome is Outcome.REJECTED and template == "{rejected}":
        return _filled("rejected", "a test", result, belief)
    sign = _filled("nominal", "a test", result, belief)
    if outcome is Outcome.KEPT:
        return f"No evidence that {sign}. {_interval_sentence(result)}"
    if outcome is Outcome.UNCORRECTED:
        tests = f"{result.n_tests} tests" if result.n_tests else "all further tests"
        return f"Some evidence that {sign}, which does not survive the correction over {tests}."
    return template.format(Sign=capitalised(sign), **words)


def _interval_sentence(result: CheckResult) -> str:
    """Say which effects are compatible with the data of a test that does not reject."""
    interval, unit = result.interval, clean(result.unit)
    if interval is None or math.isnan(interval.high):
        return NO_INTERVAL
    low, high = format_numbers([interval.low, interval.high])
    unit = unit if unit.startswith("%") else f" {unit}"
    level = f"({interval.level:.0%} interval)"
    return f"Effects in [{low}, {high}]{unit} {level} are compatible with the data."


def _filled(which: str, what: str, result: CheckResult, belief: str) -> str:
    """Return a sentence that the check of a result declares."""
    template = getattr(interpretation_of(result.check), which)
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
            variant=variant_of(result.check),
            belief=_belief_of([result], belief),
            position="lies above 0" if above else "does not lie above 0",
        )
    )


def _belief_of(results: Sequence[CheckResult], belief: str) -> str:
    """Name the beliefs that were compared: of a case, of its mean forecast, of each person."""
    if any(isinstance(result, ScoresResult) and result.averaged for result in results):
        return f"mean {belief}"
    primary = primary_of(results)
    persons = primary is not None and primary.n_persons
    return f"{belief} of their own" if persons else belief


# What the further tests of a (task, model) say


def conclude_further(
    results: Sequence[CheckResult],
    tests: Sequence[CheckResult],
    *,
    belief: str,
    scatter: ReportNoise | None,
) -> tuple[str, ...]:
    """Say how the further tests ended (`EvaluationReport.further_tests`), and how sure one can be.

    What tests of calibration say stands apart: a coherent agent may be badly calibrated.
    """
    of_calibration = [r for r in results if interpretation_of(r.check).of_calibration]
    calibrated = _calibration(of_calibration, belief) if of_calibration else ()
    if not tests:
        return calibrated
    n = len(tests)
    rejected = [result for result in tests if result.outcome() is Outcome.REJECTED]
    signs = [result for result in tests if result.outcome() is Outcome.UNCORRECTED]
    corrected = ", corrected among themselves" if n > 1 else ""
    if rejected:
        many = (
            f"{len(rejected)} of {n} further tests {numbered(len(rejected), 'rejects', 'reject')}"
        )
        # What several tests look for is named once.
        by_sign: dict[str, list[CheckResult]] = {}
        for result in rejected:
            by_sign.setdefault(_filled("nominal", "a sign", result, belief), []).append(result)
        said = "; ".join(f"{sign} ({_named(of_sign)})" for sign, of_sign in by_sign.items())
        return (
            f"{many if n > 1 else 'The one further test rejects'}{corrected}: {said}.",
            _trust(rejected, scatter, noise_robust_test(results)),
            *calibrated,
        )
    ended = (
        f"None of {n} further tests rejects" if n > 1 else "The one further test does not reject"
    )
    if signs:
        ended += f"{corrected}; uncorrected, p is at most {LEVEL} in {_named(signs)}"
    return f"{ended}.", *calibrated


def _calibration(results: Sequence[CheckResult], belief: str) -> tuple[str, ...]:
    """Say how tests of calibration ended."""
    belief = _belief_of(results, belief)
    ended = [result.outcome() for result in results]
    if all(outcome is Outcome.UNTESTED for outcome in ended):
        return (f"Calibration was not tested: {results[0].reason}.",)
    corrected = next((_corrected(result) for result in results if result.n_tests), "")
    if Outcome.REJECTED not in ended:
        return (
            f"Calibration of the {belief}s is not rejected{corrected}.",
            "Not rejecting is not evidence of calibration: the scores say how far off it may be.",
        )
    rejected = [r for r, outcome in zip(results, ended, strict=True) if outcome is Outcome.REJECTED]
    return (
        f"The {belief}s are not calibrated ({_named(rejected)} "
        f"{numbered(len(rejected), 'rejects', 'reject')}{corrected}).",
        f"A calibrated forecaster is rejected anywhere in at most {LEVEL:.0%} of reports, as long "
        "as outcomes of different cases are independent. A coherent agent may be badly "
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
    rejected: Sequence[CheckResult], scatter: ReportNoise | None, allowed: CheckResult | None
) -> str:
    """Say how far rejections can be trusted."""
    found = [(result, *_explained(result, scatter, allowed)) for result in rejected]
    suspects = [result for result, noise, _ in found if noise is not Noise.NOTHING]
    # What noise explains of one suspect it explains of all.
    noise, words = next(((noise, words) for _, noise, words in found if words), (Noise.NOTHING, {}))
    exact = ""
    if any(interpretation_of(result.check).assumes_exact_reports for result in rejected):
        unknown = scatter is None or math.isnan(scatter.sd)
        exact = " and reports have no noise around the belief acted on"
        exact += ", which this table cannot show" if unknown else ""
    words |= {"exact": exact, "suspects": _named(suspects) if suspects else ""}
    of_all, of_some = _REJECTED[noise][1:]
    return (of_all if len(suspects) == len(rejected) else of_some).format(**words)


def cautions(results: Sequence[CheckResult], scatter: ReportNoise) -> tuple[Note, ...]:
    """Say how much noise reports have, alongside the names of the tests that this misleads."""
    suspects = [
        result
        for result in results
        if result.pvalue is not None and interpretation_of(result.check).assumes_exact_reports
    ]
    if not suspects:
        return ()
    several = len(suspects) > 1
    exact = f"{_named(suspects)} {'take' if several else 'takes'} reports as exact"
    alone = f"such noise alone could make {'them' if several else 'it'} reject"
    level, contexts = Level.INFO, counted(scatter.n_groups, "case")
    if math.isnan(scatter.sd):
        unknown = f"report noise is not known, as no case has several {scatter.across}"
        text = f"{unknown}; {exact}, and {alone}."
    else:
        size = (
            f"reports of a case differ by {format_numbers([scatter.sd])[0]} between "
            f"{scatter.across} (standard deviation, {contexts})"
            if scatter.sd
            else f"reports of a case do not differ between {scatter.across} ({contexts})"
        )
        text = f"{size}; {exact}."
        if scatter.exceeds:
            robust = noise_robust_test(results) is not None
            allowed = f"; {PRIMARY} allows for it" if robust else ""
            level, text = Level.WARNING, f"{size}. {exact}: {alone}{allowed}."
    return (Note(Code.REPORT_NOISE, text, level, tuple(result.check for result in suspects)),)
