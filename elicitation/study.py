"""A study: which models are asked about which tasks, in which ways, and its sessions in one store.

A file is checked as a whole before anything is loaded, and all its errors are reported at once. Its
tables hold options of ``coherence elicit`` by their names.

A run goes through all sessions, one model in memory at a time: what the store has is not asked
again, and every table is laid out anew. It notes a digest of what was asked beside each table: a
session is finished where its table answers what the study file asks for now.

Everything in a report follows from the tables of sessions and the study file, so that equal tables
make equal bytes.
"""

import hashlib
import json
import os
import re
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from coherence.agents import named_agent
from coherence.analysis.analyze import analyze
from coherence.analysis.compare import compare
from coherence.analysis.paper.tables import write_paper
from coherence.checks import CHECKS
from coherence.cli.compare import clear_comparison, write_comparison
from coherence.cli.folders import prepare_folder, replace_text, write_report
from coherence.cli.terminal import answer_progress, step_progress
from coherence.errors import CoherenceError, InputError, closest, suggestion
from coherence.printable import counted
from coherence.report.report import Report
from coherence.report.screen import render_report
from coherence.report.wording import clean
from coherence.runs.read import read_file, validate_runs
from coherence.runs.runs import Runs
from elicitation.asking.store import AnswerStore
from elicitation.declarations import declared, from_table
from elicitation.options import AskOptions
from elicitation.questions.prompts import read_toml
from elicitation.questions.tasks import is_network_file
from elicitation.respondents import (
    OF_A_TASK,
    Source,
    design_of,
    plan_of,
    require_fitting,
    respondent_of,
    source_of,
)

if TYPE_CHECKING:
    from elicitation.asking.store import AnswerStore
    from elicitation.models.base import Model
    from elicitation.questions.plan import Plan


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


Entry = tuple[str, Mapping[str, Any]]
"""A model, in one way of asking it, or a task: its name, and keys of ``coherence elicit``."""


@dataclass(frozen=True)
class Study:
    """A study file, checked."""

    path: Path  # the file
    name: str  # title of the report
    sessions: "list[Session]"  # by model and then by task, in the order of the file
    analysis: AnalysisOptions


def load_study(path: str | os.PathLike[str], folder: Path) -> Study:
    """Read a study file; what its sessions write goes to a folder."""
    file = Path(path)
    content = read_toml(file, "study")
    errors = [f"{key} is unknown. {closest(key, SECTIONS)}" for key in content.keys() - {*SECTIONS}]
    study, analysis = (file.stem, dict[str, Any]()), AnalysisOptions()
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
    sessions, sources = list[Session](), dict[str, Source]()
    for model, of_model in entries["models"] if not errors else ():
        for task, of_task in entries["tasks"]:
            try:
                options = from_table(AskOptions, _merged(study[1], of_model, of_task))
                require_fitting(options, str)
            except InputError as error:
                errors.append(f"model {model} on task {task}: {error}")
            else:
                sessions.append(Session(model, task, options, folder, sources))
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
    return Study(file, study[0], sessions, analysis)


def _table(content: Mapping[str, Any], section: str) -> dict[str, Any]:
    table = content.get(section, {})
    if not isinstance(table, dict):
        raise InputError(f"must be one table: [{section}].")
    return table


def _entry(section: str, table: dict[str, Any], file: Path) -> tuple[str, dict[str, Any]]:
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
    return str(table.get("name", usual)), options


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


def _merged(
    study: Mapping[str, Any], model: Mapping[str, Any], task: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the options of one model on one task."""
    if both := sorted({*model} & {*task}):
        raise InputError(
            f"{both[0]} is said by the model and by the task. Say it in one of them, or in [study]."
        )
    usual, own = dict(study), {**model, **task}
    # What is usual for draws does not hold where nothing is drawn, nor cases where rows are given.
    if own.get("answers", usual.get("answers")) == "exact":
        usual = {key: value for key, value in usual.items() if key not in _DRAWN_ONLY}
    if "questions" in own:
        usual.pop("contexts", None)
    return {**usual, **own}


STORE, RUNS, SESSIONS = "answers.sqlite", "runs", "sessions.json"
# What changes neither a question nor an answer.
_MATTERS_NOT = (
    *("api_key_env", "max_connections", "timeout", "batch_size", "keep_going"),
    *_NOT_IN_A_STUDY,
)


@dataclass
class Done:
    """What a run did."""

    finished: int = 0  # sessions that were finished now
    found: int = 0  # sessions of which the store had every answer
    # what could not be finished, and why
    failures: list[tuple[str, str]] = field(default_factory=list)


@dataclass(frozen=True)
class Session:
    """One model on one task, in the folder of the study."""

    model: str  # value of the column `model`
    task: str  # value of the column `task`
    options: AskOptions  # options of ``coherence elicit``
    folder: Path
    # cases of tasks, shared by the sessions of a study: drawn once, for all models
    sources: dict[str, Source]

    @property
    def file_stem(self) -> str:
        """Name of its files; names from outside may hold anything."""
        names = (self.task, self.model)
        return "--".join(re.sub(r"[^A-Za-z0-9._-]", "_", name).lstrip(".") or "_" for name in names)

    @property
    def path(self) -> Path:
        """Its runs table."""
        return self.folder / RUNS / f"{self.file_stem}.parquet"

    @property
    def label(self) -> str:
        """What messages call it."""
        return f"{self.model} on {self.task}"

    def load(self) -> "Model":
        """Return who answers; an agent is made for each task, from its cases."""
        model: Model = respondent_of(self.options, self.source()).load()
        return model

    def source(self) -> Source:
        """Return what is asked about; equal for all models."""
        if self.task not in self.sources:
            self.sources[self.task] = source_of(self.options)
        return self.sources[self.task]

    def plan(self) -> "Plan":
        """Return its questions."""
        return plan_of(self.options, self.source(), design_of(self.options))

    @property
    def mark(self) -> str:
        """Digest of the questions and of all that an answer or its reading depends on."""
        said = {key: it for key, it in asdict(self.options).items() if key not in _MATTERS_NOT}
        keys = sorted({question.key("") for question in self.plan().questions})
        return hashlib.sha256(json.dumps([said, keys], default=str).encode()).hexdigest()

    @property
    def is_finished(self) -> bool:
        """Whether its table has the answers to what is asked now."""
        return self.path.exists() and _noted(self.folder).get(self.label) == self.mark

    def ask(self, model: "Model", store: "AnswerStore") -> int:
        """Ask what the store lacks, and write the table; return how many answers were asked."""
        from coherence.runs.write import write_runs
        from elicitation.asking.session import run_plan

        with answer_progress(self.label) as progress:
            runs, tally = run_plan(
                model,
                self.plan(),
                store,
                batch_size=self.options.drawn_at_a_time,
                keep_going=self.options.keep_going,
                progress=progress,
            )
        named = runs.assign(task=self.task, model=self.model)
        self._note("")  # whatever was finished is no longer, should this be the end of it
        # When an answer came is in the store: tables made at other times are equal.
        write_runs(named.drop(columns="created", errors="ignore"), self.path)
        self._note(self.mark)
        print(
            f"{self.label}: {counted(tally.asked, 'answer')} asked, {tally.reused} found, "
            f"{tally.readable / tally.total:.1%} of answers parsed",
            file=sys.stderr,
        )
        print(tally.warning, end="", file=sys.stderr)
        return tally.asked

    def _note(self, mark: str) -> None:
        noted = {**_noted(self.folder), self.label: mark}
        replace_text(self.folder / SESSIONS, json.dumps(noted, indent=1) + "\n")


def _noted(folder: Path) -> dict[str, Any]:
    """Return the marks of sessions whose tables were written."""
    try:
        noted = json.loads((folder / SESSIONS).read_text(encoding="utf-8"))
    except (OSError, ValueError):  # none yet, or cut by whoever edits it
        return {}
    return noted if isinstance(noted, dict) else {}


def check_sessions(sessions: list[Session]) -> None:
    """Raise for what can be known before a model is loaded, of all sessions at once."""
    errors: dict[str, str] = {}
    for session in sessions:
        try:
            # With one repetition: what is wrong with a question is wrong with all.
            design = replace(design_of(session.options), reps=1)
            plan_of(session.options, session.source(), design)
        except InputError as error:
            # An error of a task shows for each model: it is said once, of the first.
            errors.setdefault(str(error), session.label)
    if errors:
        told = [f"{label}: {text}" for text, label in errors.items()]
        opening = f"the study has {len(told)} error{'s'[: len(told) > 1]}"
        raise InputError.all_at_once(opening, told)


def ask_sessions(sessions: list[Session], store: "AnswerStore") -> Done:
    """Ask what the store lacks, and write the table of every session.

    A model that cannot be loaded or reached, or whose answers cannot be read, stops its own
    sessions; the others go on.
    """
    from elicitation.models.hosted.protocol import HostedError

    done = Done()
    for _, same in groupby(sessions, key=lambda session: session.model):
        of_model = list(same)
        loaded: Model | None = None  # one model is in memory at a time
        for number, session in enumerate(of_model):
            is_agent = session.options.agent is not None
            try:
                if loaded is None or is_agent:
                    loaded = session.load()
                asked = session.ask(loaded, store)
            except CoherenceError as error:
                # A model that is not there, or no longer, would fail for every other task as well.
                gone = (loaded is None and not is_agent) or isinstance(error, HostedError)
                lost = of_model[number:] if gone else [session]
                done.failures += [(each.label, str(error)) for each in lost]
                if gone:
                    break
                continue
            done.finished += asked > 0
            done.found += asked == 0
        del loaded  # before the next one is loaded
    return done


def render_outlook(sessions: Sequence[Session]) -> str:
    """Return a table of all sessions: their questions, and the answers that the store has."""
    from coherence.report.document import build_table, count, label
    from coherence.report.screen import render_parts
    from elicitation.asking.store import preview

    rows, n_left = [], 0
    for session in sessions:
        name = respondent_of(session.options, session.source()).stored_name
        seen = preview(session.plan().questions, model_name=name, store=session.folder / STORE)
        finished = session.is_finished
        n_left += 0 if finished else seen.n_left
        state = "finished" if finished else "begun" if seen.n_stored else "not begun"
        row = {"model": session.model, "task": session.task, "state": state}
        rows.append(row | {"questions": seen.n_distinct, "stored": seen.n_stored})
    columns = (*map(label, ("model", "task", "state")), count("questions"))
    table = build_table(rows, (*columns, count("stored", "in store")))
    return f"{render_parts([table])}\n{counted(n_left, 'answer')} to ask"


REPORT, COMPARE, PAPER = "report", "compare", "paper"


def write_study_report(study: Study, folder: Path, *, n_jobs: int = 1) -> None:
    """Analyse what is finished, compare the models, and write what follows into the folder."""
    finished = [each for each in study.sessions if each.is_finished]
    if not finished:
        raise InputError(
            f"nothing of study {study.path} is finished in {folder}; "
            f"'coherence study run {study.path}' asks."
        )
    tables = [read_file(each.path).table for each in finished]
    runs = validate_runs(pd.concat(tables, ignore_index=True))
    names = "; ".join(clean(unit.label) for unit in finished)
    print(f"analysing {counted(len(finished), 'table')}: {names}", file=sys.stderr)
    report = _analyse(study, runs, folder, n_jobs)
    print("comparing the models", file=sys.stderr)
    compared = _compare(study, runs, folder, n_jobs)
    page = folder / REPORT / "report.html"
    print(f"{clean(study.name)}\n\n{render_report(report.evaluations, more=str(page))}")
    if compared:
        print(f"\n{compared}")
    if missing := [each.label for each in study.sessions if each not in finished]:
        print(f"not finished, and left out: {clean('; '.join(missing))}", file=sys.stderr)
    print(f"wrote the report, see {page}", file=sys.stderr)


def _analyse(study: Study, runs: Runs, folder: Path, n_jobs: int) -> Report:
    """Analyse all units together, which is what p-values are corrected over, and write it down."""
    said = study.analysis
    options = {name: getattr(said, name) for name in ("checks", "strict", "positive", "reference")}
    options |= {} if said.state is None else {"state": said.state}
    with step_progress(" steps", first="analysing") as progress:
        report = analyze(runs, rng=said.seed, n_jobs=n_jobs, progress=progress, **options)
    into = prepare_folder(folder / REPORT)
    write_report(report, into)
    write_paper(
        report,
        folder / PAPER,
        runs=runs,
        published=said.published,
        n_jobs=n_jobs,
        rng=said.seed,
    )
    return report


def _compare(study: Study, runs: Runs, folder: Path, n_jobs: int) -> str:
    """Compare the models in every task that several of them have finished; return what is said."""
    into = folder / COMPARE
    if (runs.table.groupby("task")["model"].nunique() < 2).all():
        clear_comparison(into)
        return ""
    said = study.analysis
    options: dict[str, Any] = {key: getattr(said, key) for key in ("positive", "reference")}
    options["state"] = said.state or "auto"
    try:
        result = compare(runs, common=True, n_jobs=n_jobs, rng=said.seed, **options)
    # Too few cases, say: the report stands, and says why nothing is compared.
    except InputError as error:
        clear_comparison(into)
        return f"Models were not compared: {clean(str(error))}"
    write_comparison(result, prepare_folder(into))
    return str(result)
