"""What questions with a level show in a sentence: matching probabilities, and stated stakes."""

import math
from collections.abc import Sequence

from coherence.report.wording import clean, format_numbers, with_interval
from coherence.result import CheckResult, Interval

SWING, SHARE, DIFFERENCE = "matching:swing", "matching:share", "matching:difference"
THRESHOLD = "threshold"
ACTS, REGRET, SLOPE = "stakes:swing", "stakes:regret_stated", "stakes:slope"


def question_sentences(results: Sequence[CheckResult]) -> tuple[str, ...]:
    """Return what the checks of questions with a level found; none where there were none."""
    return tuple(filter(None, [acted_on_sentence(results), stakes_sentence(results)]))


def acted_on_sentence(results: Sequence[CheckResult]) -> str:
    """Return what the check `matching` found; empty where it was not run."""
    found = {result.check: result for result in results}
    if (swing := found.get(SWING)) is None:
        return ""
    difference = found.get(DIFFERENCE)
    if difference is None:
        return f"The belief acted on is not identified, since {clean(swing.reason)}."
    value, interval, side = difference.statistic, difference.interval, "above"
    if value < 0:
        value, side = -value, "below"
        interval = interval and Interval(-interval.high, -interval.low)
    return (
        "Choices between the event and stated chances are those of a belief "
        f"{with_interval(value, interval, ' points')} {side} the stated one, on average over such "
        f"cases; {_share(found[SHARE])}."
    )


def _share(share: CheckResult) -> str:
    """Return the weight of the exact posterior in what is acted on, or why it is not identified."""
    if math.isnan(share.statistic):
        return f"the weight of the exact posterior in it is not identified: {clean(share.reason)}"
    return f"the exact posterior has {percent(share)} of the weight in it, beside what is said"


def percent(result: CheckResult) -> str:
    """Return a share in percent, with its interval."""
    value, low, high = (f"{100 * each:.0f}" for each in (result.statistic, result.low, result.high))
    return f"{value}% [{low}, {high}]"


def stakes_sentence(results: Sequence[CheckResult]) -> str:
    """Return what the check `stakes` found; empty where it was not run."""
    found = {result.check: result for result in results}
    if (swing := found.get(ACTS)) is None:
        return ""
    regret, slope = found.get(REGRET), found.get(SLOPE)
    if regret is None:
        return f"What it loses at stated stakes is not identified: {clean(swing.reason)}."
    lost = f"is not identified ({clean(regret.reason)})"
    if not math.isnan(regret.statistic):
        points = with_interval(regret.statistic, regret.interval, " points")
        lost = f"is {points} of gain and cost"
    line = clean(swing.reason if slope is None else slope.reason)
    if slope is not None and not math.isnan(slope.statistic):
        line = f"its own threshold rises {numbers(slope)} times as much as the stated one"
    return f"What it loses at stated stakes, against its own stated beliefs, {lost}; {line}."


def numbers(result: CheckResult) -> str:
    """Return an estimate with its interval."""
    value, low, high = format_numbers([result.statistic, result.low, result.high])
    return f"{value} [{low}, {high}]"
