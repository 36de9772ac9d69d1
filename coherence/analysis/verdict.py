"""What a result says, in plain sentences out of what its check declares.

A test that does not reject is never called evidence of coherence: what follows the sentence is
which effects the interval leaves open. Only a test that
rejects after the correction over the whole report accuses, and not one that scatter of the reports
may have misled.
"""

import math
from collections.abc import Sequence

from coherence.checks.catalogue import sentences_of
from coherence.checks.check import Sentences
from coherence.errors import InputError
from coherence.report.wording import clean, format_numbers
from coherence.result import LEVEL, CheckResult, Interval, Outcome
from coherence.statistics.scatter import Scatter

RATIONAL = "rational_agent"
"""The test that allows for scatter, and so tells whether scatter suffices."""
NO_INTERVAL = "There is no interval: what effect was missed is not known."


def misled(result: CheckResult, scatter: Scatter | None) -> bool:
    """Tell whether scatter of the reports alone may be why a test rejects."""
    suspect = result.pvalue is not None and sentences_of(result.check)[0].scatter_misleads
    return suspect and scatter is not None and scatter.misleads


def allowing(results: Sequence[CheckResult]) -> CheckResult | None:
    """Return the test that allows for scatter of reports, where it was run and has a p-value."""
    for result in results:
        if result.check == RATIONAL and result.pvalue is not None:
            return None if math.isnan(result.pvalue) else result
    return None


def settled(allowed: CheckResult) -> str:
    """Say what the test that allows for scatter sees beyond it."""
    if allowed.outcome() is Outcome.REJECTED:
        return "rational_agent, which allows for scatter of reports, rejects too"
    seen = (
        "sees no more" if allowed.outcome() is Outcome.KEPT else "does not survive the correction"
    )
    return (
        f"rational_agent, which allows for it, {seen} (p = {format_numbers([allowed.pvalue])[0]})"
        if allowed.pvalue is not None
        else ""
    )


def sign_of(result: CheckResult, belief: str) -> str:
    """Return the clause of what a test looks for, such as "choices move with ..."."""
    sentences, variant = sentences_of(result.check)
    return _filled(_declared(sentences.sign, "a sign", result), result, variant, belief)


def furthest(interval: Interval, one_sided: bool) -> float:
    """Return the largest effect that an interval leaves open; 0 where it leaves none."""
    if one_sided:
        return max(interval.high, 0.0)
    return max(abs(interval.low), abs(interval.high))


def amounts(result: CheckResult, *values: float) -> list[str]:
    """Format effects with the unit of a result, with equal decimals."""
    unit = clean(result.unit)
    return [f"{number}{'' if unit[:1] == '%' else ' '}{unit}" for number in format_numbers(values)]


def _left_open(result: CheckResult, sentences: Sentences) -> str:
    """Say which effects a test that does not reject leaves open."""
    if result.interval is None or math.isnan(result.interval.high):
        return NO_INTERVAL
    return f"The interval {room_for(result, furthest(result.interval, sentences.one_sided))}."


def room_for(result: CheckResult, effect: float) -> str:
    """Say what an interval leaves room for, of which `effect` is the largest."""
    if effect == 0:
        return "leaves room for no effect"
    return f"leaves room for an effect up to {amounts(result, effect)[0]}"


def _declared(sentence: str, what: str, result: CheckResult) -> str:
    if not sentence:
        raise InputError(
            f"check must declare a sentence for {what}; {result.check!r} has none, and its p-value "
            f"is {result.pvalue}. Add it to the declaration of the check."
        )
    return sentence


def _filled(sentence: str, result: CheckResult, variant: str, belief: str) -> str:
    # Only the sentence is a template: names from data are filled in and never read as one.
    above = result.interval is not None and result.interval.low > 0
    return sentence.format(
        value=result.statistic,
        variant=variant,
        belief=belief,
        position="lies above 0" if above else "does not lie above 0",
    )


def _tested(
    result: CheckResult,
    sentences: Sentences,
    alpha: float,
    belief: str,
    scatter: Scatter | None,
    allowed: CheckResult | None,
) -> str:
    """Say how a test ended."""
    variant = sentences_of(result.check)[1]
    outcome = result.outcome(alpha=alpha)
    if outcome is Outcome.KEPT:
        kept = sentences.kept
        if not kept:
            kept = f"No sign that {_declared(sentences.sign, 'a test', result)}."
        return f"{_filled(kept, result, variant, belief)} {_left_open(result, sentences)}"
    if outcome is Outcome.UNCORRECTED:
        tests = f"{result.n_tests} tests" if result.n_tests else "all tests of the report"
        return (
            f"A sign that {sign_of(result, belief)}, "
            f"which does not survive the correction over {tests}."
        )
    if misled(result, scatter):
        assert scatter is not None
        sign = sign_of(result, belief)
        capital = f"{sign[:1].upper()}{sign[1:]}"
        if allowed is None:
            return f"{capital}, which {caused_by(scatter)} could cause alone."
        if allowed.outcome() is not Outcome.REJECTED:
            return f"{capital}, which {caused_by(scatter)} suffices to explain: {settled(allowed)}."
    return _filled(_declared(sentences.rejected, "a test", result), result, variant, belief)


def caused_by(scatter: Scatter) -> str:
    """Name scatter that is large enough to mislead."""
    return (
        f"scatter of reports (standard deviation {scatter.sd:.2f} "
        f"between {scatter.across} of a context)"
    )


def verdict(
    result: CheckResult,
    *,
    alpha: float = LEVEL,
    belief: str = "stated belief",
    scatter: Scatter | None = None,
    allowed: CheckResult | None = None,
) -> str:
    """Say what a result means."""
    sentences, variant = sentences_of(result.check)
    tested = result.pvalue is not None and not math.isnan(result.pvalue)
    if result.reason and math.isnan(result.statistic) and not tested:
        return f"Undefined: {result.reason}."
    published = bool(result.settings.get("published"))
    if result.pvalue is not None and not published:
        # An effect may stand where its test is undefined, as when every gap is exactly 0.
        if sentences.rejected and math.isnan(result.pvalue):
            return f"Not tested: {result.reason}."
        sentence = _tested(result, sentences, alpha, belief, scatter, allowed)
    else:
        what = "the published procedure" if published else "an estimate"
        template = sentences.published if published else sentences.estimate
        sentence = _filled(_declared(template, what, result), result, variant, belief)
    component = result.settings.get("component")
    shown = f"The effect shown is {component}." if component else ""
    return " ".join(filter(None, [sentence, shown, result.estimate_note()]))
