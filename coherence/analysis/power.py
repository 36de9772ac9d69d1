"""Power by simulation: contexts x repetitions x signal -> how often each check rejects.

Studies are drawn from an agent whose flaw is known, in a world of its own or on the cases of a
network, or from the beliefs and choices of a model that was asked, with a signal planted; the
checks themselves are run on each. At signal 0 nothing is amiss, and what is rejected there is the
size of the test.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from coherence.agents import Agent, named_agent
from coherence.analysis.costs import Costs, prompts_for
from coherence.analysis.margins import BOUNDED, as_margin
from coherence.analysis.pilot import read_pilot, says_all
from coherence.analysis.populations import (
    BLIND,
    WEIGHT,
    AgentPopulation,
    Groups,
    Population,
    population_like,
)
from coherence.analysis.power_result import PowerResult
from coherence.analysis.reading import as_runs
from coherence.analysis.studies import STATES, Cell, Plan, Simulations, is_estimate
from coherence.checks import CHECKS
from coherence.checks.catalogue import declaration
from coherence.errors import InputError, closest, listing
from coherence.inputs import MIN_CONTEXTS, number_of_jobs, require, whole_number
from coherence.result import LEVEL
from coherence.statistics.evaluation import EvaluationData, one_dimensional
from coherence.statistics.resample import Seed, as_generator
from coherence.table.needs import MATCHING_QUESTIONS, STAKES_QUESTIONS
from coherence.table.runs import Runs

Answerer = Agent | EvaluationData | Population | Runs | pd.DataFrame | str
Sizes = int | Sequence[int] | None
Numbers = float | Sequence[float]
Names = str | Sequence[str] | None
Text = str | None
Share = float | None

CONTEXTS = (25, 50, 100, 200, 400)
GROUPS = (10, 20, 40, 80)
REPS = 5
SIGNALS = (0.0, 0.1, 0.2, 0.4)
LIMIT = 5_000
USUAL = {
    "peak": "monotone_choice",
    "iterated_bias": "iterated_expectation",
    "prompt_shift": "prompt_consistency",
}
"""What is planted -> the check that looks for it, which is run unless others are named."""
FEWEST_DRAWS = 99
UNGROUPED = (
    "contexts of the answers belong to groups, and those of the simulated studies do not: name how "
    "many share one (group) for a plan of groups"
)


SAYS_ALL = (
    "stated beliefs must leave something of the exact posterior unsaid, of which choices could use "
    "a share; those of the table leave nothing but rounding. Leave the posterior out (--ignore "
    "p_true) to plan for choices that know what happened, or name an agent to plan for."
)


def power(
    agent: Answerer,
    *,
    n_contexts: Sizes = None,
    n_reps: Sizes = None,
    signal: Numbers = SIGNALS,
    check: Names = None,
    planted: Text = None,
    state: str = "both",
    policies: bool | None = None,
    n_simulations: int = 500,
    n_draws: int | None = None,
    group: Groups | int | None = None,
    alpha: float = LEVEL,
    margin: Share = None,
    target: Share = None,
    limit: int = LIMIT,
    costs: Costs | None = None,
    name: Text = None,
    n_jobs: int = 1,
    rng: Seed = None,
    progress: Any = None,
) -> PowerResult:
    """Simulate how often checks reject, for studies of several sizes and signals of several sizes.

    Parameters
    ----------
    agent : Agent, Population, Runs, DataFrame or str
        Who would answer: a simulated agent or the name of one in `AGENTS`; the runs table of
        answers of one task and model, whose beliefs and choices are taken as they are; or
        ``bayesnets.NetworkPopulation``, a simulated agent asked about the cases of a network.
    n_contexts, n_reps : int or sequence of int
        Contexts, ten at least, and repetitions of each question. Contexts default to 25, 50, 100,
        200 and 400, with `group` to 10, 20, 40 and 80 groups; with `target` they are searched for.
        A network has no more than its distinct evidence.
        Repetitions default to 5, and to 1 where answers are probabilities.
    signal : float or sequence of float
        What is planted, as a value of `planted`: the weight w of an action that follows the stated
        belief + w (exact posterior - stated belief), from 0 to 1; of a hidden signal, how much
        higher the belief acted on is when the state is true. 0 is always added.
    check : str or sequence of str, optional
        Names out of `coherence.checks.CHECKS`. None takes the one that looks for what is planted:
        sufficiency for a weight or a hidden signal.
    planted : str, optional
        Parameter of a simulated agent that `signal` sets; any that is 0 where nothing is amiss,
        such as peak or iterated_bias, and not unstated. None plants `weight`, how much of the
        evidence that is not stated the action uses (reports leave out as much as those of the agent
        "shaded", unless the agent says), or hidden_signal in an agent that has one: what it knows
        of theta beyond all evidence. A table has the weight where it has exact posteriors; else the
        hidden signal. On the cases of a network it is the weight.
    state : {"both", "exact", "realised"}
        Where the exact posterior of every case is known and shows what is planted, sufficiency is
        planned with it, and in rows "with theta" with the realised state; "exact" and "realised"
        leave out the other, which takes a little over half of the time.
    policies : bool, optional
        Whether the answers are the probability of each action, as forced or exact answers give
        them, instead of drawn actions. None takes drawn actions for simulated agents, and what a
        table has.
    n_simulations : int
        Simulated studies of each cell.
    n_draws : int, optional
        Random draws behind each p-value, such as signs of runs or permutations, 99 at least. None
        takes 999, and 199 for cmi.
    group : Groups or int, optional
        Contexts that share more than their belief, such as those of a template: how many, or what
        they share as well. Groups are then the clusters of the checks, which need ten of them.
    alpha : float
        Level of each test alone. A report corrects for all of its tests; `LEVEL` divided by their
        number bounds its power from below.
    margin : float, optional
        Largest difference that counts as none. What is counted are then studies that show the
        effect to lie within it (`coherence.analyze`), not rejections: at signal 0 that is the power
        to do so. For sufficiency; without `target`.
    target : float, optional
        Power wanted; the result then says how many contexts it takes.
    limit : int
        Most contexts that come into question for `target`; of a network its distinct evidence sets
        at most.
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
    >>> once = {"check": "sufficiency", "state": "exact", "n_simulations": 20, "rng": 1}
    >>> found = power("rational", n_contexts=[40, 80], n_reps=2, signal=0.4, **once)
    >>> found.table[["signal", "n_contexts", "quantity"]]
       signal  n_contexts quantity
    0     0.0          40     size
    1     0.0          80     size
    2     0.4          40    power
    3     0.4          80    power
    """
    if isinstance(agent, Runs | pd.DataFrame):
        agent, of = read_pilot(as_runs(agent))
        name = name or f"an agent like {of or 'the table'}"
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
    groups = group if isinstance(group, Groups) or group is None else Groups(group)
    entropy = tuple(int(part) for part in as_generator(rng).integers(2**63, size=2))
    require(
        state in STATES,
        f"state must be one of {', '.join(STATES)}; received {state!r}. {closest(state, STATES)}",
    )
    require(
        state != "exact" or population.planted != BLIND,
        f"state cannot be 'exact' where {BLIND} is planted, which no exact posterior shows. Leave "
        "state out, or plan with a weight: a named agent, or a table with p_true.",
    )
    limit = limit if population.most_contexts is None else min(limit, population.most_contexts)
    plan = Plan(population, names, n_draws, entropy, margin, groups, state)
    simulations = Simulations(plan, n_simulations, n_jobs, progress)
    needed = pd.DataFrame()
    if target is None:
        sizes = _sizes(n_contexts, groups, population)
        simulations.run(Cell(of, times, size) for of in signals for times in reps for size in sizes)
    else:
        _require_target(target, n_contexts, limit, groups)
        needed = _search(simulations, reps, signals, target, limit, alpha)
    each = (costs or Costs()).prompts_per_rep or prompts_for(names)
    settings: dict[str, Any] = {
        "population": name or population.name,
        "planted": population.planted,
        "policies": population.policies,
        "checks": list(names),
        "n_simulations": n_simulations,
        "n_draws": {check: plan.draws_of(check) for check in names if not is_estimate(check)},
        "alpha": alpha,
        **({} if margin is None else {"margin": margin}),
        **({} if groups is None else {"group": asdict(groups)}),
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

    threshold = alpha if margin is None else margin
    table = priced(_table(simulations, threshold))
    cautions = list(population.cautions)
    if isinstance(agent, EvaluationData) and agent.clusters.name == "group" and groups is None:
        cautions.append(UNGROUPED)
    return PowerResult(table, priced(needed), settings, tuple(cautions))


def _population(
    agent: Agent | EvaluationData | Population | str, planted: str | None, policies: bool | None
) -> Population:
    population = agent if isinstance(agent, Population) else None
    if isinstance(agent, EvaluationData):
        belief = one_dimensional(agent, "power")
        require(
            agent.exact is None or not says_all(belief, agent.exact, agent.context),
            SAYS_ALL,
        )
        population = population_like(agent, policies=policies)
    if population is not None:
        require(
            planted in (None, population.planted),
            f"planted must be {population.planted} for {population.name}; received {planted!r}. "
            "Other flaws can be planted in a named agent.",
        )
        require(
            policies in (None, population.policies),
            f"policies must be left out for {population.name}, which says it; received "
            f"{policies!r}.",
        )
        return population
    if isinstance(agent, str):
        agent = named_agent(agent)
    if not isinstance(agent, Agent):
        raise InputError(
            "agent must be the name of an agent, an Agent, a runs table or a "
            f"bayesnets.NetworkPopulation; received {type(agent).__name__}."
        )
    return AgentPopulation(agent, planted or _usual_plant(agent), bool(policies))


def _usual_plant(agent: Agent) -> str:
    """What is planted unless something is named: in who sees theta, how much of it."""
    return BLIND if agent.hidden_signal else WEIGHT


def _checks(
    check: str | Sequence[str] | None, population: Population, target: float | None
) -> tuple[str, ...]:
    if check is None:
        return (USUAL.get(population.planted, "sufficiency"),)
    asked = [check] if isinstance(check, str) else list(check)
    require(len(asked) > 0, "check must name at least one check; received none.")
    for name in asked:
        require(
            name in CHECKS,
            f"check must be among {', '.join(CHECKS)}; received {name!r}. "
            f"{closest(str(name), CHECKS)}",
        )
        require(
            not {MATCHING_QUESTIONS, STAKES_QUESTIONS}.intersection(declaration(name).needs),
            f"check {name!r} needs questions with a level, which simulated agents are not asked. "
            "Leave it out.",
        )
        require(
            name not in population.lacks,
            f"check {name!r} needs answers that {population.name} does not give: "
            f"{population.lacks.get(name)}. Plan it with a named agent, or leave it out.",
        )
        require(
            target is None or not is_estimate(name),
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


def _require_target(target: float, n_contexts: Any, limit: int, groups: Groups | None) -> None:
    require(
        isinstance(target, int | float) and 0.05 < target < 1,
        f"target must be a power between .05 and 1; received {target!r}. Usual ones are .8 and .9.",
    )
    require(
        n_contexts is None,
        f"n_contexts cannot stand beside target, which searches for it; received {n_contexts!r}. "
        "Leave one of them out; limit bounds the search.",
    )
    whole_number(limit, "limit", 2 * MIN_CONTEXTS * (1 if groups is None else groups.size))


def _sizes(
    n_contexts: int | Sequence[int] | None, groups: Groups | None, population: Population
) -> list[int]:
    """Return the numbers of contexts of a grid."""
    if groups is None:
        most = population.most_contexts or math.inf
        if n_contexts is None:
            n_contexts = [size for size in CONTEXTS if size <= most] or [int(most)]
        sizes = _whole_numbers(n_contexts, "n_contexts", 10)
        require(
            sizes[-1] <= most,
            f"n_contexts must not exceed the {most} cases with different evidence that there are; "
            f"received {sizes[-1]}. Ask for fewer.",
        )
        return sizes
    usual = [n * groups.size for n in GROUPS]
    sizes = _whole_numbers(usual if n_contexts is None else n_contexts, "n_contexts", 10)
    least = MIN_CONTEXTS * groups.size
    require(
        sizes[0] >= least,
        f"n_contexts must make at least {MIN_CONTEXTS} groups of {groups.size}, {least} contexts; "
        f"received {sizes[0]}. Ask for more, or for smaller groups.",
    )
    return sizes


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
            f"signal must hold numbers from -1 to 1; received {value!r}. It is the weight of what "
            "is not stated, or a difference of beliefs.",
        )
    return sorted({0.0, *map(float, several)}, key=lambda value: (abs(value), value))


def _search(
    simulations: Simulations,
    reps: Sequence[int],
    signals: Sequence[float],
    target: float,
    limit: int,
    alpha: float,
) -> pd.DataFrame:
    """Search for the contexts of each result, signal and number of repetitions."""
    groups = simulations.plan.groups
    least = MIN_CONTEXTS * (1 if groups is None else groups.size)
    lines = [(n_reps, signal) for n_reps in reps for signal in filter(None, signals)]
    # The first of them show what results there are.
    simulations.run([Cell(signal, n_reps, min(2 * least, limit)) for n_reps, signal in lines])
    rows = []
    for result in simulations.results:
        for n_reps, signal in lines:
            row = _needed(simulations, result, n_reps, signal, target, limit, alpha, least)
            rows.append({"check": result, "signal": signal, "n_reps": n_reps, **row})
    return pd.DataFrame(rows)


def _needed(
    simulations: Simulations,
    result: str,
    n_reps: int,
    signal: float,
    target: float,
    limit: int,
    alpha: float,
    least: int,
) -> dict[str, Any]:
    """Search for the contexts with which a result has its power."""
    rejected: dict[int, int] = {}

    def power_at(size: int) -> float:
        if size not in rejected:
            cell = Cell(signal, n_reps, size)
            simulations.run([cell])
            rejected[size] = int((simulations.numbers(cell, result) <= alpha).sum())
        return rejected[size] / simulations.n

    # Doubled until the power is passed, and then once more around where it is.
    size = min(2 * least, limit)
    while power_at(size) < target and size < limit:
        size = min(2 * size, limit)
    reached = power_at(size) >= target
    row = {"n_contexts": math.nan, "low": math.nan, "high": math.nan}
    sentence = f"{target:.0%} power is not reached with {limit} contexts."
    if not reached:
        sentence += f" It is {power_at(size):.2f} there."
    else:
        power_at(max(round(size / 1.5), least))
        for _ in range(2):
            row = _read_off(rejected, simulations.n, target, least)
            power_at(min(round(row["n_contexts"]), limit))
        row = _read_off(rejected, simulations.n, target, least)
        size = min(round(row["n_contexts"]), limit)
        sentence = (
            f"{target:.0%} power takes about {row['n_contexts']:.0f} contexts "
            f"(95% interval {row['low']:.0f} to {row['high']:.0f})."
        )
    # With the power its size: whether the test keeps its level with so many.
    simulations.run([Cell(of, n_reps, size) for of in (0.0, signal)])
    return {"target": target, **row, "reached": reached, "sentence": sentence}


def _read_off(rejected: Mapping[int, int], n: int, target: float, least: int) -> dict[str, float]:
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
    ends = [max(at + side * error, math.sqrt(least)) for side in (-1, 0, 1)]
    low, size, high = (float(round(end**2)) for end in ends)
    return {"n_contexts": size, "low": low, "high": high}


def _table(simulations: Simulations, threshold: float) -> pd.DataFrame:
    plan, rows = simulations.plan, []
    for result in simulations.results:
        estimate = plan.estimates(result)
        for cell in sorted(simulations.kept, key=lambda cell: cell.position):
            numbers = simulations.numbers(cell, result)
            n, undefined = len(numbers), int(np.isnan(numbers).sum())
            rejected = int((numbers <= threshold).sum())
            ends = stats.binomtest(rejected, n).proportion_ci()
            shares = {"n_rejected": rejected, "power": rejected / n}
            shares |= {"low": ends.low, "high": ends.high}
            quantity = "precision" if estimate else "power" if cell.signal else "size"
            rows.append(
                {
                    "check": result,
                    "signal": cell.signal,
                    "n_reps": cell.n_reps,
                    "n_contexts": cell.n_contexts,
                    "quantity": quantity if plan.margin is None else "within margin",
                    "n_simulations": n,
                    "n_undefined": undefined,
                    **(dict.fromkeys(shares, np.nan) if estimate else shares),
                    "half_width": np.nanmedian(numbers) if estimate and undefined < n else np.nan,
                }
            )
    return pd.DataFrame(rows)
