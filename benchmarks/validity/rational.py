"""Simulate the test of the rational agent and what the agent recovers.

    PYTHONPATH=. python benchmarks/validity/rational.py --datasets 400 --jobs 2

``rational_sizes.csv`` counts, for coherent agents whose reports scatter and for two
that know more than they say, the tests that reject at .05 and at .01 and the intervals that hold a
difference of 0; ``rational_recovery.csv`` has the mean of estimates and the
intervals that hold the truth, at 1000 contexts x 5 and with few reports. Data set k draws from the
seed [77, design, contexts, k], in the recovery from [5, k, 100 alpha, 100 signal], and with few
reports also from the numbers of contexts and reports. ``--only`` makes one of them, ``--agents``
replaces the lines of some. On one core 400 data sets need about ten minutes for each number of
contexts, the recovery of 150 half an hour.
"""

import argparse
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd
from designs import SCATTERED, SCATTERED_SIGNALS, Design
from joblib import Parallel, delayed

from coherence import fit_rational_agent, rational_agent_test
from coherence.rational.choice import prelec_weight

HERE = Path(__file__).parent
SIZES, RECOVERY = HERE / "rational_sizes.csv", HERE / "rational_recovery.csv"
CONTEXTS = (200, 50)
_REPORTS = next(design for design in SCATTERED if design.name == "reports scatter by .15")
_STEEP = {"noise": 0.1, "taste": 0.0, "slope": 25.0}
_GREEDY = {"noise": 0.1, "taste": 0.0, "slips": 0.05, "defer": -9.0}
# The position in this list seeds a design: new ones go to the end.
DESIGNS = (
    *(design for design in SCATTERED if design.n_contexts == 200),
    *(
        replace(_REPORTS, name=f"reports scatter: {name}", **options)
        for name, options in (
            (".15, four reports", {"n_reps": 4}),
            (".15, three reports", {"n_reps": 3}),
            (".15, two reports", {"n_reps": 2}),
            (".15, miscalibrated", {"calibrated": False}),
            (".15, miscalibrated, three reports", {"calibrated": False, "n_reps": 3}),
            (".15, miscalibrated, two reports", {"calibrated": False, "n_reps": 2}),
            (".15, beliefs crowded near 0 and 1", {"beliefs": "extreme"}),
            (".05, theta rare (5%)", {"noise": 0.05, "beliefs": "rare", "grid": 0.01}),
            (".15, an action at 3%", {"defer": -2.6}),
            (".15, five actions", {"n_actions": 5}),
            (".15, choices unrelated to belief", {"slope": 0.0}),
            (".15, one belief throughout", {"beliefs": "constant"}),
        )
    ),
    *SCATTERED_SIGNALS,
    *(
        replace(_REPORTS, name=f"reports scatter: {name}", **options)
        for name, options in (
            (".1, S-shaped calibration (2), slope 25", {"sharp": 2.0, **_STEEP}),
            (".1, S-shaped calibration (3), slope 25", {"sharp": 3.0, **_STEEP}),
            (".1, S-shaped calibration (2), three reports", {"sharp": 2.0, "n_reps": 3, **_STEEP}),
            (".1, calibration jumps (.7) where choices do", {"step": 0.7, **_GREEDY}),
            (".1, calibration jumps (.8) where choices do", {"step": 0.8, **_GREEDY}),
        )
    ),
)


def tested(design: Design, position: int, n_contexts: int, number: int) -> tuple[float, float]:
    """Return the p-value of one data set and whether its interval holds 0; NaN without a test."""
    rng = np.random.default_rng([77, position, n_contexts, number])
    runs = replace(design, n_contexts=n_contexts).draw(rng)
    arrays = runs["p"], runs["action"], runs["theta"]
    result = rational_agent_test(*arrays, context=runs["context"], describe=False)
    if result.pvalue is None or result.interval is None:
        return float("nan"), float("nan")
    return result.pvalue, float(result.interval.low <= 0 <= result.interval.high)


@dataclass(frozen=True)
class Known:
    """An agent whose every parameter is known: reports scatter by .15, on a .05 grid."""

    name: str
    alpha: float = 1.0
    signal: float = 0.0
    taste: float = 0.0
    n_contexts: int = 1000
    n_reps: int = 5

    @property
    def truths(self) -> dict[str, float]:
        """What its estimates should be."""
        known = {"noise": 0.15}
        if self.signal:
            return known | {"hidden shift": self.signal}
        # Utilities of yes, defer and no cross at these weights.
        for name, weight in (("no, defer", 0.4 - 0.5 / 6), ("defer, yes", 0.6 + 0.5 / 6)):
            known[f"threshold of {name}"] = float(np.exp(-((-np.log(weight)) ** (1 / self.alpha))))
        return known | ({"Prelec's alpha": self.alpha} if self.alpha != 1 else {})

    def estimates(self, number: int) -> list[tuple[str, float, float, float]]:
        """Fit one data set, and read off estimates and intervals."""
        return list(self._read(number))

    def _read(self, number: int) -> Iterator[tuple[str, float, float, float]]:
        n, n_reps = self.n_contexts, self.n_reps
        seed = [5, number, int(100 * self.alpha), int(100 * self.signal)]
        small = [n, n_reps] if (n, n_reps) != (1000, 5) else []
        rng = np.random.default_rng([*seed, *small])
        belief = rng.random(n)
        state = (rng.random(n) < belief).astype(int)
        weight = np.clip(belief + self.signal * (state - 0.5), -0.5, 1.5)
        if self.alpha != 1:
            weight = prelec_weight(belief, self.alpha)
        utility = np.stack([6 * (weight - 0.6), 6 * (0.4 - weight), np.full(n, 0.5)], axis=1)
        utility += self.taste * rng.normal(size=(n, 3))
        context = np.repeat(np.arange(n), n_reps)
        chosen = np.argmax(utility[context] + rng.gumbel(size=(n * n_reps, 3)), axis=1)
        reports = np.clip(belief[context] + 0.15 * rng.normal(size=context.size), 0, 1)
        agent = fit_rational_agent(
            np.round(np.round(reports / 0.05) * 0.05, 10),
            np.array(["yes", "no", "defer"])[chosen],
            state[context],
            context=context,
            weighting="prelec" if self.alpha != 1 else "identity",
        )
        yield ("noise", *agent.noise.iloc[0][["sd", "low", "high"]])
        if self.signal:
            shift, interval = agent.hidden_shift
            yield "hidden shift", shift, interval.low, interval.high
            return
        for line in agent.thresholds.itertuples():
            yield f"threshold of {line.below}, {line.above}", line.belief, line.low, line.high
        for line in agent.weighting.itertuples():
            yield "Prelec's alpha", line.value, line.low, line.high


AGENTS = (
    Known("Prelec's weights, alpha .65, 1000 x 5", alpha=0.65),
    Known("hidden shift .2, 1000 x 5", signal=0.2),
    Known("hidden shift .1, tastes, 1000 x 5", signal=0.1, taste=1.0),
    Known("60 x 2", n_contexts=60, n_reps=2),
    Known("200 x 2", n_contexts=200, n_reps=2),
    Known("200 x 2, tastes", taste=1.0, n_contexts=200, n_reps=2),
    Known("200 x 4", n_contexts=200, n_reps=4),
)


def sizes(n_data_sets: int, run: Callable) -> pd.DataFrame:
    """Count rejections of every design and number of contexts, and intervals that hold 0."""
    lines = []
    for n_contexts in CONTEXTS:
        for position, design in enumerate(DESIGNS):
            drawn = run(
                delayed(tested)(design, position, n_contexts, each) for each in range(n_data_sets)
            )
            p, held = np.array([pair for pair in drawn if not np.isnan(pair[0])]).reshape(-1, 2).T
            counts = (p <= 0.05).sum(), (p <= 0.01).sum(), int(held.sum()), p.size, n_data_sets
            lines.append((design.name, n_contexts, *counts))
            print(*lines[-1], flush=True)
    columns = ["design", "contexts", "rejected", "rejected_01", "held", "tests", "datasets"]
    return pd.DataFrame(lines, columns=columns)


def recovery(n_data_sets: int, agents: Iterable[Known], run: Callable) -> pd.DataFrame:
    """Average estimates of known agents, and count the intervals that hold."""
    lines = []
    for agent in agents:
        fits = run(delayed(agent.estimates)(each) for each in range(n_data_sets))
        found = pd.DataFrame(
            [line for fit in fits for line in fit], columns=["quantity", "value", "low", "high"]
        )
        for quantity, truth in agent.truths.items():
            of_it = found[found["quantity"] == quantity]
            held = ((of_it["low"] <= truth) & (truth <= of_it["high"])).sum()
            lines.append(
                (agent.name, quantity, truth, of_it["value"].mean(), int(held), len(of_it))
            )
    columns = ["agent", "quantity", "truth", "mean", "held", "intervals"]
    return pd.DataFrame(lines, columns=columns).round(5)


def main() -> None:
    """Run what is asked for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--datasets", type=int, default=200)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", choices=("sizes", "recovery"))
    names = [agent.name for agent in AGENTS]
    parser.add_argument("--agents", nargs="+", choices=names, default=names)
    options = parser.parse_args()
    with Parallel(n_jobs=options.jobs) as run:
        if options.only != "recovery":
            sizes(options.datasets, run).to_csv(SIZES, index=False)
        if options.only != "sizes":
            agents = [agent for agent in AGENTS if agent.name in options.agents]
            table = recovery(options.datasets, agents, run)
            if len(agents) < len(AGENTS):
                known = pd.read_csv(RECOVERY)
                table = pd.concat([known[~known["agent"].isin(options.agents)], table])
            table.to_csv(RECOVERY, index=False)


if __name__ == "__main__":
    main()
