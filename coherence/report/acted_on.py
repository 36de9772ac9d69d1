"""What matching questions and stakes show, in sentences, whose verdicts stand in `verdicts`."""

import math
from collections.abc import Sequence

from coherence.checks.matching import MatchingResult
from coherence.checks.stakes import StakesResult
from coherence.checks.threshold import ThresholdResult
from coherence.report.wording import clean, format_interval, with_interval
from coherence.result import CheckResult, Estimate, Family, Interval, by_variant

STEEP = 2.0  # slope above which neither neglect nor dislike of losses explains it


def question_sentences(results: Sequence[CheckResult]) -> tuple[str, ...]:
    """Return what matching and stakes found, and without a primary test the threshold."""
    said = [acted_on_sentence(results), *stakes_sentences(results)]
    if not any(result.family is Family.PRIMARY for result in results):
        said += map(threshold_sentence, results)
    return tuple(filter(None, said))


def threshold_sentence(result: CheckResult) -> str:
    """Return where choices change, or what that lies beyond; nothing of another result."""
    if not (where := threshold_place(result)) or not isinstance(result, ThresholdResult):
        return ""
    start, to = (clean(label, limit=40) for label in (result.start, result.to))
    place = f"of {where}" if where[0].isdigit() else where  # a bound: "above 47%"
    return f"Choices change from {start} to {to} at a stated belief {place}."


def threshold_place(result: CheckResult | None) -> str:
    """Return a threshold in percent, or its bound; empty where there is neither."""
    if not isinstance(result, ThresholdResult):
        return ""
    if not math.isnan(result.statistic):
        return percent(result)
    bounds = {"above": result.above, "below": result.below}
    return next((f"{side} {100 * at:.0f}%" for side, at in bounds.items() if at is not None), "")


def acted_on_sentence(results: Sequence[CheckResult]) -> str:
    """Return what the check `matching` found; empty where it was not run."""
    found = by_variant(results, MatchingResult)
    if (swing := found.get("swing")) is None:
        return ""
    if (difference := found.get("difference")) is None:
        return f"The belief acted on is not identified, since {clean(swing.reason)}."
    share = found["share"]
    weight = f"the exact posterior has {percent(share)} of the weight in it, beside what is said"
    if math.isnan(share.statistic):
        weight = f"the weight of the exact posterior in it is not identified: {clean(share.reason)}"
    return (
        "Choices between the event and stated chances are those of a belief "
        f"{above(difference)} the stated one, on average over such cases; {weight}."
    )


def percent(result: CheckResult) -> str:
    """Return a share in percent, with its interval where there is one."""
    ends = (result.statistic, result.low, result.high)
    value, low, high = format_interval([100 * each for each in ends], 0)
    return f"{value}%" if result.interval is None else f"{value}% [{low}, {high}]"


def share_with_interval(share: Estimate) -> str:
    """Return a share in percent, its interval behind it, neither beyond 0 and 100."""
    within = [min(max(each, 0.0), 1.0) for each in (share.value, share.low, share.high)]
    value, low, high = format_interval([100 * each for each in within], 0)
    return f"{value}% [{low}, {high}]"


def stakes_sentences(results: Sequence[CheckResult]) -> tuple[str, ...]:
    """Return what choices at stakes lose, and from which belief they act; none where not run."""
    found = by_variant(results, StakesResult)
    if (loss := found.get("loss")) is None or "against" not in found:
        return ()
    of = (loss.at_most, loss.never, loss.always)
    beside = [math.nan if share is None else share for share in of]
    shares = [*beside, loss.statistic, loss.low, loss.high]
    most, never, always, value, low, high = (f"{100 * share:.1f}" for share in shares)
    lost = f"it loses {value} [{low}, {high}]"
    if math.isnan(loss.statistic):
        lost = f"it loses at most {most} (the noise of reports adds to it)"
    would = f"never acting would lose {never}, always acting {always}"
    if math.isnan(loss.statistic) and math.isnan(beside[0]):
        lost, would = would, "what it loses is not known"
    of_100 = f"Of 100 at stake in a choice {lost}; {would}."
    if math.isnan(beside[1]):
        of_100 = f"What it loses is not known: {clean(loss.reason)}."
    slope, moved, against = found["slope"], found.get("confidence"), found["against"]
    often = f" It chooses against its stated belief in {percent(against)} of choices."
    said = [of_100 + often * (not math.isnan(against.statistic))]
    if not math.isnan(slope.statistic):
        units = "; is the gain in the unit of the loss?" if slope.low > STEEP else ""
        n, n_all = slope.n_contexts, against.n_contexts
        some = f"In the {n} of {n_all} cases that tell, the" if n < 0.9 * n_all else "The"
        said.append(
            f"{some} stated belief from which it acts rises {numbers(slope)} times as much as the "
            "one from which acting pays (1 if costs count as stated, less where losses are disliked"
            f"{units}), and lies {above(found['difference'])} it on average."
        )
    if (spoken := found.get("said")) is not None:
        line, beyond = found.get("said_slope"), found["acted_less_said"]
        rises = "" if line is None else f", and rises {numbers(line)} times as much"
        acts = f" It acts from a belief {above(beyond)} that."
        acts = acts * (not math.isnan(beyond.statistic))
        said.append(
            f"The probability from which it says it would act lies {above(spoken)} the one "
            f"from which acting pays{rises}.{acts}"
        )
    if moved is not None and (moved.low > 0 or moved.high < 0):
        by = with_interval(moved.statistic, moved.interval, " points")
        part = ", which is part of that slope" * (not math.isnan(slope.statistic))
        said.append(f"Its confidence moves by {by} from the lowest stake to the highest{part}.")
    return tuple(said)


def above(result: CheckResult) -> str:
    """Return by how many points a probability lies above another, or below it."""
    value, interval = result.statistic, result.interval
    if value >= 0:
        return f"{with_interval(value, interval, ' points')} above"
    interval = interval and Interval(-interval.high, -interval.low)
    return f"{with_interval(-value, interval, ' points')} below"


def numbers(result: CheckResult) -> str:
    """Return an estimate with its interval."""
    value, low, high = format_interval([result.statistic, result.low, result.high])
    return f"{value} [{low}, {high}]"
