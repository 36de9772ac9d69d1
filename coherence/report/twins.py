"""Results beside those of rational twins, in the words and cells that terminal and page share."""

import math

from coherence.report.unit import Unit
from coherence.report.wording import NOT_GIVEN, format_numbers, format_pvalue
from coherence.result import CheckResult, Twins

NOTE = (
    "Twins are what the nearest rational agent would give, with the noise of these reports. p is "
    "the share of twins at least as extreme (these data counted as one more; twice the smaller "
    "side where an effect may have either sign), without a correction over checks; noise is the "
    "median of the twins over what was observed."
)
_HEADINGS = ("observed", "twins", "95% of twins", "p", "noise")


def twinned(unit: Unit) -> list[tuple[CheckResult, Twins]]:
    """Return the results that twins have too, in the order of the unit."""
    return [(result, result.twins) for result in unit.results if result.twins is not None]


def twin_cells(unit: Unit) -> tuple[list[str], list[list[str]]]:
    """Return headings and a row for each result that twins have too."""
    found = twinned(unit)
    if not found:
        return [], []
    heading = f"beside {max(twins.n_twins for _, twins in found)} rational twins"
    return [heading, *_HEADINGS], [_row(result, twins) for result, twins in found]


def _row(result: CheckResult, twins: Twins) -> list[str]:
    numbers = format_numbers([twins.observed, twins.median, twins.low, twins.high])
    ends = f"[{numbers[2]}, {numbers[3]}]"
    share = noise_share(twins)
    return [result.check, numbers[0], numbers[1], ends, format_pvalue(twins.pvalue), share]


def noise_share(twins: Twins) -> str:
    """Say how much of what was observed is noise, in percent; a dash where that has no meaning."""
    if math.isnan(twins.noise_share):
        return NOT_GIVEN
    return f"{twins.noise_share:.0%}" if twins.noise_share <= 1 else "all"


def twin_note(unit: Unit) -> str:
    """Explain the table; empty where there is none."""
    return NOTE if twinned(unit) else ""


def sensitivity_sentence(unit: Unit) -> str:
    """Say how much unseen noise would explain the hidden shift; empty where that was not asked."""
    return "" if unit.sensitivity is None else str(unit.sensitivity)
