"""Asking: every unit of a study that is not finished, one model in memory at a time.

A model that cannot be loaded or reached, or whose answers cannot be read, stops its own units; the
others go on. What was answered is in the store.
"""

import sys
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from coherence.cli.progress import answer_progress
from coherence.errors import CoherenceError
from coherence.table.printable import counted
from elicitation.commands.elicit_session import load_model
from elicitation.commands.model_options import drawn_at_a_time
from elicitation.commands.study.units import Unit, by_model
from elicitation.models.hosted.replies import HostedError

if TYPE_CHECKING:
    from elicitation.asking.store import AnswerStore
    from elicitation.models.base import Model
    from elicitation.questions.plan import Plan

Failures = list[tuple[str, str]]
"""What could not be finished, and why."""


@dataclass
class Asked:
    """What a run did."""

    finished: int = 0  # units that were finished now
    found: int = 0  # units that had been finished before
    failures: Failures = field(default_factory=list)  # what could not be finished, and why


def ask_units(units: list[Unit], store: "AnswerStore") -> Asked:
    """Ask what the store lacks, and write the table of every unit."""
    done = Asked()
    for model, own in by_model(units):
        missing = [unit for unit in own if unit.finished() is None]
        done.found += len(own) - len(missing)
        if not missing:
            continue
        loaded: Model | None = None
        for number, unit in enumerate(missing):
            try:
                # An agent answers from the exact posteriors of a task's cases; it is made for each.
                if loaded is None or model.is_agent:
                    loaded = load_model(unit.options, unit.source())
                _ask(unit, loaded, store)
            except CoherenceError as error:
                # A model that is not there, or no longer, would fail for every other task as well.
                gone = (loaded is None and not model.is_agent) or isinstance(error, HostedError)
                lost = missing[number:] if gone else [unit]
                done.failures += [(each.label, str(error)) for each in lost]
                if gone:
                    break
                continue
            done.finished += 1
        del loaded  # before the next one is loaded
    return done


def _ask(unit: Unit, model: "Model", store: "AnswerStore") -> None:
    from elicitation.asking.session import run_plan

    plan = unit.plan()
    with answer_progress(unit.label) as progress:
        runs, tally = run_plan(
            model,
            plan,
            store,
            batch_size=drawn_at_a_time(unit.options),
            keep_going=unit.options.keep_going,
            progress=progress,
        )
    counts = {
        "n_answers": tally.total,
        "n_readable": tally.readable,
        "n_repaired": tally.repaired,
        "n_truncated": tally.truncated,
        **tokens_of(plan, model.fingerprint, store),
    }
    unit.finish(runs, counts)
    print(
        f"{unit.label}: {counted(tally.asked, 'answer')} asked, {tally.reused} found, "
        f"{tally.readable / tally.total:.1%} readable",
        file=sys.stderr,
    )


def tokens_of(plan: "Plan", fingerprint: str, store: "AnswerStore") -> dict[str, int | None]:
    """Return how many tokens the answers of a plan took."""
    answers = store.get(question.key(fingerprint) for question in plan.questions).values()
    return {
        "tokens_in": _sum(answer.n_prompt_tokens for answer in answers),
        "tokens_out": _sum(answer.n_tokens for answer in answers),
    }


def _sum(counts: Iterable[int | None]) -> int | None:
    known = list(counts)
    return None if None in known else sum(each for each in known if each is not None)
