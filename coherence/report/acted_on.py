"""What matching questions and stakes show, in sentences, whose verdicts stand in `verdicts`."""

import math
from collections.abc import Sequence

from coherence.report.wording import clean, format_numbers, with_interval
from coherence.result import CheckResult, Interval

SWING, SHARE, DIFFERENCE = "matching:swing", "matching:share", "matching:difference"
THRESHOLD = "threshold"
MOVEMENT, LOSS, AGAINST = "stakes:movement", "stakes:loss", "stakes:against"
SLOPE, CONFIDENCE = "stakes:slope", "stakes:confidence"


def question_sentences(results: Sequence[CheckResult]) -> tuple[str, ...]:
    """Return what the checks of matching and stakes found; none where there were none."""
    return tuple(filter(None, [acted_on_sentence(results), *stakes_sentences(results)]))


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


def stakes_sentences(results: Sequence[CheckResult]) -> tuple[str, ...]:
    """Return what choices at stakes lose, and from which belief they act; none where not run."""
    found = {result.check: result for result in results}
    if (loss := found.get(LOSS)) is None or AGAINST not in found:
        return ()
    most, never, always, value, low, high = (
        f"{100 * number:.1f}"
        for number in (
            *(loss.settings.get(name, math.nan) for name in ("at_most", "never", "always")),
            *(loss.statistic, loss.low, loss.high),
        )
    )
    lost = f"it loses {value} [{low}, {high}]"
    if math.isnan(loss.statistic):
        lost = f"it loses at most {most} (reports of a case never differ: their noise adds to it)"
    slope, moved = found[SLOPE], found.get(CONFIDENCE)
    said = [
        f"Of 100 at stake in a choice {lost}; never acting would lose {never}, always acting "
        f"{always}. It chooses against its stated belief in {percent(found[AGAINST])} of choices."
    ]
    if not math.isnan(slope.statistic):
        said.append(
            f"The stated belief from which it acts rises {numbers(slope)} times as much as the one "
            "from which acting pays (1 if costs count as stated, less where losses are disliked)."
        )
    if moved is not None and (moved.low > 0 or moved.high < 0):
        by = with_interval(moved.statistic, moved.interval, " points")
        said.append(f"Its confidence moves by {by} from the lowest stake to the highest.")
    return tuple(said)


def numbers(result: CheckResult) -> str:
    """Return an estimate with its interval."""
    value, low, high = format_numbers([result.statistic, result.low, result.high])
    return f"{value} [{low}, {high}]"
