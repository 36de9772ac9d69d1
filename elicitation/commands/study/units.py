"""Units of a study, a model on a task each, and what its folder holds of them.

A unit is finished where its table is there, is the one that was written, and was made from what the
study file says now. Everything else is decided by the store of answers: a unit that is not finished
is laid out again, and asks only what the store lacks.
"""

import argparse
import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from coherence.cli.folders import replace_text
from coherence.errors import InputError
from elicitation.commands.elicit_session import PROMPTS, Source, design_of, plan_of, source_of
from elicitation.commands.hosted_options import is_hosted
from elicitation.commands.study.names import file_stem
from elicitation.commands.study.options import merged, parse
from elicitation.commands.study.study_file import ModelEntry, Study, TaskEntry

if TYPE_CHECKING:
    import pandas as pd

    from elicitation.questions.plan import Plan

STORE = "answers.sqlite"
RUNS = "runs"
# What changes neither a question nor an answer.
_MATTERS_NOT = (
    *("command", "api_key_env", "max_connections", "max_retries", "timeout"),
    *("threads", "batch_size", "keep_going", "resume", "out", "store", "status"),
    *("dry_run", "price_in", "price_out"),
)
_FILES = ("questions", "phrases", "records", "task", "prompts")


@dataclass(frozen=True)
class Finished:
    """What is written down of a unit that is finished."""

    digest: str  # of what it was made from, see `Unit.digest`.
    table: str  # SHA-256 of its runs table
    # n_answers, n_readable, n_repaired, n_truncated: answers that its table is made of, and those
    # among them with a value, with a value that missed the form, and cut
    n_answers: int
    n_readable: int
    n_repaired: int
    n_truncated: int
    # tokens_in, tokens_out: tokens of all questions and answers; None where the model did not count
    # them
    tokens_in: int | None
    tokens_out: int | None


@dataclass(frozen=True)
class Unit:
    """One model on one task."""

    model: ModelEntry  # who is asked
    task: TaskEntry  # about what
    options: argparse.Namespace  # options of ``coherence elicit``
    folder: Path  # folder of the study
    # cases of tasks, shared by the units of a study: drawn once, for all models
    sources: dict[str, Source]

    @property
    def label(self) -> str:
        """What messages call it."""
        return f"{self.model.name} on {self.task.name}"

    @property
    def path(self) -> Path:
        """Its runs table."""
        return self.folder / RUNS / f"{file_stem(self.task.name, self.model.name)}.parquet"

    @property
    def record(self) -> Path:
        """Where it is written down that the table is finished."""
        return self.path.with_suffix(".json")

    def plan(self) -> "Plan":
        """Return its questions."""
        return plan_of(self.options, self.source(), design_of(self.options))

    def source(self) -> Source:
        """Return what is asked about; equal for all models."""
        if self.task.name not in self.sources:
            self.sources[self.task.name] = source_of(self.options)
        return self.sources[self.task.name]

    def digest(self) -> str:
        """Return a text that stands for all that the table is made from.

        Files that say what is asked count by their content; a folder or file of a model by the
        sizes and dates of its files, for weights take long to read.
        """
        return digest_of(self.options, (self.task.name, self.model.name))

    def finished(self) -> Finished | None:
        """Return what is written down of its table; None where it must be made (again)."""
        try:
            found = Finished(**json.loads(self.record.read_text(encoding="utf-8")))
            table = _sha256(self.path)
        # Half written, of another version, or not there: made again from the store.
        except (OSError, ValueError, TypeError):
            return None
        return found if (found.digest, found.table) == (self.digest(), table) else None

    def finish(self, runs: "pd.DataFrame", counts: Mapping[str, int | None]) -> None:
        """Write the table, and then down that it is finished."""
        from coherence.table.storage import write_runs

        named = runs.assign(task=self.task.name, model=self.model.name)
        # When an answer came is in the store: tables made at other times are equal.
        named = named.drop(columns="created", errors="ignore")
        write_runs(named, self.path)
        done = Finished(self.digest(), _sha256(self.path), **counts)  # type: ignore[arg-type]
        replace_text(self.record, json.dumps(asdict(done), indent=1) + "\n")


def units_of(study: Study, folder: Path) -> list[Unit]:
    """Return the units of a study, by model and then by task."""
    units: list[Unit] = []
    sources: dict[str, Source] = {}
    for model in study.models:
        for task in study.tasks:
            options = parse("elicit", merged(study.usual, model.options, task.options))
            units.append(Unit(model, task, options, folder, sources))
    return units


def check_units(units: list[Unit]) -> None:
    """Raise for what can be known before a model is loaded, of all units at once."""
    faults: dict[str, str] = {}
    for unit in units:
        try:
            # With one repetition: what is wrong with a question is wrong with all.
            plan_of(unit.options, unit.source(), replace(design_of(unit.options), reps=1))
        except InputError as error:
            # A fault of a task shows for each model: it is said once, of the first.
            faults.setdefault(str(error), unit.label)
    if faults:
        told = [f"{label}: {text}" for text, label in faults.items()]
        opening = f"the study has {len(told)} fault{'s'[: len(told) > 1]}"
        raise InputError.all_at_once(opening, told)


def by_model(units: list[Unit]) -> Iterator[tuple[ModelEntry, list[Unit]]]:
    """Yield each model with its units, in order: one model is in memory at a time."""
    for model in dict.fromkeys(unit.model.name for unit in units):
        own = [unit for unit in units if unit.model.name == model]
        yield own[0].model, own


def digest_of(options: argparse.Namespace, names: tuple[str, ...]) -> str:
    """Return a text that stands for what options ask, of whom, and how it is called."""
    said = {key: value for key, value in vars(options).items() if key not in _MATTERS_NOT}
    for key in _FILES:
        if isinstance(said.get(key), str):
            said[key] = [_content(word) for word in said[key].split(",")]
    for key in ("model", "models"):
        if said.get(key) is not None and not is_hosted(options):
            models = said[key] if isinstance(said[key], list) else [said[key]]
            said[key] = [_stamp(Path(model)) for model in models]
    said |= {"named": names, "version": _version()}
    text = json.dumps(said, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()


def _content(word: str) -> str:
    """Return the digest of a file, or the word itself where it names none."""
    if word in PROMPTS:
        return word
    path = Path(word)
    return _sha256(path) if path.is_file() else word


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _stamp(path: Path) -> list[Any]:
    """Return name, sizes and dates of the files of a model; of a name on the hub the name."""
    if not path.exists():
        return [str(path)]
    files = [path] if path.is_file() else sorted(each for each in path.iterdir() if each.is_file())
    return [path.resolve().name] + [
        (file.name, (stat := file.stat()).st_size, stat.st_mtime_ns) for file in files
    ]


def _version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("belief-coherence")
    except PackageNotFoundError:  # run from its source folder
        return ""
