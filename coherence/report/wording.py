"""The wording that all faces of a report share: numbers with intervals, p-values and verdicts.

Names of tasks, models and actions come from files and model output; `clean` makes them safe to
print. It and `format_numbers` stand in `coherence.table.printable`, where figures have them too.
"""

import math
from collections.abc import Iterable, Sequence

from coherence.report.unit import Unit
from coherence.result import CheckResult
from coherence.table.printable import clean as clean
from coherence.table.printable import counted, unit_name
from coherence.table.printable import format_numbers as format_numbers

NOT_GIVEN = "–"
ALERT = "Caution"


def format_effect(result: CheckResult) -> tuple[str, str]:
    """Format statistic and interval of a result."""
    # The estimate shares its decimals with the ends: it is read against them.
    ends = (result.interval.low, result.interval.high) if result.interval is not None else ()
    numbers = format_numbers([result.statistic, *ends])
    unit = "" if math.isnan(result.statistic) else clean(result.unit)
    # "3.2%" and "3.2% of log-loss", but "3.2 nats".
    effect = numbers[0] + ("" if unit.startswith("%") or not unit else " ") + unit
    if result.interval is None or all(math.isnan(end) for end in ends):
        return effect, NOT_GIVEN
    return effect, f"[{numbers[1]}, {numbers[2]}]"


def component_of(result: CheckResult) -> str:
    """Return the difference of probabilities that an effect is; empty where it is none."""
    return clean(result.settings.get("component", ""))


def format_pvalue(pvalue: float | None) -> str:
    """Format a p-value with three decimals; a dash where there is no test."""
    if pvalue is None or math.isnan(pvalue):
        return NOT_GIVEN
    # Permutation p-values below that say more of the number of permutations than of the data.
    return "<0.001" if pvalue < 0.001 else f"{pvalue:.3f}"


def format_tested(result: CheckResult) -> str:
    """Format the p-value of a result, with Holm's adjusted one in brackets where there is one."""
    text = format_pvalue(result.pvalue)
    adjusted = result.pvalue_holm is not None and text != NOT_GIVEN
    return f"{text} ({format_pvalue(result.pvalue_holm)})" if adjusted else text


def interval_heading(results: Iterable[CheckResult]) -> str:
    """Return "95% interval", or "interval" where the nominal levels differ."""
    # A user of the Python functions may have asked for other levels.
    levels = {result.interval.level for result in results if result.interval is not None}
    return f"{levels.pop():.0%} interval" if len(levels) == 1 else "interval"


def full_verdict(result: CheckResult, verdict: str) -> str:
    """Return the verdict, with the reason of an undefined number unless the verdict gives it."""
    sentence, reason = clean(verdict), clean(result.reason)
    return f"{sentence} ({reason})" if reason and reason.rstrip(".") not in sentence else sentence


def sample_sentences(results: Sequence[CheckResult]) -> list[str]:
    """Say how many rows and contexts entered, checks with equal numbers together."""
    groups: dict[tuple[int, int, int], list[str]] = {}
    for result in results:
        groups.setdefault((result.n_rows, result.n_contexts, result.n_dropped), []).append(
            clean(result.check)
        )
    return [
        f"{counted(rows, 'row')} in {counted(contexts, 'context')}"
        + (f", {dropped} left out for missing values" if dropped else "")
        + f": {', '.join(checks)}"
        for (rows, contexts, dropped), checks in groups.items()
    ]


def alert_sentence(alert: str) -> str:
    """Return an alert as it stands beside a conclusion."""
    return f"{ALERT}: {clean(alert)}"


def unit_heading(unit: Unit) -> str:
    """Return "task · model", with whatever of the two is named."""
    return unit_name(unit.task, unit.model)
