"""Sessions of a study: a model on a task each.

A run goes through all of them, one model in memory at a time: what the store has is not asked
again, and every table is laid out from it. From outside a table is finished where it was made as
the study file says now, and the store has every answer that the file asks for.
"""

import json
import sys
from collections.abc import Iterator, Set
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from coherence.cli.folders import replace_text
from coherence.cli.progress import answer_progress
from coherence.errors import CoherenceError, InputError
from coherence.printable import counted
from elicitation.commands.answer_store import warn_of_versions
from elicitation.commands.elicit_options import Source, design_of, plan_of, respondent_of, source_of
from elicitation.commands.study.options import merged
from elicitation.commands.study.study_file import ModelEntry, Study, TaskEntry, file_stem
from elicitation.options import AskOptions, ModelOptions, from_table

if TYPE_CHECKING:
    import pandas as pd

    from elicitation.asking.store import AnswerStore
    from elicitation.models.base import Model
    from elicitation.questions.plan import Plan

STORE, RUNS = "answers.sqlite", "runs"
# What changes neither a question nor an answer.
_MATTERS_NOT = (
    *("api_key_env", "max_connections", "timeout", "batch_size", "keep_going"),
    *("out", "store", "dry_run", "show_prompts"),
)


@dataclass(frozen=True)
class Finished:
    """What is written down of a table."""

    said: dict[str, Any]  # options that it was made by
    fingerprint: str  # of the model that answered
    # n_answers, n_readable, n_repaired, n_truncated: answers that it is made of, and those among
    # them with a value, with a value that missed the form, and cut
    n_answers: int
    n_readable: int
    n_repaired: int
    n_truncated: int
    # answers by the server's own name for the weights, where it gives one
    served_by: dict[str, int] = field(default_factory=dict)


@dataclass
class Asked:
    """What a run did."""

    finished: int = 0  # units that were finished now
    found: int = 0  # units of which the store had every answer
    # what could not be finished, and why
    failures: list[tuple[str, str]] = field(default_factory=list)


@dataclass(frozen=True)
class Unit:
    """One model on one task."""

    model: ModelEntry  # who is asked
    task: TaskEntry  # about what
    options: AskOptions  # options of ``coherence elicit``
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
        """Where it is written down what the table was made by."""
        return self.path.with_suffix(".json")

    def source(self) -> Source:
        """Return what is asked about; equal for all models."""
        if self.task.name not in self.sources:
            self.sources[self.task.name] = source_of(self.options)
        return self.sources[self.task.name]

    def plan(self) -> "Plan":
        """Return its questions."""
        return plan_of(self.options, self.source(), design_of(self.options))

    def finished(self, held: Set[str] | None = None) -> Finished | None:
        """Return what is written down of its table; None where it must be made (again).

        `held` is what `held_answers` says of the folder, where many units are looked at.
        """
        import pyarrow.parquet as pq

        try:
            done = Finished(**json.loads(self.record.read_text(encoding="utf-8")))
            pq.read_metadata(self.path)
        # Half written, of another version, or not there: made again from the store.
        except (OSError, ValueError, TypeError):
            return None
        if done.said != _said(self.options):
            return None
        # A text that was changed, in a file of questions or prompts, has no answer in the store.
        held = held_answers(self.folder) if held is None else held
        plan = self.plan()
        if not {question.key(done.fingerprint) for question in plan.questions} <= held:
            return None
        # What came true, or the evidence, may have changed beside texts that did not.
        written = pq.read_schema(self.path).names
        names = [
            name
            for name in map(str, plan.cases)
            if name in ("theta", "p_true", "group") or name.startswith("x_")
        ]
        if "context" not in plan.cases or not set(names) <= set(written):
            return done
        ways = [name for name in ("z_state",) if name in written]
        table = pq.read_table(self.path, columns=["context", *names, *ways]).to_pandas()
        # What is true given z is a posterior of its own.
        table = table[table["z_state"].isna()] if ways else table
        return done if _by_context(table, names) == _by_context(plan.cases, names) else None

    def ask(self, model: "Model", store: "AnswerStore") -> int:
        """Ask what the store lacks, and write the table; return how many answers were asked."""
        from coherence.table.writing import write_runs
        from elicitation.asking.session import run_plan

        plan = self.plan()
        with answer_progress(self.label) as progress:
            runs, tally = run_plan(
                model,
                plan,
                store,
                batch_size=self.options.drawn_at_a_time,
                keep_going=self.options.keep_going,
                progress=progress,
            )
        named = runs.assign(task=self.task.name, model=self.model.name)
        # First: of a table that a kill left beside the record of another it could not be told.
        self.record.unlink(missing_ok=True)
        # When an answer came is in the store: tables made at other times are equal.
        write_runs(named.drop(columns="created", errors="ignore"), self.path)
        done = Finished(
            _said(self.options),
            model.fingerprint,
            tally.total,
            tally.readable,
            tally.repaired,
            tally.truncated,
            dict(tally.served_by),
        )
        replace_text(self.record, json.dumps(asdict(done), indent=1) + "\n")
        print(
            f"{self.label}: {counted(tally.asked, 'answer')} asked, {tally.reused} found, "
            f"{tally.readable / tally.total:.1%} of answers parsed",
            file=sys.stderr,
        )
        warn_of_versions(tally.served_by)
        return tally.asked


def _said(options: ModelOptions) -> dict[str, Any]:
    """Return the options that a question, an answer or its reading depends on."""
    said = {key: value for key, value in asdict(options).items() if key not in _MATTERS_NOT}
    return dict(json.loads(json.dumps(said, default=str)))


def _by_context(table: "pd.DataFrame", names: list[str]) -> dict[str, list[str | float | None]]:
    """Return what a table says of each context, in values that no type of a column changes."""
    first = table.drop_duplicates("context")
    rows = first[names].astype(object).to_numpy()
    return {
        str(key): [_plain(each) for each in row]
        for key, row in zip(first["context"], rows, strict=True)
    }


def _plain(value: Any) -> str | float | None:
    import pandas as pd

    if pd.isna(value):
        return None
    try:
        return float(value)
    except (TypeError, ValueError):
        return str(value)


def held_answers(folder: Path) -> set[str]:
    """Return the keys of the answers in the store of a study."""
    from elicitation.asking.store import read_store

    store = folder / STORE
    return {row.key for row in read_store(store)} if store.exists() else set()


def units_of(study: Study, folder: Path) -> list[Unit]:
    """Return the units of a study, by model and then by task."""
    sources: dict[str, Source] = {}
    return [
        Unit(
            model,
            task,
            from_table(AskOptions, merged(study.usual, model.options, task.options)),
            folder,
            sources,
        )
        for model in study.models
        for task in study.tasks
    ]


def check_units(units: list[Unit]) -> None:
    """Raise for what can be known before a model is loaded, of all units at once."""
    errors: dict[str, str] = {}
    for unit in units:
        try:
            # With one repetition: what is wrong with a question is wrong with all.
            plan_of(unit.options, unit.source(), replace(design_of(unit.options), reps=1))
        except InputError as error:
            # An error of a task shows for each model: it is said once, of the first.
            errors.setdefault(str(error), unit.label)
    if errors:
        told = [f"{label}: {text}" for text, label in errors.items()]
        opening = f"the study has {len(told)} error{'s'[: len(told) > 1]}"
        raise InputError.all_at_once(opening, told)


def by_model(units: list[Unit]) -> Iterator[tuple[ModelEntry, list[Unit]]]:
    """Yield each model with its units, in order: one model is in memory at a time."""
    for name in dict.fromkeys(unit.model.name for unit in units):
        own = [unit for unit in units if unit.model.name == name]
        yield own[0].model, own


def ask_units(units: list[Unit], store: "AnswerStore") -> Asked:
    """Ask what the store lacks, and write the table of every unit.

    A model that cannot be loaded or reached, or whose answers cannot be read, stops its own units;
    the others go on.
    """
    from elicitation.models.hosted.replies import HostedError

    done = Asked()
    for model, own in by_model(units):
        loaded: Model | None = None
        for number, unit in enumerate(own):
            try:
                # An agent answers from the exact posteriors of a task's cases; it is made for each.
                if loaded is None or model.is_agent:
                    loaded = respondent_of(unit.options, unit.source()).load()
                asked = unit.ask(loaded, store)
            except CoherenceError as error:
                # A model that is not there, or no longer, would fail for every other task as well.
                gone = (loaded is None and not model.is_agent) or isinstance(error, HostedError)
                lost = own[number:] if gone else [unit]
                done.failures += [(each.label, str(error)) for each in lost]
                if gone:
                    break
                continue
            done.finished += asked > 0
            done.found += asked == 0
        del loaded  # before the next one is loaded
    return done
