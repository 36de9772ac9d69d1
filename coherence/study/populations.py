"""Whom a planned study would ask: an agent with a described flaw, with the flaw dialled up or down.

A population draws a study of any size. What is planted is a parameter of the agent; at 0 there is
nothing to find, so that what is rejected there is the size of the test.
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from coherence.errors import closest
from coherence.inputs import Floats, require
from coherence.study.agents.agent import ACTIONS, Agent
from coherence.study.agents.known import AGENTS
from coherence.study.agents.world import PROMPTS, Answers, answer
from coherence.study.samples import Sample, as_policies, chosen
from coherence.table.schema import ACTION_PREFIX

LABELS = tuple(sorted(ACTIONS))
PLANTABLE = tuple(name for name, value in AGENTS["rational"].parameters().items() if value == 0)
"""Parameters of agents that are 0 where nothing is amiss."""


class Population(Protocol):
    """Whom a planned study would ask."""

    @property
    def name(self) -> str:
        """What reports call it."""

    @property
    def planted(self) -> str:
        """What the signal is."""

    @property
    def actions(self) -> tuple[str, ...]:
        """All actions that can be chosen, sorted."""

    @property
    def policies(self) -> bool:
        """Whether the probability of each action is known instead of one drawn action."""

    @property
    def lacks(self) -> tuple[str, ...]:
        """Checks for which it gives no answers."""

    @property
    def cautions(self) -> tuple[str, ...]:
        """What a reader must know before the numbers."""

    def draw(
        self,
        signal: float,
        n_contexts: int,
        n_reps: int,
        rng: np.random.Generator,
        *,
        wordings: bool,
        iterated: bool,
    ) -> Sample:
        """Draw the answers of a study; `wordings` and `iterated` are asked beyond choices."""


@dataclass(frozen=True)
class AgentPopulation:
    """A simulated agent in its world.

    Parameters
    ----------
    agent : Agent
        Who answers; the planted parameter is set for each study.
    planted : str
        Name of the parameter.
    policies : bool
        Whether the probability of each action is known instead of one drawn action.
    """

    agent: Agent
    planted: str = "hidden_signal"
    policies: bool = False
    lacks: tuple[str, ...] = ()
    cautions: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Refuse a parameter that agents do not have, or that is not 0 where nothing is planted."""
        require(
            self.planted in PLANTABLE,
            "planted must be a parameter of agents that is 0 where nothing is amiss: "
            f"{', '.join(PLANTABLE)}; received {self.planted!r}. "
            f"{closest(self.planted, PLANTABLE)}",
        )

    @property
    def name(self) -> str:
        """What reports call it."""
        return f"agent {self.agent.name}"

    @property
    def actions(self) -> tuple[str, ...]:
        """All actions that can be chosen, sorted."""
        return LABELS

    def with_signal(self, signal: float) -> Agent:
        """Return the agent with what is planted."""
        return self.agent.with_parameters(**{self.planted: signal})

    def draw(
        self,
        signal: float,
        n_contexts: int,
        n_reps: int,
        rng: np.random.Generator,
        *,
        wordings: bool,
        iterated: bool,
    ) -> Sample:
        """Draw what `coherence.simulate` draws of the agent from the same generator."""
        drawn = answer(
            self.with_signal(signal),
            n_contexts,
            n_reps,
            rng,
            prompts=PROMPTS if wordings or iterated else PROMPTS[:1],
            iterated=iterated,
            policies=self.policies,
        )
        if self.policies:
            columns = [drawn.acted[f"{ACTION_PREFIX}{label}"] for label in LABELS]
            action = as_policies(np.column_stack(columns), LABELS)
        else:
            action = chosen(np.searchsorted(LABELS, drawn.acted["action"]), LABELS)
        return Sample(
            belief=drawn.reports[0],
            action=action,
            truth=drawn.world.theta.astype(np.int64),
            n_reps=n_reps,
            gaps=_gaps(drawn, n_reps) if iterated else None,
            wordings=dict(zip(PROMPTS[1:], drawn.reports[1:], strict=True)) if wordings else {},
        )


def _gaps(drawn: Answers, n_reps: int) -> Floats:
    """Mean over repetitions of each context's belief less its average over z."""
    weighted = sum(stated * weight for stated, weight in drawn.given_z)
    total = sum(weight for _, weight in drawn.given_z)
    gap: Floats = np.asarray(drawn.reports[0] - weighted / total)
    return np.asarray(gap.reshape(-1, n_reps).mean(axis=1))
