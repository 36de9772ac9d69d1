"""What is read from one simulated data set: p-values, intervals, and the truths to be held."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from typing import NamedTuple

import numpy as np
from designs import (
    BELIEFS,
    BIASED,
    CONSTANT,
    FEATURED,
    FEW,
    FEW_STATED,
    GAPPED,
    JUMPS,
    LEAKS,
    LIKE_MODELS,
    NEARLY_CALIBRATED,
    NO_LEAKS,
    NULLS,
    ONE_BELIEF,
    POLICIES,
    POLICIES_TURNED,
    POLICY_SIGNALS,
    PROMPTED,
    REFUSED,
    ROUNDED,
    ROUNDED_ONCE,
    SIGNALS,
    SKEWED,
    SMALL_MODELS,
    SMALL_POLICIES,
    STATED,
    TESTED,
    VIOLATED,
    Design,
)
from parts import residual_covariance

from coherence import (
    CheckResult,
    cmi_test,
    evidence_leak_test,
    iterated_expectation_test,
    monotone_choice_test,
    predictive_gain_test,
    prompt_consistency,
)
from coherence.checks.calibration import calibration_estimates

EXPECTED = "the mean of the estimate over data sets"
LARGE = 100_000  # contexts of the one data set that stands for the population
MEASURES = (
    "mean signed gap",
    "mean absolute gap",
    "median absolute gap",
    "median of |gap| / belief",
    "root-mean-square gap",
    "root-mean-square gap, noise removed",
    "noise floor (root-mean-square gap from repetitions alone)",
    "sum of P(z|x) minus 1",
)

SKEWED_MEASURES = ("mean absolute gap", "median absolute gap", "root-mean-square gap")


class Reading(NamedTuple):
    """One estimate, its interval and the p-value beside it."""

    value: float
    low: float
    high: float
    pvalue: float | None = None


@dataclass(frozen=True)
class Subject:
    """A check under simulation.

    How it is run, which of its readings are tests, the truth of its intervals under a design.
    """

    run: Callable[[Design, np.random.Generator], dict[str, Reading]]
    tests: tuple[str, ...] = ()
    tested: tuple[Design, ...] = ()
    intervals: dict[str, object] = field(default_factory=dict)  # name -> truth(design), or EXPECTED
    covered: tuple[Design, ...] = ()
    slow: bool = False

    @property
    def designs(self) -> tuple[Design, ...]:
        return tuple(dict.fromkeys((*self.tested, *self.covered)))


def _reading(result: CheckResult) -> Reading:
    low, high = (
        (np.nan, np.nan) if result.interval is None else (result.interval.low, result.interval.high)
    )
    return Reading(result.statistic, low, high, result.pvalue)


def _choices(name: str, test: Callable[..., CheckResult], **options: object) -> Callable:
    def run(design: Design, rng: np.random.Generator) -> dict[str, Reading]:
        runs = design.draw(rng)
        return {
            name: _reading(
                test(
                    runs["p"],
                    runs["action"],
                    runs["theta"],
                    context=runs["context"],
                    rng=rng,
                    **options,
                )
            )
        }

    return run


def _featured(
    name: str, test: Callable[..., CheckResult], argument: str, **options: object
) -> Callable:
    def run(design: Design, rng: np.random.Generator) -> dict[str, Reading]:
        runs, features = design.draw_featured(rng)
        options_ = options | {argument: features, "context": runs["context"], "rng": rng}
        return {name: _reading(test(runs["p"], runs["action"], runs["theta"], **options_))}

    return run


def _stated(name: str, test: Callable[..., CheckResult], **options: object) -> Callable:
    def run(design: Design, rng: np.random.Generator) -> dict[str, Reading]:
        belief, action, truth, context = design.draw_states(rng)
        return {name: _reading(test(belief, action, truth, context=context, rng=rng, **options))}

    return run


def _ordered(name: str, test: Callable[..., CheckResult], **options: object) -> Callable:
    def run(design: Design, rng: np.random.Generator) -> dict[str, Reading]:
        runs = design.draw(rng)
        return {
            name: _reading(
                test(
                    runs["p"],
                    runs["action"],
                    context=runs["context"],
                    n_draws=999,
                    rng=rng,
                    **options,
                )
            )
        }

    return run


def _policies(name: str, test: Callable[..., CheckResult], **options: object) -> Callable:
    def run(design: Design, rng: np.random.Generator) -> dict[str, Reading]:
        belief, policy, truth, context = design.draw_policies(rng)
        return {name: _reading(test(belief, policy, truth, context=context, rng=rng, **options))}

    return run


def _ordered_policies(name: str, test: Callable[..., CheckResult], **options: object) -> Callable:
    def run(design: Design, rng: np.random.Generator) -> dict[str, Reading]:
        belief, policy, _, context = design.draw_policies(rng)
        return {
            name: _reading(test(belief, policy, context=context, n_draws=999, rng=rng, **options))
        }

    return run


def _iterated(design: Design, rng: np.random.Generator) -> dict[str, Reading]:
    result = iterated_expectation_test(design.draw_iterated(rng), rng=rng)
    rows = {
        str(row.measure): Reading(row.value, row.low, row.high)
        for row in result.details.itertuples()
    }
    return {"iterated_expectation": _reading(result)} | rows


def _rounded(name: str, measure: str) -> Callable:
    def run(design: Design, rng: np.random.Generator) -> dict[str, Reading]:
        result = iterated_expectation_test(design.draw_rounded(rng), rng=rng)
        row = result.details.set_index("measure").loc[measure]
        # An interval above 0 is what accuses, and is counted as a rejection.
        return {name: Reading(row["value"], row["low"], row["high"], float(not row["low"] > 0))}

    return run


def _skewed(design: Design, rng: np.random.Generator) -> dict[str, Reading]:
    result = iterated_expectation_test(design.draw_rounded(rng), rng=rng)
    rows = result.details.set_index("measure").loc[list(SKEWED_MEASURES)]
    return {
        f"{measure}, skewed": Reading(row["value"], row["low"], row["high"])
        for measure, row in rows.iterrows()
    }


def _calibration_of_one(design: Design, rng: np.random.Generator) -> dict[str, Reading]:
    runs = design.draw_calibration_of_one(rng)
    results = calibration_estimates(runs["p"], runs["theta"], context=runs["context"])
    by_check = {result.check: _reading(result) for result in results}
    return {"calibration_error at one belief": by_check["calibration:calibration_error"]}


def _consistency(design: Design, rng: np.random.Generator) -> dict[str, Reading]:
    return {
        "prompt_consistency": _reading(
            prompt_consistency(design.draw_prompts(rng, distance=DISTANCE), rng=rng)
        )
    }


def _leak(design: Design, rng: np.random.Generator) -> dict[str, Reading]:
    runs = design.draw_leak(rng)
    arrays = (runs[name] for name in ("p", "action", "theta", "p_true"))
    result = evidence_leak_test(*arrays, context=runs["context"], n_draws=999, rng=rng)
    if result.details.empty:
        return {"evidence_leak": _reading(result), "evidence_leak, belief": _reading(result)}
    belief = result.details.iloc[-2]
    moved = Reading(belief["estimate"], belief["low"], belief["high"])
    return {"evidence_leak": _reading(result), "evidence_leak, belief": moved}


def _calibration(design: Design, rng: np.random.Generator) -> dict[str, Reading]:
    runs = design.draw_calibration(rng)
    results = calibration_estimates(
        runs["p"], runs["theta"], p_true=runs["p_true"], context=runs["context"]
    )
    return {result.check: _reading(result) for result in results}


@dataclass(frozen=True)
class InThePopulation:
    """The truth of a reading under a design: its value in one very large data set."""

    run: Callable[[Design, np.random.Generator], dict[str, Reading]]
    name: str

    def __call__(self, design: Design) -> float:
        return _large(self.run, design)[self.name].value


@cache
def _large(run: Callable, design: Design) -> dict[str, Reading]:
    return run(design.sized(LARGE), np.random.default_rng(1))


def _largest_drop(design: Design) -> float:
    return design.largest_drop(("yes", "no"))


DISTANCE = 0.08
# What the tests of belief sufficiency are simulated on.
_CHOSEN = (*TESTED, FEW, *CONSTANT, *LIKE_MODELS, *SMALL_MODELS, *REFUSED, *JUMPS)
_SEVERAL_STATES = (*STATED, FEW_STATED, *SIGNALS[:2])
_OF_PROBABILITIES = (*POLICIES, *SMALL_POLICIES, *POLICY_SIGNALS)
BEYOND = "gap beyond noise and rounding"
BEYOND_ONCE = "gap beyond rounding, asked once"
_COVARIANCE = _choices("residual covariance", residual_covariance, n_draws=999)
_OF_POLICIES = _policies("residual covariance of policies", residual_covariance, n_draws=999)
SUBJECTS: dict[str, Subject] = {
    "residual_covariance": Subject(
        _COVARIANCE,
        ("residual covariance",),
        _CHOSEN,
        {"residual covariance": InThePopulation(_COVARIANCE, "residual covariance")},
        (*BELIEFS, *LIKE_MODELS[:5]),
    ),
    "cmi": Subject(
        _choices("cmi", cmi_test, n_permutations=199),
        ("cmi",),
        _CHOSEN,
    ),
    "residual_covariance_states": Subject(
        _stated("residual covariance, three states", residual_covariance, n_draws=999),
        ("residual covariance, three states",),
        _SEVERAL_STATES,
    ),
    "cmi_states": Subject(
        _stated("cmi, three states", cmi_test, n_permutations=199),
        ("cmi, three states",),
        _SEVERAL_STATES,
    ),
    "cmi_features": Subject(
        _featured("cmi given features", cmi_test, "condition_on", n_permutations=199),
        ("cmi given features",),
        FEATURED,
    ),
    "monotone_yes_no": Subject(
        _ordered("monotone yes/no", monotone_choice_test, pair=("yes", "no")),
        ("monotone yes/no",),
        NULLS,
        {"monotone yes/no": _largest_drop},
        VIOLATED,
    ),
    "monotone_yes_defer": Subject(
        _ordered("monotone yes/defer", monotone_choice_test, pair=("yes", "defer")),
        ("monotone yes/defer",),
        NULLS,
    ),
    "monotone_defer_no": Subject(
        _ordered("monotone defer/no", monotone_choice_test, pair=("defer", "no")),
        ("monotone defer/no",),
        NULLS,
    ),
    "iterated_expectation": Subject(
        _iterated,
        ("iterated_expectation",),
        NULLS,
        {name: InThePopulation(_iterated, name) for name in MEASURES if name != "mean signed gap"}
        | {"mean signed gap": lambda design: 0.0},
        GAPPED,
    ),
    "prompt_consistency": Subject(
        _consistency, intervals={"prompt_consistency": lambda design: DISTANCE}, covered=PROMPTED
    ),
    "calibration": Subject(
        _calibration,
        intervals={
            f"calibration:{name}": InThePopulation(_calibration, f"calibration:{name}")
            for name in ("rmse", "brier", "calibration_error", "calibration_error_exact")
        },
        covered=(*BIASED, *NEARLY_CALIBRATED),
    ),
    "evidence_leak": Subject(
        _leak,
        ("evidence_leak",),
        (*NO_LEAKS, *LEAKS),
        {name: InThePopulation(_leak, name) for name in ("evidence_leak", "evidence_leak, belief")},
        (*NO_LEAKS[:10], *LEAKS),
    ),
    "predictive_gain": Subject(
        _choices("predictive_gain", predictive_gain_test, n_bootstraps=1000),
        ("predictive_gain",),
        (*TESTED, *CONSTANT, *LIKE_MODELS),
        {"predictive_gain": EXPECTED},
        TESTED,
        slow=True,
    ),
    "predictive_gain_features": Subject(
        _featured(
            "predictive_gain given features", predictive_gain_test, "features", n_bootstraps=2
        ),
        ("predictive_gain given features",),
        FEATURED[:2],
        slow=True,
    ),
    "policy_residual_covariance": Subject(
        _OF_POLICIES,
        ("residual covariance of policies",),
        _OF_PROBABILITIES,
        {
            "residual covariance of policies": InThePopulation(
                _OF_POLICIES, "residual covariance of policies"
            )
        },
        (*POLICIES, *POLICY_SIGNALS),
    ),
    "policy_cmi": Subject(
        _policies("cmi of policies", cmi_test, n_permutations=199),
        ("cmi of policies",),
        _OF_PROBABILITIES,
    ),
    "policy_monotone": Subject(
        _ordered_policies("monotone yes/no of policies", monotone_choice_test, pair=("yes", "no")),
        ("monotone yes/no of policies",),
        POLICIES,
        {"monotone yes/no of policies": _largest_drop},
        POLICIES_TURNED,
    ),
    "policy_predictive_gain": Subject(
        _policies("predictive_gain of policies", predictive_gain_test, n_bootstraps=2),
        ("predictive_gain of policies",),
        (*POLICIES[:5], *POLICY_SIGNALS),
        slow=True,
    ),
    "rounding": Subject(
        _rounded(BEYOND, "root-mean-square gap, noise and rounding removed"),
        (BEYOND,),
        ROUNDED,
        {BEYOND: lambda design: design.gap},
        ROUNDED,
    ),
    "rounding_once": Subject(
        _rounded(BEYOND_ONCE, "root-mean-square gap, rounding removed and noise not"),
        (BEYOND_ONCE,),
        ROUNDED_ONCE,
        {BEYOND_ONCE: lambda design: design.gap},
        ROUNDED_ONCE,
    ),
    "skewed_gaps": Subject(
        _skewed,
        intervals={
            f"{measure}, skewed": InThePopulation(_skewed, f"{measure}, skewed")
            for measure in SKEWED_MEASURES
        },
        covered=SKEWED,
    ),
    "calibration_of_one": Subject(
        _calibration_of_one,
        intervals={"calibration_error at one belief": lambda design: design.bias},
        covered=ONE_BELIEF,
    ),
}
