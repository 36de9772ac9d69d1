"""Power by simulation: contexts x repetitions x hidden signal -> how often each check rejects.

Studies are drawn from an agent whose flaw is known, or from the rational agent that was fitted to a
model's answers, with a hidden signal planted; the checks themselves are run on each. At signal 0
nothing is amiss, and what is rejected there is the size of the test. The random numbers of a study
depend on the seed, its size and its number alone: a larger grid, more simulations or more processes
leave the others as they are.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from coherence.agents import PROMPTS, Agent, named_agent
from coherence.analysis.margins import BOUNDED, as_margin, smallest_margin
from coherence.analysis.populations import AgentPopulation, Population, population_like
from coherence.checks import CHECKS
from coherence.checks.catalogue import declaration, sentences_of
from coherence.checks.check import Call
from coherence.errors import InputError, closest, listing
from coherence.inputs import MIN_CONTEXTS, Floats, number_of_jobs, require, whole_number
from coherence.rational.agent import RationalAgent
from coherence.report.json import to_plain
from coherence.result import LEVEL
from coherence.statistics.parallel import run_calls
from coherence.statistics.resample import Seed, as_generator
from coherence.table.needs import ACTION, CONDITIONALS, WORDINGS
from coherence.table.printable import counted, repeated

CONTEXTS = (25, 50, 100, 200, 400)
REPS = 5
SIGNALS = (0.0, 0.1, 0.2, 0.4)
LIMIT = 5_000
USUAL = {
    "peak": "monotone_choice",
    "iterated_bias": "iterated_expectation",
    "prompt_shift": "prompt_consistency",
}
"""What is planted -> the check that looks for it, which is run unless others are named."""
DRAWS = {"cmi": 199}
FEWEST_DRAWS = 99
_USUAL_DRAWS = 999
_PORTION = 20  # studies in one call of a worker
_GIVEN_Z = 3  # prompts for a variable of two states: its probability, and two beliefs given it
_SURE = 0.05  # chance that any cell is called above the level when none is
SCHEMA_VERSION = 1


@dataclass(frozen=True)
class Costs:
    """What an answer costs.

    Parameters
    ----------
    tokens_in, tokens_out : float, optional
        Tokens of one prompt, and of one answer with its thinking.
    price_in, price_out : float, optional
        Price of a million tokens of prompts, and of answers, in any currency.
    per_minute : float, optional
        Answers a minute.
    prompts_per_rep : int, optional
        Prompts for one repetition of one context; None counts what the checks need.

    Raises
    ------
    InputError
        A number below 0 or infinite, a rate of 0, or a price without the tokens that it is of.

    Examples
    --------
    >>> costs = Costs(tokens_in=400, tokens_out=50, price_in=1.0, price_out=4.0, per_minute=60)
    >>> costs.of([200], [5], prompts_per_rep=2)[["n_prompts", "price", "hours"]].round(2)
       n_prompts  price  hours
    0       2000    1.2   0.56
    """

    tokens_in: float | None = None
    tokens_out: float | None = None
    price_in: float | None = None
    price_out: float | None = None
    per_minute: float | None = None
    prompts_per_rep: int | None = None

    def __post_init__(self) -> None:
        """Refuse numbers that are not costs."""
        for name in ("tokens_in", "tokens_out", "price_in", "price_out", "per_minute"):
            value = getattr(self, name)
            require(
                value is None or 0 <= value < math.inf,
                f"{name} must be at least 0 and finite; received {value!r}.",
            )
        require(
            self.per_minute is None or self.per_minute > 0,
            f"per_minute must be above 0; received {self.per_minute!r}. "
            "Leave it out where the rate is not known.",
        )
        if self.prompts_per_rep is not None:
            whole_number(self.prompts_per_rep, "prompts_per_rep", 1)
        for side in ("in", "out"):
            priced = getattr(self, f"price_{side}") is not None
            require(
                not priced or getattr(self, f"tokens_{side}") is not None,
                f"price_{side} needs tokens_{side}; received none. "
                "A dry run of 'coherence elicit' counts them.",
            )

    def of(
        self, n_contexts: Iterable[float], n_reps: Iterable[int], *, prompts_per_rep: int
    ) -> pd.DataFrame:
        """Return what studies cost.

        Parameters
        ----------
        n_contexts, n_reps : iterable
            Size of each study; NaN where there is none.
        prompts_per_rep : int
            Prompts for one repetition of one context, unless these costs say how many.

        Returns
        -------
        DataFrame
            Columns ``n_prompts``, ``tokens_in``, ``tokens_out``, ``price``, ``hours``; those that
            nothing was said about are left out.
        """
        each = self.prompts_per_rep or prompts_per_rep
        sizes = np.asarray(list(n_contexts), dtype=np.float64) * np.asarray(list(n_reps)) * each
        whole = not np.isnan(sizes).any()
        table = {"n_prompts": sizes.astype(np.int64) if whole else sizes}
        for side in ("in", "out"):
            tokens = getattr(self, f"tokens_{side}")
            if tokens is not None:
                table[f"tokens_{side}"] = sizes * tokens
        priced = [side for side in ("in", "out") if getattr(self, f"price_{side}") is not None]
        if priced:
            parts = [table[f"tokens_{side}"] * getattr(self, f"price_{side}") for side in priced]
            table["price"] = np.sum(parts, axis=0) / 1e6
        if self.per_minute is not None:
            table["hours"] = sizes / self.per_minute / 60
        return pd.DataFrame(table)


def prompts_for(checks: Iterable[str]) -> int:
    """Count the prompts of one repetition of one context that some checks need.

    >>> prompts_for(["residual_covariance"]), prompts_for(["cmi", "iterated_expectation"])
    (2, 5)
    """
    needs = [declaration(name).needs for name in checks]
    acted = any(ACTION in need for need in needs)
    wordings = len(PROMPTS) - 1 if WORDINGS in needs else 0
    return 1 + acted + wordings + (_GIVEN_Z if CONDITIONALS in needs else 0)


@dataclass(frozen=True)
class Cell:
    """A study that may be simulated many times."""

    n_contexts: int
    n_reps: int
    signal: float

    def __str__(self) -> str:
        """Return the size, for a progress bar."""
        return f"{self.n_contexts} x {self.n_reps}, signal {self.signal:g}"


@dataclass
class _Simulator:
    """Simulated studies of a population, tested by the checks; `kept` has a row for each study.

    A column of a kept table is a result of a check: its p-value, NaN where the test is undefined,
    or of an estimate half the width of its interval; with a margin the smallest one that holds.
    """

    population: Population
    checks: tuple[str, ...]
    n_draws: int | None
    entropy: tuple[int, ...]
    margin: float | None = None
    n_jobs: int = 1
    progress: Any = None
    kept: dict[Cell, pd.DataFrame] = field(default_factory=dict)
    estimates: set[str] = field(default_factory=set)
    check_of: dict[str, str] = field(default_factory=dict)
    n_done: int = 0

    def run(self, cells: Sequence[Cell], n_simulations: int) -> None:
        """Simulate every cell at least so many times."""
        jobs = []
        for cell in cells:
            have = len(self.kept.get(cell, ()))
            edges = [*range(have, n_simulations, _PORTION), n_simulations]
            jobs += [(cell, *ends) for ends in pairwise(edges)]
        total = self.n_done + sum(last - first for _, first, last in jobs)
        # The longest first, so that no worker is left with it at the end.
        order = sorted(jobs, key=lambda job: -job[0].n_contexts * job[0].n_reps)
        plan = replace(self, kept={}, progress=None)
        found = run_calls(_studies, [(plan, *job) for job in order], self.n_jobs)
        parts: dict[Cell, list[pd.DataFrame]] = {}
        for (cell, first, last), rows in zip(order, found, strict=True):
            for row in rows:
                for check, result, estimate, _ in row:
                    self.check_of.setdefault(result, check)
                    self.estimates |= {result} if estimate else set()
            numbers = [{result: number for _, result, _, number in row} for row in rows]
            # Batches of a cell come in order: sorting is stable.
            parts.setdefault(cell, []).append(pd.DataFrame(numbers))
            self.n_done += last - first
            if self.progress is not None:
                self.progress(self.n_done, total, str(cell))
        for cell, batches in parts.items():
            before = [self.kept[cell]] if cell in self.kept else []
            self.kept[cell] = pd.concat([*before, *batches], ignore_index=True)

    @property
    def results(self) -> list[str]:
        """Names of all results, in the order of a report."""
        order = {check: position for position, check in enumerate(self.checks)}
        return sorted(self.check_of, key=lambda result: order[self.check_of[result]])

    def numbers(self, cell: Cell, result: str, n: int | None = None) -> Floats:
        """Return the numbers of a result in the first studies of a cell, NaN where undefined."""
        table = self.kept[cell].iloc[:n]
        missing = np.full(len(table), np.nan)
        return np.asarray(table.get(result, missing), dtype=np.float64)

    def draws_of(self, check: str) -> int:
        """Return the permutations or sign flips behind a p-value of a check."""
        return self.n_draws or DRAWS.get(check, _USUAL_DRAWS)


def _studies(
    plan: _Simulator, cell: Cell, first: int, last: int
) -> list[list[tuple[str, str, bool, float]]]:
    """Simulate some studies: for each its results as (check, result, is an estimate, number)."""
    return [list(_study(plan, cell, number)) for number in range(first, last)]


def _study(plan: _Simulator, cell: Cell, number: int) -> Iterator[tuple[str, str, bool, float]]:
    def stream(which: int) -> np.random.Generator:
        key = (cell.n_contexts, cell.n_reps, number, which)
        return np.random.default_rng(np.random.SeedSequence(plan.entropy, spawn_key=key))

    declared = [declaration(name) for name in plan.checks]
    needs = [check.needs for check in declared]
    facts = plan.population.draw(
        cell.signal,
        cell.n_contexts,
        cell.n_reps,
        stream(0),
        wordings=WORDINGS in needs,
        iterated=CONDITIONALS in needs,
    )
    for check in declared:
        rng = stream(1 + list(CHECKS).index(check.name))
        results = []
        for step in (step for part in (check, *check.parts) for step in part.plan(facts)):
            if isinstance(step, Call):
                draws = dict.fromkeys(step.fewest, plan.draws_of(check.name))
                options: dict[str, Any] = {"rng": rng.spawn(1)[0]} if step.draws else {}
                outcome = step.function(**draws, **options)
                results += outcome if isinstance(outcome, list) else [outcome]
        for result in results:
            ends = result.interval
            if plan.margin is not None:
                yield check.name, result.check, False, smallest_margin(result)
            elif sentences_of(result.check)[0].rejected:
                value = math.nan if result.pvalue is None else result.pvalue
                yield check.name, result.check, False, value
            elif _is_estimate(check.name) and ends is not None:
                yield check.name, result.check, True, (ends.high - ends.low) / 2


def _is_estimate(check: str) -> bool:
    """Tell whether nothing of a check is a test, so that it is planned by its intervals."""
    return not any(says.rejected for says in declaration(check).sentences.values())


def power(
    agent: Agent | RationalAgent | str,
    *,
    n_contexts: int | Sequence[int] | None = None,
    n_reps: int | Sequence[int] | None = None,
    signal: float | Sequence[float] = SIGNALS,
    check: str | Sequence[str] | None = None,
    planted: str | None = None,
    policies: bool | None = None,
    n_simulations: int = 500,
    n_draws: int | None = None,
    alpha: float = LEVEL,
    margin: float | None = None,
    target: float | None = None,
    limit: int = LIMIT,
    costs: Costs | None = None,
    name: str | None = None,
    n_jobs: int = 1,
    rng: Seed = None,
    progress: Any = None,
) -> PowerResult:
    """Simulate how often checks reject, for studies of several sizes and signals of several sizes.

    Parameters
    ----------
    agent : Agent, RationalAgent or str
        Who would answer: a simulated agent or the name of one in `AGENTS`, or what
        `coherence.fit_rational_agent` has found in answers that are there already.
    n_contexts, n_reps : int or sequence of int
        Contexts, ten at least, and repetitions of each question. Contexts default to 25, 50, 100,
        200 and 400; with `target` they are searched for. Repetitions default to 5, and to 1 where
        answers are probabilities.
    signal : float or sequence of float
        What is planted, as a value of `planted`: of a hidden signal, how much higher the belief
        acted on is when the state is true. 0 is always added.
    check : str or sequence of str, optional
        Names out of `coherence.checks.CHECKS`. None takes the one that looks for what is planted:
        residual_covariance for a hidden signal.
    planted : str, optional
        Parameter of a simulated agent that `signal` sets, hidden_signal by default; any that is 0
        where nothing is amiss, such as peak or iterated_bias.
    policies : bool, optional
        Whether the answers are the probability of each action, as forced or exact answers give
        them, instead of drawn actions. None takes drawn actions for simulated agents, and what the
        data have for fitted ones.
    n_simulations : int
        Simulated studies of each cell.
    n_draws : int, optional
        Permutations or sign flips behind each p-value, 99 at least. None takes 999, and 199 for
        cmi.
    alpha : float
        Level of each test alone. A report corrects for all of its tests; `LEVEL` divided by their
        number bounds its power from below.
    margin : float, optional
        Largest difference that counts as none. What is counted are then studies that show the
        effect to lie within it (`coherence.analyze`), not rejections: at signal 0 that is the power
        to do so. For residual_covariance and rational_agent; without `target`.
    target : float, optional
        Power wanted; the result then says how many contexts it takes.
    limit : int
        Most contexts that come into question for `target`.
    costs : Costs, optional
        What an answer costs.
    name : str, optional
        What the result calls the agent.
    n_jobs : int
        Processes of joblib, -1 for all cores; results do not depend on it.
    rng : Generator, int or None
        Source of randomness. With an equal seed a larger grid keeps the numbers of a smaller one.
    progress : callable, optional
        Called with (studies done, studies to do, label).

    Returns
    -------
    PowerResult
        ``table`` has a row for each result of a check and each cell, with an exact binomial
        interval; ``needed``, with `target`, how many contexts it takes.

    Raises
    ------
    InputError
        An unknown agent, check or parameter, a number outside its range, a check for which the
        agent gives no answers, or a target for an estimate.

    Notes
    -----
    A p-value that is undefined (too few choices of an action, say) counts as not rejecting;
    ``n_undefined`` counts them. With B draws the power is that of a test with B draws, which is a
    little below that of the 9,999 (999 for cmi) of a report. Estimates without a test (calibration,
    prompt_consistency) have no power; their ``half_width`` is the median of half the width of their
    interval. The number of contexts for `target` is read off a probit regression of rejections on
    the root of the number of contexts, on which the power of a test of an effect of fixed size is a
    straight line; its interval is that of the regression (delta method).

    Examples
    --------
    >>> once = {"check": "residual_covariance", "n_simulations": 20, "rng": 1}
    >>> found = power("rational", n_contexts=[40, 80], n_reps=2, signal=0.4, **once)
    >>> found.table[["signal", "n_contexts", "quantity"]]
       signal  n_contexts quantity
    0     0.0          40     size
    1     0.0          80     size
    2     0.4          40    power
    3     0.4          80    power
    """
    population = _population(agent, planted, policies)
    names = _checks(check, population, target)
    usual = 1 if population.policies else REPS
    reps = _whole_numbers(usual if n_reps is None else n_reps, "n_reps", 1)
    signals = _signals(signal)
    n_simulations = whole_number(n_simulations, "n_simulations", 10)
    if n_draws is not None:
        n_draws = whole_number(n_draws, "n_draws", FEWEST_DRAWS)
    require(0 < alpha < 1, f"alpha must lie between 0 and 1; received {alpha!r}.")
    n_jobs = number_of_jobs(n_jobs)
    if margin is not None:
        margin = as_margin(margin)
        _require_bounded(names, target)
    require(
        "prompt_consistency" not in names or min(reps) > 1,
        "n_reps must be at least 2 for prompt_consistency, which removes the noise of repetitions; "
        f"received {min(reps)}. Ask for more, or leave the check out.",
    )
    entropy = tuple(int(part) for part in as_generator(rng).integers(2**63, size=2))
    simulator = _Simulator(population, names, n_draws, entropy, margin, n_jobs, progress)
    needed = pd.DataFrame()
    if target is None:
        sizes = _whole_numbers(CONTEXTS if n_contexts is None else n_contexts, "n_contexts", 10)
        cells = [Cell(size, times, of) for of in signals for times in reps for size in sizes]
        simulator.run(cells, n_simulations)
    else:
        _require_target(target, n_contexts, limit)
        needed = _search(simulator, reps, signals, target, limit, n_simulations, alpha)
    each = (costs or Costs()).prompts_per_rep or prompts_for(names)
    settings: dict[str, Any] = {
        "population": name or population.name,
        "planted": population.planted,
        "policies": population.policies,
        "checks": list(names),
        "n_simulations": n_simulations,
        "n_draws": {check: simulator.draws_of(check) for check in names if not _is_estimate(check)},
        "alpha": alpha,
        **({} if margin is None else {"margin": margin}),
        "target": target,
        "limit": None if target is None else limit,
        "seed": int(rng) if isinstance(rng, int | np.integer) else None,
        "prompts_per_rep": each,
    }

    def priced(table: pd.DataFrame) -> pd.DataFrame:
        if table.empty:
            return table
        of = (costs or Costs()).of(table["n_contexts"], table["n_reps"], prompts_per_rep=each)
        return pd.concat([table, of], axis=1)

    tables = priced(_table(simulator, alpha if margin is None else margin)), priced(needed)
    return PowerResult(*tables, settings, tuple(population.cautions))


def _population(
    agent: Agent | RationalAgent | str, planted: str | None, policies: bool | None
) -> Population:
    if isinstance(agent, RationalAgent):
        require(
            planted in (None, "hidden_signal"),
            f"planted must be hidden_signal for a fitted agent; received {planted!r}. "
            "Other flaws can be planted in a named agent.",
        )
        return population_like(agent, policies=policies)
    if isinstance(agent, str):
        agent = named_agent(agent)
    if not isinstance(agent, Agent):
        raise InputError(
            "agent must be the name of an agent, an Agent or a fitted RationalAgent; received "
            f"{type(agent).__name__}. coherence.fit_rational_agent fits one to your answers."
        )
    return AgentPopulation(agent, planted or "hidden_signal", bool(policies))


def _checks(
    check: str | Sequence[str] | None, population: Population, target: float | None
) -> tuple[str, ...]:
    if check is None:
        return (USUAL.get(population.planted, "residual_covariance"),)
    asked = [check] if isinstance(check, str) else list(check)
    require(len(asked) > 0, "check must name at least one check; received none.")
    for name in asked:
        require(
            name in CHECKS,
            f"check must be among {', '.join(CHECKS)}; received {name!r}. "
            f"{closest(str(name), CHECKS)}",
        )
        require(
            name not in population.lacks,
            f"check {name!r} needs answers that {population.name} does not give (other prompts, "
            "beliefs given a variable). Plan it with a named agent, or leave it out.",
        )
        require(
            target is None or not _is_estimate(name),
            f"check must be a test where a power is wanted; received {name!r}, which is an "
            "estimate. Leave target out: the table has the width of its interval for every size.",
        )
    return tuple(name for name in CHECKS if name in asked)


def _require_bounded(names: Sequence[str], target: float | None) -> None:
    require(
        target is None,
        f"target must be left out with margin; received {target!r}. The table has the share of "
        "studies within the margin for every size.",
    )
    others = [name for name in names if name not in BOUNDED]
    require(
        not others,
        f"margin takes the checks {' and '.join(BOUNDED)}; received {listing(others)} as well. "
        "Name checks that have such an effect.",
    )


def _require_target(target: float, n_contexts: Any, limit: int) -> None:
    require(
        isinstance(target, int | float) and 0.05 < target < 1,
        f"target must be a power between .05 and 1; received {target!r}. Usual ones are .8 and .9.",
    )
    require(
        n_contexts is None,
        f"n_contexts cannot stand beside target, which searches for it; received {n_contexts!r}. "
        "Leave one of them out; limit bounds the search.",
    )
    whole_number(limit, "limit", 2 * MIN_CONTEXTS)


def _whole_numbers(values: int | Sequence[int], name: str, least: int) -> list[int]:
    several = values if isinstance(values, Iterable) else [values]
    numbers = sorted({whole_number(value, name, least) for value in several})
    require(bool(numbers), f"{name} must hold at least one number; received none.")
    return numbers


def _signals(signal: float | Sequence[float]) -> list[float]:
    several = signal if isinstance(signal, Iterable) else [signal]
    for value in several:
        is_number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
        require(
            is_number and -1 <= value <= 1,
            f"signal must hold numbers from -1 to 1; received {value!r}. "
            "It is a difference of beliefs.",
        )
    return sorted({0.0, *map(float, several)}, key=lambda value: (abs(value), value))


def _search(
    simulator: _Simulator,
    reps: Sequence[int],
    signals: Sequence[float],
    target: float,
    limit: int,
    n_simulations: int,
    alpha: float,
) -> pd.DataFrame:
    """Search for the contexts of each result, signal and number of repetitions."""
    rows = []
    # A few studies show what results there are.
    simulator.run([Cell(min(limit, 50), reps[0], 0.0)], 10)
    for result in simulator.results:
        for n_reps in reps:
            for signal in filter(None, signals):
                rejected: dict[int, int] = {}

                def simulate_size(size: int, n_reps: int = n_reps, of: float = signal) -> float:
                    cell = Cell(size, n_reps, of)
                    simulator.run([cell], n_simulations)
                    pvalues = simulator.numbers(cell, result, n_simulations)  # noqa: B023
                    rejected[size] = int((pvalues <= alpha).sum())  # noqa: B023
                    return rejected[size] / n_simulations  # noqa: B023

                # Doubled until the power is passed, and then once more around where it is.
                size = 2 * MIN_CONTEXTS
                while simulate_size(min(size, limit)) < target and size < limit:
                    size *= 2
                size = min(size, limit)
                row = {"n_contexts": math.nan, "low": math.nan, "high": math.nan}
                reached = rejected[size] >= target * n_simulations
                if reached:
                    simulate_size(max(round(size / 1.5), MIN_CONTEXTS))
                    for _ in range(2):
                        row = _read_off(rejected, n_simulations, target)
                        near = min(max(round(row["n_contexts"]), MIN_CONTEXTS), limit)
                        if near not in rejected:
                            simulate_size(near)
                    row = _read_off(rejected, n_simulations, target)
                    size = min(round(row["n_contexts"]), limit)
                sentence = f"{target:.0%} power is not reached with {limit} contexts."
                if reached:
                    sentence = (
                        f"{target:.0%} power takes about {row['n_contexts']:.0f} contexts "
                        f"(95% interval {row['low']:.0f} to {row['high']:.0f})."
                    )
                else:
                    sentence += f" It is {rejected[size] / n_simulations:.2f} there."
                # With the power its size: whether the test keeps its level with so many.
                simulator.run([Cell(size, n_reps, of) for of in (0.0, signal)], n_simulations)
                rows.append(
                    {
                        "check": result,
                        "signal": signal,
                        "n_reps": n_reps,
                        "target": target,
                        **row,
                        "reached": reached,
                        "sentence": sentence,
                    }
                )
    return pd.DataFrame(rows)


def _read_off(rejected: Mapping[int, int], n: int, target: float) -> dict[str, float]:
    """Read the contexts for a power off a probit regression on the root of their number."""
    import statsmodels.api as sm

    sizes = np.array(sorted(rejected), dtype=np.float64)
    counts = np.array([rejected[int(size)] for size in sizes])
    # Far from the power that is wanted the line may bend.
    near = np.abs(stats.norm.ppf((counts + 0.5) / (n + 1)) - stats.norm.ppf(target)) < 2.5
    near = near if near.sum() > 2 else np.ones(sizes.size, dtype=bool)
    root = np.sqrt(sizes[near])
    # Half a rejection more and less, so that none and all have a probit.
    counted_of = np.column_stack([counts[near] + 0.5, n - counts[near] + 0.5])
    family = sm.families.Binomial(link=sm.families.links.Probit())
    fit = sm.GLM(counted_of, sm.add_constant(root), family=family).fit(scale=1.0)
    (level, slope), wanted = fit.params, stats.norm.ppf(target)
    at = (wanted - level) / slope
    gradient = np.array([-1 / slope, -at / slope])
    error = 1.96 * math.sqrt(max(float(gradient @ fit.cov_params() @ gradient), 0.0))
    ends = [max(at + side * error, math.sqrt(MIN_CONTEXTS)) for side in (-1, 0, 1)]
    low, size, high = (float(round(end**2)) for end in ends)
    return {"n_contexts": size, "low": low, "high": high}


def _table(simulator: _Simulator, threshold: float) -> pd.DataFrame:
    rows = []
    cells = sorted(
        simulator.kept,
        key=lambda cell: (abs(cell.signal), cell.signal, cell.n_reps, cell.n_contexts),
    )
    for result in simulator.results:
        estimate = result in simulator.estimates
        for cell in cells:
            numbers = simulator.numbers(cell, result)
            n, undefined = len(numbers), int(np.isnan(numbers).sum())
            rejected = int((numbers <= threshold).sum())
            quantity = "precision" if estimate else "power" if cell.signal else "size"
            if simulator.margin is not None:
                quantity = "within margin"
            ends = stats.binomtest(rejected, n).proportion_ci()
            rows.append(
                {
                    "check": result,
                    "signal": cell.signal,
                    "n_reps": cell.n_reps,
                    "n_contexts": cell.n_contexts,
                    "quantity": quantity,
                    "n_simulations": n,
                    "n_undefined": undefined,
                    "n_rejected": np.nan if estimate else rejected,
                    "power": np.nan if estimate else rejected / n,
                    "low": np.nan if estimate else ends.low,
                    "high": np.nan if estimate else ends.high,
                    "half_width": np.nanmedian(numbers) if estimate and undefined < n else np.nan,
                }
            )
    return pd.DataFrame(rows)


@dataclass(frozen=True)
class PowerResult:
    """Power of checks, for studies of several sizes.

    Parameters
    ----------
    table : DataFrame
        A row for each result of a check and each cell: ``check``, ``signal``, ``n_reps``,
        ``n_contexts``, ``quantity`` ("size" at signal 0, else "power"; "precision" of estimates;
        "within margin" where one was given, and ``n_rejected`` counts the studies within it),
        ``n_simulations``, ``n_undefined`` (studies without a p-value, which count as not
        rejecting), ``n_rejected``, ``power`` with the ends ``low`` and ``high`` of its exact 95%
        interval, ``half_width`` (of the intervals of estimates, median), ``n_prompts`` and what
        else is known of the costs.
    needed : DataFrame
        With a target, a row for each result, signal and number of repetitions: ``n_contexts``,
        ``low``, ``high``, ``reached``, ``sentence``; empty without.
    settings : mapping
        What shaped the numbers.
    cautions : tuple of str
        What a reader must know before the numbers.
    """

    table: pd.DataFrame
    needed: pd.DataFrame
    settings: Mapping[str, Any]
    cautions: tuple[str, ...] = field(default=())

    def __repr__(self) -> str:
        """Return a line."""
        settings = self.settings
        cells = len(self.table) // max(self.table["check"].nunique(), 1)
        return (
            f"<PowerResult: {', '.join(settings['checks'])}; {settings['population']}, "
            f"{settings['planted']}; {counted(cells, 'cell')} of "
            f"{counted(settings['n_simulations'], 'simulation')}>"
        )

    @property
    def notes(self) -> list[str]:
        """What the numbers rest on, and where they must be read with care, in sentences."""
        return [*self.cautions, *self._about_draws(), *self._about_sizes(), *self._undefined()]

    def _about_draws(self) -> Iterator[str]:
        draws = {name: n for name, n in self.settings["n_draws"].items() if n}
        if draws:
            listed = ", ".join(f"{name} {n}" for name, n in draws.items())
            yield (
                f"permutations or sign flips behind a p-value: {listed}; the power is that of a "
                "test with so many, a little below that of a report."
            )

    def _about_sizes(self) -> Iterator[str]:
        sizes = self.table.loc[self.table["quantity"] == "size"]
        above = sizes.iloc[np.flatnonzero(self._above(sizes))]
        # The worst first: of each check that line is kept.
        worst = above.sort_values("power", ascending=False, kind="stable")
        for row in worst.drop_duplicates("check").to_dict("records"):
            yield (
                f"{row['check']} rejects {row['power']:.0%} of studies in which nothing is planted "
                f"({counted(row['n_contexts'], 'context')} x {row['n_reps']}): read its power "
                "beside that."
            )

    def _above(self, rows: pd.DataFrame) -> np.ndarray:
        """Tell which cells reject more often than the level, all of them looked at together."""
        level = 1 - _SURE / max(len(rows), 1)
        counts = zip(rows["n_rejected"].fillna(0), rows["n_simulations"], strict=True)
        ends = [
            stats.binomtest(int(rejected), int(n)).proportion_ci(level).low
            for rejected, n in counts
        ]
        return np.asarray(np.array(ends, dtype=np.float64) > float(self.settings["alpha"]))

    def _undefined(self) -> Iterator[str]:
        share = self.table["n_undefined"] / self.table["n_simulations"]
        for check, rows in self.table[share > 0.5].groupby("check", sort=False):
            cells = counted(len(rows), "cell")
            yield f"{check} is undefined in most studies of {cells} (n_undefined)."

    def __str__(self) -> str:
        """Return the table as text, contexts across, and the sentences."""
        settings = self.settings
        of = "prob. of each action" if settings["policies"] else "drawn actions"
        margin = settings.get("margin")
        share = f"rejected at {settings['alpha']:g}"
        if margin is not None:
            share = f"shown to be within {margin:g}"
        lines = [
            f"{settings['population']} ({of}), {settings['planted']}: share {share} "
            f"in {settings['n_simulations']} simulated studies"
        ]
        grid = self.table if self.needed.empty else self.table.iloc[:0]
        blind = {}
        for check, rows in grid.groupby("check", sort=False):
            # Tests that look for something else would fill the screen with their level.
            most = float(rows["power"].max())
            if (rows["quantity"] == "power").any() and most <= 2 * settings["alpha"]:
                blind[str(check)] = most
            else:
                lines += ["", *_block(str(check), rows)]
        if blind:
            lines += ["", f"at most {max(blind.values()):.2f} in every cell: {', '.join(blind)}"]
        for row in self.needed.to_dict("records"):
            where = f"{row['check']}, signal {row['signal']:g}, {repeated(row['n_reps'])}"
            lines += ["", f"{where}: {row['sentence']}", *_bill(row)]
        if not grid.empty:
            lines += ["", *_bills(grid)]
        return "\n".join([*lines, "", *(f"note: {note}" for note in self.notes)])

    def to_json(self) -> str:
        """Return everything as JSON text, equal bytes for equal runs."""
        record = {
            "schema_version": SCHEMA_VERSION,
            "settings": dict(self.settings),
            "notes": self.notes,
            "needed": self.needed,
            "table": self.table,
        }
        return json.dumps(to_plain(record), sort_keys=True, indent=2, allow_nan=False) + "\n"

    def to_svg(self) -> str:
        """Return the picture as SVG text: power against contexts, a panel for each result."""
        from coherence.plots.power import render_power

        return render_power(self.table, self.settings)


def _block(check: str, rows: pd.DataFrame) -> Iterator[str]:
    """Rows of one result: a line for each signal and number of repetitions."""
    sizes = sorted(rows["n_contexts"].unique())
    estimate = bool((rows["quantity"] == "precision").all())
    shown = "half_width" if estimate else "power"
    what = f"{check}, half the width of the interval" if estimate else check
    yield f"{what:<42}" + "".join(f"{size:>8}" for size in sizes) + "  contexts"
    lines = rows[["n_reps", "signal"]].drop_duplicates().sort_values("n_reps", kind="stable")
    for n_reps, signal in lines.itertuples(index=False):
        line = rows[(rows["n_reps"] == n_reps) & (rows["signal"] == signal)]
        by_size = line.set_index("n_contexts")[shown]
        name = "  nothing planted" if not signal else f"  signal {signal:g}"
        label = f"{name}, {repeated(n_reps)}"
        cells = [by_size.get(size, float("nan")) for size in sizes]
        digits = 3 if estimate else 2
        texts = [f"{'–' if pd.isna(value) else f'{value:.{digits}f}':>8}" for value in cells]
        yield f"{label:<42}" + "".join(texts)


def _bill(row: Mapping[Any, Any]) -> list[str]:
    """What one study costs, in words; empty where it has no size."""
    if pd.isna(row["n_prompts"]):
        return []
    parts = [f"{row['n_prompts']:,.0f} prompts"]
    if "tokens_in" in row:
        parts.append(f"{row['tokens_in']:,.0f} tokens in")
    if "tokens_out" in row:
        parts.append(f"{row['tokens_out']:,.0f} tokens out")
    if "price" in row:
        parts.append(f"price {row['price']:,.2f}")
    if "hours" in row:
        digits = 0 if row["hours"] >= 10 else 2
        parts.append(f"{row['hours']:,.{digits}f} hours")
    return ["  " + ", ".join(parts)]


def _bills(grid: pd.DataFrame) -> Iterator[str]:
    sizes = grid.drop_duplicates(["n_reps", "n_contexts"]).sort_values(["n_reps", "n_contexts"])
    for row in sizes.to_dict("records"):
        size = f"{counted(row['n_contexts'], 'context')} x {row['n_reps']}:"
        yield f"{size:<24}{_bill(row)[0].strip()}"
