"""The study file: which models are asked about which tasks, and in which ways.

A file is checked as a whole before anything is loaded, and all its errors are reported at once.
"""

import os
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from coherence.agents import AGENTS
from coherence.checks import CHECKS
from coherence.errors import InputError, suggestion
from elicitation.commands.study.options import (
    CASES,
    DESIGN,
    MODEL_KEYS,
    TASK,
    beside_the_file,
    merged,
    unknown_keys,
)
from elicitation.options import AskOptions, from_table
from elicitation.questions.prompt_file import read_toml

SECTIONS = ("study", "models", "tasks", "analysis")
_FOR_ALL = ("keep_going", "batch_size")
ANALYSIS: Mapping[str, type | tuple[type, ...]] = {
    "checks": list,
    "published": bool,
    "strict": bool,
    "positive": (str, list),
    "reference": str,
    "state": str,
    "seed": int,
}
"""Keys of ``[analysis]``: the options of ``coherence.analyze``, its `rng` as a seed."""
_KINDS: Mapping[type, str] = {
    list: "a list",
    bool: "true or false",
    str: "a text",
    int: "a whole number",
}
Entry = TypeVar("Entry")
_LONGEST_NAME = 80


@dataclass(frozen=True)
class ModelEntry:
    """One way of asking one model; a model asked in two ways has two entries."""

    name: str  # value of the `model` column
    # keys of ``coherence elicit``: who is asked, how it is reached, and in which ways
    options: Mapping[str, Any]

    @property
    def is_agent(self) -> bool:
        """Whether it is a simulated agent."""
        return "agent" in self.options


@dataclass(frozen=True)
class TaskEntry:
    """What is asked about."""

    name: str  # value of the `task` column
    options: Mapping[str, Any]  # keys of ``coherence elicit``


@dataclass(frozen=True)
class Study:
    """A study file, checked."""

    path: Path  # the file
    name: str  # title of the report
    # keys of ``coherence elicit`` that hold where neither model nor task says otherwise
    usual: Mapping[str, Any]
    models: tuple[ModelEntry, ...]  # in the order of the file
    tasks: tuple[TaskEntry, ...]  # in the order of the file
    analysis: Mapping[str, Any] = field(default_factory=dict)  # options of ``coherence.analyze``.


def load_study(path: str | os.PathLike[str]) -> Study:
    """Read a study file."""
    file = Path(path)
    content = read_toml(file, "study")
    errors = unknown_keys(content, SECTIONS)
    study = _table(content, "study", errors)
    shared = (*DESIGN, *CASES, *_FOR_ALL)
    errors += [f"[study] {text}" for text in unknown_keys(study, ("name", *shared))]
    name = _text_of(study, "name", file.stem, "[study]", errors)
    usual = beside_the_file({key: study[key] for key in shared if key in study}, file.parent)
    models = _entries(content, "models", lambda table: _model(table, file.parent), errors)
    tasks = _entries(content, "tasks", lambda table: _task(table, file.parent), errors)
    analysis = _table(content, "analysis", errors)
    errors += [f"[analysis] {text}" for text in analysis_errors(analysis)]
    if not content.get("models"):
        errors.append("there is no [[models]]: nobody is asked.")
    if not content.get("tasks"):
        errors.append("there is no [[tasks]]: nothing is asked.")
    errors += repeated("models", (entry.name for entry in models))
    errors += repeated("tasks", (entry.name for entry in tasks))
    if not errors:
        errors += _pair_errors(usual, models, tasks)
    if errors:
        raise InputError.all_at_once(
            f"study {file} has {len(errors)} error{'s' if len(errors) > 1 else ''}", errors
        )
    return Study(file, name, usual, tuple(models), tuple(tasks), analysis)


def _table(content: Mapping[str, Any], section: str, errors: list[str]) -> dict[str, Any]:
    table = content.get(section, {})
    if isinstance(table, dict):
        return table
    errors.append(f"{section} must be one table: [{section}].")
    return {}


def _entries(
    content: Mapping[str, Any],
    section: str,
    make: Callable[[dict[str, Any]], Entry],
    errors: list[str],
) -> list[Entry]:
    """Return the entries of a list of tables, and add what is wrong with the others."""
    tables = content.get(section, [])
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        errors.append(f"{section} must be a list of tables, each headed [[{section}]].")
        return []
    made = []
    for number, table in enumerate(tables, start=1):
        try:
            made.append(make(table))
        except InputError as error:
            said = table.get("name", number)
            errors.append(f"[[{section}]] {said}: {error}")
    return made


def _model(table: dict[str, Any], folder: Path) -> ModelEntry:
    ways = (*MODEL_KEYS, *DESIGN)
    _refuse(unknown_keys(table, ("name", *ways)))
    if ("agent" in table) == ("model" in table):
        raise InputError(
            "needs either model (a folder, a .gguf file, OWNER/NAME of the hub, PROVIDER/NAME of a "
            "hosted one, or the name at a server) or agent (such as leaky)."
        )
    if "agent" in table and (beside := set(table) & set(MODEL_KEYS) - {"agent", "keep_going"}):
        raise InputError(f"{min(beside)} belongs to a model; an agent answers by itself.")
    if "agent" in table and table["agent"] not in AGENTS:
        raise InputError(
            f"agent must be the name of an agent; received {table['agent']!r}. "
            f"{suggestion(str(table['agent']), AGENTS)}"
        )
    options = beside_the_file({key: table[key] for key in ways if key in table}, folder)
    usual = str(table.get("agent", table.get("model")))
    if "agent" not in table and "server" not in table:
        usual = Path(usual).name.removesuffix(".gguf")
    return ModelEntry(_name(table, usual), options)


def _task(table: dict[str, Any], folder: Path) -> TaskEntry:
    keys = (*TASK, *DESIGN, "contexts")
    _refuse(unknown_keys(table, ("name", *keys)))
    if ("task" in table) == ("questions" in table):
        raise InputError("needs either task (a network or data set) or questions (a file).")
    if "questions" in table:
        for key in (*TASK, "contexts"):
            if key in table and key != "questions":
                raise InputError(f"{key} belongs to task; rows of questions are the contexts.")
    source = str(table.get("task", table.get("questions")))
    options = beside_the_file({key: table[key] for key in keys if key in table}, folder)
    is_file = options.get("task") != table.get("task") or "questions" in table
    usual = Path(source).stem if is_file else source
    target = table.get("target")
    return TaskEntry(_name(table, f"{usual}:{target}" if target else usual), options)


def _refuse(errors: list[str]) -> None:
    if errors:
        raise InputError(" ".join(errors))


def _name(table: Mapping[str, Any], usual: str) -> str:
    name = table.get("name", usual)
    # Blanks around a name cannot be seen in a table, and would part what looks like one model.
    if not isinstance(name, str) or name.strip() != name or not name or not name.isprintable():
        raise InputError(
            f"name must be a text of one line without blanks around it; received {name!r}."
        )
    if len(name) > _LONGEST_NAME:
        raise InputError(
            f"name must have at most {_LONGEST_NAME} characters; received {len(name)}."
        )
    return name


def _text_of(table: Mapping[str, Any], key: str, usual: str, where: str, errors: list[str]) -> str:
    try:
        return _name({"name": table.get(key, usual)}, usual)
    except InputError as error:
        errors.append(f"{where} {error}")
        return usual


def _pair_errors(
    usual: Mapping[str, Any], models: list[ModelEntry], tasks: list[TaskEntry]
) -> list[str]:
    """Return what is wrong with a model on a task, though each is right by itself."""
    errors = []
    for model in models:
        for task in tasks:
            where = f"model {model.name} on task {task.name}:"
            if model.is_agent and "questions" in task.options:
                errors.append(f"{where} an agent answers about networks, not about questions.")
                continue
            try:
                from_table(AskOptions, merged(usual, model.options, task.options))
            except InputError as error:
                errors.append(f"{where} {error}")
    stems = Counter(
        file_stem(task.name, model.name).casefold() for model in models for task in tasks
    )
    errors += [
        f"two models on two tasks would share the file {stem!r}. Choose names without '--'."
        for stem, number in stems.items()
        if number > 1
    ]
    # One wrong value of a model shows in each of its tasks.
    return list(dict.fromkeys(errors))


def analysis_errors(table: Mapping[str, Any]) -> list[str]:
    """Return what is wrong with a table ``[analysis]``, before anyone is asked."""
    errors = unknown_keys(table, tuple(ANALYSIS))
    for key, kind in ANALYSIS.items():
        value = table.get(key)
        # A truth value is a whole number to Python, and none to who wrote it.
        wrong = isinstance(value, bool) and kind is not bool
        if key in table and (wrong or not isinstance(value, kind)):
            kinds = kind if isinstance(kind, tuple) else (kind,)
            names = " or ".join(_KINDS[each] for each in kinds)
            errors.append(f"{key} must be {names}; received {value!r}.")
    if errors:
        return errors
    # After hours of asking is no time to hear of a name mistyped.
    checks = table.get("checks")
    if checks is not None and not checks:
        errors.append("checks must name at least one check. Leave it out to run all.")
    errors += [
        f"checks must be names of checks; received {name!r}. {suggestion(str(name), CHECKS)}"
        for name in checks or ()
        if name not in CHECKS
    ]
    if table.get("seed", 0) < 0:
        errors.append(f"seed must be at least 0; received {table['seed']}.")
    return errors


def file_stem(*names: str) -> str:
    """Return the name of a file for names from outside, which may hold anything."""
    return "--".join(re.sub(r"[^A-Za-z0-9._-]", "_", name).lstrip(".") or "_" for name in names)


def repeated(section: str, names: Iterable[str]) -> list[str]:
    """Return an error for each name that another entry has, or that makes the same file."""
    errors: list[str] = []
    seen: dict[str, str] = {}
    for name in names:
        # File systems that do not tell capitals apart would lose one of two files, and readers of
        # a table cannot tell two ways of writing one letter apart.
        keys = {file_stem(name).casefold(), unicodedata.normalize("NFKC", name).casefold()}
        if earlier := [seen[key] for key in keys if key in seen]:
            how = "repeats an earlier one" if name in earlier else f"is too like {earlier[0]!r}"
            errors.append(f"[[{section}]] name {name!r} {how}. Give each a name of its own.")
        seen |= dict.fromkeys(keys, name)
    return errors
