"""What is read from one simulated data set: p-values, intervals, and the truths to be held."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache, partial
from typing import NamedTuple

import numpy as np
from designs import (
    BELIEFS,
    BIASED,
    CONSTANT,
    FEW,
    FEW_STATED,
    GAPPED,
    JUMPS,
    LEAKS,
    LIKE_MODELS,
    NEARLY_CALIBRATED,
    NO_LEAKS,
    NULLS,
    POLICIES,
    POLICIES_TURNED,
    POLICY_SIGNALS,
    PROMPTED,
    REFUSED,
    ROUNDED,
    SIGNALS,
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
from coherence.checks.calibration import calibration_of
from coherence.statistics.evaluation import evaluation_data

EXPECTED, IN_THE_POPULATION = "the mean over data sets", "that of one very large data set"
LARGE = 100_000  # contexts of the one data set that stands for the population
RELATIVE = "median of |gap| / belief"


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
    return Reading(result.statistic, result.low, result.high, result.pvalue)


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


# What tests take of a data set: arrays by place, then by name.


def _choices(design: Design, rng: np.random.Generator) -> tuple[tuple, dict]:
    runs = design.draw(rng)
    return (runs["p"], runs["action"], runs["theta"]), {"context": runs["context"]}


def _featured(design: Design, rng: np.random.Generator) -> tuple[tuple, dict]:
    runs, features = design.draw_featured(rng)
    named = {"features": features, "context": runs["context"]}
    return (runs["p"], runs["action"], runs["theta"]), named


def _stated(design: Design, rng: np.random.Generator) -> tuple[tuple, dict]:
    *arrays, context = design.draw_states(rng)
    return tuple(arrays), {"context": context}


def _policies(design: Design, rng: np.random.Generator) -> tuple[tuple, dict]:
    *arrays, context = design.draw_policies(rng)
    return tuple(arrays), {"context": context}


def _ordered(design: Design, rng: np.random.Generator, *, arrays: Callable) -> tuple[tuple, dict]:
    (belief, action, _), named = arrays(design, rng)
    return (belief, action), named


def _subject(
    name: str,
    arrays: Callable,
    test: Callable[..., CheckResult],
    tested: tuple[Design, ...],
    truth: object = None,  # of the interval, of a design; EXPECTED; IN_THE_POPULATION; None: none
    covered: tuple[Design, ...] = (),
    *,
    slow: bool = False,
    **options: object,
) -> Subject:
    """Return a test of one result, of that name."""

    def run(design: Design, rng: np.random.Generator) -> dict[str, Reading]:
        given, named = arrays(design, rng)
        return {name: _reading(test(*given, **named, rng=rng, **options))}

    if truth is IN_THE_POPULATION:
        truth = InThePopulation(run, name)
    return Subject(run, (name,), tested, {} if truth is None else {name: truth}, covered, slow)


def _iterated(design: Design, rng: np.random.Generator) -> dict[str, Reading]:
    result = iterated_expectation_test(design.draw_iterated(rng), rng=rng)
    relative = result.details.set_index("measure").loc[RELATIVE]
    return {
        "iterated_expectation": _reading(result),
        "mean signed gap": _reading(result),
        RELATIVE: Reading(relative["value"], relative["low"], relative["high"]),
    }


def _rounded(design: Design, rng: np.random.Generator) -> dict[str, Reading]:
    result = iterated_expectation_test(design.draw_rounded(rng), rng=rng)
    measure = "root-mean-square gap, noise and rounding removed"
    row = result.details.set_index("measure").loc[measure]
    # An interval above 0 is what accuses, and is counted as a rejection.
    return {BEYOND: Reading(row["value"], row["low"], row["high"], float(not row["low"] > 0))}


def _consistency(design: Design, rng: np.random.Generator) -> dict[str, Reading]:
    runs = design.draw_prompts(rng, distance=DISTANCE)
    return {"prompt_consistency": _reading(prompt_consistency(runs, rng=rng))}


def _leak(design: Design, rng: np.random.Generator) -> dict[str, Reading]:
    named = {"data": design.draw_leak(rng), "context": "context"}
    result = evidence_leak_test("p", "action", "theta", "p_true", n_draws=999, rng=rng, **named)
    moved = _reading(result)
    if not result.details.empty:
        moved = Reading(*result.details[["estimate", "low", "high"]].iloc[-2])
    return {"evidence_leak": _reading(result), "evidence_leak, belief": moved}


def _calibration(design: Design, rng: np.random.Generator) -> dict[str, Reading]:
    runs = design.draw_calibration(rng)
    data = evaluation_data(
        runs["p"], None, runs["theta"], runs["context"], posterior=runs.get("p_true")
    )
    kinds = (False, True) if "p_true" in runs else (True,)
    results = [calibration_of(data, by_state=kind) for kind in kinds]
    return {result.check: _reading(result) for result in results}


def _largest_drop(design: Design) -> float:
    return design.largest_drop(("yes", "no"))


DISTANCE = 0.08
# What the tests of belief sufficiency are simulated on.
_CHOSEN = (*TESTED, FEW, *CONSTANT, *LIKE_MODELS, *SMALL_MODELS, *REFUSED, *JUMPS)
_SEVERAL_STATES = (*STATED, FEW_STATED, *SIGNALS[:2])
_OF_PROBABILITIES = (*POLICIES, *SMALL_POLICIES, *POLICY_SIGNALS)
BEYOND = "gap beyond noise and rounding"
_COUNTED, _PERMUTED = {"n_draws": 999}, {"n_permutations": 199}
_MONOTONE = partial(_subject, test=monotone_choice_test, n_draws=999)
_CHOICES_IN_ORDER = partial(_ordered, arrays=_choices)
SUBJECTS: dict[str, Subject] = {
    "residual_covariance": _subject(
        "residual covariance",
        _choices,
        residual_covariance,
        _CHOSEN,
        IN_THE_POPULATION,
        (*BELIEFS, *LIKE_MODELS[:5]),
        **_COUNTED,
    ),
    "cmi": _subject("cmi", _choices, cmi_test, _CHOSEN, **_PERMUTED),
    "residual_covariance_states": _subject(
        "residual covariance, three states",
        _stated,
        residual_covariance,
        _SEVERAL_STATES,
        **_COUNTED,
    ),
    "cmi_states": _subject("cmi, three states", _stated, cmi_test, _SEVERAL_STATES, **_PERMUTED),
    "monotone_yes_no": _MONOTONE(
        "monotone yes/no",
        _CHOICES_IN_ORDER,
        tested=NULLS,
        truth=_largest_drop,
        covered=VIOLATED,
        pair=("yes", "no"),
    ),
    "monotone_yes_defer": _MONOTONE(
        "monotone yes/defer", _CHOICES_IN_ORDER, tested=NULLS, pair=("yes", "defer")
    ),
    "monotone_defer_no": _MONOTONE(
        "monotone defer/no", _CHOICES_IN_ORDER, tested=NULLS, pair=("defer", "no")
    ),
    "iterated_expectation": Subject(
        _iterated,
        ("iterated_expectation",),
        NULLS,
        {"mean signed gap": lambda design: 0.0, RELATIVE: InThePopulation(_iterated, RELATIVE)},
        GAPPED,
    ),
    "prompt_consistency": Subject(
        _consistency, intervals={"prompt_consistency": lambda design: DISTANCE}, covered=PROMPTED
    ),
    "calibration": Subject(
        _calibration,
        intervals={
            f"calibration:{name}": InThePopulation(_calibration, f"calibration:{name}")
            for name in ("rmse", "brier")
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
    "predictive_gain": _subject(
        "predictive_gain",
        _choices,
        predictive_gain_test,
        (*TESTED, *CONSTANT, *LIKE_MODELS),
        EXPECTED,
        TESTED,
        slow=True,
        n_bootstraps=1000,
    ),
    "predictive_gain_features": _subject(
        "predictive_gain given features",
        _featured,
        predictive_gain_test,
        STATED[:2],
        slow=True,
        n_bootstraps=2,
    ),
    "policy_residual_covariance": _subject(
        "residual covariance of policies",
        _policies,
        residual_covariance,
        _OF_PROBABILITIES,
        IN_THE_POPULATION,
        (*POLICIES, *POLICY_SIGNALS),
        **_COUNTED,
    ),
    "policy_cmi": _subject("cmi of policies", _policies, cmi_test, _OF_PROBABILITIES, **_PERMUTED),
    "policy_monotone": _MONOTONE(
        "monotone yes/no of policies",
        partial(_ordered, arrays=_policies),
        tested=POLICIES,
        truth=_largest_drop,
        covered=POLICIES_TURNED,
        pair=("yes", "no"),
    ),
    "policy_predictive_gain": _subject(
        "predictive_gain of policies",
        _policies,
        predictive_gain_test,
        (*POLICIES[:5], *POLICY_SIGNALS),
        slow=True,
        n_bootstraps=2,
    ),
    "rounding": Subject(
        _rounded,
        (BEYOND,),
        ROUNDED,
        {BEYOND: lambda design: design.gap},
        ROUNDED,
    ),
}
