"""Count what `sufficiency` says of coherent and of leaky agents, whatever their reports look like.

    PYTHONPATH=. python benchmarks/validity/one_null.py --tables 100

``one_null.csv`` counts verdicts over all tables of each design; a coherent agent acts on the belief
that its reports stand for, and its reports are distorted, noisy, rounded, copied or heaped.
With ``--studies`` it counts instead in which studies two agents on the same cases differ
(`compare`; ``one_null_pairs.csv``).
"""

import math
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import expit, logit
from study import Cell, Line, study

from coherence import compare, sufficiency_test
from coherence.report.evaluation import EvaluationReport
from coherence.report.verdicts import NOT_TESTED, VerdictInput, decide
from coherence.result import CheckResult, rejects

Floats = NDArray[np.float64]
WORDS, FEW = (0.05, 0.25, 0.5, 0.75, 0.95), (0, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 1)


def power_of(b: Floats, k: float) -> Floats:
    """Flat in the middle for k above 1."""
    return np.asarray(0.5 + 0.5 * np.sign(2 * b - 1) * np.abs(2 * b - 1) ** k)


def plateaus(b: Floats) -> Floats:
    """Three flat places with steep ways between them."""
    return np.asarray(np.round(3 * b) / 3 + 0.04 * (b - np.round(3 * b) / 3))


def squared_log_odds(b: Floats) -> Floats:
    """Log-odds squared, with their sign."""
    x = logit(np.clip(b, 1e-6, 1 - 1e-6))
    return np.asarray(expit(0.5 * np.sign(x) * x**2))


def log_odds_times(b: Floats, k: float) -> Floats:
    return np.asarray(expit(k * logit(np.clip(b, 1e-6, 1 - 1e-6))))


def to_words(words: tuple[float, ...], b: Floats) -> Floats:
    """Say the nearest of these numbers."""
    of = np.asarray(words)
    return np.asarray(of[np.abs(b[:, None] - of).argmin(axis=1)])


def half_when_unsure(b: Floats, rng: np.random.Generator) -> Floats:
    return np.where((np.abs(b - 0.5) < 0.2) & (rng.random(len(b)) < 0.6), 0.5, np.round(b, 2))


def half_for_all(b: Floats, rng: np.random.Generator) -> Floats:
    return np.where(np.abs(b - 0.5) < 0.15, 0.5, np.round(b, 2))


def eighty(b: Floats, rng: np.random.Generator) -> Floats:
    high = (b > 0.65) & (b < 0.95) & (rng.random(len(b)) < 0.7)
    return np.where(high, 0.8, np.round(b, 2))


def quarters(b: Floats, rng: np.random.Generator, share: float = 0.6) -> Floats:
    return np.where(rng.random(len(b)) < share, np.round(4 * b) / 4, np.round(b, 2))


def another_word(b: Floats, rng: np.random.Generator) -> Floats:
    of = np.asarray(WORDS)
    at = np.abs(b[:, None] - of).argmin(axis=1) + rng.choice([-1, 0, 1], len(b), p=[0.1, 0.8, 0.1])
    return np.asarray(of[np.clip(at, 0, len(of) - 1)])


def tenths(b: Floats, rng: np.random.Generator, share: float) -> Floats:
    return np.where(rng.random(len(b)) < share, np.round(b, 1), np.round(b, 2))


def tenths_above(b: Floats, rng: np.random.Generator) -> Floats:
    return np.where(b > 0.5, np.round(b, 1), np.round(b, 2))


def either(b: Floats, rng: np.random.Generator, first: tuple[float, ...]) -> Floats:
    return np.where(rng.random(len(b)) < 0.5, to_words(first, b), np.round(b, 1))


def in_words(
    b: Floats, rng: np.random.Generator, of: tuple[float, ...], share: float, missed: float = 0.0
) -> Floats:
    """Some cases in words, which a report may miss; the others to the last digit."""
    said = to_words(of, b) + missed * rng.normal(size=len(b))
    return np.where(rng.random(len(b)) < share, said.clip(0, 1), b)


def favourites(b: Floats, rng: np.random.Generator) -> Floats:
    """Nine values that stand for those around them, the rest in percents."""
    said = np.round(b, 1)
    near = (np.abs(b - said) < 0.05) & (rng.random(len(b)) < 0.6)
    return np.where(near, said, np.round(b, 2))


def sometimes_flat(b: Floats, rng: np.random.Generator) -> Floats:
    return np.where(rng.random(len(b)) < 0.5, power_of(b, 3), b)


@dataclass(frozen=True)
class Design:
    """An agent, and what its reports look like."""

    n: int = 100
    reports: int = 5
    distorted: Callable[[Floats], Floats] = np.asarray  # of the belief, before noise
    noise: float = 0.0
    grid: float = 0.0
    words: tuple[float, ...] = ()
    heaped: Callable[[Floats, np.random.Generator], Floats] | None = None
    meant: bool = False  # heaps are meant, and the noise is around them
    rows: int = 1  # of choices that each report is copied on
    slope: float = 6.0
    error: float = 0.9  # of the log-odds acted on
    taste: float = 0.6
    weight: float = 0.0  # of the exact posterior in the belief acted on; turned at one half
    turns: bool = False
    choice: Callable[[Floats], Floats] | None = None
    exact: bool = True
    jump: float = math.nan  # belief at which choice jumps, and the posterior from .15 to .85
    missed: float = 0.0  # by how much a report misses the number that is meant
    lost: float = 0.0  # share of rows
    shared: float = 0.0  # of cases, whose reports are copies of one
    copied: bool = False  # not known to be said again, so that equal reports may be one
    unequal: bool = False  # cases have from one to twice as many reports, less one
    three: bool = False  # it waits at middling beliefs, half of the time
    groups: int = 0  # of which each has a base rate that is not stated, and a taste
    curves: bool = False  # choice and posterior rise at a belief of each group's own

    def table(self, rng: np.random.Generator) -> dict[str, NDArray[Any]]:
        """Draw rows: belief, action, exact posterior or state, case and group."""
        evidence = 1.5 * rng.normal(size=self.n)
        exact = expit(evidence)
        belief = expit(evidence + self.error * rng.normal(size=self.n))
        if not math.isnan(self.jump):
            level = 0.15 + 0.7 * expit(40 * (belief - self.jump))
            exact = expit(logit(level) + 0.8 * rng.normal(size=self.n))
        taste = self.taste * rng.normal(size=self.n)
        group = np.arange(self.n) % max(self.groups, 1)
        if self.groups:
            exact = expit(evidence + rng.normal(size=self.groups)[group])
            taste += rng.normal(size=self.groups)[group]
        if self.curves:
            place = rng.uniform(0.25, 0.75, self.groups)[group]
            exact = expit(15 * (belief - place) + 0.7 * rng.normal(size=self.n))
        more = self.weight * (exact - belief) * (np.sign(belief - 0.5) if self.turns else 1.0)
        if self.curves:
            chance = expit(25 * (belief + more - place) + taste)
        elif self.choice is None:
            middle = 0.5 if math.isnan(self.jump) else self.jump
            chance = expit(self.slope * (belief + more - middle) + taste)
        else:
            chance = self.choice(belief + more)
        most = 2 * self.reports
        times = rng.integers(1, most, self.n) if self.unequal else self.reports
        case = np.repeat(np.arange(self.n), times)
        said = self.distorted(belief)
        if self.words:
            said = to_words(self.words, said)
        if self.heaped is not None and (self.meant or not self.noise):
            said = self.heaped(said, rng)
        said = said[case]
        if self.noise:
            said = np.clip(said + self.noise * rng.normal(size=case.size), 0, 1)
            said = said if self.heaped is None or self.meant else self.heaped(said, rng)
        if self.grid:
            said = np.round(np.round(said / self.grid) * self.grid, 9)
        if self.missed:
            said = np.clip(said + (self.missed * rng.normal(size=self.n))[case], 0, 1)
        if self.shared:
            first = np.unique(case, return_index=True)[1][case]
            said = np.where((rng.random(self.n) < self.shared)[case], said[first], said)
        said, case = np.repeat(said, self.rows), np.repeat(case, self.rows)
        kept = rng.random(case.size) >= self.lost
        said, case = said[kept], case[kept]
        action = np.where(rng.random(case.size) < chance[case], "yes", "no")
        if self.three:
            waits = np.exp(-(((belief - 0.5) / 0.2) ** 2))[case] > 2 * rng.random(case.size)
            action = np.where(waits, "wait", action)
        drawn = {"belief": said, "action": action, "context": case}
        drawn |= {"group": group[case]} if self.groups else {}
        state = (rng.random(self.n) < exact)[case]
        return drawn | ({"exact": exact[case]} if self.exact else {"truth": state})

    @property
    def said_again(self) -> bool:
        """Whether asking again is known to give the same report."""
        return self.noise == 0 and not self.copied

    def result(self, rng: np.random.Generator) -> CheckResult:
        """Test one table."""
        arrays = self.table(rng)
        said, acts = arrays.pop("belief"), arrays.pop("action")
        given = {"computed": self.said_again, "n_draws": 999, "rng": rng}
        return sufficiency_test(said, acts, **arrays, **given)


D = Design
INSIDE: dict[str, Any] = {"jump": 0.5, "slope": 40, "taste": 0.0}
AT_HALF: dict[str, Any] = {"error": 0.3, "choice": lambda b: expit((b - 0.5) / 0.05)}
QUARTERS = (0.0, 0.25, 0.5, 0.75, 1.0)
# Counted apart: one report for two beliefs, an error that all reports of a case share, groups that
# show curves of their own in part.
ANOTHER, STEP = "five words, one in five of another", "step down"
BY_PERCENTS = "quarters by a third, missed by .012, percents"
OF_EIGHT = "40 groups with curves"
MISLED = (ANOTHER, STEP, BY_PERCENTS, OF_EIGHT)
COHERENT = {
    # reports that are exact or rounded
    "continuous": D(60, 5),
    "percents": D(60, 5, grid=0.01),
    "steps of .1, steep": D(120, 5, grid=0.1, slope=15, error=0.4),
    "steps of .1, steep, 400 cases": D(400, 3, grid=0.1, slope=15, error=0.4),
    "five words": D(100, 5, words=WORDS, slope=15, error=0.5),
    "0 5 10 25 50": D(120, 5, words=FEW, slope=10, error=0.5),
    "jump of choice": D(100, 5, choice=lambda b: np.where(b > 0.5, 0.95, 0.05)),
    "two jumps up": D(100, 5, choice=lambda b: np.where(b > 0.7, 0.9, np.where(b > 0.3, 0.5, 0.1))),
    "taste": D(200, 5, taste=1.5),
    "overconfident": D(100, 5, distorted=partial(log_odds_times, k=2)),
    "floor and ceiling": D(100, 5, distorted=lambda b: np.clip(b, 0.2, 0.8), grid=0.01),
    # noise around a distorted belief
    "flat middle, noise .1": D(200, 5, partial(power_of, k=3), 0.1),
    "flat middle, noise .02": D(300, 5, partial(power_of, k=3), 0.02),
    "flat middle, noise .02, steep": D(100, 5, partial(power_of, k=3), 0.02, slope=8),
    "flat middle, noise .05, rounded": D(200, 5, partial(power_of, k=3), 0.05, 0.05),
    "flat middle, noise .05": D(60, 5, partial(power_of, k=3), 0.05),
    "flat middle, ten reports": D(200, 10, partial(power_of, k=3), 0.05, 0.05),
    "power 5, three reports": D(60, 3, partial(power_of, k=5), 0.05),
    "power 5, 400 cases": D(400, 10, partial(power_of, k=5), 0.05),
    "plateaus, noise .02": D(300, 5, plateaus, 0.02),
    "plateaus, noise .05, rounded": D(200, 5, plateaus, 0.05, 0.05),
    "power 2": D(200, 3, partial(power_of, k=2), 0.03),
    "log odds squared": D(300, 10, squared_log_odds, 0.02),
    "steep middle": D(200, 5, partial(power_of, k=0.5), 0.05),
    "compressed": D(200, 5, partial(log_odds_times, k=0.3), 0.1),
    "fourth power": D(200, 5, lambda b: b**4, 0.03),
    "fourth root": D(200, 5, lambda b: b**0.25, 0.03),
    "waves": D(200, 5, lambda b: b - 0.12 * np.sin(4 * np.pi * b) / 2, 0.03),
    "one-sided plateau": D(200, 5, lambda b: np.maximum(b, 0.5), 0.05),
    "one-sided plateau, 60 cases": D(60, 5, lambda b: np.maximum(b, 0.5), 0.05),
    "floor .2 and ceiling .8, noise": D(200, 5, lambda b: np.clip(b, 0.2, 0.8), 0.03),
    "two reports, noise .05": D(200, 2, partial(power_of, k=3), 0.05),
    "two reports, noise .1": D(200, 2, noise=0.1),
    "three reports, 400 cases": D(400, 3, noise=0.03),
    "jump of choice, noise .1": D(400, 5, noise=0.1, choice=lambda b: np.where(b > 0.5, 0.9, 0.1)),
    "noise .05, realised": D(200, 5, noise=0.05, exact=False),
    "flat middle, noise .1, realised": D(200, 5, partial(power_of, k=3), 0.1, exact=False),
    "plain, noise .1": D(60, 5, noise=0.1),
    "plain, noise .05, 400 cases": D(400, 5, noise=0.05),
    # copies
    "one report on three rows": D(200, 1, noise=0.05, rows=3),
    "one report on five rows, 60": D(60, 1, noise=0.05, rows=5),
    "two reports on three rows": D(200, 2, noise=0.05, rows=3),
    "five reports on three rows": D(100, 5, noise=0.05, rows=3),
    # rounding that differs by case
    "50 when unsure, 60": D(60, 5, heaped=half_when_unsure),
    "50 when unsure, 200": D(200, 5, heaped=half_when_unsure),
    "50 when unsure, 400": D(400, 3, heaped=half_when_unsure),
    "50 when unsure, steep": D(200, 5, heaped=half_when_unsure, slope=25),
    "50 for all in the middle": D(200, 5, heaped=half_for_all),
    "80 for most above": D(200, 5, heaped=eighty),
    "quarters by 60%, 60": D(60, 5, heaped=quarters),
    "quarters by 60%, 200": D(200, 5, heaped=quarters),
    "quarters by 60%, 400": D(400, 3, heaped=quarters),
    "quarters by a third": D(200, 5, heaped=partial(quarters, share=0.33)),
    # together with something else
    "50 when unsure, noise .05": D(200, 5, noise=0.05, heaped=half_when_unsure),
    "quarters by 60%, noise .05": D(200, 5, noise=0.05, heaped=quarters),
    "80 for most above, noise .03, 400": D(400, 3, noise=0.03, heaped=eighty),
    ANOTHER: D(200, 5, words=WORDS, heaped=another_word),
    "five words, noise .1": D(200, 5, words=WORDS, noise=0.1),
    "half percents, half tenths": D(200, 5, heaped=partial(tenths, share=0.5)),
    "tenths above one half": D(200, 5, heaped=tenths_above),
    "unequal reports, noise .1": D(200, 3, noise=0.1, unequal=True),
    "unequal reports, flat middle": D(200, 4, partial(power_of, k=3), 0.05, unequal=True),
    "three actions, noise .05": D(200, 5, noise=0.05, three=True),
    "three actions, steps of .1": D(120, 5, grid=0.1, three=True),
    "three actions, flat middle": D(200, 5, partial(power_of, k=3), 0.05, three=True),
    "ten groups": D(200, 5, groups=10),
    "ten groups, noise .05": D(200, 5, noise=0.05, groups=10),
    "forty groups, noise .1": D(400, 3, noise=0.1, groups=40),
    "ten groups, steps of .1": D(200, 5, grid=0.1, groups=10),
    STEP: D(200, 5, lambda b: b - 0.15 * (b > 0.6), 0.03),
    "logit noise": D(200, 5, partial(log_odds_times, k=1.5), 0.08, 0.01),
    "floor, noise .1": D(200, 3, lambda b: np.maximum(b, 0.3), 0.1, 0.05),
    # found by a referee
    "copies in half of the cases": D(200, 5, noise=0.05, shared=0.5, slope=10, error=0.5),
    "copies in 95% of the cases": D(200, 5, noise=0.05, shared=0.95, slope=10, error=0.5),
    "two reports on ten rows, a tenth lost": D(
        200, 2, noise=0.1, rows=10, lost=0.1, slope=10, error=0.5
    ),
    "eighths": D(200, 5, grid=0.125, slope=15, error=0.4),
    "words from .001 to .999": D(100, 5, words=(0.001, *WORDS, 0.999), slope=15, error=0.5),
    "quarters by half, tenths by half": D(
        200, 5, heaped=partial(either, first=(0, 0.25, 0.5, 0.75, 1)), slope=15, error=0.4
    ),
    "five words by half, tenths by half": D(
        200, 5, heaped=partial(either, first=WORDS), slope=15, error=0.4
    ),
    "five words of a flat middle": D(
        200, 5, partial(power_of, k=3), words=WORDS, slope=10, error=0.5
    ),
    "jump within the highest tenth": D(
        400, 3, grid=0.1, error=0.4, choice=lambda b: np.where(b > 0.95, 0.95, 0.05)
    ),
    "half of its reports are of a flat middle": D(200, 4, heaped=sometimes_flat, noise=0.03),
    # where choice and posterior jump inside one step
    "jump inside a word": D(200, 5, words=WORDS, **INSIDE),
    "jump inside a word, 400": D(400, 5, words=WORDS, **INSIDE),
    "jump inside a word, realised": D(400, 5, words=WORDS, exact=False, **INSIDE),
    "jump inside a ten": D(400, 5, grid=0.1, **INSIDE),
    "jump inside a quarter": D(200, 5, grid=0.25, **INSIDE),
    "jump inside a ten, underconfident": D(
        200, 5, partial(log_odds_times, k=0.3), grid=0.1, **INSIDE
    ),
    "jump between two tens": D(200, 5, grid=0.1, **(INSIDE | {"jump": 0.55})),
    # sliders that miss a number by a hair
    "tens missed by .005": D(200, 5, grid=0.1, slope=15, error=0.4, missed=0.005),
    "tens missed by .01": D(400, 3, grid=0.1, slope=15, error=0.4, missed=0.01),
    "words missed by .007": D(200, 5, words=WORDS, slope=15, error=0.5, missed=0.007),
    "50 when unsure, missed by .005": D(200, 5, heaped=half_when_unsure, missed=0.005),
    "quarters by 60%, missed by .005": D(200, 5, heaped=quarters, missed=0.005),
    "twentieths missed by .01": D(400, 5, grid=0.05, slope=25, error=0.4, missed=0.01),
    "jump inside a word missed by .007": D(200, 5, words=WORDS, missed=0.007, **INSIDE),
    # a part speaks coarsely, too few at each value to be seen one by one
    "quarters by 30%": D(250, 5, heaped=partial(in_words, of=QUARTERS, share=0.3), **AT_HALF),
    "quarters by 30%, missed by .01": D(
        250, 5, heaped=partial(in_words, of=QUARTERS, share=0.3, missed=0.01), **AT_HALF
    ),
    BY_PERCENTS: D(
        250,
        5,
        grid=0.01,
        heaped=partial(in_words, of=QUARTERS, share=0.33, missed=0.012),
        **AT_HALF,
    ),
    "quarters by 30%, noise .015, percents": D(
        250,
        5,
        noise=0.015,
        grid=0.01,
        meant=True,
        heaped=partial(in_words, of=QUARTERS, share=0.3),
        **AT_HALF,
    ),
    "words by a third, noise .006, percents": D(
        250,
        5,
        noise=0.006,
        grid=0.01,
        meant=True,
        heaped=partial(in_words, of=WORDS, share=0.33),
        **AT_HALF,
    ),
    "quarters by a fifth, 400": D(400, 5, heaped=partial(in_words, of=QUARTERS, share=0.2)),
    "nine favourites": D(250, 5, heaped=favourites, **AT_HALF),
    "nine favourites, noise .01": D(
        250, 5, noise=0.01, grid=0.01, meant=True, heaped=favourites, **AT_HALF
    ),
    "tenths by half, jump inside": D(400, 5, heaped=partial(tenths, share=0.5), **INSIDE),
    "five words, noise .015, percents": D(250, 5, words=WORDS, noise=0.015, grid=0.01, **AT_HALF),
    "tens, noise .01, percents": D(
        250, 5, noise=0.01, grid=0.01, meant=True, heaped=partial(tenths, share=1.0), **AT_HALF
    ),
    # groups with curves of their own
    "4 groups with curves": D(120, 5, groups=4, curves=True),
    "12 groups with curves": D(144, 5, groups=12, curves=True),
    OF_EIGHT: D(320, 5, groups=40, curves=True),
    "12 groups with curves, noise .05": D(144, 5, noise=0.05, groups=12, curves=True),
    "12 groups with curves, realised": D(144, 5, groups=12, curves=True, exact=False),
}
LEAKY = {
    "continuous": D(60, 5, weight=0.5),
    "continuous, one value in every case": D(60, 5, weight=0.5, copied=True),
    "percents": D(60, 5, weight=0.5, grid=0.01),
    "steps of .05": D(60, 5, weight=0.5, grid=0.05),
    "steps of .1": D(60, 5, weight=0.5, grid=0.1),
    "five words": D(100, 5, weight=0.5, words=WORDS),
    "five words, 200 cases": D(200, 5, weight=0.3, words=WORDS),
    "tens missed by .007": D(60, 5, weight=0.5, grid=0.1, missed=0.007),
    "100 x 3": D(100, 3, weight=0.5),
    "turning": D(100, 5, weight=1.5, turns=True),
    "realised": D(100, 5, weight=1.0, exact=False),
    "noise .05": D(100, 5, weight=0.5, noise=0.05),
    "noise .05, three reports": D(100, 3, weight=0.5, noise=0.05),
    "noise .05, two reports": D(100, 2, weight=0.5, noise=0.05),
    "noise .1, 60": D(60, 5, weight=0.5, noise=0.1),
    "noise .1": D(100, 5, weight=0.5, noise=0.1),
    "noise .02, leak .2": D(200, 5, weight=0.2, noise=0.02),
    "compressed, noise .05": D(60, 5, partial(log_odds_times, k=0.5), 0.05, weight=0.5),
    "overconfident, noise .05": D(100, 5, partial(log_odds_times, k=2), 0.05, weight=0.5),
    "flat middle, noise .03": D(100, 5, partial(power_of, k=3), 0.03, weight=0.5),
    "noise .05, 400 cases": D(400, 3, weight=0.3, noise=0.05),
    "50 when unsure": D(200, 5, heaped=half_when_unsure, weight=0.5),
    "quarters by 60%": D(200, 5, heaped=quarters, weight=0.5),
    "unequal reports, noise .1": D(100, 3, noise=0.1, unequal=True, weight=0.5),
    "three actions, noise .05": D(100, 5, noise=0.05, three=True, weight=0.5),
    "ten groups, noise .05": D(100, 5, noise=0.05, groups=10, weight=0.5),
    "quarters by a third": D(200, 5, heaped=partial(quarters, share=0.33), weight=0.5),
    "tenths by half": D(100, 5, heaped=partial(tenths, share=0.5), weight=0.5),
    "ten groups": D(100, 5, groups=10, weight=0.5),
}


STEEP = D(120, 5, slope=10, error=0.5)
PAIRS = {
    "one agent: percents, five words": (replace(STEEP, grid=0.01), replace(STEEP, words=WORDS)),
    "one agent: percents, steps of .1": (replace(STEEP, grid=0.01), replace(STEEP, grid=0.1)),
    "one agent: percents, 0 5 10 25 50": (replace(STEEP, grid=0.01), replace(STEEP, words=FEW)),
    "one agent: percents, noise .1": (replace(STEEP, grid=0.01), replace(STEEP, noise=0.1)),
    "one leaky, percents": (D(120, 5, grid=0.01), D(120, 5, grid=0.01, weight=0.5)),
    "one leaky, steps of .1": (D(120, 5, grid=0.1), D(120, 5, grid=0.1, weight=0.5)),
    "one leaky, noise .05": (D(120, 5, noise=0.05), D(120, 5, noise=0.05, weight=0.5)),
}


def differ(pair: tuple[Design, Design], seed: list[int]) -> bool:
    """Compare two agents on the same cases, with the same beliefs and tastes."""
    tables = {}
    for name, design in zip("ab", pair, strict=True):
        rng = np.random.default_rng(seed)
        rows = pd.DataFrame(design.table(rng)).rename(columns={"belief": "p", "exact": "p_true"})
        toss = np.random.default_rng([*seed, 1]).random(design.n)
        happened = toss < rows.groupby("context")["p_true"].first()
        rows["theta"] = rows["context"].map(happened.astype(int))
        kind = "stated:fixed" if design.said_again else "stated:drawn"
        rows = rows.assign(context=rows["context"].astype(str), belief_kind=kind)
        tables[name] = rows.assign(truth_kind="drawn")
    found = compare(tables, rng=seed[-1]).differences
    return bool(rejects(found["pvalue"].item()))


def judged(design: Design, seed: list[int]) -> Line:
    """Count the verdict of a table; also whether interval and direction say different things."""
    result = design.result(np.random.default_rng(seed))
    verdict = decide(VerdictInput(EvaluationReport("", "", (result,), (), NOT_TESTED)))
    found, differ = result.settings, False
    # Of three actions p is that of all, the interval of one.
    if result.interval is not None and "p_beyond" in found and not design.three:
        excludes = result.interval.low > 0 or result.interval.high < 0
        differ = excludes != (found["p_beyond"] <= 0.04)
    return {
        "tested": not verdict.open,
        "rejected": rejects(result.pvalue),
        "accused": verdict.code in ("acts_on_more", "acts_on_more_turning"),
        "or_noisy": verdict.code == "acts_on_more_or_noisy",
        "explained": verdict.code == "noise_explains",
        "as_exact": found.get("p_direction", 1.0) <= 0.04,
        "interval_differs": differ,
        "untold_share": found.get("n_untold", 0) / result.n_contexts,
    }


def read(found: list[Line]) -> list[Line]:
    """Return sums, and the mean of the last."""
    *counts, untold = pd.DataFrame(found).astype(float).sum().items()
    return [{name: int(n) for name, n in counts} | {untold[0]: round(untold[1] / len(found), 3)}]


def cell(kind: str, at: int, name: str, design: Design) -> Cell:
    """Return a design of coherent or of leaky agents."""
    about = {"agent": "misled" if name in MISLED else kind, "design": name, "n_cases": design.n}
    about |= {"n_reports": design.reports}
    return Cell(about, partial(judged, design), key=(len(kind), at))


if __name__ == "__main__":
    if "--studies" in sys.argv:
        cells = [Cell({"pair": name}, partial(differ, pair)) for name, pair in PAIRS.items()]
        sums = lambda found: [{"differ": sum(found)}]  # noqa: E731
        study("one_null_pairs", cells, sums, unit="studies", count="n_studies")
    else:
        agents = {"coherent": COHERENT, "leaky": LEAKY}
        cells = [
            cell(kind, at, name, design)
            for kind, designs in agents.items()
            for at, (name, design) in enumerate(designs.items())
        ]
        # Small tables first, so that a run that is cut short has most designs.
        study("one_null", sorted(cells, key=lambda cell: cell.about["n_cases"]), read)
