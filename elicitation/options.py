"""Options of the commands that ask, declared once for command line, study file, ``--set``, ``-T``.

An option is a field of a frozen dataclass, with its type and default, and a row of the table that
the class is headed by: what it sets, in which group of the help it stands, and which numbers it
takes; those with a star are kept out of the help and said by ``--set``. Whatever says an option
goes through `read_value`, so that all refuse alike.
"""

import argparse
import dataclasses
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import NoneType, UnionType
from typing import Any, ClassVar, Literal, TypeVar, Union, get_args, get_origin

from elicitation.ways import PROMPTS, WayOptions

SETTINGS_PAGE = "docs/eliciting.md#settings"
TITLES = {
    "model": "the model that is asked",
    "hosted": "hosted models, see docs/servers.md",
    "subject": "what is asked about",
    "ways": "how it is asked",
    "store": "the store of answers",
    "look": "looking without asking",
    "grid": "grid: 852 settings without any of these",
}
Options = TypeVar("Options")


@dataclass(frozen=True)
class Option:
    """An option of a command: a field of its dataclass with its row of the table."""

    name: str
    kind: Any  # type of its values, None aside
    default: Any
    help: str
    group: str
    metavar: str | None
    nargs: str | None
    least: float | None  # least and most: of a number
    most: float
    advanced: bool


@dataclass(frozen=True, kw_only=True)
class ModelOptions:
    """Who is asked, where it runs, where answers are kept, and how to look without asking."""

    command: ClassVar[str]
    left_out: ClassVar[tuple[str, ...]] = ()  # options that a command does not take

    model: Any = None
    HELP = """
[model]
chat  use the chat template (default: if there is one)
*system  system message before every question of a chat model (default: none)
*prefill  what every answer of a local model begins with (default: nothing)
*dtype  precision (default: auto, float32 on a processor)
device NAME  torch device (default: a GPU if there is one)
*revision  branch, tag or commit of a model on the hub (default: its main branch)
*device_map  spreads a model over devices: auto, balanced, ... or a JSON object, as transformers
    takes it; instead of device
batch_size 1..  most texts at a time (default: what memory allows, and 64 drawn answers)
[hosted]
server URL  OpenAI-compatible server of the model, whose name there --model is
*server_name  keeps answers under this name instead of the address
api_key_env VARIABLE  environment variable that holds the API key (default: the provider's usual
    one; with --server no key)
*max_connections 1..256  questions under way (default: 8)
*timeout 1..  seconds for a question, with all waits and tries (default: 600)
reasoning_effort WORD  how much the model thinks: none, low, medium, high, ... (default: its own)
*chat_template_kwargs  arguments of the chat template, such as '{"enable_thinking": false}'
*extra_body  further fields of every request, such as '{"top_k": 20}'
[store]
store FILE  where the model's answers are kept, for resuming (default: beside the results)
keep_going  ask on where none of the first 50 answers can be read
[look]
dry_run  say how much would be asked, and how much the store has
"""

    chat: bool | None = None
    system: str | None = None
    prefill: str = ""
    dtype: Literal["auto", "float32", "bfloat16", "float16"] = "auto"
    device: str = "auto"
    revision: str | None = None
    device_map: str | None = None
    batch_size: int | None = None
    server: str | None = None
    server_name: str | None = None
    api_key_env: str | None = None
    max_connections: int = 8
    timeout: int = 600
    reasoning_effort: str | None = None
    chat_template_kwargs: Mapping[str, Any] | None = None
    extra_body: Mapping[str, Any] | None = None
    store: str | None = None
    keep_going: bool = False
    dry_run: bool = False

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
class SubjectOptions(ModelOptions):
    """What is asked about."""

    HELP = """
[subject]
task NAME_OR_FILE  network or data set that supplies the cases, such as asia or randhie, or a
    network of your own: .bif, .xml, .xmlbif, .bifxml or .json, also as .gz
questions FILE  questions of your own instead of a network: .csv or .jsonl, see
    docs/eliciting.md#your-own-questions
target VARIABLE  variable asked about (default: the usual one of the task)
contexts 1..  number of contexts of a network (default: 200)
phrases FILE  words of a network of your own, .toml; 'coherence networks phrases' begins one
    (default: plain words made of its names)
positive STATE  without --phrases, the state of --target whose probability is asked for (default:
    the one called yes, true, present or positive)
*records  records that a network of your own was fitted to: .csv or .parquet
*min_records  records that must show the evidence of a case, where the truth comes from records
    (default: 100; 0 takes any case)
"""

    task: str | None = None
    questions: str | None = None
    target: str | None = None
    contexts: int | None = None
    phrases: str | None = None
    positive: str | None = None
    records: str | None = None
    min_records: int | None = None


@dataclass(frozen=True, kw_only=True)
class AskOptions(WayOptions, SubjectOptions):
    """Options of a session: who is asked, what, in which ways."""

    command: ClassVar[str] = "elicit"

    HELP = """
[model]
model MODEL  causal model: a folder as written by save_pretrained, a .gguf file, or OWNER/NAME of
    the hub; see docs/eliciting.md#models; or PROVIDER/NAME of a hosted model; with --server its
    name there
[look]
show_prompts 1..  print the first N different questions as they would be asked
[]
agent NAME  a simulated agent instead of a model, such as leaky; only with --task
out FILE  runs table to write: .parquet, .csv or .jsonl
"""

    model: str | None = None
    prompts: str = ",".join(PROMPTS)
    show_prompts: int | None = None
    agent: str | None = None
    out: str | None = None


_ROW = re.compile(
    r"(?P<advanced>\*?)(?P<name>[a-z_]+)(?: (?P<metavar>[A-Z_/=,:]+(?:=A,B)?)(?P<nargs>\.{3})?)?"
    r"(?: (?P<least>[0-9]+)\.\.(?P<most>[0-9]*))?  (?P<help>\S.*)"
)


def declared(options: type[Any]) -> dict[str, Option]:
    """Return the options of a class by their names, which are the keys of a study file.

    They are its fields with a row in ``HELP``, in the class or in one that it extends. A row has a
    star where ``--set`` says the option, then name, placeholder, range and help, which may go on in
    lines that are indented; above it stands its group.
    """
    rows: dict[str, tuple[str, re.Match[str]]] = {}
    for each in reversed(options.__mro__):
        group = ""
        table = getattr(each, "HELP", "") if "HELP" in vars(each) else ""
        for line in table.replace("\n    ", " ").strip().splitlines():
            if line.startswith("["):
                group = line.strip("[]")
                continue
            row = _ROW.fullmatch(line)
            assert row is not None, f"{each.__name__}.HELP: {line}"
            rows[row["name"]] = (group, row)
    items = {}
    for item in dataclasses.fields(options):
        if item.name not in rows or item.name in getattr(options, "left_out", ()):
            continue
        kind: Any = item.type
        if get_origin(kind) in (Union, UnionType):
            (kind,) = (each for each in get_args(kind) if each is not NoneType)
        group, row = rows[item.name]
        least = float(row["least"]) if row["least"] else None
        items[item.name] = Option(
            *(item.name, kind, item.default, row["help"], group, row["metavar"]),
            *(row["nargs"] and "+", least, float(row["most"] or "inf"), bool(row["advanced"])),
        )
    return items


def flag_of(name: str) -> str:
    """Return an option as the command line has it."""
    return f"--{name.replace('_', '-')}"


def typed(options: type[Any], name: str) -> str:
    """Return what says an option on the command line: a flag, or ``--set`` and its key."""
    return f"--set {name}" if declared(options)[name].advanced else flag_of(name)


def add_options(parser: argparse.ArgumentParser, options: type[Any], *, prefix: str = "") -> None:
    """Declare options on the command line, and ``--set`` where there are advanced ones.

    None has a default there: what is absent was not said.
    """
    groups: dict[str, argparse._ActionsContainer] = {"": parser}
    items = declared(options)
    for name, item in items.items():
        if item.advanced:
            continue
        if item.group not in groups:
            groups[item.group] = parser.add_argument_group(TITLES[item.group])
        _add_option(groups[item.group], item, dest=f"{prefix}{name}")
    if any(item.advanced for item in items.values()):
        parser.add_argument(
            "--set",
            dest="settings",
            metavar="KEY=VALUE",
            action="append",
            default=[],
            help="a setting that few need, such as timeout=30; repeat it for several; "
            f"{SETTINGS_PAGE} lists them",
        )


def _add_option(group: argparse._ActionsContainer, item: Option, *, dest: str) -> None:
    """Declare one option; its words are read by `read_value`, not by argparse."""
    kind = item.kind
    keywords: dict[str, Any] = {"help": item.help, "default": argparse.SUPPRESS}
    if kind is bool:
        keywords["action"] = (
            argparse.BooleanOptionalAction if item.default is not False else "store_true"
        )
    else:
        usual = "N" if kind is int else "X" if kind is float else item.name.upper()
        choices = get_args(kind) if get_origin(kind) is Literal else ()
        keywords["metavar"] = f"{{{','.join(choices)}}}" if choices else item.metavar or usual
        if get_origin(kind) is tuple:
            keywords["action"] = "extend" if item.nargs else "append"
            keywords["nargs"] = item.nargs
    group.add_argument(flag_of(item.name), dest=dest, **keywords)


def from_words(
    options: type[Options],
    args: argparse.Namespace,
    *,
    prefix: str = "",
) -> Options:
    """Return what the command line says; the last call in which argparse has a part.

    Words of an action within a command have a `prefix`.
    """
    items, values, words = declared(options), {}, vars(args)
    for name, item in items.items():
        if (at := f"{prefix}{name}") in words:
            word = words[at]
            listed = tuple(word) if isinstance(word, list) else word
            values[name] = (
                read_value(item, word, flag_of(name)) if isinstance(word, str) else listed
            )
    settings = {} if prefix else _from_settings(items, words.get("settings", ()))
    return options(**{**values, **settings})


def _from_settings(items: Mapping[str, Option], words: Iterable[str]) -> dict[str, Any]:
    from coherence.errors import InputError, closest

    values = {}
    advanced = {name: item for name, item in items.items() if item.advanced}
    for word in words:
        key, _, value = word.partition("=")
        if key not in advanced or not value:
            what = f"has no key {key!r}" if key not in advanced and value else "must be KEY=VALUE"
            raise InputError(f"--set {what}; received {word!r}. {closest(key, advanced)}")
        values[key] = read_value(advanced[key], value, f"--set {key}")
    return values


def from_table(options: type[Options], table: Mapping[str, Any]) -> Options:
    """Return what a table of a study file, or the arguments of a task of Inspect, say."""
    from coherence.errors import InputError, closest

    items = declared(options)
    for key in table:
        if key not in items:
            raise InputError(f"{key} is unknown. {closest(key, items)}")
    return options(**{key: _from_value(items[key], value) for key, value in table.items()})


def _from_value(item: Option, value: Any) -> Any:
    """Read a value of a file by the word that the command line would have for it."""
    from coherence.errors import InputError

    kind, name = item.kind, item.name
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


def require_in_range(options: Any) -> None:
    """Refuse options that no command line could say."""
    for name, item in declared(type(options)).items():
        value = getattr(options, name)
        ranged = item.kind in (int, float) or get_origin(item.kind) is Literal
        if ranged and not (value is None and item.default is None):
            read_value(item, str(value), name)


def read_value(item: Option, word: str, name: str) -> Any:
    """Return what a word says of an option, called `name` where it is refused."""
    from coherence.errors import InputError

    kind = item.kind
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
        return json_object(word, name)
    else:
        return word
    raise InputError(f"{name} {rule}; received {word!r}.")


def _number(item: Option, word: str) -> tuple[str, float | None]:
    """Return the rule of a number, and the number where it keeps to it."""
    kind, least, most = item.kind, item.least, item.most
    try:
        number: float = kind(word)
    except ValueError:
        return f"must be a {'whole ' if kind is int else ''}number", None
    if least is None:
        return "", number
    rule = f"must be at least {least:g}" + (f" and at most {most:,.0f}" if most < 1e300 else "")
    # Put so that NaN, which compares with nothing, is refused as well.
    return rule, number if least <= number <= most else None


def json_object(text: str, name: str) -> dict[str, Any]:
    """Return the object that a word says of an option, called `name` where it is refused."""
    from coherence.errors import InputError

    try:
        fields = json.loads(text)
    except (ValueError, RecursionError) as error:
        # The text is not shown: what belongs into a header may stand in it.
        raise InputError(
            f"{name} must be a JSON object in single quotes; it is no JSON: {error}."
        ) from error
    if not isinstance(fields, dict):
        raise InputError(f"{name} must be a JSON object, such as '{{\"top_k\": 20}}'.")
    return fields
