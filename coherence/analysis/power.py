"""Power by simulation: how often a check rejects in tables of so many cases.

Tables are drawn from an agent with a planted flaw, and each is tested as `coherence.analyze` tests
it. At signal 0 nothing is amiss, and the share that rejects is the size of the test.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from coherence.agents import AGENTS, PROMPTS, Agent, named_agent, simulate
from coherence.analysis.evaluation import EvaluationRows, require_kind_of_state
from coherence.checks.check import declaration, declarations, run
from coherence.errors import InputError, closest
from coherence.inputs import MIN_CONTEXTS, number_of_jobs, require, whole_number
from coherence.public_names import rng_for_seed
from coherence.result import LEVEL, Family
from coherence.runs.needs import GIVEN_Z
from coherence.runs.notes import Note
from coherence.statistics.resample import Seed, as_seed, check_stream, run_calls

WEIGHT, HIDDEN = "weight", "hidden_signal"
UNITS = {
    WEIGHT: "share, from 0 to 1, of what the exact posterior adds to the stated belief that "
    "choices follow",
    HIDDEN: "how much higher the belief acted on is where the state is true, in probability, at "
    "equal stated belief",
    "peak": "share, from 0 to 1, of utilities that rise and then fall with the belief",
    "iterated_bias": "how far beliefs given z are moved to 1/2, from 0 to 1, all the way",
}
"""What a signal sets -> what one unit of it is."""
_BATCH = 20  # tables in one call of a worker
OF = "estimate of "


@rng_for_seed
def power(
    agent: Agent | str,
    n_cases: int | Sequence[int],
    n_reps: int,
    signal: float,
    check: str = "sufficiency",
    *,
    state: str = "auto",
    n_simulations: int = 400,
    n_jobs: int = 1,
    rng: Seed = None,
    progress: Callable[[int, int, str], None] | None = None,
) -> pd.DataFrame:
    """Simulate how often a check rejects, for one or several numbers of cases.

    Parameters
    ----------
    agent : Agent or str
        Who would answer: a simulated agent or the name of one in `AGENTS`.
    n_cases : int or sequence of int
        Cases of a table, ten at least.
    n_reps : int
        Repetitions of each question.
    signal : float
        What is planted, from 0, where nothing is amiss, to 1. The column ``planted`` names it.
        "weight": choices follow the stated belief + signal * (exact posterior - stated belief), a
        share of what the agent knows and does not say. "hidden_signal", of an agent that has
        one: how much higher the belief acted on is where the
        state is true, in probability, at equal stated belief. "peak", for monotone_choice: the
        share of utilities that rise and then fall with the belief. "iterated_bias", for
        iterated_expectation: how far beliefs given z are moved to 1/2.
    check : {"sufficiency", "cmi", "predictive_gain", "monotone_choice", "iterated_expectation"}
        The test.
    state : {"auto", "exact", "realised"}
        What choices are compared with at equal belief, as for `analyze`: the exact posterior where
        it is known and shows what is planted, else the realised state.
    n_simulations : int
        Tables of each number of cases, ten at least.
    n_jobs : int
        Processes of joblib, -1 for all cores; results do not depend on it.
    rng : Generator, int or None
        Source of randomness. The tables of a number of cases depend on the seed, that number, the
        repetitions and their own number alone.
    progress : callable, optional
        Called with (tables done, tables to do, label).

    Returns
    -------
    DataFrame
        A row for each result of the check and number of cases: ``agent``, ``check``, ``planted``,
        ``signal``, ``n_reps``, ``n_cases``, ``n_simulations``, ``n_undefined`` (tables without a
        p-value, such as those with too few choices, which count as not rejecting), ``n_rejected``
        (p at most .05), ``power`` (their share) with the ends ``low`` and ``high`` of its exact 95%
        interval (Clopper and Pearson 1934), and ``mean_estimate``, of the check's effect in its
        unit. `coherence.plots.plot_power` draws the power.

    Raises
    ------
    InputError
        An unknown agent or check, or a number outside its range.

    Notes
    -----
    Null: none of its own; the table says how often that of the check is rejected. P-values rest on
    999 random draws, 199 for cmi, so that power is a little below that of a report. Simulated cases
    are independent: cases of groups carry less.

    Examples
    --------
    >>> shares = power("rational", [40, 80], 2, 0.8, n_simulations=20, rng=1)
    >>> shares[["signal", "n_cases", "n_simulations", "planted"]]
       signal  n_cases  n_simulations planted
    0     0.8       40             20  weight
    1     0.8       80             20  weight
    """
    planted_by = _planted_by()
    require(
        check in planted_by,
        f"check must be one of {', '.join(planted_by)}; received {check!r}. "
        f"{closest(str(check), planted_by)}",
    )
    require_kind_of_state(state)
    each = [n_cases] if isinstance(n_cases, int | np.integer) else n_cases
    require(
        not isinstance(each, str) and len(each) > 0,
        f"n_cases must be a whole number or several; received {n_cases!r}. Try [50, 100, 200].",
    )
    sizes = [whole_number(size, "n_cases", MIN_CONTEXTS) for size in each]
    n_reps = whole_number(n_reps, "n_reps", 1)
    number = isinstance(signal, int | float) and not isinstance(signal, bool)
    require(
        number and 0 <= signal <= 1, f"signal must be a number from 0 to 1; received {signal!r}."
    )
    n_simulations = whole_number(n_simulations, "n_simulations", 10)
    n_jobs, seed = number_of_jobs(n_jobs), as_seed(rng)
    name, source, planted = _planted(agent, check, state)
    if planted == HIDDEN:
        state = "realised"  # which no exact posterior shows
    design = _Design(source, check, planted, float(signal), n_reps, state, seed)
    starts = range(0, n_simulations, _BATCH)
    calls = [
        (design, size, first, min(first + _BATCH, n_simulations))
        for size, first in product(sizes, starts)
    ]
    labels = [f"{size} cases" for _, size, *_ in calls]
    batches = run_calls(_Design.tested, calls, n_jobs, progress=progress, labels=labels)
    tables = pd.DataFrame([table for batch in batches for table in batch])
    about = {"agent": name, "check": "", "planted": planted, "signal": design.signal}
    rows = [{**about, "n_reps": n_reps, **row} for row in _shares(tables)]
    return pd.DataFrame(rows)


def _planted_by() -> dict[str, str]:
    """Return by check the parameter of agents that a signal sets, the primary test first."""
    checks = sorted(declarations(), key=lambda check: check.family is not Family.PRIMARY)
    return {check.name: check.planted for check in checks if check.planted}


def _planted(agent: Agent | str, check: str, state: str) -> tuple[str, Agent, str]:
    """Return the name of who answers, who it is, and what a signal sets."""
    planted = _planted_by()
    of_weight = planted[check] == WEIGHT
    agent = named_agent(agent) if isinstance(agent, str) else agent
    if not isinstance(agent, Agent):
        raise InputError(
            "agent must be the name of an agent or an Agent; received "
            f"{type(agent).__name__}. The agents are {', '.join(AGENTS)}."
        )
    if of_weight and agent.hidden_signal:
        require(
            state != "exact",
            f"state cannot be 'exact' where {HIDDEN} is planted, which no exact posterior shows. "
            f"Leave state out, or name an agent without it; received {agent.name!r}.",
        )
        return f"agent {agent.name}", agent, HIDDEN
    if of_weight and not agent.unstated:  # a weight of nothing would be none
        agent = agent.with_parameters(unstated=AGENTS["shaded"].unstated)
    return f"agent {agent.name}", agent, planted[check]


@dataclass(frozen=True)
class _Design:
    """What all tables have in common but the number of cases."""

    source: Agent
    check: str
    planted: str
    signal: float
    n_reps: int
    state: str
    seed: int

    def table(self, n_cases: int, rng: np.random.Generator) -> pd.DataFrame:
        """Draw a runs table."""
        return simulate(
            self.source.with_parameters(**{self.planted: self.signal}),
            n_contexts=n_cases,
            n_reps=self.n_reps,
            prompts=PROMPTS[:1],
            iterated=GIVEN_Z in declaration(self.check).needs,
            rng=rng,
        )

    def tested(self, n_cases: int, first: int, last: int) -> list[dict[str, float]]:
        """Draw tables by their numbers and test them."""
        return [self._pvalues(n_cases, number) for number in range(first, last)]

    def _pvalues(self, n_cases: int, number: int) -> dict[str, float]:
        """Draw a table and test it: its cases, and result -> p-value, behind `OF` -> estimate."""
        rng = check_stream(self.seed, f"power: {n_cases} cases x {self.n_reps}, table {number}")
        rows = EvaluationRows(self.table(n_cases, rng), state=self.state)
        declared = declaration(self.check)
        pvalues: dict[str, float] = {"n_cases": n_cases}
        for step in declared.plan(replace(rows.data(declared.needs), features=None), False):
            if isinstance(step, Note):
                continue
            for result in run(step, rng, **declared.power_draws):
                if result.pvalue is not None:  # an estimate has none
                    pvalues[result.check] = result.pvalue
                    pvalues[OF + result.check] = result.statistic
        return pvalues


def _shares(tested: pd.DataFrame) -> Iterator[dict[str, Any]]:
    """Count the rejections of each result at each number of cases."""
    results = [name for name in tested.columns[1:] if not name.startswith(OF)]
    for result, (size, tables) in product(results, tested.groupby("n_cases")):
        n, rejected = len(tables), int((tables[result] <= LEVEL).sum())
        ends = stats.binomtest(rejected, n).proportion_ci()  # Clopper-Pearson
        yield {
            "check": result,
            "n_cases": size,
            "n_simulations": n,
            "n_undefined": int(tables[result].isna().sum()),
            "n_rejected": rejected,
            "power": rejected / n,
            "low": float(ends.low),
            "high": float(ends.high),
            "mean_estimate": float(tables[OF + result].mean()),
        }
