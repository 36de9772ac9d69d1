"""Whom a planned study would ask: a simulated agent, or a model like one that was asked before.

The nearest rational agent is fitted to the answers (`coherence.fit_rational_agent`); a study draws
new contexts from its beliefs. A hidden signal moves the belief acted on by half of it, up where the
state is true and down where it is not. Choices of one context may be more alike than the belief
explains (`RationalAgent.taste`): the policy of a context then scatters around that of the agent by
a Dirichlet law, whose only parameter is the correlation of two choices of a context.
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
from coherence.rational.agent import RationalAgent
from coherence.rational.belief import drawn_columns
from coherence.rational.choice import Logit
from coherence.statistics.difference_sequences import (
    in_canonical_direction,
    layout_of,
    mean_squared_difference,
    monotone_fit,
)
from coherence.statistics.evaluation import EvaluationData, evaluation_data
from coherence.statistics.permutation import contexts_of
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
    "they were taken as independent given the belief, and repetitions may bring less than shown"
)
SCATTER = (
    "reports have noise around the belief, which can make tests reject that take them as exact "
    "(all but rational_agent): read their power beside their size at signal 0"
)
PILOT = (
    "the agent was fitted to {n} contexts, whose own error the intervals of the simulation do not "
    "hold: pilot_low and pilot_high do, where refits are asked for"
)
LACKING = {
    "iterated_expectation": "beliefs given a variable",
    "prompt_consistency": "other prompts",
}
"""Checks of answers that are not simulated for a fitted agent or a network -> the answers."""
_NO_POSTERIOR = {"evidence_leak": "exact posteriors (p_true)"}
_LEAST_ALIKE = 1e-3


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
        Standard deviation of the utility shock that a group shares, one per action. A fitted agent
        has the tastes of its data besides.
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
class FittedPopulation:
    """A fitted rational agent, of which studies of any size are drawn."""

    name: str  # what reports call it
    actions: tuple[str, ...]  # all actions, sorted
    policies: bool  # whether the probability of each action is known instead of one drawn action
    # correlation of two choices of a context beyond what the belief explains, in [0, 1]
    alike: float
    # belief, true: shape (n_points,): probability of each belief, and of the state given it
    belief: Floats = field(repr=False)
    true: Floats = field(repr=False)
    # shape (n_points, n_levels), or None: probability of each report given the belief; None where
    # the belief itself is reported
    reports: Floats | None = field(repr=False)
    levels: Floats = field(repr=False)  # shape (n_levels,): values of reports
    # shape (n_points, n_points), or None: probability of what the reports of a context scatter
    # around, where they share some noise
    blur: Floats | None = field(repr=False)
    chooser: Logit = field(repr=False)  # utilities, on the points of the beliefs
    parameters: Floats = field(repr=False)  # of the chooser
    cautions: tuple[str, ...] = ()  # what a reader must know before the numbers
    # share of the variance of the state given the belief that the exact posterior knows; None where
    # the answers had none
    resolved: float | None = None
    most_contexts: None = None
    _shares: dict[float, Floats] = field(default_factory=dict, repr=False, compare=False)

    @property
    def planted(self) -> str:
        """What a signal sets: the weight of what the posterior adds, or knowledge of theta."""
        return BLIND if self.resolved is None else WEIGHT

    @property
    def lacks(self) -> Mapping[str, str]:
        """Checks that cannot be planned -> the answers that they would need."""
        return LACKING | (_NO_POSTERIOR if self.resolved is None else {})

    def _exact(self, chance: Floats, rng: np.random.Generator) -> Floats:
        """Draw exact posteriors whose mean is the chance of the state: a beta distribution."""
        assert self.resolved is not None
        if self.resolved <= _LEAST_ALIKE:
            return chance
        size = 1 / min(self.resolved, 1 - _LEAST_ALIKE) - 1
        return np.asarray(rng.beta(chance * size, (1 - chance) * size))

    def _weighted(self, acted_on: Floats) -> Floats:
        """Probability of each action at beliefs acted on, shape (n, n_actions)."""
        logit_at = Logit(
            acted_on, self.chooser.n_actions, self.chooser.weighting, lapses=self.chooser.lapsing
        )
        return np.asarray(logit_at.probabilities(self.parameters)[0])

    def shares(self, signal: float) -> Floats:
        """Probability of each action given state and belief, shape (2, n_points, n_actions)."""
        if signal not in self._shares:
            both = [
                Logit(
                    self.chooser.points + side * signal,
                    self.chooser.n_actions,
                    self.chooser.weighting,
                    lapses=self.chooser.lapsing,
                ).probabilities(self.parameters)[0]
                for side in (-0.5, 0.5)
            ]
            self._shares[signal] = np.stack(both)
        return self._shares[signal]

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
        """Draw new contexts from the agent's beliefs, and its answers about them."""
        point = np.searchsorted(np.cumsum(self.belief)[:-1], rng.random(n_contexts))
        group, chance, favour = None, self.true[point], None
        if groups is not None:
            group, taste, missed = groups.draw(n_contexts, len(self.actions), rng.spawn(1)[0])
            chance, favour = expit(logit(chance) + missed), np.exp(taste)
        exact = None if self.resolved is None else self._exact(chance, rng)
        truth = (rng.random(n_contexts) < (chance if exact is None else exact)).astype(np.int64)
        centre = point
        if self.blur is not None:
            centre = drawn_columns(self.blur[point], rng)
        of_row = np.repeat(centre, n_reps)
        if self.reports is None:
            belief = self.levels[of_row]
        else:
            level = drawn_columns(self.reports[of_row], rng)
            belief = np.round(self.levels[level], 10)
        if exact is None:
            share = self.shares(signal)[truth, point]
        else:
            acted_on = self.chooser.points[point] + signal * (exact - chance)
            share = self._weighted(np.clip(acted_on, 0.0, 1.0))
        if favour is not None:
            share = share * favour / (share * favour).sum(axis=1, keepdims=True)
        policy = _scattered(share, self.alike, rng)
        of_rows = np.repeat(policy, n_reps, axis=0)
        action: pd.Series[str] | pd.DataFrame = pd.DataFrame(of_rows, columns=list(self.actions))
        if not self.policies:
            codes = drawn_columns(of_rows, rng)
            action = pd.Series(np.array(self.actions, dtype=object)[codes])
        return as_data(belief, action, truth, n_reps, group=group, exact=exact)


def population_like(
    agent: RationalAgent, *, name: str = "the fitted agent", policies: bool | None = None
) -> FittedPopulation:
    """Make a population of a fitted agent."""
    held = agent.held
    belief = np.asarray(agent.posterior.mean(axis=0)).ravel()
    alike = _alike(agent)
    cautions = [*agent.cautions, PILOT.format(n=agent.data.n_contexts)]
    cautions += [ONCE] if math.isnan(alike) else []
    cautions += [SCATTER] if agent.noisy else []
    drawn = agent.data.policy is None
    return FittedPopulation(
        name=name,
        actions=tuple(map(str, agent.data.actions)),
        policies=not drawn if policies is None else policies,
        alike=0.0 if math.isnan(alike) else alike,
        belief=belief / belief.sum(),
        true=agent.state,
        reports=held.chances if held.noisy else None,
        levels=held.reports.grid.levels if held.noisy else held.points,
        blur=held.blur,
        chooser=agent.chosen.model,
        parameters=agent.chosen.parameters,
        cautions=tuple(cautions),
        resolved=_resolved(agent),
    )


def _resolved(agent: RationalAgent) -> float | None:
    """Share of the variance of the state given the belief that the exact posterior knows."""
    data = agent.data
    if data.exact is None:
        return None
    line = in_canonical_direction(contexts_of(replace(data, group=None)))
    layout = layout_of(line.belief, None)
    left = line.state - monotone_fit(line.belief, line.state)
    variance = mean_squared_difference(layout, line.belief, left)
    chance = float((line.state * (1 - line.state)).mean())
    return float(np.clip(variance / (variance + chance), 0.0, 1.0))


def _alike(agent: RationalAgent) -> float:
    """Correlation of two choices of a context beyond the belief; NaN where nothing tells it.

    The square of the agent's lasting taste. A policy that is known tells it without a second
    answer: its expected square is s + (1 - s) r, where s = sum_k q_k^2 is that of the agent's
    policy at the belief and r the correlation of choices drawn from it.
    """
    taste = agent.taste[0]
    if not math.isnan(taste):
        return taste**2
    if agent.data.policy is None:
        return math.nan
    sums = agent.chosen.choices.sums
    policy = sums / sums.sum(axis=1, keepdims=True)
    explained = np.asarray(agent.posterior @ (agent.chosen.probabilities[0] ** 2).sum(axis=1))
    possible = float((1 - explained).sum())
    if not possible > 0:
        return math.nan
    return float(np.clip(((policy**2).sum(axis=1) - explained).sum() / possible, 0.0, 1.0))


def _scattered(share: Floats, alike: float, rng: np.random.Generator) -> Floats:
    """Draw the policy of each context around its share: a Dirichlet law of that correlation."""
    if alike < _LEAST_ALIKE:
        return share
    if alike > 1 - _LEAST_ALIKE:
        return np.eye(share.shape[1])[drawn_columns(share, rng)]
    shape = np.maximum(share, 1e-12) * (1 / alike - 1)
    # A gamma variable of shape a is one of shape a + 1 times u^(1 / a): in logarithms no small
    # shape is lost to 0.
    log_gamma = np.log(rng.standard_gamma(shape + 1)) + np.log1p(-rng.random(shape.shape)) / shape
    grown = np.exp(log_gamma - log_gamma.max(axis=1, keepdims=True))
    return np.asarray(grown / grown.sum(axis=1, keepdims=True))
