"""How many contexts the exact posterior saves: three studies, tested with it and with theta.

    PYTHONPATH=. python tests/validity/exact_state.py --tables 200 --seed 1

writes ``tests/validity/exact_state.csv``: rejections at .05 of `residual_covariance_test`, five
choices a context. In ``asia`` an agent says the posterior of all findings but the X-ray and acts on
that of all. In ``log odds`` it says the log odds of the posterior with noise of standard deviation
1, in ``rounded`` with noise .9, rounded to .05; choices follow the statement and a weight of what
the posterior adds. ``contexts`` reads the number for 80% power off a probit line.
"""

import argparse
import csv
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed
from scipy import stats
from scipy.special import expit, logit

import bayesnets
from coherence import residual_covariance_test

RESULTS = Path(__file__).with_suffix(".csv")
FIELDS = ("study", "weight", "contexts", "state", "tables", "rejected", "share", "seed")
Study = Callable[[float, int, np.random.Generator], tuple[np.ndarray, np.ndarray]]


def acted(belief: np.ndarray, taste: float, rng: np.random.Generator) -> np.ndarray:
    """Draw five choices of each context."""
    shocks = taste * rng.normal(size=len(belief))
    return rng.random((5, len(belief))) < expit(6 * (belief - 0.5) + shocks)


@cache
def cases_of_asia() -> tuple[np.ndarray, ...]:
    """Posteriors of lung cancer: given all findings but the X-ray, and given all."""
    network = bayesnets.load_network("asia")
    sampled = bayesnets.sample_cases(network, "lung", 400, rng=1, n_observed=(3, 6))
    found = sampled[[name for name in sampled if name.startswith("x_")]]
    evidence = found.rename(columns=lambda name: name.removeprefix("x_"))
    evidence = evidence[evidence["xray"].notna()]
    said = bayesnets.posterior(network, evidence.assign(xray=None), "lung")["yes"]
    exact = bayesnets.posterior(network, evidence, "lung")["yes"]
    return said.to_numpy(), exact.to_numpy()


def asia(weight: float, n: int, rng: np.random.Generator) -> tuple[np.ndarray, ...]:
    """Draw cases of the network, with replacement."""
    cases = np.stack(cases_of_asia())
    said, exact = cases[:, rng.integers(0, cases.shape[1], n)]
    return said, exact, acted(said + weight * (exact - said), 0.6, rng)


def reported(
    weight: float, n: int, rng: np.random.Generator, *, noise: float, grid: float
) -> tuple[np.ndarray, ...]:
    """Draw posteriors and noisy statements of their log odds."""
    exact = expit(1.5 * rng.normal(size=n))
    said = expit(logit(exact) + noise * rng.normal(size=n))
    said = np.round(said / grid) * grid if grid else said
    return said, exact, acted(said + weight * (exact - said), 0.6, rng)


# Study, how it is drawn, the weights planted, and numbers of contexts.
STUDIES: dict[str, tuple[Callable[..., tuple[np.ndarray, ...]], dict[float, tuple[int, ...]]]] = {
    "asia": (asia, {0.0: (50, 100, 200), 1.0: (30, 50, 100, 200, 400)}),
    "log odds": (
        partial(reported, noise=1.0, grid=0.0),
        {0.0: (100,), 0.15: (100, 400, 1600), 0.3: (100, 200, 800, 1600)},
    ),
    "rounded": (
        partial(reported, noise=0.9, grid=0.05),
        {0.0: (50, 100, 200), 0.4: (50, 100, 200, 400, 800)},
    ),
}


def rejected(
    draw: Callable[..., tuple[np.ndarray, ...]], weight: float, n: int, rng: np.random.Generator
) -> tuple[bool, bool]:
    """Test one table with the exact posterior and with the state drawn from it."""
    said, exact, action = draw(weight, n, rng)
    context, options = np.tile(np.arange(n), 5), {"n_draws": 999, "rng": rng}
    truth = (rng.random(n) < exact).astype(int)
    known = residual_covariance_test(
        said[context], action.ravel(), exact=exact[context], context=context, **options
    )
    tossed = residual_covariance_test(
        said[context], action.ravel(), truth[context], context=context, **options
    )
    return known.pvalue <= 0.05, tossed.pvalue <= 0.05


def grid(by_weight: dict[float, tuple[int, ...]]) -> list[tuple[float, int]]:
    """List weights with their numbers of contexts."""
    return [(weight, n) for weight, sizes in by_weight.items() for n in sizes]


def contexts_for(power: float, sizes: list[int], shares: list[float], n: int) -> float:
    """Read the contexts for a power off a probit line in the root of their number."""
    probit = stats.norm.ppf((np.array(shares) * n + 0.5) / (n + 1))
    near = np.abs(probit) < 2.2
    slope, level = np.polyfit(np.sqrt(np.array(sizes)[near]), probit[near], 1)
    return float(((stats.norm.ppf(power) - level) / slope) ** 2)


def main() -> None:
    """Simulate, write, and print the contexts for 80% power."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    args = parser.parse_args()
    rows = []
    cells = [(study, *cell) for study, (_, by) in STUDIES.items() for cell in grid(by)]
    spawned = np.random.default_rng(args.seed).spawn(len(cells))
    streams = dict(zip(cells, spawned, strict=True))
    for study, (draw, by_weight) in STUDIES.items():
        for weight, sizes in by_weight.items():
            shares: dict[str, list[float]] = {"exact": [], "theta": []}
            for n in sizes:
                jobs = (
                    delayed(rejected)(draw, weight, n, rng)
                    for rng in streams[study, weight, n].spawn(args.tables)
                )
                counts = np.sum(Parallel(n_jobs=args.jobs)(jobs), axis=0)
                for state, count in zip(shares, counts.tolist(), strict=True):
                    share = count / args.tables
                    shares[state].append(share)
                    line = (study, weight, n, state, args.tables, count, f"{share:.3f}", args.seed)
                    rows.append(dict(zip(FIELDS, line, strict=True)))
                print(study, weight, n, {name: each[-1] for name, each in shares.items()})
            if weight and len(sizes) > 2:
                exact, theta = (
                    contexts_for(0.8, list(sizes), of, args.tables) for of in shares.values()
                )
                print(f"  80% power: {exact:.0f} with p*, {theta:.0f} with theta")
    with RESULTS.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, FIELDS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


if __name__ == "__main__":
    # Imported by name, so that what is cached can be found by other processes.
    from exact_state import main as imported

    imported()
