"""How often each verdict is given to agents whose coherence is known, and whether it is true there.

    PYTHONPATH=. python benchmarks/validity/verdicts.py --tables 200 --seed 1 --jobs 2

writes ``verdicts.csv``: a line for each agent, number of cases and state (exact or
realised), with the share of tables that get each verdict, and
``sentences.csv``: what the sentences of these verdicts claim, in how many tables
each claim is printed, and in how many of these it is true. Tables come from `coherence.simulate`,
a report and a choice at a time, and are analysed by `coherence.analyze` as a user would, with the
primary test and `evidence_leak`. A coherent agent is accused where the verdict is that it acts on
more than it says.

True are: an interval that holds the value of 20,000 cases (of points of coherent agents 0); that an
agent acts on more where it does, in different directions where it was made to, or that its reports
are noisy where they are; that it hardly moves where the beliefs or the choices of the table do not;
and the advice to ask each case N times, where the same agent, asked N times about as many new
cases, gets a verdict that asks for no more.
"""

import math
import re
from collections import Counter
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import product

import numpy as np
import pandas as pd
from scipy.special import expit
from study import Cell, Line, study

import coherence
from coherence.agents import named_agent
from coherence.report.verdicts import VERDICTS

CHECKS = ["sufficiency", "evidence_leak"]
SIZES, STATES = (60, 200), ("exact", "realised")
MANY = 20_000  # cases of a true value
ASKS = "acts_on_more_or_noisy"
ACCUSES = ("acts_on_more", "acts_on_more_turning")


@dataclass(frozen=True)
class Known:
    """An agent of which it is known what is true."""

    base: str
    changes: tuple[tuple[str, float], ...] = ()
    reps: int = 5
    coherent: bool = True
    turns: bool = False
    """Whether actions follow what is not said upwards above one half, and downwards below."""

    @property
    def noisy(self) -> bool:
        """Whether its reports scatter."""
        agent = self.agent(still=False)
        return agent.report_noise > 0 or agent.heaping > 0

    def agent(self, still: bool) -> coherence.Agent:
        """Return the agent; ``still`` without noise of reports, which moves no choice."""
        agent = replace(named_agent(self.base), **dict(self.changes), name=self.base)
        return replace(agent, report_noise=0.0, heaping=0.0) if still else agent

    def runs(
        self, n: int, reps: int, rng: np.random.Generator, still: bool = False
    ) -> pd.DataFrame:
        """Ask it about so many cases."""
        options = {"n_contexts": n, "prompts": ["standard"], "iterated": False}
        runs = coherence.simulate(self.agent(still), n_reps=reps, **options, rng=rng)
        if self.turns:
            rows = runs["action"].notna()
            said, more = runs.loc[rows, "p"], runs.loc[rows, "p_true"] - runs.loc[rows, "p"]
            share = expit(6 * (said - 0.5) + 6 * more * np.sign(said - 0.5))
            runs.loc[rows, "action"] = np.where(rng.random(len(said)) < share, "yes", "no")
        return runs


QUIET = (("slope", 0.0),)
ONE_BELIEF = (("belief_slope", 0.08), ("grid", 0.01))
KNOWN: dict[str, Known] = {
    "rational": Known("rational"),
    "rational, one report": Known("rational", reps=1),
    "miscalibrated": Known("miscalibrated"),
    "greedy": Known("greedy"),
    "noisy": Known("noisy"),
    "noisy, three reports": Known("noisy", reps=3),
    "noisy, one report": Known("noisy", reps=1),
    "a little noisy": Known("rational", (("report_noise", 0.03),)),
    "heaping": Known("heaping"),
    "ignores its belief": Known("rational", QUIET),
    "always defers": Known("rational", (("defer", 6.0),)),
    "one belief": Known("rational", ONE_BELIEF),
    "leaky": Known("leaky", coherent=False),
    "shaded": Known("shaded", coherent=False),
    "shaded and noisy": Known("shaded", (("report_noise", 0.1),), coherent=False),
    "shaded, one report": Known("shaded", reps=1, coherent=False),
    "turning": Known("shaded", (("weight", 0.0),), coherent=False, turns=True),
    "clairvoyant": Known("clairvoyant", coherent=False),
}


@dataclass(frozen=True)
class Truth:
    """True values of very many cases."""

    points: float
    hidden_share: float
    slope: float


@cache
def truth(name: str, reps: int, still: bool) -> Truth:
    """Return the true values of an agent; ``still`` of the beliefs behind its reports."""
    known = KNOWN[name]
    runs = known.runs(MANY, reps, np.random.default_rng(0), still)
    rows = runs[runs["action"].notna()]
    few = {"exact": rows["p_true"], "context": rows["context"], "n_draws": 128, "rng": 0}
    result = coherence.sufficiency_test(rows["p"], rows["action"], **few, computed=True)
    shares = result.also["hidden_share"].value, result.also["slope"].value
    return Truth(0.0 if known.coherent and still else result.statistic, *shares)


def claims(name: str, report: coherence.Report, runs: pd.DataFrame, again: object) -> dict:
    """Return what the sentence of a table claims, and whether it is true."""
    known, row = KNOWN[name], report.verdicts.iloc[0]
    verdict, said = str(row["verdict"]), str(row["sentence"])

    def holds(value: float, effect: str = "") -> bool:
        low, high = (row[f"{effect}{end}"] for end in ("low", "high"))
        return bool(low <= value <= high)

    found: dict[str, bool] = {}
    if verdict == "knows_truth":
        found["knows the truth"] = known.base == "clairvoyant"
    if verdict in ACCUSES:
        found["acts on more"] = not known.coherent
    if verdict == "acts_on_more" and not math.isnan(row["low"]) and known.base != "clairvoyant":
        found["by points"] = holds(truth(name, known.reps, True).points)
        if "missing from its stated" in said:
            found["hidden share"] = holds(
                truth(name, known.reps, True).hidden_share, "hidden_share_"
            )
    if verdict == "acts_on_more_turning":
        found["in different directions"] = known.turns
    if verdict == ASKS:
        found["acts on more, or its single reports are noisy"] = known.noisy or not known.coherent
        if known.base != "clairvoyant":
            found["by points, of single reports"] = holds(truth(name, known.reps, False).points)
    if verdict == ASKS and (times := re.search(r"[Aa]sk each case (\d+) times", said)):
        found["ask each case N times"] = again(int(times[1]))
    if "compatible with the data" in said and known.base != "clairvoyant":
        # A single report is taken as exact, which the sentence says.
        still = "single reports taken as exact" not in said
        found["effects compatible"] = holds(truth(name, known.reps, still).points)
    if verdict == "noise_explains":
        found["noise can explain"] = known.noisy
    if verdict == "does_not_follow" and (ends := re.search(r"\[(-?[\d.]+), (-?[\d.]+)\]", said)):
        slope, rounding = 100 * truth(name, known.reps, False).slope, 0.5
        low, high = float(ends[1]), float(ends[2])
        found["choices change by"] = low - rounding <= slope <= high + rounding
    if verdict == "hardly_moves":
        spread = runs.groupby("context")["p"].mean().std()
        most = runs["action"].value_counts(normalize=True).max()
        found["hardly moves"] = bool(spread < 0.05 or most >= 0.95)
    return found


def table(name: str, n: int, state: str, seed: list[int]) -> tuple[str, dict[str, bool]]:
    """Analyse one table: its verdict, and what it claims."""
    known = KNOWN[name]
    drawing, testing, more = np.random.default_rng(seed).spawn(3)

    def report_of(runs: pd.DataFrame) -> coherence.Report:
        return coherence.analyze(runs, checks=CHECKS, state=state, rng=testing)

    def again(reps: int) -> bool:
        report = report_of(known.runs(n, reps, more))
        return str(report.verdicts["verdict"].iloc[0]) != ASKS

    runs = known.runs(n, known.reps, drawing)
    report = report_of(runs)
    return str(report.verdicts["verdict"].iloc[0]), claims(name, report, runs, again)


def read(found: list[tuple[str, dict[str, bool]]]) -> list[Line]:
    """Return the share of tables with each verdict."""
    counts = Counter(verdict for verdict, _ in found)
    accused = sum(counts[code] for code in ACCUSES) / len(found)
    return [{"accused": accused} | {code: counts[code] / len(found) for code in VERDICTS}]


def read_claims(found: list[tuple[str, dict[str, bool]]]) -> list[Line]:
    """Return how often each claim is printed, and how often it is true."""
    said = pd.DataFrame([claims for _, claims in found], dtype=float)
    printed, true = said.count(), said.sum().astype(int)
    return [{"claim": of, "printed": printed[of], "true": true[of]} for of in sorted(said)]


def cell(name: str, n: int, state: str) -> Cell:
    """Return an agent with a number of cases."""
    about = {"agent": name, "cases": n, "state": state, "coherent": KNOWN[name].coherent}
    return Cell(about, partial(table, name, n, state))


if __name__ == "__main__":
    cells = [cell(*each) for each in product(KNOWN, SIZES, STATES)]
    also = {"sentences": read_claims}
    study("verdicts", cells, read, also, tables=200, count="tables")
