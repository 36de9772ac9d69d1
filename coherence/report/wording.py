"""The wording that all faces of a report share: numbers with intervals, p-values and verdicts.

Names of tasks, models and actions come from files and model output; `clean` makes them safe to
print.
"""

import math
import re
import unicodedata
from collections.abc import Iterable, Sequence

from coherence.report.unit import Unit
from coherence.result import CheckResult

NOT_GIVEN = "–"
# Terminal commands first (CSI and OSC with their arguments): dropping the escape character alone
# would leave "[31m" behind.
_ESCAPES = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"
    r"|(?:\x1b\]|\x9d)[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)?"
    r"|\x1b[ -/]*[0-~]"
)
# Format characters (Cf) are the bidi overrides and zero-width marks that reorder or hide text.
UNPRINTABLE = ("Cc", "Cf", "Cs", "Co", "Cn")


def clean(text: object, *, limit: int | None = None) -> str:
    r"""Return untrusted text on one line, without terminal commands and direction overrides.

    Parameters
    ----------
    text : object
        Anything; ``str`` of it is taken.
    limit : int, optional
        Longest result in characters; longer text ends in an ellipsis.

    Returns
    -------
    str
        Printable text.

    Examples
    --------
    >>> clean("model\x1b[31m A\nB")
    'model A B'
    """
    plain = re.sub(r"\s+", " ", _ESCAPES.sub("", str(text)))
    # Line breaks and tabs went above: they part words, and must leave a blank behind.
    plain = "".join(mark for mark in plain if unicodedata.category(mark) not in UNPRINTABLE).strip()
    return plain if limit is None or len(plain) <= limit else plain[: limit - 1].rstrip() + "…"


def format_numbers(values: Sequence[float]) -> list[str]:
    """Format numbers that belong together with equal decimals: three digits of the largest.

    Parameters
    ----------
    values : sequence of float
        An estimate and the ends of its interval, say.

    Returns
    -------
    list of str
        One text per value; "undefined" for NaN.

    Examples
    --------
    >>> format_numbers([0.0213, -0.00004, 0.05])
    ['0.0213', '0.0000', '0.0500']
    """
    largest = max((abs(value) for value in values if math.isfinite(value)), default=0.0)
    decimals = min(max(2 - math.floor(math.log10(largest)), 0), 6) if largest > 0 else 2
    # "z" takes the sign off a number that rounds to zero: "-0.00" would read as below it.
    return ["undefined" if math.isnan(value) else f"{value:z.{decimals}f}" for value in values]


def format_effect(result: CheckResult) -> tuple[str, str]:
    """Format statistic and interval of a result.

    Parameters
    ----------
    result : CheckResult
        Any result.

    Returns
    -------
    effect, interval : str
        "0.0213 nats" and "[-0.0040, 0.0500]"; a dash for a missing interval.
    """
    # The estimate shares its decimals with the ends: it is read against them.
    ends = (result.interval.low, result.interval.high) if result.interval is not None else ()
    numbers = format_numbers([result.statistic, *ends])
    unit = "" if math.isnan(result.statistic) else clean(result.unit)
    # "3.2%" and "3.2% of log-loss", but "3.2 nats".
    effect = numbers[0] + ("" if unit.startswith("%") or not unit else " ") + unit
    if result.interval is None or all(math.isnan(end) for end in ends):
        return effect, NOT_GIVEN
    return effect, f"[{numbers[1]}, {numbers[2]}]"


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
        f"{rows} rows in {contexts} contexts"
        + (f", {dropped} left out for missing values" if dropped else "")
        + f": {', '.join(checks)}"
        for (rows, contexts, dropped), checks in groups.items()
    ]


def unit_heading(unit: Unit) -> str:
    """Return "task · model", with whatever of the two is named."""
    names = (clean(name, limit=80) for name in (unit.task, unit.model))
    return " · ".join(filter(None, names)) or "all rows"
