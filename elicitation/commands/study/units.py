"""Sessions of a study: a model on a task each, all in one store.

A run goes through all of them, one model in memory at a time: what the store has is not asked
again. It notes under which fingerprint the model of a session answers, so that a table can be laid
out from the store without the model. A session is finished where the store has every answer that
the study file asks for now.
"""

import json
import sys
from collections.abc import Sequence, Set
from dataclasses import asdict, dataclass, field, replace
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

from coherence.cli.folders import replace_text
from coherence.cli.progress import answer_progress
from coherence.errors import CoherenceError, InputError
from coherence.printable import counted
from elicitation.commands.answer_store import warn_of_versions
from elicitation.commands.study.study_file import Asking, Study
from elicitation.session_options import Source, design_of, plan_of, respondent_of, source_of

if TYPE_CHECKING:
    from elicitation.asking.ask import Progress
    from elicitation.asking.session import Tally
    from elicitation.asking.store import AnswerStore
    from elicitation.models.base import Answer, Model, Request
    from elicitation.questions.plan import Plan

STORE, RUNS, SESSIONS = "answers.sqlite", "runs", "sessions.json"
# What changes neither a question nor an answer.
_MATTERS_NOT = (
    *("api_key_env", "max_connections", "timeout", "batch_size", "keep_going"),
    *("out", "store", "dry_run", "show_prompts"),
)


@dataclass(frozen=True)
class Answered:
    """The model of a session, as far as its answers are in a store."""

    name: str
    fingerprint: str
    constrains_tokens: bool

    def generate(self, requests: "Sequence[Request]") -> "list[Answer]":
        """Raise: nothing is asked."""
        raise CoherenceError(f"the store of the study has no answers of {self.name}. Run it again.")


@dataclass
class Done:
    """What a run did."""

    finished: int = 0  # sessions that were finished now
    found: int = 0  # sessions of which the store had every answer
    # what could not be finished, and why
    failures: list[tuple[str, str]] = field(default_factory=list)


@dataclass(frozen=True)
class Session(Asking):
    """One model on one task, in the folder of the study."""

    folder: Path
    # cases of tasks, shared by the sessions of a study: drawn once, for all models
    sources: dict[str, Source]

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

    def answered(self, held: Set[str]) -> "Model | None":
        """Return the model whose answers are complete in the store; None where some are missing.

        `held` is what `held_answers` says of the folder.
        """
        if self.options.agent is not None:  # which is at hand
            model = self.load()
        else:
            noted = _noted(self.folder).get(self.label, {})
            if noted.get("options") != self.said:
                return None
            model = Answered(self.model, noted["fingerprint"], noted["constrains_tokens"])
        keys = {question.key(model.fingerprint) for question in self.plan().questions}
        return model if keys <= held else None

    @property
    def said(self) -> dict[str, Any]:
        """The options that a question, an answer or its reading depends on."""
        said = {key: it for key, it in asdict(self.options).items() if key not in _MATTERS_NOT}
        return dict(json.loads(json.dumps(said, default=str)))

    def ask(self, model: "Model", store: "AnswerStore") -> int:
        """Ask what the store lacks, and write the table; return how many answers were asked."""
        from elicitation.asking.ask import constrains_tokens

        noted = {
            "options": self.said,
            "fingerprint": model.fingerprint,
            "constrains_tokens": constrains_tokens(model),
        }
        every = {**_noted(self.folder), self.label: noted}
        replace_text(self.folder / SESSIONS, json.dumps(every, indent=1) + "\n")
        with answer_progress(self.label) as progress:
            tally = self.lay_out(model, store, self.options.keep_going, progress)
        print(
            f"{self.label}: {counted(tally.asked, 'answer')} asked, {tally.reused} found, "
            f"{tally.readable / tally.total:.1%} of answers parsed",
            file=sys.stderr,
        )
        warn_of_versions(tally.served_by)
        return tally.asked

    def lay_out(
        self,
        model: "Model",
        store: "AnswerStore",
        keep_going: bool = True,
        progress: "Progress | None" = None,
    ) -> "Tally":
        """Write the table of the answers in the store; what it lacks, the model is asked for."""
        from coherence.runs.write import write_runs
        from elicitation.asking.session import run_plan

        runs, tally = run_plan(
            model,
            self.plan(),
            store,
            batch_size=self.options.drawn_at_a_time,
            keep_going=keep_going,
            progress=progress,
        )
        named = runs.assign(task=self.task, model=self.model)
        # When an answer came is in the store: tables made at other times are equal.
        write_runs(named.drop(columns="created", errors="ignore"), self.path)
        return tally


def _noted(folder: Path) -> dict[str, dict[str, Any]]:
    """Return under which fingerprints the models of sessions answered."""
    try:
        noted = json.loads((folder / SESSIONS).read_text(encoding="utf-8"))
    except (OSError, ValueError):  # none yet, or cut by whoever edits it
        return {}
    return noted if isinstance(noted, dict) else {}


def held_answers(folder: Path) -> set[str]:
    """Return the keys of the answers in the store of a study."""
    from elicitation.asking.store import read_store

    store = folder / STORE
    return {row.key for row in read_store(store)} if store.exists() else set()


def sessions_of(study: Study, folder: Path) -> list[Session]:
    """Return the sessions of a study, by model and then by task."""
    sources: dict[str, Source] = {}
    return [Session(**vars(each), folder=folder, sources=sources) for each in study.sessions]


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
    from elicitation.models.hosted.replies import HostedError

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
    from coherence.report.layout import render_parts
    from elicitation.asking.overview import preview

    held = held_answers(sessions[0].folder)
    rows, n_left = [], 0
    for session in sessions:
        name = respondent_of(session.options, session.source()).stored_name
        seen = preview(session.plan(), model_name=name, store=session.folder / STORE)
        finished = session.answered(held) is not None
        n_left += 0 if finished else seen.n_left
        state = "finished" if finished else "begun" if seen.n_stored else "not begun"
        row = {"model": session.model, "task": session.task, "state": state}
        rows.append(row | {"questions": seen.n_distinct, "stored": seen.n_stored})
    columns = (*map(label, ("model", "task", "state")), count("questions"))
    table = build_table(rows, (*columns, count("stored", "in store")))
    return f"{render_parts([table])}\n{counted(n_left, 'answer')} to ask"
