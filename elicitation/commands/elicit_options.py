"""Options of ``coherence elicit``, and what they mean: who is asked, what, and in which ways.

A study file says the same by the same names, and ``--set`` says what few users need.
"""

import argparse
import sys
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from elicitation.commands.looking import Ahead, add_looking_options, fingerprints_of, token_counter
from elicitation.commands.model_options import (
    add_model_options,
    add_store_options,
    connect_to,
    is_hosted,
    load_local,
    name_in_store,
)

if TYPE_CHECKING:
    import pandas as pd

    from elicitation.models.base import Model
    from elicitation.questions.plan import Design, Plan
    from elicitation.questions.prompts import PromptSet
    from elicitation.questions.tasks import Subject

PROMPTS = ("standard", "mse", "absolute", "bayes")
OF_A_TASK = ("target", "contexts", "phrases", "positive", "records", "min_records")
_OF_FILES = ("phrases", "positive", "records")


def add_options(parser: argparse.ArgumentParser, rare: argparse.ArgumentParser) -> None:
    """Declare what a session can be told; `rare` takes what few users need."""
    add_model_options(
        parser, kind="causal or multiple-choice model", server=True, chat=True, rare=rare
    )
    _add_subject(parser, rare)
    _add_ways(parser, rare)
    add_store_options(parser, usual="OUT.answers.sqlite", rare=rare)
    group = parser.add_argument_group("looking without asking")
    add_looking_options(group, rare)
    group.add_argument(
        "--show-prompts",
        type=int,
        metavar="N",
        help="print the first N different questions as they would be asked",
    )
    group.add_argument(
        "--status",
        metavar="STORE",
        help="count the answers of a store by model, question and status",
    )


def _add_subject(parser: argparse.ArgumentParser, rare: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("what is asked about")
    group.add_argument(
        "--task",
        metavar="NAME_OR_FILE",
        help="network or data set that supplies the cases, such as asia or randhie, or a network "
        "of your own: .bif, .xml, .xmlbif, .bifxml or .json, also as .gz",
    )
    group.add_argument(
        "--questions",
        metavar="FILE",
        help="questions of your own instead of a network: .csv or .jsonl, see docs/eliciting.md",
    )
    group.add_argument(
        "--target",
        metavar="VARIABLE",
        help="variable asked about (default: the usual one of the task)",
    )
    group.add_argument(
        "--contexts", type=int, metavar="N", help="number of contexts of a network (default: 200)"
    )
    group.add_argument(
        "--phrases",
        metavar="FILE",
        help="words of a network of your own, .toml; 'coherence networks phrases' begins one "
        "(default: plain words made of its names)",
    )
    group.add_argument(
        "--positive",
        metavar="STATE",
        help="without --phrases, the state of --target whose probability is asked for (default: "
        "the one called yes, true, present or positive)",
    )
    rare.add_argument(
        "--records",
        metavar="FILE",
        help="records that a network of your own was fitted to: .csv or .parquet",
    )
    rare.add_argument(
        "--min-records",
        type=int,
        metavar="N",
        help="records that must show the evidence of a case, where the truth comes from records "
        "(default: 100; 0 takes any case)",
    )


def _add_ways(parser: argparse.ArgumentParser, rare: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("how it is asked")
    group.add_argument(
        "--answers",
        default="drawn",
        choices=("drawn", "forced", "exact"),
        help="free text that is read, drawn from the answers in the form asked for, or the "
        "distribution over these without any draw; see docs/eliciting.md (default: drawn)",
    )
    rare.add_argument(
        "--min-mass",
        type=float,
        default=0.0,
        metavar="P",
        help="leave unread what is read off answers that have less probability together "
        "(default: 0; below .5 the status says low_mass)",
    )
    group.add_argument(
        "--reps",
        type=int,
        metavar="N",
        help="draws per question (default: 5; with --answers exact nothing is drawn)",
    )
    group.add_argument(
        "--prompts",
        default=",".join(PROMPTS),
        metavar="LIST",
        help="framings of the belief question, and .toml files with framings of your own "
        f"(default: {','.join(PROMPTS)})",
    )
    group.add_argument(
        "--belief",
        default="verbalised",
        choices=("verbalised", "token", "sampled"),
        help="stated as a number, read from the probability of Yes, or from the rate of Yes over "
        "draws (default: verbalised)",
    )
    rare.add_argument(
        "--draws",
        type=int,
        default=20,
        metavar="N",
        help="answers of one sampled belief (default: 20)",
    )
    group.add_argument(
        "--no-lie",
        action="store_true",
        help="leave out the questions of the law of iterated expectation",
    )
    group.add_argument(
        "--temperature",
        type=float,
        default=1.0,
        metavar="T",
        help="0 takes the most probable answer (default: 1)",
    )
    group.add_argument(
        "--max-new-tokens",
        type=int,
        metavar="N",
        help="cut of every answer (default: 256, or what a longer form needs; a model that thinks "
        "aloud needs thousands)",
    )
    group.add_argument(
        "--seed",
        type=int,
        default=0,
        metavar="N",
        help="seed of the cases and of the draws (default: 0)",
    )


def design_of(args: argparse.Namespace) -> "Design":
    """Return how often, in which ways and how randomly questions are asked."""
    from elicitation.questions.plan import Design

    prompts, templates = _prompts(args)
    same = ("reps", "belief", "draws", "temperature", "max_new_tokens", "seed", "answers")
    return Design(
        prompts=prompts,
        templates=templates,
        iterated=not args.no_lie,
        min_mass=args.min_mass,
        **{name: getattr(args, name) for name in same},
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
    task = _subject_of(args)
    number = 200 if args.contexts is None else args.contexts
    return Source(task.cases(number, seed=args.seed), task)


def _subject_of(args: argparse.Namespace) -> "Subject":
    from coherence.errors import InputError
    from elicitation.questions.tasks import is_network_file, load_task

    files = {name: getattr(args, name) for name in _OF_FILES}
    if not is_network_file(args.task):
        if stray := [name for name, value in files.items() if value is not None]:
            raise InputError(
                f"--{stray[0]} goes with a network of your own, a file that ends in .bif, .xml, "
                f".xmlbif, .bifxml or .json; --task is {args.task!r}. Leave it out."
            )
        return load_task(args.task, target=args.target, min_records=args.min_records)
    if args.phrases is None:
        print(
            f"coherence {args.command}: plain words made of the names in {args.task} are used; "
            f"'coherence networks phrases {args.task} --out FILE.toml' begins better ones",
            file=sys.stderr,
        )
    return load_task(args.task, target=args.target, min_records=args.min_records, **files)


def plan_of(args: argparse.Namespace, source: Source, design: "Design") -> "Plan":
    """Return the questions of a session, before anyone is asked."""
    from elicitation.questions.plan import plan_own_questions, plan_task

    if source.subject is None:
        return plan_own_questions(source.cases, design, task=Path(args.questions).stem)
    return plan_task(source.subject, source.cases, design)


def named_model(args: argparse.Namespace) -> str:
    """Return the name that the model would have in the store, without loading it."""
    return str(args.agent) if args.agent is not None else name_in_store(args, args.model)


def ahead_of(args: argparse.Namespace, source: Source, plan: "Plan") -> Ahead:
    """Return what the model would be asked."""
    names = (named_model(args),)
    if args.agent is not None:  # it is its own cases, and made in an instant
        made = partial(load_model, args, source)
        return Ahead(names, plan.questions, kept_as=lambda: {made().fingerprint})
    count, kept_as = token_counter(args, args.model), partial(fingerprints_of, args, args.model)
    return Ahead(names, plan.questions, count=count, kept_as=kept_as)


def load_model(args: argparse.Namespace, source: Source) -> "Model":
    """Load the model that is asked, connect to it, or make the agent."""
    if args.agent is not None:
        from elicitation.simulated_model import agent_for_task

        assert source.subject is not None, "options were checked: no agent for questions in a file"
        return agent_for_task(args.agent, source.subject, source.cases)
    if is_hosted(args):
        return connect_to(args, args.model)
    return load_local(args, args.model)
