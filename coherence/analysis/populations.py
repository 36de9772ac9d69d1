"""Whom a planned study would ask: a simulated agent, or a model like one that was asked before.

Of a table, beliefs and shares of actions are taken as they are: a study draws cases with their
reports, a state by what the beliefs of the table foretell of it, and for each case the choices of
another one of like belief, so that given the belief nothing ties choices to the state. A hidden
signal moves the belief by which that other case is found.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, runtime_checkable

import numpy as np
import pandas as pd
from scipy.special import expit, logit

from coherence.agents import ACTIONS, AGENTS, PROMPTS, Agent, Answers, answer
from coherence.errors import closest
from coherence.inputs import Codes, Floats, require, whole_number
from coherence.statistics.difference_sequences import (
    monotone_fit,
)
from coherence.statistics.evaluation import EvaluationData, evaluation_data, one_dimensional
from coherence.statistics.report_noise import Reports, kind_of_reports
from coherence.statistics.resample import context_means
from coherence.table.runs import Runs
from coherence.table.schema import ACTION_PREFIX

PLANTABLE = tuple(
    name
    for name, value in AGENTS["rational"].parameters().items()
    if value == 0 and name != "unstated"
)
"""Parameters of agents that are 0 where nothing is amiss; what is unstated is none by itself, only
with a weight."""
LABELS = tuple(sorted(ACTIONS))
BLIND = "hidden_signal"
"""What is planted that no exact posterior shows: knowledge of theta beyond all evidence."""
WEIGHT = "weight"
ONCE = (
    "no context has two choices, so that it is not known how alike choices of a context are: "
    "they were taken as alike, and repetitions may bring more than shown"
)
SCATTER = (
    "reports have noise around the belief, which can make tests reject that take them as exact "
    "(all but sufficiency): read their power beside their size at signal 0"
)
PILOT = (
    "beliefs and choices are those of {n} contexts, whose own error the intervals of the "
    "simulation do not hold"
)
LACKING = {
    "iterated_expectation": "beliefs given a variable",
    "prompt_consistency": "other prompts",
}
"""Checks of answers that are not simulated for a table or a network -> the answers."""
_NO_POSTERIOR = {"evidence_leak": "exact posteriors (p_true)"}
_SETTLED = 1e-3  # chances nearer to 0 or 1 than this are taken for it
_NEIGHBOURS = 0.05  # of the cases, whose choices are taken for those of a like belief


@dataclass(frozen=True)
class Groups:
    """Groups of contexts that share more than their belief, such as those of a template.

    The state of all contexts of a group is likelier or less likely than any belief knows, and all
    choices in it share a taste.

    Parameters
    ----------
    size : int
        Contexts in each, two at least; the last may have fewer.
    taste : float
        Standard deviation of the utility shock that a group shares, one per action. A table
        has its own tastes besides.
    missed : float
        Standard deviation, in log-odds of the state, of what the beliefs of a group miss.

    Raises
    ------
    InputError
        A size below 2, or a negative or infinite standard deviation.
    """

    size: int
    taste: float = 1.0
    missed: float = 0.5

    def __post_init__(self) -> None:
        """Refuse what are no groups."""
        whole_number(self.size, "group", 2)
        for name in ("taste", "missed"):
            require(
                0 <= getattr(self, name) < math.inf,
                f"{name} of groups must be a standard deviation of at least 0; received "
                f"{getattr(self, name)!r}.",
            )

    def draw(
        self, n_contexts: int, n_actions: int, rng: np.random.Generator
    ) -> tuple[Codes, Floats, Floats]:
        """Draw the group of each context, the taste it shares, and the log-odds its belief misses.

        Shapes (n_contexts,), (n_contexts, n_actions) and (n_contexts,).
        """
        group = np.arange(n_contexts) // self.size
        n = int(group[-1]) + 1
        taste = rng.normal(size=(n, n_actions)) * self.taste
        missed = rng.normal(size=n) * self.missed
        return group, taste[group], missed[group]


def as_data(
    belief: Floats,
    action: pd.Series[str] | pd.DataFrame,
    truth: Codes,
    n_reps: int,
    others: Sequence[Mapping[str, Any]] = (),
    group: Codes | None = None,
    exact: Floats | None = None,
) -> EvaluationData:
    """Lay the answers of a study out as a check takes them."""
    context = np.repeat(np.arange(truth.size), n_reps)
    of_row = None if group is None else np.repeat(group, n_reps)
    data = evaluation_data(
        belief,
        action,
        np.repeat(truth, n_reps),
        context,
        posterior=None if exact is None else np.repeat(exact, n_reps),
        group=of_row,
    )
    data = replace(data, prompt=PROMPTS[0])
    if not others:
        return data
    runs = pd.DataFrame(
        {
            "context": context,
            "rep": np.tile(np.arange(n_reps), truth.size),
            "prompt": PROMPTS[0],
            "p": belief,
            "z": None,
            "z_state": None,
            "p_z": np.nan,
            **({} if of_row is None else {"group": of_row}),
        }
    )
    runs = pd.concat([runs.astype(object), *(runs.assign(**o) for o in others)])
    runs = runs.reset_index(drop=True).astype({"p": float, "p_z": float, "rep": int})
    return replace(data, runs=Runs(runs))


@runtime_checkable
class Population(Protocol):
    """Whom a planned study would ask."""

    @property
    def name(self) -> str:
        """What reports call it."""

    @property
    def planted(self) -> str:
        """What a signal sets."""

    @property
    def policies(self) -> bool:
        """Whether answers are the probability of each action instead of drawn actions."""

    @property
    def lacks(self) -> Mapping[str, str]:
        """Checks that cannot be planned -> the answers that they would need."""

    @property
    def cautions(self) -> tuple[str, ...]:
        """What a reader must know before the numbers."""

    @property
    def most_contexts(self) -> int | None:
        """Contexts that there are, None where a study may have any number."""

    def draw(
        self,
        signal: float,
        n_contexts: int,
        n_reps: int,
        rng: np.random.Generator,
        *,
        wordings: bool,
        iterated: bool,
        groups: Groups | None = None,
    ) -> EvaluationData:
        """Draw the contexts of a study, and the answers about them."""


def choices_of(
    agent: Agent,
    spoken: Floats,
    exact: Floats,
    truth: Codes,
    n_reps: int,
    rng: np.random.Generator,
    policies: bool,
) -> tuple[Floats, pd.Series[str] | pd.DataFrame]:
    """Draw what an agent states and does, given what it speaks of and the exact posterior.

    Repetitions of a context stand together and share its taste, as in `coherence.simulate`.
    """
    row = np.repeat(np.arange(truth.size), n_reps)
    taste = (rng.normal(size=(truth.size, len(ACTIONS))) * agent.taste)[row]
    acted_on, theta = agent.act_on(spoken, exact)[row], truth[row].astype(np.float64)
    action: pd.Series[str] | pd.DataFrame
    if policies:
        action = pd.DataFrame(agent.policies(acted_on, theta, taste))[list(LABELS)]
    else:
        action = pd.Series(agent.choose(acted_on, theta, taste, rng))
    progress = np.tile(np.linspace(-0.5, 0.5, n_reps) if n_reps > 1 else [0.0], truth.size)
    stated = agent.report(agent.believe(spoken)[row], PROMPTS[0], rng, progress=progress)
    return stated, action


@dataclass(frozen=True)
class AgentPopulation:
    """A simulated agent in its world; the planted parameter is set for each study."""

    agent: Agent
    planted: str = WEIGHT
    policies: bool = False
    lacks: Mapping[str, str] = field(default_factory=dict)
    cautions: tuple[str, ...] = ()
    most_contexts: None = None

    def __post_init__(self) -> None:
        """Refuse a parameter that agents do not have, or that is not 0 where nothing is planted."""
        require(
            self.planted != "unstated",
            "planted must be a parameter that is 0 where nothing is amiss; received 'unstated': "
            "what is left unstated shows only where choices use it. Plant 'weight', and set "
            "unstated of the agent.",
        )
        require(
            self.planted in PLANTABLE,
            "planted must be a parameter of agents that is 0 where nothing is amiss: "
            f"{', '.join(PLANTABLE)}; received {self.planted!r}. "
            f"{closest(self.planted, PLANTABLE)}",
        )

    @property
    def speaker(self) -> Agent:
        """The agent, with something left unstated where a weight of that is planted."""
        if self.planted != WEIGHT or self.agent.unstated:
            return self.agent
        return self.agent.with_parameters(unstated=AGENTS["shaded"].unstated)

    @property
    def name(self) -> str:
        """What reports call it."""
        return f"agent {self.agent.name}"

    def draw(
        self,
        signal: float,
        n_contexts: int,
        n_reps: int,
        rng: np.random.Generator,
        *,
        wordings: bool,
        iterated: bool,
        groups: Groups | None = None,
    ) -> EvaluationData:
        """Draw what `coherence.simulate` draws of the agent from the same generator."""
        group, shared = None, {}
        if groups is not None:
            # From a generator of its own: contexts are those of a study without groups.
            group, lure, missed = groups.draw(n_contexts, len(ACTIONS), rng.spawn(1)[0])
            shared = {"lure": lure, "missed": missed}
        drawn = answer(
            self.speaker.with_parameters(**{self.planted: signal}),
            n_contexts,
            n_reps,
            rng,
            prompts=PROMPTS if wordings or iterated else PROMPTS[:1],
            iterated=iterated,
            policies=self.policies,
            **shared,
        )
        action: pd.Series[str] | pd.DataFrame = pd.Series(drawn.acted.get("action"))
        if self.policies:
            action = pd.DataFrame({of: drawn.acted[f"{ACTION_PREFIX}{of}"] for of in LABELS})
        truth = drawn.world.theta.astype(np.int64)
        others = [*_wordings(drawn)] if wordings else []
        others += _given_z(drawn)
        exact = drawn.world.exact
        if groups is not None:  # what every belief misses is evidence all the same
            exact = expit(logit(exact) + shared["missed"])
        return as_data(drawn.reports[0], action, truth, n_reps, others, group, exact)


def _wordings(drawn: Answers) -> Iterator[dict[str, Any]]:
    for prompt, stated in zip(PROMPTS[1:], drawn.reports[1:], strict=True):
        yield {"prompt": prompt, "p": stated}


def _given_z(drawn: Answers) -> Iterator[dict[str, Any]]:
    for state, (stated, weight) in enumerate(drawn.given_z):
        yield {"p": stated, "z": "z", "z_state": str(state), "p_z": weight}


@dataclass(frozen=True)
class TablePopulation:
    """A model that was asked before: beliefs and shares of actions of its table, as they are."""

    name: str  # what reports call it
    actions: tuple[str, ...]  # all actions, sorted
    policies: bool  # whether the probability of each action is known instead of one drawn action
    # belief, chance, exact: shape (n_cases,), by rising belief: mean report of a case, what the
    # beliefs of the table foretell of its state, and its exact posterior (None where not known)
    belief: Floats = field(repr=False)
    chance: Floats = field(repr=False)
    exact: Floats | None = field(repr=False)
    share: Floats = field(repr=False)  # shape (n_cases, n_actions): of each action
    reports: Floats = field(repr=False)  # shape (n_rows,), those of a case together
    counts: Codes = field(repr=False)  # shape (n_cases,): reports of each case
    cautions: tuple[str, ...] = ()  # what a reader must know before the numbers
    most_contexts: None = None

    @property
    def planted(self) -> str:
        """What a signal sets: the weight of what the posterior adds, or knowledge of theta."""
        return BLIND if self.exact is None else WEIGHT

    @property
    def lacks(self) -> Mapping[str, str]:
        """Checks that cannot be planned -> the answers that they would need."""
        return LACKING | (_NO_POSTERIOR if self.exact is None else {})

    def _of_like_belief(self, acted_on: Floats, rng: np.random.Generator) -> Codes:
        """Draw for each belief one of the cases whose beliefs are nearest, shape (n,)."""
        low, high = (np.searchsorted(self.belief, acted_on, side) for side in ("left", "right"))
        at = low + np.floor(rng.random(acted_on.size) * (high - low + 1)).astype(np.int64)
        reach = max(2, round(_NEIGHBOURS * self.belief.size / 2))
        moved = at + rng.integers(-reach, reach + 1, size=at.size)
        return np.asarray(np.clip(moved, 0, self.belief.size - 1))

    def draw(
        self,
        signal: float,
        n_contexts: int,
        n_reps: int,
        rng: np.random.Generator,
        *,
        wordings: bool,
        iterated: bool,
        groups: Groups | None = None,
    ) -> EvaluationData:
        """Draw cases of the table with their reports, and for each the choices of a like one."""
        case = rng.integers(self.belief.size, size=n_contexts)
        chance = self.chance[case]
        exact = None if self.exact is None else self.exact[case]
        group, favour = None, None
        if groups is not None:
            group, taste, missed = groups.draw(n_contexts, len(self.actions), rng.spawn(1)[0])
            favour = np.exp(taste)
            chance = expit(logit(chance) + missed)
            exact = None if exact is None else expit(logit(exact) + missed)
        truth = (rng.random(n_contexts) < (chance if exact is None else exact)).astype(np.int64)
        known = truth - 0.5 if exact is None else exact - chance
        acted_on = np.clip(self.belief[case] + signal * known, 0.0, 1.0)
        share = self.share[self._of_like_belief(acted_on, rng)]
        if favour is not None:
            share = share * favour / (share * favour).sum(axis=1, keepdims=True)
        of_row = np.repeat(case, n_reps)
        first = np.cumsum(self.counts) - self.counts
        drawn = np.floor(rng.random(of_row.size) * self.counts[of_row]).astype(np.int64)
        belief, of_rows = self.reports[first[of_row] + drawn], np.repeat(share, n_reps, axis=0)
        action: pd.Series[str] | pd.DataFrame = pd.DataFrame(of_rows, columns=list(self.actions))
        if not self.policies:
            below = of_rows.cumsum(axis=1)
            codes = (below < rng.random(len(below))[:, None] * below[:, -1:]).sum(axis=1)
            action = pd.Series(np.array(self.actions, dtype=object)[codes])
        return as_data(belief, action, truth, n_reps, group=group, exact=exact)


def population_like(
    data: EvaluationData, *, name: str = "the table", policies: bool | None = None
) -> TablePopulation:
    """Make a population of the answers of one model on one task, in two states."""
    report = one_dimensional(data, "power")
    means = context_means(report, data.context, data.n_contexts)
    order = np.argsort(means, kind="stable")
    state = np.zeros(data.n_contexts)
    state[data.context] = data.truth if data.exact is None else data.exact
    counts = np.bincount(data.context, minlength=data.n_contexts)
    place = np.argsort(order)
    rows = np.argsort(place[data.context], kind="stable")
    belief, state = means[order], state[order]
    cautions = [PILOT.format(n=data.n_contexts)]
    cautions += [ONCE] if data.policy is None and counts.max() < 2 else []
    cautions += [SCATTER] if kind_of_reports(report, data.context)[0] is Reports.DIFFER else []
    return TablePopulation(
        name=name,
        actions=tuple(map(str, data.actions)),
        policies=data.policy is not None if policies is None else policies,
        belief=belief,
        chance=np.clip(monotone_fit(belief, state), _SETTLED, 1 - _SETTLED),
        exact=None if data.exact is None else np.clip(state, _SETTLED, 1 - _SETTLED),
        share=context_means(data.share, data.context, data.n_contexts)[order],
        reports=report[rows],
        counts=counts[order],
        cautions=tuple(cautions),
    )
