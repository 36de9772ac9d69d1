"""What the options of ``coherence elicit`` mean: who is asked, what, and in which ways."""

import argparse
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from elicitation.commands.hosted_options import connect_to, is_hosted
from elicitation.commands.model_options import load_local
from elicitation.commands.task_options import load_subject

if TYPE_CHECKING:
    import pandas as pd

    from elicitation.models.base import Model
    from elicitation.questions.plan import Design, Plan
    from elicitation.questions.prompts import PromptSet
    from elicitation.questions.tasks import Subject

PROMPTS = ("standard", "mse", "absolute", "bayes")


def design_of(args: argparse.Namespace) -> "Design":
    """Return how often, in which ways and how randomly questions are asked."""
    from elicitation.questions.plan import Design

    prompts, templates = _prompts(args)
    return Design(
        reps=args.reps,
        prompts=prompts,
        iterated=not args.no_lie,
        belief=args.belief,
        draws=args.draws,
        temperature=args.temperature,
        max_new_tokens=args.max_new_tokens,
        seed=args.seed,
        templates=templates,
        answers=args.answers,
        min_mass=args.min_mass,
    )


def _prompts(args: argparse.Namespace) -> "tuple[tuple[str, ...], PromptSet]":
    """Read the list of framings; a file brings all of its own at its place in the list."""
    from elicitation.questions.prompt_file import load_prompts
    from elicitation.questions.prompts import NETWORK_PROMPTS, TABLE_PROMPTS

    templates = NETWORK_PROMPTS if args.questions is None else TABLE_PROMPTS
    names: list[str] = []
    for word in (word.strip() for word in args.prompts.split(",")):
        if word.endswith(".toml"):
            templates, framings = load_prompts(word, templates)
            names += framings or PROMPTS  # a file may change the question for the action alone
        elif word:
            names.append(word)
    return tuple(names), templates


@dataclass(frozen=True)
class Source:
    """What a session asks about."""

    cases: "pd.DataFrame"  # the contexts, or the questions of the user's own
    # where the cases are from; None of questions of the user's own
    subject: "Subject | None" = None


def source_of(args: argparse.Namespace) -> Source:
    """Return what a session asks about, its cases drawn."""
    if args.questions is not None:
        from elicitation.questions.own import load_questions

        return Source(load_questions(args.questions))
    task = load_subject(args)
    number = 200 if args.contexts is None else args.contexts
    return Source(task.cases(number, seed=args.seed), task)


def plan_of(args: argparse.Namespace, source: Source, design: "Design") -> "Plan":
    """Return the questions of a session, before anyone is asked."""
    from elicitation.questions.plan import plan_own_questions, plan_task

    if source.subject is None:
        return plan_own_questions(source.cases, design, task=Path(args.questions).stem)
    return plan_task(source.subject, source.cases, design)


def named_model(args: argparse.Namespace) -> str:
    """Return the name that the model would have in the store, without loading it."""
    if args.agent is not None:
        return str(args.agent)
    # Only the name is known without loading: a preview counts answers of all weights of it.
    if is_hosted(args):
        return str(args.model)
    from elicitation.models.local.sources import name_of

    return name_of(args.model)


def load_model(args: argparse.Namespace, source: Source) -> "Model":
    """Load the model that is asked, connect to it, or make the agent."""
    if args.agent is not None:
        from elicitation.simulated_model import agent_for_task

        assert source.subject is not None, "options were checked: no agent for questions in a file"
        return agent_for_task(args.agent, source.subject, source.cases)
    if is_hosted(args):
        return connect_to(args, args.model)
    return load_local(args, args.model)
