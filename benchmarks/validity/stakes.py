"""Simulate choices at stakes of agents that go by what they say, by half of it, or by nothing.

    python benchmarks/validity/stakes.py --tables 100 --seed 1

``stakes.csv`` has a line per agent and design. Of all tables: the shares told ``ignores``,
``moves``, or that it ``cannot`` be told; that the mean loss lies above the upper end of its
interval (``loss_above``, from which `acts_where_it_pays` errs), and that a confidence is said to
move with the stake (``confidence``). Loss, slope, and the belief acted from less those asked for
and said: the true ones, the mean estimate, how often intervals (of one report: the bound) hold the
truth, and the share of tables with one. The true loss is that against the belief behind the
reports; the others are those of the same logit in 100,000 cases. ``primary`` is how often
sufficiency rejects, where that is simulated. Beliefs are uniform on .05 to .95 and reports lie on a
grid of .05 where nothing else is said.
"""

import math
import zlib
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import expit
from study import Cell, study

from coherence.checks.stakes import IGNORES, MOVES, stakes_estimates
from coherence.checks.sufficiency import sufficiency_test
from coherence.checks.threshold import logit

MANY = 100_000
VERDICTS = {"ignores": IGNORES, "moves": MOVES, "cannot": ""}
ESTIMATES = ("loss", "slope", "difference", "acted_less_said")
Floats = Any


@dataclass(frozen=True)
class Agent:
    """How it chooses, and how it states what it believes."""

    name: str
    follows: float = 1.0  # share of the stake, from one half, in the belief from which it acts
    steepness: float = 25.0  # of the logit of choice
    constant: float | None = None  # chance of acting, whatever belief and stake are
    averse: float = 1.0  # weight of losses over gains
    taste: float = 0.0  # standard deviation between cases of the belief from which it acts
    low: float = 0.05  # beliefs lie between
    high: float = 0.95
    grid: float = 0.05  # reports lie on
    believes_grid: bool = False  # beliefs too
    noise: float = 0.0  # standard deviation of a report
    once: bool = False  # one report, copied to all rows of a case
    on_own: bool = False  # acts on the report of the row itself
    falls: float = 0.0  # by which a report is lower at the highest stake
    knows: float = 0.0  # of the truth, beyond its belief
    caution: float = 0.0  # added to the belief from which it acts
    misses: float = 0.0  # share of reports that are missing

    @property
    def coherent(self) -> bool:
        """Whether it acts on what it says."""
        return self.follows == 1 and self.constant is None and not self.knows and not self.caution


@dataclass(frozen=True)
class Design:
    """Cases and their stakes, as beliefs from which acting pays."""

    name: str
    cases: int
    stakes: tuple[float, ...]
    once: bool = False  # one stake a case, at random
    groups: int = 0  # of cases, which share a belief in part and a taste
    costs: bool = False  # beliefs are asked apart, twice, and from which one it says it acts


EVEN = {n: tuple((np.arange(n) + 1.0) / (n + 1)) for n in (4, 6)} | {2: (0.25, 0.75)}
PENALTIES = tuple(c / (1 + c) for c in (0.0, 1.0, 3.0, 10.0, 30.0, 100.0))
TO_8 = (0.2, 0.4, 0.6, 0.8)
DESIGNS = (
    *(Design(f"{n} x {k}", n, EVEN[k]) for n, k in ((40, 2), (20, 4), (40, 4), (80, 4), (40, 6))),
    *(Design(f"{n} x penalties 0 to 100", n, PENALTIES) for n in (20, 40)),
    *(Design(f"{n} x penalties 1 to 100", n, PENALTIES[1:]) for n in (40, 80)),
    Design("60 x penalties 1, 3, 9", 60, (0.5, 0.75, 0.9)),
    *(Design(f"{n} x 1 of 4", n, TO_8, once=True) for n in (40, 80, 160)),
    Design("80 x 4 in 20 groups", 80, EVEN[4], groups=20),
    Design("160 x 1 of 4 in 20 groups", 160, TO_8, once=True, groups=20),
    *(Design(f"{n} x costs", n, (0.25, 0.5, 0.75), costs=True) for n in (40, 80)),
)
AGENTS = (
    Agent("steep"),
    Agent("soft", steepness=10.0),
    Agent("very soft", steepness=5.0),
    Agent("tastes .1", taste=0.1),
    Agent("tastes .2", taste=0.2),
    Agent("noise .1", noise=0.1),
    Agent("noise .15", noise=0.15),
    Agent("noise .1, asked once", noise=0.1, once=True),
    Agent("a fifth of reports missing", misses=0.2, noise=0.05),
    Agent("heaps of .2", believes_grid=True, grid=0.2, low=0.1, high=0.9),
    Agent("heaps of .2, noise .1", believes_grid=True, grid=0.2, low=0.1, high=0.9, noise=0.1),
    Agent("reports in halves", grid=0.5, noise=0.05),
    Agent("beliefs .3 to .65", low=0.3, high=0.65, noise=0.05),
    Agent("beliefs .3 to .65, noise .15", low=0.3, high=0.65, noise=0.15),
    Agent("beliefs .85 to .97, noise .15", low=0.85, high=0.97, noise=0.15),
    Agent("acts on the report of the row", noise=0.1, on_own=True),
    Agent("losses count twice", averse=2.0, noise=0.05),
    Agent("losses count threefold", averse=3.0, noise=0.05),
    Agent("confidence falls by .2", falls=0.2, noise=0.05),
    Agent("follows by half", follows=0.5, noise=0.05),
    Agent("follows by half, soft", follows=0.5, steepness=10.0, noise=0.05),
    Agent("follows by a quarter", follows=0.25, noise=0.05),
    Agent("ignores, from .5", follows=0.0, noise=0.05),
    Agent("ignores, soft", follows=0.0, steepness=10.0, noise=0.05),
    Agent("ignores, noise .15", follows=0.0, noise=0.15),
    Agent("coin", constant=0.5, noise=0.05),
    Agent("acts in 95%", constant=0.95, noise=0.05),
    Agent("acts from .2 above", caution=0.2, noise=0.05),
    Agent("knows 40% of the truth", knows=0.4, noise=0.05),
)
WITH_PRIMARY = ("40 x 4", "80 x 4", "40 x penalties 0 to 100")


def drawn(agent: Agent, design: Design, rng: np.random.Generator) -> dict[str, Floats]:
    """Draw cases with their choices, and the belief, truth and group of each."""
    n, k = design.cases, len(design.stakes)
    group = np.arange(n) % design.groups if design.groups else np.arange(n)
    place = rng.uniform(size=n)
    taste = agent.taste * rng.normal(size=n)
    if design.groups:
        place = (place + rng.uniform(size=design.groups)[group]) / 2
        taste = taste + 0.1 * rng.normal(size=design.groups)[group]
    belief = agent.low + (agent.high - agent.low) * place
    if agent.believes_grid:
        belief = np.round(belief / agent.grid) * agent.grid
    case = np.arange(n) if design.once else np.repeat(np.arange(n), k)
    stakes = np.array(design.stakes)
    t = rng.choice(stakes, n) if design.once else np.tile(stakes, n)
    truth = rng.random(n) < belief
    falls = agent.falls * (t - stakes.min()) / max(np.ptp(stakes), 1e-9)
    noise = agent.noise * rng.normal(size=n if agent.once else len(case))
    said = belief[case] - falls + (noise[case] if agent.once else noise)
    said = np.clip(np.round(said / agent.grid) * agent.grid, 0, 1)
    held = belief[case] + agent.knows * (truth[case] - belief[case])
    held = said if agent.on_own or agent.falls else held
    own = agent.averse * t / (1 - t + agent.averse * t)
    own = 0.5 + agent.follows * (own - 0.5) + agent.caution + taste[case]
    acts = expit(agent.steepness * (held - own))
    acts = acts if agent.constant is None else np.full(len(case), agent.constant)
    return {"belief": belief, "case": case, "stake": t, "acts": acts, "said": said} | {
        "truth": truth,
        "group": group,
    }


@cache
def truths(agent: Agent, design: Design) -> tuple[float, float, float, float]:
    """Return what is estimated, of very many cases; what it says is what is asked for."""
    n = MANY // len(design.stakes)
    many = replace(design, cases=n, groups=n * design.groups // design.cases)
    told = drawn(agent, many, np.random.default_rng(zlib.crc32(agent.name.encode())))
    b, t, acts = told["belief"][told["case"]], told["stake"], told["acts"]
    if agent.falls:  # what is stated moves with the stake: the mean of a case is compared
        said = np.bincount(told["case"], told["said"]) / np.bincount(told["case"])
        b = said[told["case"]]
    loss = float((np.maximum(b - t, 0) - acts * (b - t)).mean())
    inner = (t > 0) & (t < 1)
    if agent.constant is not None:
        return loss, math.nan, math.nan, math.nan
    columns = np.column_stack([np.ones(inner.sum()), t[inner] - 0.5, b[inner] - 0.5])
    fit, _ = logit(columns, acts[inner])
    mean = float(np.unique(t[inner]).mean())
    above = 0.5 - (fit[0] + fit[1] * (mean - 0.5)) / fit[2] - mean
    return loss, float(-fit[1] / fit[2]), float(above), float(above)


def table(agent: Agent, design: Design, primary: bool, seed: list[int]) -> dict[str, float]:
    """Estimate one table."""
    rng = np.random.default_rng(seed)
    told = drawn(agent, design, rng)
    case, acts = told["case"], rng.random(len(told["case"])) < told["acts"]
    said = np.where(rng.random(len(case)) < agent.misses, math.nan, told["said"])
    with np.errstate(divide="ignore"):
        loss = told["stake"] / (1 - told["stake"])
    label = np.where(acts, "answer", "abstain")
    group = told["group"][case] if design.groups else None
    rows = pd.DataFrame({"p": said, "action": label, "loss": loss, "case": case, "said": math.nan})
    if design.costs:
        apart = rows[["case", "p"]][np.arange(len(rows)) % len(design.stakes) < 2]
        asked = pd.DataFrame({"case": 0, "loss": np.unique(loss).repeat(20)})
        noise = 0.05 * rng.normal(size=len(asked))
        asked["said"] = np.clip(asked["loss"] / (1 + asked["loss"]) + noise, 0, 1).round(2)
        rows = pd.concat([rows.drop(columns=["p", "said"]), apart, asked], ignore_index=True)
    named = {"context": "case", "said": "said", "acts": "answer", "group": group}
    results = stakes_estimates("p", "action", "loss", data=rows, **named)
    found = {result.check.partition(":")[2]: result for result in results}
    moves = found["movement"].settings.get("moves", "")
    confidence = found.get("confidence")
    true = dict(zip(ESTIMATES, truths(agent, design), strict=True))
    record: dict[str, float] = {name: moves == code for name, code in VERDICTS.items()}
    record["loss_above"] = found["loss"].high < true["loss"]
    record["confidence"] = bool(confidence and (confidence.low > 0 or confidence.high < 0))
    for name, truth in true.items():
        covered = value = math.nan
        if name in found and found[name].interval is not None:
            value = found[name].statistic
            covered = found[name].low <= truth <= found[name].high
        elif name in found and "at_most" in found[name].settings:
            covered = truth <= found[name].settings["at_most"]
        record |= {name: truth, f"{name}_mean": value, f"{name}_covered": covered}
        record[f"{name}_given"] = not math.isnan(value)
    record["primary"] = math.nan
    if primary and acts.any() and not acts.all():
        known = ~np.isnan(said)
        truth = told["truth"][case][known] * 1
        by = {"context": case[known], "group": None if group is None else group[known], "rng": 1}
        pvalue = sufficiency_test(said[known], label[known], truth, n_draws=999, **by).pvalue
        record["primary"] = math.nan if math.isnan(pvalue) else pvalue <= 0.05
    return record


def cell(design: Design, agent: Agent) -> Cell:
    """Return an agent under a design."""
    primary = design.name in WITH_PRIMARY and (agent.coherent or agent.knows > 0)
    about = {"design": design.name, "agent": agent.name}
    about |= {"n_cases": design.cases, "coherent": agent.coherent}
    return Cell(about, partial(table, agent, design, primary))


if __name__ == "__main__":
    study("stakes", [cell(design, agent) for design in DESIGNS for agent in AGENTS])
