"""Simulate comparisons of six agents: do rank intervals hold the ranks, are differences false?

    python benchmarks/validity/comparison.py --studies 500 --seed 1

``comparison.csv`` has a line per design and effect: how often the rank intervals of
all six agents hold the true ranks at once (``held``), how often any pair is falsely told apart
(``any_false``), the share of true differences that are seen (``seen``); and a line "all" with the
false discovery rate of the pairs of all effects after Benjamini-Hochberg, and the chance of any
false one after Holm. Agents of one kind tie in everything; kinds are ordered by their effect in a
study of 40,000 cases. Study number s of design d draws from the seed [seed, d, s]. One core needs
about twenty minutes. ``--designs 0,3`` runs some designs and keeps the lines of the others.
"""

import argparse
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from scipy import stats

from coherence import Agent, simulate
from coherence.agents import ACTIONS
from coherence.analysis.comparison.effects import EFFECTS, Answers
from coherence.analysis.comparison.ranking import rank_effect
from coherence.analysis.reading import as_runs
from coherence.result import rejects
from coherence.statistics.multiplicity import benjamini_hochberg, holm
from coherence.table.schema import DRAWN

RESULTS = Path(__file__).parent / "comparison.csv"
N_REPS = 3
QUICK = (
    "calibration:rmse",
    "calibration:brier",
    "calibration:calibration_error",
    "prompt_consistency",
    "report_noise",
    "unreadable",
)
CHOICES = ("sufficiency",)
PROMPTS = ("standard", "bayes")
N_TRUTH = 40_000
SAME = 1e-9
BEGIN, END = "<!-- simulated -->", "<!-- end of table -->"


@dataclass(frozen=True)
class Kind:
    """What an agent is like, and how often its answers are lost."""

    signal: float
    noise: float
    slope: float
    shift: float
    lost: float

    @property
    def agent(self) -> Agent:
        return Agent(
            "agent",
            "",
            hidden_signal=self.signal,
            report_noise=self.noise,
            belief_slope=self.slope,
            prompt_shift=self.shift,
        )


GOOD = Kind(0.0, 0.04, 1.0, 0.0, 0.02)
FAIR = Kind(0.15, 0.07, 1.4, 0.05, 0.06)
POOR = Kind(0.3, 0.10, 2.0, 0.1, 0.15)


@dataclass(frozen=True)
class Design:
    name: str
    kinds: tuple[Kind, ...]
    n_contexts: int
    effects: tuple[str, ...] = QUICK
    share: float = 1.0  # of the studies that are asked for


PAIRS = (GOOD, GOOD, FAIR, FAIR, POOR, POOR)
DESIGNS = (
    Design("three pairs", PAIRS, 100),
    Design("all alike", (FAIR,) * 6, 100, share=0.6),
    Design("four alike", (GOOD, GOOD, GOOD, GOOD, FAIR, POOR), 100, share=0.4),
    Design("all alike, 30 cases", (GOOD,) * 6, 30, share=0.4),
    Design("three pairs, noise taken off", PAIRS, 100, CHOICES, share=0.2),
)


def asked(kinds: tuple[Kind, ...], n_contexts: int, n_reps: int, rng: np.random.Generator):
    """Ask agents about the same cases; half of what makes a case to their taste is common."""
    once = {"n_reps": 1, "prompts": PROMPTS[:1], "iterated": False}
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
    tables = []
    for prompt in PROMPTS:
        progress = np.zeros(len(row))
        report = agent.report(belief, prompt, rng, progress=progress)
        lost = rng.random(len(row)) < risk
        acted = agent.choose(belief, theta[row], taste[row], rng)
        action = np.where(lost | (prompt != PROMPTS[0]), None, acted)
        tables.append(
            pd.DataFrame(
                {
                    "context": cases["context"].to_numpy()[row],
                    "rep": np.tile(np.arange(n_reps), n),
                    "prompt": prompt,
                    "p": np.where(lost, np.nan, report),
                    "action": pd.Series(action, dtype=object),
                    "theta": theta[row],
                    "p_true": exact[row],
                    "truth_kind": DRAWN,
                    "z_state": None,
                    "status": np.where(lost, "refused", "ok"),
                }
            )
        )
    return pd.concat(tables, ignore_index=True)


def _given(rows: pd.DataFrame) -> Answers:
    # Kinds differ in what they know of the realised state, of which the exact one says nothing.
    return Answers(as_runs(rows), PROMPTS[0], PROMPTS[1:], None, (0, 1), state="realised")


def truth(kind: Kind) -> dict[str, float]:
    """Return every effect of a kind, on the scale that is compared, in one very large study."""
    (rows,) = asked((kind,), N_TRUTH, N_REPS, np.random.default_rng(7))
    values = {}
    for name in (*QUICK, *CHOICES):
        # Shifts are ordered as the signals are: more noise raises the one that takes reports as
        # exact, and so large a study shows every misfit of the choice curve.
        if name in CHOICES:
            values[name] = kind.signal
        else:
            result = EFFECTS[name].of(_given(rows))
            square = result.mean_square
            values[name] = result.statistic if square is None else square
    return values


def study(
    design: Design, entropy: list[int], truths: Mapping[Kind, dict[str, float]]
) -> list[dict[str, object]]:
    """Simulate one study, and count what is held, false and seen in each effect."""
    rng = np.random.default_rng(entropy)
    tables = asked(design.kinds, design.n_contexts, N_REPS, rng)
    answers = {f"m{place}": _given(rows) for place, rows in enumerate(tables)}
    rows, pvalues, differ = [], [], []
    for name in design.effects:
        ranked = rank_effect(
            "", answers, EFFECTS[name], design.n_contexts, int(rng.integers(2**32))
        )
        there = [row for row in ranked.estimates if row["rank_low"] is not None]
        true = {f"m{place}": truths[kind][name] for place, kind in enumerate(design.kinds)}
        # Effects of either sign are ranked by their distance from 0.
        size = abs if EFFECTS[name].signed else float
        ranked_by = {model: size(value) for model, value in true.items()}
        others = np.array([ranked_by[row["model"]] for row in there])
        held = all(
            row["rank_low"] <= 1 + (others < ranked_by[row["model"]] - SAME).sum()
            and row["rank_high"] >= len(there) - (others > ranked_by[row["model"]] + SAME).sum()
            for row in there
        )
        apart = [true[each["model_a"]] - true[each["model_b"]] for each in ranked.differences]
        told = [rejects(each["pvalue_ranks"]) for each in ranked.differences]
        null = np.abs(np.array(apart)) < SAME
        rows.append(
            {
                "effect": name,
                "n_models": len(there),
                "held": held if there else np.nan,
                "any_false": bool((np.array(told) & null).any()) if there else np.nan,
                "seen": np.array(told)[~null].mean() if there and (~null).any() else np.nan,
            }
        )
        pvalues += [each["pvalue"] for each in ranked.differences]
        differ += list(~null)
    real = np.array(differ)
    for method, adjust in (("BH", benjamini_hochberg), ("Holm", holm)):
        found = np.array([rejects(value) for value in adjust(pvalues)])
        rows.append(
            {
                "effect": f"all, {method}",
                "n_models": len(design.kinds),
                "any_false": bool((found & ~real).any()),
                "false_share": (found & ~real).sum() / max(found.sum(), 1),
                "seen": found[real].mean() if real.any() else np.nan,
            }
        )
    return [{"design": design.name, **row} for row in rows]


def write(fresh: pd.DataFrame, out: Path) -> None:
    """Write the designs that were run into the table, beside those of earlier runs."""
    names = [design.name for design in DESIGNS]
    if out.exists():
        earlier = pd.read_csv(out)
        kept = earlier["design"].isin(names) & ~earlier["design"].isin(fresh["design"])
        fresh = pd.concat([earlier[kept], fresh])
    order = fresh["design"].map(names.index)
    fresh.iloc[np.argsort(order, kind="stable")].to_csv(out, index=False)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--studies", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--n-jobs", type=int, default=1)
    parser.add_argument("--designs", help="numbers of designs, with commas (default: all)")
    parser.add_argument("--out", type=Path, default=RESULTS)
    args = parser.parse_args()
    numbers = range(len(DESIGNS)) if args.designs is None else map(int, args.designs.split(","))
    numbers = list(numbers)
    truths = {kind: truth(kind) for kind in (GOOD, FAIR, POOR)}
    for kind, values in truths.items():
        print(kind, {name: round(value, 5) for name, value in values.items()}, flush=True)
    tables = []
    for number in numbers:
        jobs = (
            delayed(study)(DESIGNS[number], [args.seed, number, at], truths)
            for at in range(round(args.studies * DESIGNS[number].share))
        )
        found = [row for rows in Parallel(n_jobs=args.n_jobs)(jobs) for row in rows]
        table = pd.DataFrame(found).astype({"held": float, "any_false": float})
        mean = table.groupby(["design", "effect"], sort=False).mean()
        counts = table.groupby(["design", "effect"], sort=False)["any_false"].count()
        tables.append(mean.assign(n_studies=counts).round(4).reset_index())
        print(tables[-1].to_string(), flush=True)
        write(pd.concat(tables), args.out)


if __name__ == "__main__":
    main()
