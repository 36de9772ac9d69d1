"""The study file: which models are asked about which tasks, and in which ways.

A file is checked as a whole before anything is loaded, and all its errors are reported at once. Its
tables hold options of ``coherence elicit`` by their names.
"""

import os
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from coherence.agents import named_agent
from coherence.checks import CHECKS
from coherence.errors import InputError, closest, suggestion
from elicitation.options import AskOptions, declared, from_table
from elicitation.questions.prompt_file import read_toml
from elicitation.questions.tasks import is_network_file
from elicitation.session_options import OF_A_TASK

SECTIONS = ("study", "models", "tasks", "analysis")
_ITEMS = declared(AskOptions)
_CASES = ("contexts", "seed")  # which cases are drawn: equal for all models
_WAYS, _TASK = (
    tuple(key for key, item in _ITEMS.items() if item.group == group and key not in _CASES)
    for group in ("ways", "subject")
)
# Options of ``elicit`` that the study itself decides on.
_NOT_IN_A_STUDY = ("out", "store", "dry_run", "show_prompts")
_MODEL = tuple(key for key in _ITEMS if key not in {*_WAYS, *_CASES, *_TASK, *_NOT_IN_A_STUDY})
KEYS = {
    "study": (*_WAYS, *_CASES, "keep_going", "batch_size"),
    "models": (*_MODEL, *_WAYS),
    "tasks": (*_TASK, *_WAYS, "contexts"),
}
"""Options that each table may hold, beside a name: of all sessions, of a model, of a task."""
_DRAWN_ONLY = ("reps", "temperature")
_FILES = ("questions", "phrases", "records")
_LONGEST_NAME = 80


@dataclass(frozen=True, kw_only=True)
class AnalysisOptions:
    """Keys of ``[analysis]``: the options of ``coherence.analyze``, its `rng` as a seed."""

    HELP = """
checks NAME...  checks to run (default: all)
published  the published procedures beside ours
strict  errors in place of notes
positive STATE...  the positive state
reference PROMPT  the prompt variant that others are compared with
state  what beliefs are compared with
seed 0..  seed of draws
"""

    checks: tuple[str, ...] | None = None
    published: bool = False
    strict: bool = False
    positive: tuple[str, ...] | None = None
    reference: str | None = None
    state: str | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        # After hours of asking is no time to hear of a name mistyped.
        for name in () if self.checks is None else self.checks:
            if name not in CHECKS:
                known = suggestion(name, CHECKS)
                raise InputError(f"checks must be names of checks; received {name!r}. {known}")


@dataclass(frozen=True)
class Entry:
    """A model, in one way of asking it, or a task."""

    name: str  # value of the column `model` or `task`
    options: Mapping[str, Any]  # keys of ``coherence elicit``


@dataclass(frozen=True)
class Asking:
    """What one session asks: a model about a task."""

    model: str  # value of the column `model`
    task: str  # value of the column `task`
    options: AskOptions  # options of ``coherence elicit``

    @property
    def file_stem(self) -> str:
        """Name of the files of a session; names from outside may hold anything."""
        names = (self.task, self.model)
        return "--".join(re.sub(r"[^A-Za-z0-9._-]", "_", name).lstrip(".") or "_" for name in names)


@dataclass(frozen=True)
class Study:
    """A study file, checked."""

    path: Path  # the file
    name: str  # title of the report
    sessions: tuple[Asking, ...]  # by model and then by task, in the order of the file
    analysis: AnalysisOptions


def load_study(path: str | os.PathLike[str]) -> Study:
    """Read a study file."""
    file = Path(path)
    content = read_toml(file, "study")
    errors = [f"{key} is unknown. {closest(key, SECTIONS)}" for key in content.keys() - {*SECTIONS}]
    study, analysis = Entry(file.stem, {}), AnalysisOptions()
    entries: dict[str, list[Entry]] = {"models": [], "tasks": []}
    try:
        study = _entry("study", _table(content, "study"), file)
    except InputError as error:
        errors.append(f"[study] {error}")
    try:
        analysis = from_table(AnalysisOptions, _table(content, "analysis"))
    except InputError as error:
        errors.append(f"[analysis] {error}")
    for section, of_section in entries.items():
        tables = content.get(section, [])
        if not isinstance(tables, list) or not all(isinstance(each, dict) for each in tables):
            errors.append(f"{section} must be a list of tables, each headed [[{section}]].")
        elif not tables:
            errors.append(f"there is no [[{section}]]: nobody is asked, or nothing.")
        else:
            for number, table in enumerate(tables, start=1):
                try:
                    of_section.append(_entry(section, table, file))
                except InputError as error:
                    errors.append(f"[[{section}]] {table.get('name', number)}: {error}")
    sessions = []
    for model in entries["models"] if not errors else ():
        for task in entries["tasks"]:
            try:
                options = from_table(AskOptions, _merged(study, model, task))
            except InputError as error:
                errors.append(f"model {model.name} on task {task.name}: {error}")
            else:
                sessions.append(Asking(model.name, task.name, options))
    # File systems that do not tell capitals apart would lose one of two files.
    stems = Counter(each.file_stem.casefold() for each in sessions)
    errors += [
        f"several sessions would share the file {stem!r}. Give each model and each task a name of "
        "its own, without '--'."
        for stem, number in stems.items()
        if number > 1
    ]
    if errors:
        # One wrong value of a model shows in each of its tasks.
        errors = list(dict.fromkeys(errors))
        raise InputError.all_at_once(
            f"study {file} has {len(errors)} error{'s' if len(errors) > 1 else ''}", errors
        )
    return Study(file, study.name, tuple(sessions), analysis)


def _table(content: Mapping[str, Any], section: str) -> dict[str, Any]:
    table = content.get(section, {})
    if not isinstance(table, dict):
        raise InputError(f"must be one table: [{section}].")
    return table


def _entry(section: str, table: dict[str, Any], file: Path) -> Entry:
    """Return a table's name and options, its paths from the folder of the study file."""
    keys = ("name", *KEYS[section])
    if unknown := [f"{key} is unknown. {closest(key, keys)}" for key in table if key not in keys]:
        raise InputError(" ".join(unknown))
    options = _beside_the_file({key: table[key] for key in table if key != "name"}, file.parent)
    usual = file.stem
    if section == "models":
        if ("agent" in table) == ("model" in table):
            raise InputError(
                "needs either model (a folder, a .gguf file, OWNER/NAME of the hub, PROVIDER/NAME "
                "of a hosted one, or the name at a server) or agent (such as leaky)."
            )
        if "agent" in table:
            named_agent(table["agent"])
            if beside := table.keys() & {*_MODEL} - {"agent", "keep_going"}:
                raise InputError(f"{min(beside)} belongs to a model; an agent answers by itself.")
        usual = str(table.get("agent", table.get("model")))
        if "agent" not in table and "server" not in table:
            usual = Path(usual).name.removesuffix(".gguf")
    elif section == "tasks":
        if ("task" in table) == ("questions" in table):
            raise InputError("needs either task (a network or data set) or questions (a file).")
        if "questions" in table and (of_task := table.keys() & {*OF_A_TASK}):
            raise InputError(f"{min(of_task)} belongs to task; rows of questions are the contexts.")
        is_file = options.get("task") != table.get("task") or "questions" in table
        usual = str(table.get("task", table.get("questions")))
        usual = Path(usual).stem if is_file else usual
        usual = f"{usual}:{table['target']}" if "target" in table else usual
    name = table.get("name", usual)
    # Blanks around a name cannot be seen in a table, and would part what looks like one model.
    plain = isinstance(name, str) and name.strip() == name and name and name.isprintable()
    if not plain or len(name) > _LONGEST_NAME:
        raise InputError(
            f"name must be a text of one line, without blanks around it, of at most "
            f"{_LONGEST_NAME} characters; received {name!r:.200}."
        )
    return Entry(name, options)


def _beside_the_file(table: Mapping[str, Any], folder: Path) -> dict[str, Any]:
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


def _merged(study: Entry, model: Entry, task: Entry) -> dict[str, Any]:
    """Return the options of one model on one task."""
    if both := sorted(set(model.options) & set(task.options)):
        raise InputError(
            f"{both[0]} is said by the model and by the task. Say it in one of them, or in [study]."
        )
    if "agent" in model.options and "questions" in task.options:
        raise InputError("an agent answers about networks, not about questions.")
    usual, own = dict(study.options), {**model.options, **task.options}
    # What is usual for draws does not hold where nothing is drawn, nor cases where rows are given.
    if own.get("answers", usual.get("answers")) == "exact":
        usual = {key: value for key, value in usual.items() if key not in _DRAWN_ONLY}
    if "questions" in own:
        usual.pop("contexts", None)
    return {**usual, **own}
