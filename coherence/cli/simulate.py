"""``coherence simulate``: draw a runs table from an agent whose coherence is known."""

import argparse
import math
import sys
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from coherence.cli.run_options import declare, require_seed
from coherence.errors import InputError, closest
from coherence.printable import counted

if TYPE_CHECKING:
    from coherence.agents import Agent


OPTIONS = """
agent AGENT?  name of the agent; --list shows them
--list  list the agents with their parameters and exit
--contexts N:int=200  number of contexts (default: 200)
--reps N:int=5  repetitions per question (default: 5)
--set NAME=VALUE*  set a parameter of the agent; may be given several times
--policies  give the probability of each action (columns action_<label>) instead of drawing one
--seed N:int=0  seed; equal seeds give equal tables (default: 0)
--out FILE  runs table to write: .parquet, .csv or .jsonl
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    declare(parser, OPTIONS)


def agent_parameters(settings: Iterable[str], agent: "Agent") -> dict[str, float]:
    """Read NAME=VALUE pairs; the error for an unknown name lists what there is."""
    values = {}
    for setting in settings:
        name, equals, text = (part.strip() for part in setting.partition("="))
        known = agent.parameters()
        if not equals:
            raise InputError(f"--set needs NAME=VALUE; received {setting!r}.")
        if name not in known:
            raise InputError(
                f"agent {agent.name!r} has no parameter {name!r}. Its parameters are "
                f"{_listed(known)}."
            )
        try:
            values[name] = float(text)
        except ValueError:
            values[name] = math.nan
        if not math.isfinite(values[name]):
            raise InputError(f"--set {name} must be a finite number; received {text!r}.")
    return values


def _listed(parameters: Mapping[str, float]) -> str:
    return ", ".join(f"{name}={value:g}" for name, value in parameters.items())


def _print_agents(agents: "Iterable[Agent]") -> None:
    # The first agent has every default; of the others the changes are enough.
    defaults = dict[str, float]()
    for agent in agents:
        known = agent.parameters()
        changed = {name: value for name, value in known.items() if value != defaults.get(name)}
        print(f"{agent.name}: {agent.description}")
        print(f"    {'as above, but ' if defaults else ''}{_listed(changed)}")
        defaults = defaults or known


def run(args: argparse.Namespace) -> int:
    """Draw and write."""
    from coherence.agents import AGENTS, simulate
    from coherence.runs.write import write_runs

    if args.list:
        _print_agents(AGENTS.values())
        return 0
    if args.agent is None:
        raise InputError(f"the name of an agent is missing. The agents are {', '.join(AGENTS)}.")
    if args.agent not in AGENTS:
        raise InputError(f"there is no agent {args.agent!r}. {closest(args.agent, AGENTS)}")
    if args.out is None:
        raise InputError("--out FILE is missing. Name a .parquet, .csv or .jsonl file.")
    require_seed(args)
    # The agent itself checks the ranges, and its error names the parameter.
    changes = agent_parameters(args.set, AGENTS[args.agent])
    runs = simulate(
        AGENTS[args.agent].with_parameters(**changes),
        n_contexts=args.contexts,
        n_reps=args.reps,
        policies=args.policies,
        rng=args.seed,
    )
    write_runs(runs, args.out, replace=False)
    changed = f", {_listed(changes)}" if changes else ""
    print(
        f"{args.out}: {counted(len(runs), 'row')}, {counted(args.contexts, 'context')} x "
        f"{counted(args.reps, 'repetition')} of agent {args.agent}{changed}, seed {args.seed}",
        file=sys.stderr,
    )
    return 0
