"""The world of simulated agents, and `simulate`, which draws a runs table from one.

Six features sum to the log-odds of the state, so that P(theta = 1 | x) is known exactly and is
uniform over contexts. An auxiliary variable z shifts that posterior by a known amount.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from coherence.errors import InputError, closest
from coherence.inputs import Codes, Floats, require, whole_number
from coherence.statistics.resample import Seed, as_generator
from coherence.study.agents.agent import ACTIONS, Agent, log_odds
from coherence.study.agents.known import AGENTS
from coherence.table.schema import ACTION_PREFIX

PROMPTS = ("standard", "mse", "absolute", "bayes")
N_FEATURES = 6
MOST_ROWS = 10**8  # some hundred bytes each: more than a machine holds


@dataclass(frozen=True)
class World:
    """Contexts drawn from the world in the module's docstring."""

    exact: Floats
    theta: Floats
    features: Floats
    z_share: Floats
    given_z: Floats = field(repr=False)  # shape (n_contexts, 2): posterior given z = 0, 1


def _draw_world(n_contexts: int, rng: np.random.Generator) -> World:
    exact = rng.uniform(0.001, 0.999, size=n_contexts)
    spread = rng.normal(size=(n_contexts, N_FEATURES))
    # Features add up to the log-odds, whatever the spread among them.
    features = log_odds(exact)[:, None] / N_FEATURES + spread - spread.mean(axis=1, keepdims=True)
    share = np.round(rng.uniform(0.2, 0.8, size=n_contexts), 2)
    # share * P(.|z=1) + (1 - share) * P(.|z=0) = exact for every shift; this one keeps both in
    # [0, 1].
    shift = rng.uniform(-1, 1, size=n_contexts) * np.minimum(exact, 1 - exact)
    given_z = np.stack([exact - share * shift, exact + (1 - share) * shift], axis=1)
    return World(
        exact,
        (rng.random(n_contexts) < exact).astype(np.float64),
        np.round(features, 3),
        share,
        given_z,
    )


def named_agent(name: str) -> Agent:
    """Return an agent of `AGENTS` by its name, or say which there are."""
    if name not in AGENTS:
        raise InputError(
            f"agent must be one of {', '.join(AGENTS)}; received {name!r}. {closest(name, AGENTS)}"
        )
    return AGENTS[name]


@dataclass(frozen=True)
class Answers:
    """What an agent answers in a world: a row per context and repetition, contexts together.

    Parameters
    ----------
    world : World
        Contexts.
    context : ndarray of int, shape (n,)
        Context of each row.
    acted : mapping
        Column of a runs table -> actions drawn, or the probability of each action, shape (n,).
    reports : tuple of ndarray, shape (n,)
        Stated beliefs, for each wording.
    given_z : tuple of (ndarray, ndarray), shape (n,) each
        Stated belief given each state of z, and stated probability of that state; empty where it
        was not asked for.
    """

    world: World
    context: Codes
    acted: dict[str, Any]
    reports: tuple[Floats, ...]
    given_z: tuple[tuple[Floats, Floats], ...]


def answer(
    agent: Agent,
    n_contexts: int,
    n_reps: int,
    rng: np.random.Generator,
    *,
    prompts: Sequence[str] = PROMPTS,
    iterated: bool = True,
    policies: bool = False,
) -> Answers:
    """Draw what an agent answers, as arrays; `simulate` makes a runs table of it.

    Parameters
    ----------
    agent : Agent
        Who answers.
    n_contexts, n_reps : int
        Contexts, and repetitions of each question per context.
    rng : Generator
        Source of randomness. What is drawn comes in the order actions, wordings, beliefs given z,
        so that leaving out the last of them changes nothing of the others.
    prompts, iterated, policies
        As for `simulate`.

    Returns
    -------
    Answers
        Contexts and all answers.
    """
    world = _draw_world(n_contexts, rng)
    taste = rng.normal(0, 1, size=(n_contexts, len(ACTIONS))) * agent.taste
    # One belief and one taste for each context, repeated: repetitions differ by shocks alone.
    row = np.repeat(np.arange(n_contexts), n_reps)
    belief = agent.believe(world.exact)[row]
    progress = np.tile(np.linspace(-0.5, 0.5, n_reps) if n_reps > 1 else [0.0], n_contexts)
    situation = belief, world.theta[row], taste[row]
    # Drawn in any case, so that what is drawn afterwards stays the same.
    acted: dict[str, Any] = {"action": agent.choose(*situation, rng)}
    if policies:
        acted = {f"{ACTION_PREFIX}{name}": of for name, of in agent.policies(*situation).items()}

    def said(held: Floats, prompt: str) -> Floats:
        return agent.report(held, prompt, rng, progress=progress)

    reports = tuple(said(belief, prompt) for prompt in prompts)
    given_z = []
    for state in (0, 1) if iterated else ():
        # Shrinking both to 1/2 leaves each a probability, yet their mean misses the posterior.
        shrunk = (1 - agent.iterated_bias) * world.given_z[:, state] + agent.iterated_bias * 0.5
        weight = world.z_share if state == 1 else 1 - world.z_share
        stated = said(agent.believe(shrunk)[row], prompts[0])
        given_z.append((stated, np.round(weight, 2)[row]))
    return Answers(world, row, acted, reports, tuple(given_z))


def simulate(
    agent: Agent | str,
    *,
    n_contexts: int,
    n_reps: int,
    prompts: Sequence[str] = PROMPTS,
    iterated: bool = True,
    policies: bool = False,
    rng: Seed = None,
) -> pd.DataFrame:
    """Draw a runs table from an agent.

    Parameters
    ----------
    agent : Agent or str
        An agent, or the name of one in `AGENTS`.
    n_contexts, n_reps : int
        Contexts, and repetitions of each question per context.
    prompts : sequence of str
        Wordings of the belief question; the first is asked together with the action.
    iterated : bool
        Whether to add the rows for the law of iterated expectation.
    policies : bool
        Whether to give the probability of each action, in columns ``action_<label>``, in place of
        an action that is drawn from them. Everything else is the same under the same `rng`.
    rng : Generator, int or None
        Source of randomness.

    Returns
    -------
    DataFrame
        A valid runs table with the columns ``x_1`` to ``x_6`` as evidence.

    Raises
    ------
    InputError
        Unknown agent, or a count below 1.

    Examples
    --------
    >>> once = {"n_reps": 1, "prompts": ["standard"], "iterated": False}
    >>> runs = simulate("rational", n_contexts=2, **once, rng=0)
    >>> runs[["context", "rep", "p", "action", "theta"]]
      context  rep     p action  theta
    0   c0000    0  0.65  defer      1
    1   c0001    0  0.25     no      0
    """
    agent = named_agent(agent) if isinstance(agent, str) else agent
    require(
        isinstance(agent, Agent),
        f"agent must be an Agent or the name of one; received {agent!r}.",
    )
    n_contexts = whole_number(n_contexts, "n_contexts", 1)
    n_reps = whole_number(n_reps, "n_reps", 1)
    require(
        n_contexts * n_reps <= MOST_ROWS,
        f"n_contexts times n_reps must be at most {MOST_ROWS:,}; received {n_contexts:,} x "
        f"{n_reps:,}. Draw in parts, each with an rng of its own.",
    )
    named = not isinstance(prompts, str) and len(prompts) > 0
    require(named, f"prompts must name at least one prompt; received {prompts!r:.60}. List them.")
    drawn = answer(
        agent,
        n_contexts,
        n_reps,
        as_generator(rng),
        prompts=prompts,
        iterated=iterated,
        policies=policies,
    )
    world, row, acted = drawn.world, drawn.context, dict(drawn.acted)

    def frame(p: Floats, **columns: Any) -> pd.DataFrame:
        table = {
            "task": "simulated",
            "model": agent.name,
            "context": [f"c{context:04d}" for context in row],
            "rep": np.tile(np.arange(n_reps), n_contexts),
            "prompt": prompts[0],
            "p": p,
            **dict.fromkeys(acted, np.nan if policies else None),
            "theta": world.theta[row].astype(int),
            "p_true": world.exact[row],
            "z": None,
            "z_state": None,
            "p_z": np.nan,
            **{f"x_{column + 1}": world.features[row, column] for column in range(N_FEATURES)},
            "status": "ok",
        }
        return pd.DataFrame({**table, **columns})

    pieces = [frame(drawn.reports[0], **acted)]
    # An action is asked for once, together with the first wording.
    others = zip(prompts[1:], drawn.reports[1:], strict=True)
    pieces += [frame(report, prompt=prompt) for prompt, report in others]
    pieces += [
        frame(
            stated,
            z="z",
            z_state=str(state),
            p_z=weight,
            p_true=world.given_z[row, state],
        )
        for state, (stated, weight) in enumerate(drawn.given_z)
    ]
    runs = pd.concat(pieces, ignore_index=True)
    return runs.sort_values(["context", "rep"], kind="stable", ignore_index=True)
