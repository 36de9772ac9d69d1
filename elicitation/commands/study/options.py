"""Tables of a study file as options of ``coherence elicit``: what each table may say."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from coherence.errors import InputError, closest
from elicitation.options import AskOptions, declared
from elicitation.questions.tasks import is_network_file

_ITEMS = declared(AskOptions)
CASES = ("contexts", "seed")
"""Keys that decide which cases are drawn: equal for all models, which are compared by case."""
DESIGN, TASK = (
    tuple(key for key, item in _ITEMS.items() if item.group == group and key not in CASES)
    for group in ("ways", "subject")
)
"""Keys that a study, a model or a task may hold: in which ways questions are asked; those of a
task: what about."""
NOT_IN_A_STUDY = ("out", "store", "dry_run", "show_prompts")
"""Options of ``elicit`` that the study itself decides on."""
MODEL_KEYS = tuple(key for key in _ITEMS if key not in {*DESIGN, *CASES, *TASK, *NOT_IN_A_STUDY})
"""Keys that say who is asked and how it is reached."""
_DRAWN_ONLY = ("reps", "temperature")
_FILES = ("questions", "phrases", "records")


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
