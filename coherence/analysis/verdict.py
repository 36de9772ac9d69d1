"""What a result says, in one plain sentence that its check declares.

A test that does not reject is never called evidence of coherence: the sentence says what was not
found and, where the interval is wide, that the data leave it open.
"""

import math

from coherence.checks.catalogue import sentences_of
from coherence.errors import InputError
from coherence.result import LEVEL, CheckResult, rejects


def verdict(result: CheckResult, *, alpha: float = LEVEL) -> str:
    """Say what a result means.

    Parameters
    ----------
    result : CheckResult
        Outcome of a check.
    alpha : float
        Level of the single test.

    Returns
    -------
    str
        One sentence.

    Raises
    ------
    InputError
        No check declares such a result, or it declares no sentence for what the result holds.
    """
    sentences, variant = sentences_of(result.check)
    tested = result.pvalue is not None and not math.isnan(result.pvalue)
    if result.reason and math.isnan(result.statistic) and not tested:
        return f"Undefined: {result.reason}."
    published = bool(result.settings.get("published"))
    if result.pvalue is not None and not published:
        # An effect may stand where its test is undefined, as when every gap is exactly 0.
        if sentences.rejected and math.isnan(result.pvalue):
            return f"Not tested: {result.reason}."
        sentence = sentences.rejected if rejects(result.pvalue, alpha=alpha) else sentences.kept
    else:
        sentence = sentences.published if published else sentences.estimate
    if not sentence:
        what = "the published procedure" if published else "a test" if tested else "an estimate"
        raise InputError(
            f"check must declare a sentence for {what}; {result.check!r} has none, and its p-value "
            f"is {result.pvalue}. Add it to the declaration of the check."
        )
    # Only the sentence is a template: names from data are filled in and never read as one.
    above = result.interval is not None and result.interval.low > 0
    sentence = sentence.format(
        value=result.statistic,
        variant=variant,
        position="lies above 0" if above else "does not lie above 0",
    )
    component = result.settings.get("component")
    return f"{sentence} The effect shown is {component}." if component else sentence
