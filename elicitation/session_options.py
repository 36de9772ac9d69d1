"""What the options of a session mean: its cases, its questions, and who is asked."""

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from elicitation.options import PROMPTS, AskOptions, WayOptions, declared, typed
from elicitation.respondents import Agent, Respondent, respondents_of

if TYPE_CHECKING:
    import pandas as pd

    from elicitation.questions.plan import Design, Plan
    from elicitation.questions.prompts import PromptSet
    from elicitation.questions.tasks import Subject

USUAL_CASES = 200
OF_A_TASK = ("target", "contexts", "phrases", "positive", "records", "min_records")
_OF_FILES = ("phrases", "positive", "records")


def design_of(options: AskOptions) -> "Design":
    """Return how often, in which ways and how randomly questions are asked."""
    from elicitation.questions.plan import Design

    prompts, templates = _prompts(options)
    said = {name: getattr(options, name) for name in declared(WayOptions)}
    return Design(**{**said, "prompts": prompts, "templates": templates})


def _prompts(options: AskOptions) -> "tuple[tuple[str, ...], PromptSet]":
    """Read the list of prompt variants; a file brings all of its own at its place in the list."""
    from elicitation.questions.prompt_file import load_prompts
    from elicitation.questions.prompts import NETWORK_PROMPTS, TABLE_PROMPTS

    templates = NETWORK_PROMPTS if options.questions is None else TABLE_PROMPTS
    names: list[str] = []
    for word in (word.strip() for word in options.prompts.split(",")):
        if word.endswith(".toml"):
            templates, variants = load_prompts(word, templates)
            names += variants or PROMPTS  # a file may change the question for the action alone
        elif word:
            names.append(word)
    return tuple(names), templates


@dataclass(frozen=True)
class Source:
    """What a session asks about."""

    cases: "pd.DataFrame"  # the contexts, or the questions of the user's own
    # where the cases are from; None of questions of the user's own
    subject: "Subject | None" = None


def source_of(options: AskOptions) -> Source:
    """Return what a session asks about, its cases drawn."""
    if options.questions is not None:
        from elicitation.questions.own import load_questions

        return Source(load_questions(options.questions))
    task = _subject_of(options)
    number = USUAL_CASES if options.contexts is None else options.contexts
    return Source(task.cases(number, seed=options.seed), task)


def _subject_of(options: AskOptions) -> "Subject":
    from coherence.errors import InputError
    from elicitation.questions.tasks import is_network_file, load_task

    files = {name: getattr(options, name) for name in _OF_FILES}
    assert options.task is not None, "options were checked"
    if not is_network_file(options.task):
        if stray := [name for name, value in files.items() if value is not None]:
            raise InputError(
                f"{typed(AskOptions, stray[0])} goes with a network of your own, a file that ends "
                "in .bif, .xml, .xmlbif, .bifxml or .json; "
                f"--task is {options.task!r}. Leave it out."
            )
        return load_task(options.task, target=options.target, min_records=options.min_records)
    if options.phrases is None:
        print(
            f"plain words made of the names in {options.task} are used; "
            f"'coherence networks phrases {options.task} --out FILE.toml' begins better ones",
            file=sys.stderr,
        )
    return load_task(options.task, target=options.target, min_records=options.min_records, **files)


def plan_of(options: AskOptions, source: Source, design: "Design") -> "Plan":
    """Return the questions of a session, before anyone is asked."""
    from elicitation.questions.plan import plan_own_questions, plan_task

    if source.subject is None:
        return plan_own_questions(source.cases, design, task=Path(str(options.questions)).stem)
    return plan_task(source.subject, source.cases, design)


def respondent_of(options: AskOptions, source: Source) -> Respondent:
    """Return who is asked."""
    if options.agent is None:
        (respondent,) = respondents_of(options)
        return respondent
    assert source.subject is not None, "options were checked: no agent for questions in a file"
    return Agent(options, source.subject, source.cases)
