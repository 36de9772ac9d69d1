"""What a plan runs of each check: its p-values alone, or how wide its intervals are.

The numbers are those of the checks with as many random draws. The quick ones leave out what a plan
does not read (effects, intervals, tables), and take arrays that need no validation.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from coherence.checks.calibration import calibration_estimates
from coherence.checks.cmi import cmi_test
from coherence.checks.consistency import prompt_consistency
from coherence.checks.covariance import covariance_of
from coherence.checks.direction import MAX_ACTIONS
from coherence.checks.monotone import action_pairs, drops_of_pair
from coherence.checks.predictive import predictive_gain_test
from coherence.checks.rational import rational_agent_test
from coherence.inputs import MIN_CONTEXTS, Codes, Floats
from coherence.result import CheckResult
from coherence.statistics.directions import best_fit, choice_vectors
from coherence.statistics.drops import binned_pair, used_bins
from coherence.statistics.resample import sign_flip_pvalue
from coherence.study.agents.world import PROMPTS
from coherence.study.samples import Sample

N_BINS = 5  # of belief, as the monotone tests have by default

Numbers = list[float]
Run = Callable[[Sample, Sequence[str], int, np.random.Generator], Numbers]
"""Sample, all actions, random draws, their source -> a number for each result."""


@dataclass(frozen=True)
class Planned:
    """What a plan runs of one check.

    Parameters
    ----------
    results : callable
        All actions -> names of the results, as in a report.
    run : Run
        p-values, NaN where the test is undefined; of an estimate, half the width of its interval.
    n_draws : int
        Random draws behind a p-value, unless others are asked for.
    quick : bool
        Whether a plan runs it unless checks are named: a few milliseconds for a study.
    estimate : bool
        Whether there is no test, and hence no power.
    asks : str
        What is asked beside beliefs and actions: "wordings", "iterated" or nothing.
    draws : bool
        Whether the test has random draws at all.
    """

    results: Callable[[Sequence[str]], list[str]]
    run: Run
    n_draws: int = 999
    quick: bool = False
    estimate: bool = False
    asks: str = ""
    draws: bool = True


def _named(*names: str) -> Callable[[Sequence[str]], list[str]]:
    return lambda actions: list(names)


def _residual_covariance(
    sample: Sample, actions: Sequence[str], n_draws: int, rng: np.random.Generator
) -> Numbers:
    return _pvalue(covariance_of(sample.choices, n_draws, rng))


def _monotone_names(actions: Sequence[str]) -> list[str]:
    pairs, _ = action_pairs(actions)
    names = [f"monotone_choice:{first}/{second}" for first, second in pairs]
    return [*names, "monotone_direction"] if 2 < len(actions) <= MAX_ACTIONS else names


def _monotone_choice(
    sample: Sample, actions: Sequence[str], n_draws: int, rng: np.random.Generator
) -> Numbers:
    pairs, direction = action_pairs(actions)
    policies, share = sample.action.probabilities is not None, sample.action.share
    of_action = dict(zip(sample.action.labels, share.T, strict=True))
    few = sample.truth.size < MIN_CONTEXTS
    numbers = []
    for (first, second), stream in zip(pairs, rng.spawn(len(pairs)), strict=True):
        binned = None
        if first in of_action and second in of_action and not few:
            mass = of_action[first] + of_action[second]
            arrays = sample.belief, of_action[first], mass, sample.context
            binned = binned_pair(*arrays, n_bins=N_BINS, policies=policies)
        pvalue = math.nan
        if binned is not None:
            pvalue = drops_of_pair(binned, direction, n_draws, stream)[1].pvalue
        numbers.append(pvalue)
    if 2 < len(actions) <= MAX_ACTIONS:
        numbers.append(math.nan if few else _direction(sample, n_draws, rng.spawn(1)[0]))
    return numbers


def _direction(sample: Sample, n_draws: int, rng: np.random.Generator) -> float:
    used, kept = used_bins(sample.belief, sample.context, N_BINS)
    share = sample.action.share[kept]
    share = share[:, share.any(axis=0)]
    if not used.any() or share.shape[1] < 2:
        return math.nan
    arrays = used, share, sample.context[kept]
    policies = sample.action.probabilities is not None
    scan, _ = choice_vectors(*arrays, n_draws, rng, policies=policies)
    return best_fit(scan)[0].pvalue


def _iterated_expectation(
    sample: Sample, actions: Sequence[str], n_draws: int, rng: np.random.Generator
) -> Numbers:
    assert sample.gaps is not None, "gaps were not drawn"
    if sample.gaps.size < MIN_CONTEXTS:
        return [math.nan]
    return [sign_flip_pvalue(sample.gaps, n_flips=n_draws, rng=rng)]


def _pvalue(result: CheckResult) -> Numbers:
    return [math.nan if result.pvalue is None else result.pvalue]


def _cmi(sample: Sample, actions: Sequence[str], n_draws: int, rng: np.random.Generator) -> Numbers:
    arrays, context = _arrays(sample), sample.context
    return _pvalue(cmi_test(*arrays, context=context, n_permutations=n_draws, rng=rng))


def _predictive_gain(
    sample: Sample, actions: Sequence[str], n_draws: int, rng: np.random.Generator
) -> Numbers:
    return _pvalue(predictive_gain_test(*_arrays(sample), context=sample.context))


def _rational_agent(
    sample: Sample, actions: Sequence[str], n_draws: int, rng: np.random.Generator
) -> Numbers:
    arrays, context = _arrays(sample), sample.context
    return _pvalue(rational_agent_test(*arrays, context=context, n_draws=n_draws, rng=rng))


def _arrays(sample: Sample) -> tuple[Floats, "pd.Series[str] | pd.DataFrame", Codes]:
    return sample.belief, sample.actions, sample.truth[sample.context]


def _half_width(result: CheckResult) -> float:
    interval = result.interval
    return math.nan if interval is None else (interval.high - interval.low) / 2


def _calibration(
    sample: Sample, actions: Sequence[str], n_draws: int, rng: np.random.Generator
) -> Numbers:
    truth = sample.truth[sample.context]
    results = calibration_estimates(sample.belief, truth, context=sample.context)
    by_name = {result.check: _half_width(result) for result in results}
    return [by_name[name] for name in _CALIBRATION]


def _prompt_consistency(
    sample: Sample, actions: Sequence[str], n_draws: int, rng: np.random.Generator
) -> Numbers:
    stated = {"standard": sample.belief, **sample.wordings}
    runs = pd.DataFrame(
        {
            "context": np.tile(sample.context, len(stated)),
            "prompt": np.repeat(list(stated), sample.belief.size),
            "p": np.concatenate(list(stated.values())),
        }
    )
    return [_half_width(prompt_consistency(runs, prompts=[prompt])) for prompt in _WORDINGS]


_WORDINGS = tuple(sorted(PROMPTS[1:]))
_CALIBRATION = ("calibration:brier", "calibration:calibration_error")

PLANNED = {
    "residual_covariance": Planned(_named("residual_covariance"), _residual_covariance, quick=True),
    "cmi": Planned(_named("cmi"), _cmi, n_draws=199),
    "predictive_gain": Planned(_named("predictive_gain"), _predictive_gain, draws=False),
    "monotone_choice": Planned(_monotone_names, _monotone_choice, quick=True),
    "prompt_consistency": Planned(
        _named(*(f"prompt_consistency:{prompt}" for prompt in _WORDINGS)),
        _prompt_consistency,
        estimate=True,
        asks="wordings",
        draws=False,
    ),
    "iterated_expectation": Planned(
        _named("iterated_expectation"), _iterated_expectation, quick=True, asks="iterated"
    ),
    "calibration": Planned(_named(*_CALIBRATION), _calibration, estimate=True, draws=False),
    "rational_agent": Planned(_named("rational_agent"), _rational_agent),
}
"""Check of `coherence.checks.CHECKS` -> what a plan runs of it."""
