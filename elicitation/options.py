"""Options of the commands that ask, declared once for command line, study file, ``--set``, ``-T``.

An option is a field of a frozen dataclass, whose metadata say what it sets, in which group of the
help it stands, and which numbers it takes; advanced ones are kept out of the help and said by
``--set``. Whatever says an option goes through `read_value`, so that all refuse alike.
"""

import argparse
import dataclasses
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import NoneType, UnionType
from typing import Any, ClassVar, Literal, TypeVar, Union, get_args, get_origin

Way = Literal["verbalised", "token", "sampled"]
Answers = Literal["drawn", "forced", "exact"]
"""Ways to an answer: in free text; drawn from those in the form asked for; their distribution."""
Decision = Literal["usual", "matching", "stakes"]
"""What is asked besides beliefs: an action; an event or a stated chance; to act for payoffs."""
USUAL_LEVELS, MOST_LEVELS = 10, 99
"""Chances that matching questions state, and most of them that are different whole percents."""
PROMPTS = ("standard", "mse", "absolute", "bayes")
SETTINGS_PAGE = "docs/eliciting.md#settings"
MODEL, HOSTED, SUBJECT, WAYS = "model", "hosted", "subject", "ways"
STORE, LOOK, GRID = "store", "look", "grid"
TITLES = {
    MODEL: "the model that is asked",
    HOSTED: "hosted models, see docs/servers.md",
    SUBJECT: "what is asked about",
    WAYS: "how it is asked",
    STORE: "the store of answers",
    LOOK: "looking without asking",
    GRID: "grid: 852 settings without any of these",
}
Options = TypeVar("Options")


def option(
    default: Any,
    text: str,
    *,
    group: str = "",
    metavar: str | None = None,
    least: float | None = None,
    most: float = float("inf"),
    advanced: bool = False,
    nargs: str | None = None,
) -> Any:
    """Return a field that is an option; `text` is its help."""
    held = {"help": text, "group": group, "metavar": metavar, "least": least, "most": most}
    return field(default=default, metadata={**held, "advanced": advanced, "nargs": nargs})


@dataclass(frozen=True, kw_only=True)
class ModelOptions:
    """Who is asked, where it runs, where answers are kept, and how to look without asking."""

    command: ClassVar[str]

    model: Any = None
    chat: bool | None = option(
        None, "use the chat template (default: if there is one)", group=MODEL
    )
    system: str | None = option(
        None,
        "system message before every question of a chat model (default: none)",
        group=MODEL,
        advanced=True,
    )
    prefill: str = option(
        "",
        "what every answer of a local model begins with (default: nothing)",
        group=MODEL,
        advanced=True,
    )
    dtype: Literal["auto", "float32", "bfloat16", "float16"] = option(
        "auto", "precision (default: auto, float32 on a processor)", group=MODEL, advanced=True
    )
    device: str = option(
        "auto", "torch device (default: a GPU if there is one)", group=MODEL, metavar="NAME"
    )
    revision: str | None = option(
        None,
        "branch, tag or commit of a model on the hub (default: its main branch)",
        group=MODEL,
        advanced=True,
    )
    device_map: str | None = option(
        None,
        "spreads a model over devices: auto, balanced, ... or a JSON object, as transformers takes "
        "it; instead of device",
        group=MODEL,
        advanced=True,
    )
    quantization: Literal["8bit", "4bit"] | None = option(
        None,
        "quantises the weights by bitsandbytes while they are loaded (default: not at all)",
        group=MODEL,
        advanced=True,
    )
    batch_size: int | None = option(
        None,
        "most texts at a time (default: what memory allows, and 64 drawn answers)",
        group=MODEL,
        least=1,
    )
    server: str | None = option(
        None,
        "OpenAI-compatible server of the model, whose name there --model is",
        group=HOSTED,
        metavar="URL",
    )
    server_name: str | None = option(
        None,
        "keeps answers under this name instead of the address",
        group=HOSTED,
        advanced=True,
    )
    api_key_env: str | None = option(
        None,
        "environment variable that holds the API key (default: the provider's usual one; with "
        "--server no key)",
        group=HOSTED,
        metavar="VARIABLE",
    )
    max_connections: int = option(8, "questions under way (default: 8)", advanced=True)
    timeout: int = option(
        600, "seconds for a question, with all waits and tries (default: 600)", advanced=True
    )
    reasoning_effort: str | None = option(
        None,
        "how much the model thinks: none, low, medium, high, ... (default: its own)",
        group=HOSTED,
        metavar="WORD",
    )
    chat_template_kwargs: Mapping[str, Any] | None = option(
        None,
        "arguments of the chat template, such as '{\"enable_thinking\": false}'",
        advanced=True,
    )
    extra_body: Mapping[str, Any] | None = option(
        None, "further fields of every request, such as '{\"top_k\": 20}'", advanced=True
    )
    store: str | None = option(
        None,
        "where the model's answers are kept, for resuming (default: beside the results)",
        group=STORE,
        metavar="FILE",
    )
    keep_going: bool = option(
        False, "ask on where none of the first 50 answers can be read", group=STORE
    )
    dry_run: bool = option(
        False, "say how much would be asked, and how much the store has", group=LOOK
    )

    @property
    def named(self) -> tuple[str, ...]:
        """What ``--model`` names."""
        return () if self.model is None else (str(self.model),)

    @property
    def drawn_at_a_time(self) -> int:
        """How many drawn answers make a call of the model and a write to the store."""
        # A kill loses the batch under way: enough texts to keep a model busy, and no more.
        return 64 if self.batch_size is None else self.batch_size


@dataclass(frozen=True, kw_only=True)
class AskOptions(ModelOptions):
    """Options of a session: who is asked, what, in which ways."""

    command: ClassVar[str] = "elicit"

    model: str | None = option(
        None,
        "causal or multiple-choice model: a folder as written by save_pretrained, a .gguf file, or "
        "OWNER/NAME of the hub; see docs/eliciting.md#models; or PROVIDER/NAME of a hosted model; "
        "with --server its name there",
        group=MODEL,
        metavar="MODEL",
    )
    task: str | None = option(
        None,
        "network or data set that supplies the cases, such as asia or randhie, or a network of "
        "your own: .bif, .xml, .xmlbif, .bifxml or .json, also as .gz",
        group=SUBJECT,
        metavar="NAME_OR_FILE",
    )
    questions: str | None = option(
        None,
        "questions of your own instead of a network: .csv or .jsonl, see "
        "docs/eliciting.md#your-own-questions",
        group=SUBJECT,
        metavar="FILE",
    )
    target: str | None = option(
        None,
        "variable asked about (default: the usual one of the task)",
        group=SUBJECT,
        metavar="VARIABLE",
    )
    contexts: int | None = option(
        None, "number of contexts of a network (default: 200)", group=SUBJECT, least=1
    )
    phrases: str | None = option(
        None,
        "words of a network of your own, .toml; 'coherence networks phrases' begins one (default: "
        "plain words made of its names)",
        group=SUBJECT,
        metavar="FILE",
    )
    positive: str | None = option(
        None,
        "without --phrases, the state of --target whose probability is asked for (default: the one "
        "called yes, true, present or positive)",
        group=SUBJECT,
        metavar="STATE",
    )
    records: str | None = option(
        None,
        "records that a network of your own was fitted to: .csv or .parquet",
        group=SUBJECT,
        advanced=True,
    )
    min_records: int | None = option(
        None,
        "records that must show the evidence of a case, where the truth comes from records "
        "(default: 100; 0 takes any case)",
        group=SUBJECT,
        advanced=True,
    )
    answers: Answers = option(
        "drawn",
        "free text that is read, drawn from the answers in the form asked for, or the distribution "
        "over these without any draw; see docs/eliciting.md (default: drawn)",
        group=WAYS,
    )
    min_mass: float = option(
        0.0,
        "leave unread what is read off answers that have less probability together (default: 0; "
        "below .5 the status says low_mass)",
        group=WAYS,
        advanced=True,
        least=0,
        most=1,
    )
    reps: int | None = option(
        None,
        "draws per question (default: 5; with --answers exact nothing is drawn)",
        group=WAYS,
        least=1,
    )
    prompts: str = option(
        ",".join(PROMPTS),
        "prompt variants of the belief question, and .toml files with variants of your own "
        f"(default: {','.join(PROMPTS)})",
        group=WAYS,
        metavar="LIST",
    )
    belief: Way = option(
        "verbalised",
        "stated as a number, read from the probability of Yes, or from the rate of Yes over draws "
        "(default: verbalised)",
        group=WAYS,
    )
    decision: Decision = option(
        "usual",
        "an action; the event or a lottery of stated chance for the same prize (matching); or to "
        "act or pass for stated payoffs (stakes); see docs/eliciting.md (default: usual)",
        group=WAYS,
    )
    levels: int | None = option(
        None,
        f"chances that matching questions state (default: {USUAL_LEVELS}, from 5 to 95 percent)",
        group=WAYS,
        least=2,
        most=MOST_LEVELS,
    )
    draws: int = option(
        20, "answers of one sampled belief (default: 20)", group=WAYS, advanced=True, least=1
    )
    iterated: bool = option(
        True,
        "ask the questions of the law of iterated expectation (default); --no-iterated leaves them "
        "out",
        group=WAYS,
    )
    temperature: float = option(
        1.0, "0 takes the most probable answer (default: 1)", group=WAYS, metavar="T", least=0
    )
    max_new_tokens: int | None = option(
        None,
        "cut of every answer (default: 256, or what a longer form needs; a model that thinks aloud "
        "needs thousands)",
        group=WAYS,
        least=1,
    )
    seed: int = option(0, "seed of the cases and of the draws (default: 0)", group=WAYS, least=0)
    show_prompts: int | None = option(
        None, "print the first N different questions as they would be asked", group=LOOK, least=1
    )
    agent: str | None = option(
        None,
        "a simulated agent instead of a model, such as leaky; only with --task",
        metavar="NAME",
    )
    out: str | None = option(None, "runs table to write: .parquet, .csv or .jsonl", metavar="FILE")


def declared(options: type[Any]) -> dict[str, dataclasses.Field[Any]]:
    """Return the options of a class by their names, which are the keys of a study file."""
    return {each.name: each for each in dataclasses.fields(options) if "help" in each.metadata}


def flag_of(name: str) -> str:
    """Return an option as the command line has it."""
    return f"--{name.replace('_', '-')}"


def typed(options: type[Any], name: str) -> str:
    """Return what says an option on the command line: a flag, or ``--set`` and its key."""
    advanced = declared(options)[name].metadata["advanced"]
    return f"--set {name}" if advanced else flag_of(name)


def _kind(item: dataclasses.Field[Any]) -> Any:
    """Return the type of an option's values, None aside."""
    if get_origin(item.type) not in (Union, UnionType):
        return item.type
    (kind,) = (each for each in get_args(item.type) if each is not NoneType)
    return kind


def add_options(parser: argparse.ArgumentParser, options: type[Any], *, prefix: str = "") -> None:
    """Declare options on the command line, and ``--set`` where there are advanced ones.

    None has a default there: what is absent was not said.
    """
    groups: dict[str, argparse._ActionsContainer] = {"": parser}
    items = declared(options)
    for name, item in items.items():
        held = item.metadata
        if held["advanced"]:
            continue
        if held["group"] not in groups:
            groups[held["group"]] = parser.add_argument_group(TITLES[held["group"]])
        _add_option(groups[held["group"]], name, item, dest=f"{prefix}{name}")
    if any(item.metadata["advanced"] for item in items.values()):
        parser.add_argument(
            "--set",
            dest="settings",
            metavar="KEY=VALUE",
            action="append",
            default=[],
            help="a setting that few need, such as timeout=30; repeat it for several; "
            f"{SETTINGS_PAGE} lists them",
        )


def _add_option(
    group: argparse._ActionsContainer, name: str, item: dataclasses.Field[Any], *, dest: str
) -> None:
    """Declare one option; its words are read by `read_value`, not by argparse."""
    held, kind = item.metadata, _kind(item)
    said: dict[str, Any] = {"help": held["help"], "default": argparse.SUPPRESS}
    if kind is bool:
        said["action"] = (
            argparse.BooleanOptionalAction if item.default is not False else "store_true"
        )
    else:
        usual = "N" if kind is int else "X" if kind is float else name.upper()
        choices = get_args(kind) if get_origin(kind) is Literal else ()
        said["metavar"] = f"{{{','.join(choices)}}}" if choices else held["metavar"] or usual
        if get_origin(kind) is tuple:
            said["action"] = "extend" if held["nargs"] else "append"
            said["nargs"] = held["nargs"]
    group.add_argument(flag_of(name), dest=dest, **said)


def from_words(
    options: type[Options],
    args: argparse.Namespace,
    *,
    prefix: str = "",
    shared: Sequence[str] = (),
) -> Options:
    """Return what the command line says; the last call in which argparse has a part.

    Words of an action within a command have a `prefix`; those of the command hold for the action
    too where they are `shared` with it.
    """
    items, given, words = declared(options), {}, vars(args)
    for name, item in items.items():
        at = f"{prefix}{name}" if f"{prefix}{name}" in words or name not in shared else name
        if at in words:
            word = words[at]
            listed = tuple(word) if isinstance(word, list) else word
            given[name] = read_value(item, word, flag_of(name)) if isinstance(word, str) else listed
    settings = {} if prefix else _from_settings(items, words.get("settings", ()))
    return options(**{**given, **settings})


def _from_settings(
    items: Mapping[str, dataclasses.Field[Any]], words: Iterable[str]
) -> dict[str, Any]:
    from coherence.errors import InputError, closest

    given = {}
    advanced = {name: item for name, item in items.items() if item.metadata["advanced"]}
    for word in words:
        key, _, value = word.partition("=")
        if key not in advanced or not value:
            what = f"has no key {key!r}" if key not in advanced and value else "must be KEY=VALUE"
            raise InputError(f"--set {what}; received {word!r}. {closest(key, advanced)}")
        given[key] = read_value(advanced[key], value, f"--set {key}")
    return given


def from_table(options: type[Options], table: Mapping[str, Any]) -> Options:
    """Return what a table of a study file, or the arguments of a task of Inspect, say."""
    from coherence.errors import InputError, closest

    items = declared(options)
    for key in table:
        if key not in items:
            raise InputError(f"{key} is unknown. {closest(key, items)}")
    return options(**{key: _from_value(items[key], value) for key, value in table.items()})


def _from_value(item: dataclasses.Field[Any], value: Any) -> Any:
    """Read a value of a file by the word that the command line would have for it."""
    from coherence.errors import InputError

    kind, name = _kind(item), item.name
    if value is None and item.default is None:
        return None
    if isinstance(value, bool) != (kind is bool) and not isinstance(value, str):
        takes = "true or false" if kind is bool else "a value, not true or false"
        raise InputError(f"{name} must be {takes}; received {json.dumps(value, default=str):.80}.")
    if isinstance(value, Mapping):
        return read_value(item, json.dumps(value), name)
    values = list(value) if isinstance(value, list | tuple) else [value]
    if not all(isinstance(each, str | int | float) for each in values) or not values:
        raise InputError(
            f"{name} must be a text, a number or a list; "
            f"received {json.dumps(value, default=str):.80}."
        )
    if get_origin(kind) is tuple:
        return tuple(map(str, values))
    word = str(value).lower() if isinstance(value, bool) else ",".join(map(str, values))
    return read_value(item, word, name)


def read_value(item: dataclasses.Field[Any], word: str, name: str) -> Any:
    """Return what a word says of an option, called `name` where it is refused."""
    from coherence.errors import InputError

    kind = _kind(item)
    if get_origin(kind) is Literal:
        rule = f"must be one of {', '.join(get_args(kind))}"
        if word in get_args(kind):
            return word
    elif kind is bool:
        rule = "must be true or false"
        if word in ("true", "false"):
            return word == "true"
    elif kind in (int, float):
        rule, number = _number(item, word)
        if number is not None:
            return number
    elif get_origin(kind) is not None and get_origin(kind) is not tuple:
        return _json_object(word, name)
    else:
        return word
    raise InputError(f"{name} {rule}; received {word!r}.")


def _number(item: dataclasses.Field[Any], word: str) -> tuple[str, float | None]:
    """Return the rule of a number, and the number where it keeps to it."""
    kind, least, most = _kind(item), item.metadata["least"], item.metadata["most"]
    try:
        number: float = kind(word)
    except ValueError:
        return f"must be a {'whole ' if kind is int else ''}number", None
    rule = f"must be at least {least}" + (f" and at most {most:,.0f}" if most < 1e300 else "")
    # Put so that NaN, which compares with nothing, is refused as well.
    return rule, number if least is None or least <= number <= most else None


def _json_object(text: str, name: str) -> dict[str, Any]:
    from coherence.errors import InputError

    try:
        fields = json.loads(text)
    except (ValueError, RecursionError) as error:
        # The text is not shown: what belongs into a header may stand in it.
        raise InputError(f"{name} must be a JSON object; it is no JSON: {error}.") from error
    if not isinstance(fields, dict):
        raise InputError(f"{name} must be a JSON object, such as '{{\"top_k\": 20}}'.")
    return fields
