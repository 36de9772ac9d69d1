"""The effects that models are compared by: estimates of the checks, case by case.

Estimates and intervals are those of the checks; what noise, rounding or chance would add is taken
off as they take it off.
"""

from functools import partial

from coherence.analysis.comparison.belief_effects import (
    calibration_error,
    cases_with_target,
    report_variance,
    squared_error,
    unread_share,
    wording_squares,
)
from coherence.analysis.comparison.gap_effects import gap_beyond, repeated_gaps, signed_gap
from coherence.analysis.comparison.measured import Effect, mean_effect, of_cases
from coherence.analysis.comparison.shift_effects import held_shift, judged_cases, stated_difference

EFFECTS = {
    effect.name: effect
    for effect in (
        Effect(
            "residual_covariance",
            "difference in choice between the states at equal stated belief",
            judged_cases,
            of_cases(stated_difference),
            signed=True,
        ),
        Effect(
            "rational_agent",
            "hidden shift of belief, noise of reports taken off",
            judged_cases,
            of_cases(held_shift),
            signed=True,
        ),
        mean_effect(
            "calibration:rmse",
            "root-mean-square error of belief to the exact posterior",
            partial(squared_error, target="p_true"),
            squared=True,
        ),
        mean_effect(
            "calibration:brier",
            "mean squared error of belief to the realised state",
            partial(squared_error, target="theta"),
        ),
        *(
            Effect(
                f"calibration:calibration_error{suffix}",
                f"calibration error to {against}, chance removed",
                partial(cases_with_target, target=target),
                of_cases(partial(calibration_error, target=target)),
                squared=True,
            )
            for suffix, against, target in (
                ("_exact", "the exact posterior", "p_true"),
                ("", "the realised state", "theta"),
            )
        ),
        mean_effect(
            "prompt_consistency",
            "root-mean-square difference between wordings, noise removed",
            wording_squares,
            squared=True,
        ),
        mean_effect(
            "iterated_expectation",
            "mean gap between belief and average of beliefs given z",
            signed_gap,
            signed=True,
            within=(-1.0, 1.0),
        ),
        Effect(
            "iterated_expectation:noise_removed",
            "root-mean-square of that gap, noise and rounding removed",
            repeated_gaps,
            of_cases(gap_beyond),
            squared=True,
        ),
        mean_effect(
            "report_noise",
            "standard deviation of repeated reports of a case",
            report_variance,
            squared=True,
        ),
        mean_effect("unreadable", "share of answers that could not be read", unread_share),
    )
}
"""Name -> effect, in the order of reports. The largest of several drops of a choice share is not
among them: noise raises it, and no estimate of it is free of that."""
