"""What a result says, in one plain sentence.

A test that does not reject is never called evidence of coherence: the sentence says what was not
found and, where the interval is wide, that the data leave it open.
"""

import math

from coherence.result import CheckResult

_REJECTED = {
    "residual_covariance": "Choices move with the realised state at the same stated belief: the statement is not the belief acted on.",
    "cmi": "The action depends on the realised state beyond the stated belief: the statement is not the belief acted on.",
    "predictive_gain": "The realised state predicts the action beyond the stated belief: information was used that was not stated.",
    "predictive_gain:features": "Even given the evidence, the realised state helps to predict the action beyond the stated belief.",
    "monotone_choice": "The choice share moves against the stated belief: no expected-utility maximiser who believes it chooses so.",
    "monotone_direction": "Under no order of the actions do choices rise with the stated belief: no expected-utility maximiser chooses so.",
    "iterated_expectation": "Beliefs do not average out over the auxiliary variable: they are no single probability distribution.",
}
_KEPT = {
    "residual_covariance": "No sign that choices move with the realised state at the same stated belief.",
    "cmi": "No sign that the action uses more than the stated belief.",
    "predictive_gain": "The realised state does not help to predict the action once the stated belief is known.",
    "predictive_gain:features": "Given the evidence, the realised state does not help to predict the action beyond the stated belief.",
    "monotone_choice": "No sign that the choice share moves against the stated belief.",
    "monotone_direction": "Choices over all actions can be explained by some order that rises with the stated belief.",
    "iterated_expectation": "No sign of a gap in one direction; gaps that cancel between contexts show in the noise-removed figure.",
}


def verdict(result: CheckResult, *, alpha: float = 0.05) -> str:
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
    """
    tested = result.pvalue is not None and not math.isnan(result.pvalue)
    if result.reason and math.isnan(result.statistic) and not tested:
        return f"Undefined: {result.reason}."
    if result.settings.get("published"):
        return _published(result)
    family = result.check if result.check in _REJECTED else result.check.split(":")[0]
    if result.pvalue is not None and family in _REJECTED:
        if math.isnan(result.pvalue):
            return f"Not tested: {result.reason}."
        sentence = _REJECTED[family] if result.pvalue <= alpha else _KEPT[family]
        component = result.settings.get("component")
        return f"{sentence} The effect shown is {component}." if component else sentence
    return _estimate(result)


def _published(result: CheckResult) -> str:
    name = result.check.split(":")[0]
    if name == "monotone_choice":
        return f"{result.statistic:.0%} of bin pairs violate the order significantly (uncorrected)."
    if name in ("cmi", "predictive_gain") and result.interval is not None:
        position = "lies above 0" if result.interval.low > 0 else "does not lie above 0"
        return f"The published interval {position}; its error rate is not controlled."
    return _estimate(result)


def _estimate(result: CheckResult) -> str:
    name, _, variant = result.check.partition(":")
    value = result.statistic
    if name == "prompt_consistency":
        subject = f"under {variant!r}" if variant else "under other prompts"
        kind = (
            "in repetition means" if result.settings.get("published") else "beyond repetition noise"
        )
        return f"Beliefs {subject} differ by {value:.3f} (root mean square) {kind}."
    if name == "iterated_expectation":
        if variant == "random_forest":
            return f"For comparison: forests fitted to the exact posteriors have a median gap of {value:.1%} of the belief."
        if variant == "noise_removed":
            return f"Beyond answer noise, beliefs and their averages differ by {value:.3f} (root mean square)."
        return f"Half of the gaps exceed {value:.1%} of the belief; answer noise is included."
    if name == "calibration":
        sentences = {
            "rmse": f"Stated beliefs miss the exact posterior by {value:.3f} (root mean square).",
            "calibration_error_exact": f"In bins, mean beliefs miss the exact posterior by {value:.3f} (root mean square, chance removed).",
            "ece_exact": f"In bins, mean beliefs miss the exact posterior by {value:.3f} on average, chance included.",
            "brier": f"The squared error against what happened is {value:.3f} on average.",
            "calibration_error": f"In bins, mean beliefs miss the observed frequency by {value:.3f} (root mean square, chance removed).",
            "ece": f"In bins, mean beliefs miss the observed frequency by {value:.3f} on average, chance included.",
        }
        return sentences[variant]
    return "An estimate, not a test."
