"""Power by simulation: contexts x repetitions x hidden signal -> how often each check rejects.

Studies are drawn from an agent whose flaw is known, or from the rational agent that was fitted to a
model's answers, with a hidden signal planted; the checks are run on each. At signal 0 nothing is
amiss, and what is rejected there is the size of the test.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from coherence.checks import CHECKS
from coherence.errors import InputError, closest
from coherence.inputs import MIN_CONTEXTS, number_of_jobs, require, whole_number
from coherence.rational.agent import RationalAgent
from coherence.result import LEVEL
from coherence.statistics.resample import Seed, as_generator
from coherence.statistics.shares import exact_interval
from coherence.study.agents.agent import Agent
from coherence.study.agents.world import named_agent
from coherence.study.costs import Costs, prompts_for
from coherence.study.fitted import population_like
from coherence.study.planned import PLANNED
from coherence.study.populations import AgentPopulation, Population
from coherence.study.power_result import PowerResult
from coherence.study.sample_size import contexts_for
from coherence.study.simulations import Cell, Plan, Progress, Simulator

CONTEXTS = (25, 50, 100, 200, 400)
REPS = 5
SIGNALS = (0.0, 0.1, 0.2, 0.4)
LIMIT = 5_000
FEWEST_DRAWS = 99


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
    target: float | None = None,
    limit: int = LIMIT,
    costs: Costs | None = None,
    name: str | None = None,
    n_jobs: int = 1,
    rng: Seed = None,
    progress: Progress | None = None,
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
        Names out of `coherence.checks.CHECKS`. None takes those that cost milliseconds
        (residual_covariance, monotone_choice, iterated_expectation), and with `target`
        residual_covariance alone.
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
        Random draws behind each p-value, 99 at least. None takes 999, and 199 for cmi.
    alpha : float
        Level of each test alone. A report corrects for all of its tests; `LEVEL` divided by their
        number bounds its power from below.
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
    interval.

    Examples
    --------
    >>> once = {"check": "residual_covariance", "n_simulations": 20, "rng": 1}
    >>> found = power("rational", n_contexts=[40, 80], n_reps=2, signal=0.4, **once)
    >>> found.table[["signal", "n_contexts", "quantity", "n_rejected", "power"]]
       signal  n_contexts quantity  n_rejected  power
    0     0.0          40     size           0   0.00
    1     0.0          80     size           1   0.05
    2     0.4          40    power          19   0.95
    3     0.4          80    power          20   1.00
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
    _require_repetitions(names, reps)
    entropy = tuple(int(part) for part in as_generator(rng).integers(2**63, size=2))
    plan = Plan(population, names, n_draws, entropy)
    simulator = Simulator(plan, n_jobs, progress)
    needed = pd.DataFrame()
    if target is None:
        sizes = _whole_numbers(CONTEXTS if n_contexts is None else n_contexts, "n_contexts", 10)
        cells = [Cell(*size, of) for of in signals for size in _sizes(sizes, reps)]
        simulator.run(cells, n_simulations)
    else:
        _require_target(target, n_contexts, limit)
        needed = _search(simulator, reps, signals, target, limit, n_simulations, alpha)
    settings: dict[str, Any] = {
        "population": name or population.name,
        "planted": population.planted,
        "policies": population.policies,
        "checks": list(names),
        "n_simulations": n_simulations,
        "n_draws": {check: plan.draws_of(check) for check in names},
        "alpha": alpha,
        "target": target,
        "limit": None if target is None else limit,
        "seed": int(rng) if isinstance(rng, int | np.integer) else None,
    }
    result = PowerResult(_table(simulator, alpha), needed, settings, population.cautions)
    return _priced(result, costs or Costs(), prompts_for(names))


def _population(
    agent: Agent | RationalAgent | str | Population, planted: str | None, policies: bool | None
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
        quick = [name for name, planned in PLANNED.items() if planned.quick]
        names = quick if target is None else quick[:1]
        return tuple(name for name in names if name not in population.lacks)
    asked = [check] if isinstance(check, str) else list(check)
    require(len(asked) > 0, "check must name at least one check; received none.")
    for name in asked:
        require(
            name in PLANNED,
            f"check must be among {', '.join(PLANNED)}; received {name!r}. "
            f"{closest(str(name), PLANNED)}",
        )
        require(
            name not in population.lacks,
            f"check {name!r} needs answers that {population.name} does not give (other wordings, "
            "beliefs given a variable). Plan it with a named agent, or leave it out.",
        )
        require(
            target is None or not PLANNED[name].estimate,
            f"check must be a test where a power is wanted; received {name!r}, which is an "
            "estimate. Leave target out: the table has the width of its interval for every size.",
        )
    return tuple(name for name in CHECKS if name in asked)


def _require_repetitions(names: Sequence[str], reps: Sequence[int]) -> None:
    require(
        "prompt_consistency" not in names or min(reps) > 1,
        "n_reps must be at least 2 for prompt_consistency, which removes the noise of repetitions; "
        f"received {min(reps)}. Ask for more, or leave the check out.",
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


def _sizes(contexts: Sequence[int], reps: Sequence[int]) -> list[tuple[int, int]]:
    return [(n_contexts, n_reps) for n_reps in reps for n_contexts in contexts]


def _search(
    simulator: Simulator,
    reps: Sequence[int],
    signals: Sequence[float],
    target: float,
    limit: int,
    n_simulations: int,
    alpha: float,
) -> pd.DataFrame:
    """Search for the contexts of each result, signal and number of repetitions."""
    rows = []
    for position, result in enumerate(simulator.plan.results):
        for n_reps in reps:
            for of in signals:
                if not of:
                    continue

                def count(n_contexts: int, n: int, n_reps: int = n_reps, of: float = of) -> int:
                    cell = Cell(n_contexts, n_reps, of)
                    simulator.run([cell], n)
                    rejected = simulator.kept[cell][:n, position] <= alpha  # noqa: B023
                    return int(rejected.sum())

                needed = contexts_for(count, target, limit=limit, n_simulations=n_simulations)
                size = int(needed.n_contexts) if needed.reached else limit
                # Beside the power its size: whether the test keeps its level with so many.
                simulator.run([Cell(size, n_reps, value) for value in (0.0, of)], n_simulations)
                rows.append(
                    {
                        "check": result,
                        "signal": of,
                        "n_reps": n_reps,
                        "target": target,
                        "n_contexts": needed.n_contexts,
                        "low": needed.low,
                        "high": needed.high,
                        "reached": needed.reached,
                        "sentence": needed.sentence,
                    }
                )
    return pd.DataFrame(rows)


def _table(simulator: Simulator, alpha: float) -> pd.DataFrame:
    plan = simulator.plan
    rows = []
    cells = sorted(
        simulator.kept,
        key=lambda cell: (abs(cell.signal), cell.signal, cell.n_reps, cell.n_contexts),
    )
    for position, result in enumerate(plan.results):
        estimate = PLANNED[plan.check_of[result]].estimate
        for cell in cells:
            numbers = simulator.kept[cell][:, position]
            n, undefined = len(numbers), int(np.isnan(numbers).sum())
            rejected = int((numbers <= alpha).sum())
            ends = exact_interval(rejected, n)
            quantity = "precision" if estimate else "power" if cell.signal else "size"
            row = {
                "check": result,
                "signal": cell.signal,
                "n_reps": cell.n_reps,
                "n_contexts": cell.n_contexts,
                "quantity": quantity,
                "n_simulations": n,
                "n_undefined": undefined,
                "n_rejected": np.nan if estimate else rejected,
                "power": np.nan if estimate else rejected / n,
                "low": np.nan if estimate else ends[0],
                "high": np.nan if estimate else ends[1],
                "half_width": np.nan,
            }
            if estimate and undefined < n:
                row["half_width"] = float(np.nanmedian(numbers))
            rows.append(row)
    return pd.DataFrame(rows)


def _priced(result: PowerResult, costs: Costs, counted: int) -> PowerResult:
    """Add what studies cost; `counted` is the number of prompts of one repetition."""

    def with_costs(table: pd.DataFrame) -> pd.DataFrame:
        if table.empty:
            return table
        of = costs.of(table["n_contexts"], table["n_reps"], prompts_per_rep=counted)
        return pd.concat([table, of], axis=1)

    each = costs.prompts_per_rep or counted
    return replace(
        result,
        table=with_costs(result.table),
        needed=with_costs(result.needed),
        settings={**result.settings, "prompts_per_rep": each},
    )
