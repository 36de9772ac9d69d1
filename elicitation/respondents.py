"""Who is asked and about what, as the options say: made once, checked first, loaded when needed.

Nothing is imported before it is asked for, so that ``--help`` stays fast.
"""

import inspect
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

from coherence.printable import clean
from elicitation.declarations import declared, json_object, typed
from elicitation.options import AskOptions, ModelOptions
from elicitation.ways import PROMPTS, Way, WayOptions

if TYPE_CHECKING:
    import pandas as pd

    from elicitation.models.hosted.model import HostedModel
    from elicitation.questions.plan import Design, Plan
    from elicitation.questions.tasks import Subject


class Respondent:
    """A model that ``--model`` names, or an agent."""

    hosted = False

    def __init__(self, options: ModelOptions, place: str, name: str) -> None:
        self.options, self.place = options, place
        self.name = name  # what results call it

    @property
    def stored_name(self) -> str:
        """Its name in the store, known without loading or calling it."""
        return self.name

    def can(self, way: Way) -> bool:
        """Return whether answers can be had in a way, as far as that is known before loading."""
        return True

    def check(self) -> None:
        """Raise where it is not there."""

    def load(self, *, chooses: bool = False) -> Any:
        """Return the model; with `chooses` it may be one that only weighs given options."""
        raise NotImplementedError


class Local(Respondent):
    """A folder, a .gguf file, or a model of the hub."""

    @property
    def stored_name(self) -> str:
        """Name of the folder or file."""
        from elicitation.models.local.loading import name_of

        return name_of(self.place)

    def check(self) -> None:
        """Raise where something is missing that loading needs."""
        from elicitation.models.local.loading import find_source

        find_source(self.place, revision=self.options.revision)

    def load(self, *, chooses: bool = False) -> Any:
        """Load it as one that writes, or chooses where its configuration says so."""
        from elicitation.models.local.loading import is_multiple_choice

        options, settings = self.options, dict[str, Any]()
        # A map from part to device, or the name of a way to make one.
        if (options.device_map or "").lstrip().startswith("{"):
            settings["device_map"] = json_object(str(options.device_map), "--set device_map")
        # A model that chooses writes nothing: --chat, --set system and prefill are for the others.
        if chooses and is_multiple_choice(self.place, revision=options.revision):
            from elicitation.models.local.multiple_choice import load_multiple_choice_model

            load: Callable[..., Any] = load_multiple_choice_model
        else:
            from elicitation.models.local.causal import load_causal_model as load
        if sys.stderr.isatty():  # what the first seconds or minutes go by with
            print(f"loading {clean(Path(self.place).name, limit=60)}", file=sys.stderr)
        return load(self.place, **arguments_of(load, options) | settings)


class Hosted(Respondent):
    """A model of a service or server."""

    hosted = True

    @property
    def stored_name(self) -> str:
        """Name that says how it is called: in chats, or to go on from texts."""
        from elicitation.models.base import completing

        in_chat = self.options.chat is not False
        return self.place if in_chat or self.options.server is not None else completing(self.place)

    def can(self, way: Way) -> bool:
        """Return whether it lists enough: of likely first tokens alone no distribution follows."""
        return not way.how.is_distribution

    def check(self) -> None:
        """Call it once."""
        self.load()

    def load(self, *, chooses: bool = False) -> "HostedModel":
        """Return the connection, opened once."""
        return self._connected

    @cached_property
    def _connected(self) -> "HostedModel":
        from elicitation.models.hosted.model import connect

        return connect(self.place, **arguments_of(connect, self.options))


def arguments_of(function: Callable[..., Any], options: ModelOptions) -> dict[str, Any]:
    """Return the options that are parameters of a function, by their names, as far as given."""
    given = {name: getattr(options, name, None) for name in inspect.signature(function).parameters}
    return {name: value for name, value in given.items() if value is not None and name != "model"}


class Agent(Respondent):
    """A simulated agent, which answers from the exact posteriors of a task's cases."""

    options: AskOptions

    def __init__(self, options: AskOptions, subject: "Subject", cases: "pd.DataFrame") -> None:
        super().__init__(options, str(options.agent), str(options.agent))
        self.subject, self.cases = subject, cases

    def load(self, *, chooses: bool = False) -> Any:
        """Make the agent."""
        from elicitation.simulated_model import agent_for_task

        asked = {name: getattr(self.options, name) for name in ("decision", "levels", "costs")}
        return agent_for_task(self.place, self.subject, self.cases, **asked)


def respondents_of(options: ModelOptions) -> list[Respondent]:
    """Return whom ``--model`` names; refuse hosted ones beside others, and one twice.

    Folders may have one name: as much of the path as tells them apart is added.
    """
    from coherence.errors import InputError
    from elicitation.models.base import provider_of

    named = options.named
    hosted = [model for model in named if options.server is not None or provider_of(model)]
    if hosted and len(hosted) < len(named):
        raise InputError(
            f"--model names hosted models ({', '.join(hosted)}) beside others. "
            "Ask them in two commands."
        )
    if hosted:
        if len(set(named)) < len(named):
            raise InputError(f"--model must name different models; received {', '.join(named)}.")
        return [Hosted(options, model, model) for model in named]
    places = [Path(place) for place in named]
    if len({place.resolve() for place in places}) < len(places):
        raise InputError(f"--model must name different models; received {', '.join(named)}.")
    # The last name, not the target of a link: linking tells two folders of one name apart.
    names = [place.absolute().name.removesuffix(".gguf") for place in places]
    if len(set(names)) < len(names):
        tails = (
            [Path(*place.resolve().parts[-n:]).as_posix() for place in places] for n in count(2)
        )
        names = next(each for each in tails if len(set(each)) == len(each))
    return [Local(options, place, name) for place, name in zip(named, names, strict=True)]


USUAL_CASES = 200
OF_A_TASK = ("target", "contexts", "phrases", "positive", "records", "min_records")


def require_fitting(options: AskOptions, say: Callable[[str], str] | None = None) -> None:
    """Raise for options that do not go together; `say` writes one as whoever set it does."""
    from coherence.errors import InputError

    say = say or partial(typed, AskOptions)
    if options.agent is not None:
        for name in ("questions", "server", "model"):
            if getattr(options, name) is not None:
                raise InputError(
                    f"{say('agent')} answers the questions of {say('task')} by itself; "
                    f"leave {say(name)} out."
                )
        if files := [word for word in options.prompts.split(",") if word.strip().endswith(".toml")]:
            raise InputError(
                f"{say('agent')} knows the built-in prompts alone; received {say('prompts')} "
                f"{', '.join(files)}. Leave the file out, or name a {say('model')}."
            )
    for name in OF_A_TASK if options.questions is not None else ():
        if getattr(options, name) is not None:
            raise InputError(
                f"{say(name)} belongs to {say('task')}; the rows of {say('questions')} are the "
                "contexts. Leave it out."
            )


def design_of(options: AskOptions) -> "Design":
    """Return how often, in which ways and how randomly questions are asked.

    A file of prompt variants brings all of its own at its place in the list.
    """
    from elicitation.questions.plan import Design
    from elicitation.questions.prompts import NETWORK_PROMPTS, TABLE_PROMPTS, load_prompts

    templates = NETWORK_PROMPTS if options.questions is None else TABLE_PROMPTS
    names: list[str] = []
    for word in (word.strip() for word in options.prompts.split(",")):
        if word.endswith(".toml"):
            templates, variants = load_prompts(word, templates)
            names += variants or PROMPTS  # a file may change the question for the action alone
        elif word:
            names.append(word)
    ways = {name: getattr(options, name) for name in declared(WayOptions)}
    return Design(**{**ways, "prompts": tuple(names), "templates": templates})


@dataclass(frozen=True)
class Source:
    """What a session asks about."""

    cases: "pd.DataFrame"  # the contexts, or the questions of the user's own
    # where the cases are from; None of questions of the user's own
    subject: "Subject | None" = None


def source_of(options: AskOptions) -> Source:
    """Return what a session asks about, its cases drawn."""
    if options.questions is not None:
        from elicitation.questions.tasks import load_questions

        return Source(load_questions(options.questions))
    from elicitation.questions.tasks import is_network_file, load_task

    assert options.task is not None, "options were checked"
    if is_network_file(options.task) and options.phrases is None:
        print(
            f"plain words made of the names in {options.task} are used; "
            f"'coherence networks phrases {options.task} --out FILE.toml' begins better ones",
            file=sys.stderr,
        )
    about = {name: getattr(options, name) for name in OF_A_TASK if name != "contexts"}
    task = load_task(options.task, **about)
    number = USUAL_CASES if options.contexts is None else options.contexts
    return Source(task.cases(number, seed=options.seed), task)


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
