"""How options are declared, once for command line, study file, ``--set`` and ``-T``, and read.

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
from typing import Any, Literal, TypeVar, Union, get_args, get_origin

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
