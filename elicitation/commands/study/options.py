"""Tables of a study file as options of the commands that ask.

A key of the file is an option of ``coherence elicit`` (of a battery: of its command), with ``_``
for ``-``. The parsers of these commands say which options there are and what they take, so that a
study can say whatever a session can, and nothing is declared twice.
"""

import argparse
import importlib
import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from coherence.cli.main import MODULES
from coherence.errors import InputError, closest
from elicitation.commands.settings import QuietParser
from elicitation.questions.tasks import is_network_file

DESIGN = (
    "answers",
    "min_mass",
    "reps",
    "prompts",
    "belief",
    "draws",
    "no_lie",
    "temperature",
    "max_new_tokens",
)
"""Keys that a study, a model or a task may hold: in which ways questions are asked."""
CASES = ("contexts", "seed")
"""Keys that decide which cases are drawn: equal for all models, which are compared by case."""
TASK = ("task", "questions", "target", "phrases", "positive", "records", "min_records")
NOT_IN_A_STUDY = (
    *("out", "store", "resume", "status", "dry_run", "show_prompts"),
    *("price_in", "price_out", "help"),
)
"""Options of ``elicit`` that the study itself decides on."""
_DRAWN_ONLY = ("reps", "temperature")
_FILES = ("questions", "phrases", "records")


@cache
def parser_of(command: str) -> argparse.ArgumentParser:
    """Return the parser of a command that asks, which raises an `InputError` for wrong words."""
    parser = QuietParser(prog=f"coherence {command}", add_help=False, allow_abbrev=False)
    importlib.import_module(MODULES[command]).declare(parser, parser)
    return parser


@cache
def _actions(command: str) -> dict[str, argparse.Action]:
    """Return the options of a command by their key in a file."""
    # Of an option and its negation, --chat and --no-chat, the first is the key.
    return {
        action.option_strings[0].removeprefix("--").replace("-", "_"): action
        for action in parser_of(command)._actions
        if action.option_strings
    }


def keys_of(command: str) -> tuple[str, ...]:
    """Return the keys of a command's options."""
    return tuple(_actions(command))


@cache
def model_keys() -> tuple[str, ...]:
    """Return the keys that say who is asked and how it is reached."""
    beside = {*DESIGN, *CASES, *TASK, *NOT_IN_A_STUDY}
    return tuple(key for key in keys_of("elicit") if key not in beside)


def words_of(command: str, key: str, value: Any) -> list[str]:
    """Return what a key and its value would be on the command line."""
    action = _actions(command)[key]
    option = f"--{key.replace('_', '-')}"
    flag = action.nargs == 0
    if flag != isinstance(value, bool):
        takes = "true or false" if flag else "a value, not true or false"
        raise InputError(f"{key} must be {takes}; received {_shown(value)}.")
    if flag:
        if isinstance(action, argparse.BooleanOptionalAction):
            return [option if value else f"--no-{option.removeprefix('--')}"]
        return [option] if value else []
    if isinstance(value, Mapping):
        return [f"{option}={json.dumps(value)}"]
    values = value if isinstance(value, list) else [value]
    if not all(isinstance(each, str | int | float) for each in values) or not values:
        raise InputError(f"{key} must be a text, a number or a list; received {_shown(value)}.")
    # A value that begins with a dash is a value: the equals sign says so.
    if action.nargs == "+":
        return [option, *map(str, values)]
    if type(action).__name__ in ("_AppendAction", "_ExtendAction"):
        return [f"{option}={each}" for each in values]
    return [f"{option}={','.join(map(str, values))}"]


def _shown(value: Any) -> str:
    return json.dumps(value, default=str)[:80]


def parse(command: str, table: Mapping[str, Any]) -> argparse.Namespace:
    """Return the options of a command as a table of the file says them."""
    words = [word for key, value in table.items() for word in words_of(command, key, value)]
    options = parser_of(command).parse_args(words)
    options.command = command
    return options


def unknown_keys(table: Mapping[str, Any], known: tuple[str, ...]) -> list[str]:
    """Return an error for each key that is not known, with the nearest that is."""
    return [f"{key} is unknown. {closest(key, known)}" for key in table if key not in known]


def beside_the_file(table: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """Return a table whose paths start from the folder of the study file.

    A model may also be a name at a server or on the hub: only what exists there is a path.
    """
    found = dict(table)
    for key in _FILES:
        if isinstance(found.get(key), str):
            found[key] = str(folder / found[key])
    if isinstance(task := found.get("task"), str) and is_network_file(task):
        found["task"] = str(folder / task)
    model = found.get("model")
    if isinstance(model, str) and "server" not in found and (folder / model).exists():
        found["model"] = str(folder / model)
    if isinstance(prompts := found.get("prompts"), list | str):
        words = prompts.split(",") if isinstance(prompts, str) else prompts
        found["prompts"] = [
            str(folder / word.strip()) if str(word).strip().endswith(".toml") else word
            for word in words
        ]
    return found


def merged(
    study: Mapping[str, Any], model: Mapping[str, Any], task: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the options of one model on one task."""
    if both := sorted(set(model) & set(task)):
        raise InputError(
            f"{both[0]} is said by the model and by the task. Say it in one of them, or in [study]."
        )
    own = {**model, **task}
    usual = dict(study)
    if own.get("answers", usual.get("answers")) == "exact":
        usual = {key: value for key, value in usual.items() if key not in _DRAWN_ONLY}
    return {**usual, **own}
