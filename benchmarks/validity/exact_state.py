"""How many contexts the exact posterior saves: three studies, tested with it and with theta.

    PYTHONPATH=. python benchmarks/validity/exact_state.py --tables 400 --seed 1
    PYTHONPATH=. python benchmarks/validity/exact_state.py --tables 400 --seed 1 --nulls

write ``exact_state.csv`` and ``exact_nulls.csv``. The first has rejections at .05 of the residual
covariance of `sufficiency`, five choices a context. In ``asia`` an agent says the posterior of all
findings but the X-ray and acts on that of all. In ``log odds`` it says the log odds of the
posterior with noise of standard deviation 1, in ``rounded`` with noise .9, rounded to .05; choices
follow the statement and a weight of what the posterior adds. The second has coherent agents of many
kinds, who act on nothing but the statement: rejections with p* at .05 and .01, and intervals that
hold 0.
"""

import sys
from collections.abc import Callable
from functools import cache, partial

import numpy as np
from parts import residual_covariance
from scipy.special import expit, logit
from study import Cell, Line, study

import bayesnets

Study = Callable[[float, int, np.random.Generator], tuple[np.ndarray, np.ndarray]]


def spawned(seed: list[int]) -> np.random.Generator:
    """Return the stream of a table: the run's is split into cells, and those into tables."""
    run, *key = seed
    return np.random.default_rng(np.random.SeedSequence(run, spawn_key=tuple(key)))


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
    draw: Callable[..., tuple[np.ndarray, ...]], weight: float, n: int, seed: list[int]
) -> tuple[bool, bool]:
    """Test one table with the exact posterior and with the state drawn from it."""
    rng = spawned(seed)
    said, exact, action = draw(weight, n, rng)
    context, options = np.tile(np.arange(n), 5), {"n_draws": 999, "rng": rng}
    truth = (rng.random(n) < exact).astype(int)
    known = residual_covariance(
        said[context], action.ravel(), exact=exact[context], context=context, **options
    )
    tossed = residual_covariance(
        said[context], action.ravel(), truth[context], context=context, **options
    )
    return known.pvalue <= 0.05, tossed.pvalue <= 0.05


def null(kind: str, n: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Draw a coherent agent: the arguments of a test, contexts as rows."""
    odds = 1.5 * rng.normal(size=n)
    exact, noise = expit(odds), 0.9
    if kind in ("jump", "jump, policies", "two jumps"):
        said = rng.random(n)
        steps = 0.25 + 0.5 * (said > 0.5)
        if kind == "two jumps":
            steps = 0.2 + 0.3 * (said > 1 / 3) + 0.3 * (said > 2 / 3)
        exact = np.clip(steps + 0.1 * rng.normal(size=n), 0.01, 0.99)
    else:
        said = expit(odds + noise * rng.normal(size=n))
    if kind == "overconfident, .9 to 1":
        said = 0.9 + 0.095 * said
    if kind in ("steps of .05", "posterior in steps of .05"):
        said = np.round(20 * (exact if kind.startswith("post") else said)) / 20
    if kind == "heaped":
        said = np.where(rng.random(n) < 0.5, np.round(said, 1), np.round(said, 2))
    if kind == "two beliefs":
        said = np.where(said > 0.5, 0.7, 0.3)
    if kind == "inverted":
        said = 1 - said
    taste = 1.5 if kind == "taste" else 0.0 if kind == "policies" else 0.6
    utility = 6 * (said - 0.5) + taste * rng.normal(size=n)
    if kind == "overconfident, .9 to 1":
        utility = 40 * (said - 0.95)
    if kind == "greedy":
        utility = np.where(said > 0.5, 3.0, -3.0)
    if kind in ("jump", "jump, policies"):
        utility = np.where(said > 0.5, 1.7, -1.7)
    if kind == "two jumps":
        utility = 3.0 * (said > 1 / 3) + 3.0 * (said > 2 / 3) - 3.0
    share = expit(utility)
    if kind.endswith("policies"):
        return {"belief": said, "action": np.column_stack([1 - share, share]), "exact": exact}
    reps = rng.integers(1, 10, n) if kind == "1 to 9 repetitions" else np.full(n, 5)
    context = np.repeat(np.arange(n), reps)
    action = (rng.random(context.size) < share[context]).astype(int)
    if kind == "three actions":
        unsure = rng.random(context.size) < 0.5 - np.abs(said - 0.5)[context]
        action = np.where(unsure, 2, action)
    table = {"belief": said[context], "action": action, "exact": exact[context], "context": context}
    if kind.startswith("groups"):
        n_groups, size = map(int, kind.split()[1].split("x"))
        group = np.repeat(np.arange(n_groups), size)
        missed, liking = rng.normal(size=(2, n_groups))
        exact = expit(odds[: group.size] + 0.5 * missed[group])
        share = expit(utility[: group.size] + liking[group])
        context = np.repeat(np.arange(group.size), 5)
        action = (rng.random(context.size) < share[context]).astype(int)
        table = {"belief": np.round(20 * said[context]) / 20, "action": action}
        table |= {"exact": exact[context], "context": context, "group": group[context]}
    return table


KINDS = (
    *("continuous", "steps of .05", "posterior in steps of .05", "heaped", "two beliefs"),
    *("policies", "taste", "greedy", "jump", "jump, policies", "two jumps"),
    *("overconfident, .9 to 1", "inverted", "three actions", "1 to 9 repetitions"),
)
GROUPS = ("groups 30x8", "groups 60x3", "groups 6x40")
SIZES = (40, 100, 300)


def of_null(kind: str, n: int, seed: list[int]) -> dict[str, bool]:
    """Test one coherent agent: rejections at .05 and .01, whether there is an interval with 0."""
    rng = spawned(seed)
    result = residual_covariance(**null(kind, n, rng), n_draws=1_999, rng=rng)
    ends = result.interval
    holds = ends is not None and ends.low <= 1e-12 and ends.high >= -1e-12
    found = {"at .05": result.pvalue <= 0.05, "at .01": result.pvalue <= 0.01}
    return found | {"held 0": holds, "intervals": ends is not None}


def counted(found: list[dict[str, bool]]) -> list[Line]:
    """Count tables."""
    return [{name: sum(each[name] for each in found) for name in found[0]}]


def by_state(found: list[tuple[bool, bool]]) -> list[Line]:
    """Count rejections with the posterior and with the state."""
    return [
        {"state": state, "rejected": sum(of), "share": round(sum(of) / len(of), 3)}
        for state, of in zip(("exact", "theta"), zip(*found, strict=True), strict=True)
    ]


if __name__ == "__main__":
    if nulls := "--nulls" in sys.argv:
        sys.argv.remove("--nulls")
        sizes = [(kind, n) for kind in KINDS for n in SIZES]
        sizes += [(kind, int(np.prod([*map(int, kind.split()[1].split("x"))]))) for kind in GROUPS]
        cells = [
            Cell({"null": kind, "contexts": n}, partial(of_null, kind, n)) for kind, n in sizes
        ]
    else:
        cells = [
            Cell(
                {"study": name, "weight": weight, "contexts": n}, partial(rejected, draw, weight, n)
            )
            for name, (draw, by_weight) in STUDIES.items()
            for weight, sizes in by_weight.items()
            for n in sizes
        ]
    name, read = ("exact_nulls", counted) if nulls else ("exact_state", by_state)
    study(name, cells, read, tables=200, count="tables")
