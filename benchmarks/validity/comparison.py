"""Simulate comparisons of six agents: how often do paired differences reject, and cover?

    python benchmarks/validity/comparison.py --studies 40 --seed 1

``comparison.csv`` has a line per design and effect: among pairs of agents of one kind, how often
the p-value is at most .05 (``rejected``) and the interval holds 0 (``covered``); ``any_false``, how
often any of them rejects after Holm over all pairs and effects; ``seen``, the share of pairs of
different kinds that do. One core needs two seconds a study.
"""

from dataclasses import dataclass
from functools import partial
from itertools import combinations

import numpy as np
import pandas as pd
from scipy import stats
from study import Cell, Line, study

from coherence import Agent, compare, simulate
from coherence.agents import ACTIONS
from coherence.runs.columns import DRAWN

N_REPS = 3
EFFECTS = ("calibration:rmse", "calibration:brier")
PROMPT = "standard"


@dataclass(frozen=True)
class Kind:
    """What an agent is like, and how often its answers are lost."""

    agent: Agent
    lost: float


def kind(signal: float, noise: float, slope: float, shift: float, lost: float) -> Kind:
    """Return a kind of agent."""
    told = {"hidden_signal": signal, "report_noise": noise}
    return Kind(Agent("agent", "", **told, belief_slope=slope, prompt_shift=shift), lost)


GOOD = kind(0.0, 0.04, 1.0, 0.0, 0.02)
FAIR = kind(0.15, 0.07, 1.4, 0.05, 0.06)
POOR = kind(0.3, 0.10, 2.0, 0.1, 0.15)


@dataclass(frozen=True)
class Design:
    name: str
    kinds: tuple[Kind, ...]
    n_contexts: int


DESIGNS = (
    Design("three pairs", (GOOD, GOOD, FAIR, FAIR, POOR, POOR), 100),
    Design("all alike", (FAIR,) * 6, 100),
    Design("all alike, 30 cases", (GOOD,) * 6, 30),
)


def asked(kinds: tuple[Kind, ...], n_contexts: int, n_reps: int, rng: np.random.Generator):
    """Ask agents about the same cases; half of what makes a case to their taste is common."""
    once = {"n_reps": 1, "prompts": [PROMPT], "iterated": False}
    cases = simulate("rational", n_contexts=n_contexts, **once, rng=rng)
    common = rng.normal(size=(n_contexts, len(ACTIONS)))
    return [_answers(kind, cases, common, n_reps, rng) for kind in kinds]


def _answers(kind: Kind, cases: pd.DataFrame, common, n_reps: int, rng) -> pd.DataFrame:
    agent, n = kind.agent, len(cases)
    row = np.repeat(np.arange(n), n_reps)
    theta, exact = cases["theta"].to_numpy(), cases["p_true"].to_numpy()
    taste = np.sqrt(0.5) * (common + rng.normal(size=common.shape))
    belief = agent.believe(exact)[row]
    # Some cases are refused more often than others, the same ones by all agents.
    risk = kind.lost * 2 * stats.norm.cdf(common[:, 0])[row]
    report = agent.report(belief, PROMPT, rng, progress=np.zeros(len(row)))
    lost = rng.random(len(row)) < risk
    acted = agent.choose(belief, theta[row], taste[row], rng)
    return pd.DataFrame(
        {
            "context": cases["context"].to_numpy()[row],
            "rep": np.tile(np.arange(n_reps), n),
            "prompt": PROMPT,
            "p": np.where(lost, np.nan, report),
            "action": pd.Series(np.where(lost, None, acted), dtype=object),
            "theta": theta[row],
            "p_true": exact[row],
            "truth_kind": DRAWN,
            "z_state": None,
            "status": np.where(lost, "refused", "ok"),
        }
    )


def compared(design: Design, entropy: list[int]) -> pd.DataFrame:
    """Compare six agents once; return what pairs of one kind and of two show of each effect."""
    rng = np.random.default_rng(entropy)
    tables = asked(design.kinds, design.n_contexts, N_REPS, rng)
    runs = {f"m{place}": rows for place, rows in enumerate(tables)}
    # Kinds differ in what they know of the realised state, of which the exact one says nothing.
    pairs = compare(runs, effects=EFFECTS, state="realised", rng=rng).differences
    alike = [one is other for one, other in combinations(design.kinds, 2)]
    pairs["alike"] = np.tile(alike, len(pairs) // len(alike))
    told = pairs["pvalue_holm"] <= 0.05
    rows = []
    for effect, of in pairs.assign(told=told).groupby("effect", sort=False):
        null, there = of[of["alike"] & of["pvalue"].notna()], of[~of["alike"]]
        rows.append(
            {
                "effect": effect,
                "rejected": (null["pvalue"] <= 0.05).mean(),
                "covered": ((null["low"] <= 0) & (null["high"] >= 0)).mean(),
                "any_false": float(null["told"].any()),
                "seen": there["told"].mean(),
            }
        )
    any_false = float((told & pairs["alike"]).any())
    rows.append({"effect": "all", "any_false": any_false, "seen": told[~pairs["alike"]].mean()})
    return pd.DataFrame(rows)


def read(found: list[pd.DataFrame]) -> list[Line]:
    """Return the means of each effect."""
    mean = pd.concat(found).groupby("effect", sort=False).mean()
    return mean.reset_index().to_dict("records")


if __name__ == "__main__":
    cells = [Cell({"design": each.name}, partial(compared, each)) for each in DESIGNS]
    study("comparison", cells, read, tables=40, unit="studies", count="n_studies")
