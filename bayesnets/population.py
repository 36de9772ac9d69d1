"""Studies of a network's cases before anyone is asked: what `coherence.power` plans a task with.

Cases are those of `sample_cases`. Whoever answers states the posterior of all findings of a case
but one, and acts on a part of what the last one adds.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bayesnets.cases.network_cases import CaseFrame
from bayesnets.codes import Codes, Floats
from bayesnets.elimination import joint
from coherence.agents import Agent, named_agent
from coherence.analysis.populations import LACKING, WEIGHT, Groups, as_data, choices_of
from coherence.errors import InputError
from coherence.statistics.evaluation import EvaluationData

STATED = (
    "stated is the posterior of all findings of a case but one, which is drawn anew for each case; "
    "choices follow it and, at signal w, w times what the last finding adds"
)


@dataclass(frozen=True)
class NetworkPopulation:
    """A simulated agent that is asked about the cases of a network, for `coherence.power`.

    Cases are drawn as by `sample_cases`, spread evenly over the posterior, and the state from the
    exact posterior. The agent states the posterior of all findings but one (of a single finding the
    prior), which is drawn for each case, rounded as the agent rounds; it acts on what it states
    plus a weight times what the exact posterior differs from it. The weight is what
    `coherence.power` plants.

    Parameters
    ----------
    network : Network or pgmpy.models.DiscreteBayesianNetwork
        The model.
    target : str
        The variable that cases are about.
    target_state : str, int or bool
        The state of the target that counts as theta = 1.
    agent : Agent or str
        Whose utilities, tastes, reports and rounding they are; what it leaves unstated is the
        finding.
    policies : bool
        Whether answers are the probability of each action instead of drawn actions.
    min_records : int or None
        Records that the evidence of a case needs, as of `sample_cases`.

    Raises
    ------
    InputError
        An unknown agent, variable or state, or a network of which no cases can be drawn.

    Examples
    --------
    >>> import coherence
    >>> from bayesnets import load_network
    >>> asked = NetworkPopulation(load_network("asia"), "lung")
    >>> asked.most_contexts
    1182
    >>> few = {"n_contexts": 60, "n_reps": 2, "signal": 1.0, "n_simulations": 20, "rng": 1}
    >>> coherence.power(asked, **few).table[["check", "signal"]]
                        check  signal
    0             sufficiency     0.0
    1             sufficiency     1.0
    2  sufficiency with theta     0.0
    3  sufficiency with theta     1.0
    """

    network: Any
    target: str
    target_state: str | int = "yes"
    agent: Agent | str = "rational"
    policies: bool = False
    min_records: int | None = None
    frame: CaseFrame = field(init=False, repr=False, compare=False)
    lacks = LACKING
    planted = WEIGHT
    cautions = (STATED,)

    def __post_init__(self) -> None:
        """List the evidence that cases may have, once for all studies."""
        if isinstance(self.agent, str):
            object.__setattr__(self, "agent", named_agent(self.agent))
        frame = CaseFrame.of(
            self.network,
            self.target,
            target_state=self.target_state,
            min_records=self.min_records,
            # The pool of a network with more evidence than can be listed is the same in each call.
            generator=np.random.default_rng(0),
        )
        object.__setattr__(self, "frame", frame)

    @property
    def name(self) -> str:
        """What reports call it."""
        agent = self.agent
        who = agent.name if isinstance(agent, Agent) else agent
        return f"agent {who} on cases of {self.frame.network.name}"

    @property
    def most_contexts(self) -> int:
        """How many cases there are, no two with the same evidence."""
        return len(self.frame.sets.codes)

    def _without_one(self, codes: Codes, rng: np.random.Generator) -> Floats:
        """Posterior of all findings of each case but one, which is drawn."""
        left_out = np.where(codes >= 0, rng.random(codes.shape), -1.0).argmax(axis=1)
        fewer = codes.copy()
        fewer[np.arange(len(codes)), left_out] = -1
        found = joint(self.frame.network, fewer, (self.frame.target,))
        return np.asarray(found.values[:, self.frame.state] / found.total)

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
        """Draw the cases of a study, and the agent's answers about them."""
        if groups is not None:
            raise InputError(
                f"group must be left out for cases of a network, which share no template; received "
                f"groups of {groups.size}. Plan groups with a named agent (without --task)."
            )
        assert isinstance(self.agent, Agent)
        chosen, _ = self.frame.choose(n_contexts, rng)
        exact = self.frame.sets.belief[chosen]
        truth = (rng.random(n_contexts) < exact).astype(np.int64)
        spoken = self._without_one(self.frame.sets.codes[chosen], rng)
        agent = self.agent.with_parameters(weight=signal)
        belief, action = choices_of(agent, spoken, exact, truth, n_reps, rng, self.policies)
        return as_data(belief, action, truth, n_reps, exact=exact)
