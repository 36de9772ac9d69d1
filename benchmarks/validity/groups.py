"""Simulate contexts that share more than their belief: with and without naming what they share.

    python benchmarks/validity/groups.py --tables 400 --jobs 2 --seed 1

``groups.csv`` has a line per check, design and naming of the groups: the share of
tables with p <= .05 under a true null, and the share whose 95% interval holds the truth. With and
without the groups the same tables are drawn, of the gain a quarter of them. One core needs two
hours.
"""

import math
from collections.abc import Callable
from functools import partial

import numpy as np
import pandas as pd
from parts import residual_covariance
from study import Cell, held, rejected, study

from coherence import (
    CheckResult,
    cmi_test,
    compare,
    iterated_expectation_test,
    monotone_choice_test,
    predictive_gain_test,
    prompt_consistency,
    sufficiency_test,
)
from coherence.checks.calibration import calibration_of
from coherence.result import Interval
from coherence.statistics.evaluation import evaluation_data
from coherence.statistics.resample import Seed

SIZES = [(10, 40), (20, 20), (40, 8)]  # groups, contexts in each
Groups = np.ndarray


def shares(group: Groups, rng: np.random.Generator) -> Groups:
    """Return one standard normal value per group, for each of its contexts."""
    return rng.normal(size=group.max() + 1)[group]


def _logistic(odds: Groups) -> Groups:
    return 1 / (1 + np.exp(-odds))


def _judged(group: Groups, rng: np.random.Generator) -> tuple[Groups, Groups, Groups]:
    """Draw beliefs, actions and states: a taste and a missed base rate a group, and no leak."""
    belief = rng.integers(1, 20, group.size) / 20
    odds = np.log(belief / (1 - belief)) + shares(group, rng)
    truth = (rng.random(group.size) < _logistic(odds)).astype(int)
    drive = 6 * (belief - 0.5) + 1.5 * shares(group, rng)
    return belief, (rng.random(group.size) < _logistic(drive)).astype(int), truth


def _gathered(group: Groups, rng: np.random.Generator) -> Groups:
    """Draw beliefs that lie near each other within a group."""
    return np.clip(0.5 + 0.2 * shares(group, rng) + 0.05 * rng.normal(size=group.size), 0.02, 0.98)


def covariance(group: Groups, named: Seed, rng: np.random.Generator) -> tuple[CheckResult, float]:
    """Choices that the state does not move."""
    return residual_covariance(*_judged(group, rng), group=named, n_draws=999, rng=rng), 0.0


def cmi(group: Groups, named: Seed, rng: np.random.Generator) -> tuple[CheckResult, float]:
    """The same, by nearest neighbours; there is no interval."""
    return cmi_test(*_judged(group, rng), group=named, n_permutations=199, rng=rng), math.nan


def gain(group: Groups, named: Seed, rng: np.random.Generator) -> tuple[CheckResult, float]:
    """The same, by trees; what they expect to gain has no closed form."""
    return predictive_gain_test(*_judged(group, rng), group=named), math.nan


def pairs(group: Groups, named: Seed, rng: np.random.Generator) -> tuple[CheckResult, float]:
    """Tastes of groups alone, which lie at beliefs of their own: flat on average."""
    belief = _gathered(group, rng)
    action = np.where(rng.random(group.size) < _logistic(1.5 * shares(group, rng)), "yes", "no")
    return monotone_choice_test(belief, action, pair=("yes", "no"), group=named, rng=rng), 0.0


def iterated(group: Groups, named: Seed, rng: np.random.Generator) -> tuple[CheckResult, float]:
    """Gaps of mean 0 that a group shares in part."""
    gap = 0.05 * shares(group, rng) + 0.05 * rng.normal(size=group.size)
    belief = rng.uniform(0.4, 0.6, group.size)
    given = belief - gap
    base = {"context": np.arange(group.size), "rep": 0, "group": group}
    rows = [pd.DataFrame({**base, "p": belief})]
    for state, away in (("a", -0.1), ("b", 0.1)):
        rows.append(
            pd.DataFrame({**base, "p": given + away, "z": "z", "z_state": state, "p_z": 0.5})
        )
    runs = pd.concat(rows, ignore_index=True)
    runs = runs if named is not None else runs.drop(columns="group")
    return iterated_expectation_test(runs, rng=rng), 0.0


def brier(group: Groups, named: Seed, rng: np.random.Generator) -> tuple[CheckResult, float]:
    """Base rates that a group misses together."""
    belief = rng.uniform(0.3, 0.7, group.size)
    truth = rng.random(group.size) < np.clip(belief + 0.1 * shares(group, rng), 0, 1)
    data = evaluation_data(belief, truth=truth, group=named)
    return calibration_of(data, by_state=True), 0.25 - 0.4**2 / 12


def wordings(group: Groups, named: Seed, rng: np.random.Generator) -> tuple[CheckResult, float]:
    """Differences between two wordings that a group shares in part."""
    difference = 0.05 * shares(group, rng) + 0.03 * rng.normal(size=group.size)
    runs = pd.concat(
        pd.DataFrame(
            {
                "context": np.arange(group.size),
                "group": group,
                "prompt": prompt,
                "p": 0.5 + away + 0.02 * rng.normal(size=group.size),
            }
        )
        for prompt, away in (("standard", 0.0), ("other", difference))
        for _ in range(2)
    )
    runs = runs if named is not None else runs.drop(columns="group")
    return prompt_consistency(runs), math.hypot(0.05, 0.03)


def agent(group: Groups, named: Seed, rng: np.random.Generator) -> tuple[CheckResult, float]:
    """Reports that scatter around the belief acted on, under the null of the first."""
    belief, _, truth = _judged(group, rng)
    context = np.repeat(np.arange(group.size), 2)
    drive = 6 * (belief - 0.5) + 1.5 * shares(group, rng)
    action = (rng.random(context.size) < _logistic(drive)[context]).astype(int)
    report = np.clip(belief[context] + 0.08 * rng.normal(size=context.size), 0.01, 0.99).round(2)
    whose = None if named is None else group[context]
    arrays = report, action, truth[context]
    options = {"context": context, "group": whose, "n_draws": 999, "rng": rng}
    return sufficiency_test(*arrays, **options), 0.0


def compared(
    group: Groups, named: Seed, rng: np.random.Generator, *, effect: str
) -> tuple[CheckResult, float]:
    """Two coherent agents on the same cases, each with a taste and a bias of its own a group."""
    belief, _, truth = _judged(group, rng)
    tables = []
    for model in "ab":
        moved = 0.5 * shares(group, rng) + 0.3 * rng.normal(size=group.size)
        report = _logistic(np.log(belief / (1 - belief)) + moved).round(2)
        drive = 6 * (report - 0.5) + 1.5 * shares(group, rng)
        action = np.where(rng.random(group.size) < _logistic(drive), "yes", "no")
        columns = {"context": np.arange(group.size), "group": group, "theta": truth}
        tables.append(pd.DataFrame({"model": model, "p": report, "action": action, **columns}))
    runs = pd.concat(tables, ignore_index=True)
    runs = runs if named is not None else runs.drop(columns="group")
    differences = compare(runs, effects=[effect], rng=rng).differences
    (found,) = differences[differences["effect"] == effect].to_dict("records")
    result = CheckResult(
        check=effect,
        null="two models have one effect",
        statistic=found["difference"],
        unit="probability",
        interval=None if found["reason"] else Interval(found["low"], found["high"]),
        pvalue=found["pvalue"],
        n_rows=len(runs),
        n_contexts=found["n_contexts"],
    )
    return result, 0.0


CHECKS: dict[str, Callable[..., tuple[CheckResult, float]]] = {
    "residual covariance": covariance,
    "cmi": cmi,
    "monotone_choice": pairs,
    "iterated_expectation": iterated,
    "calibration:brier": brier,
    "prompt_consistency": wordings,
    "predictive_gain": gain,
    "sufficiency, reports that vary": agent,
    "compare, sufficiency": partial(compared, effect="sufficiency"),
    "compare, calibration:brier": partial(compared, effect="calibration:brier"),
}
SLOW = ("predictive_gain",)


def table(name: str, size: tuple[int, int], named: bool, seed: list[int]) -> dict[str, float]:
    """Return whether the test rejects, whether the interval holds the truth, and its width."""
    group = np.repeat(np.arange(size[0]), size[1])
    result, truth = CHECKS[name](group, group if named else None, np.random.default_rng(seed))
    covered = held(result.interval, truth)
    width = math.nan if math.isnan(covered) else result.interval.high - result.interval.low
    return {"rejected": rejected(result.pvalue), "covered": covered, "width": width}


if __name__ == "__main__":
    cells = [
        Cell(
            dict(
                zip(("check", "n_groups", "n_contexts", "named"), (name, *size, named), strict=True)
            ),
            partial(table, name, size, named),
            key=(design,),
            one_in=4 if name in SLOW else 1,
        )
        for design, (name, size) in enumerate((name, size) for name in CHECKS for size in SIZES)
        for named in (False, True)
    ]
    study("groups", cells, tables=400)
