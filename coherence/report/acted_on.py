"""The belief acted on in a sentence: what matching probabilities identify, or why they do not."""

import math
from collections.abc import Sequence

from coherence.report.wording import clean, with_interval
from coherence.result import CheckResult, Interval

SWING, SHARE, DIFFERENCE = "matching:swing", "matching:share", "matching:difference"


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
    return f"the exact posterior has {percent(share)} of the weight in it, what is said the rest"


def percent(result: CheckResult) -> str:
    """Return a share in percent, with its interval."""
    value, low, high = (f"{100 * each:.0f}" for each in (result.statistic, result.low, result.high))
    return f"{value}% [{low}, {high}]"
