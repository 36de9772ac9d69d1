"""A session that stops when it knows: cases are asked up to each look, and the plan is kept.

The answer store holds the plan from before the first question, with a digest of all questions that
it may come to: a session that was killed goes on with the same cases, draws and p-values, and one
with another plan is refused. What a look sees is what `coherence.analyze` says of the table so far.
"""

import hashlib
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

import coherence
from coherence.errors import InputError
from coherence.result import LEVEL, CheckResult
from coherence.table.stopping import StoppingPlan
from elicitation.asking.session import Tally
from elicitation.asking.store import AnswerStore
from elicitation.models.base import Model
from elicitation.questions.plan import Plan

CHECK = "sufficiency"
FIRST, EVERY = 50, 10
"""Cases after which evidence is looked at: it is known by then whether beliefs tie."""
_TESTED = ("belief", "decision", "choice")


@dataclass(frozen=True)
class Look:
    """What a plan says of the first cases."""

    cases: int
    n_looks: int | None  # of the whole plan; None where it looks at will
    number: int  # of this look, from 1
    result: CheckResult

    @property
    def stops(self) -> bool:
        """Whether the plan stops here."""
        return self.result.settings.get("stopped") is not None

    def __str__(self) -> str:
        """Return a line: cases, p-value and level."""
        path = self.result.fitted
        assert isinstance(path, pd.DataFrame)
        if self.n_looks is None:
            enough = self.result.settings["evidence"]
            now = "none" if path.empty else f"{math.exp(path['log_evidence'].iloc[-1]):.3g}"
            return f"{self.cases} cases: evidence {now}, {enough:g} is enough"
        row = path.iloc[self.number - 1]
        pvalue = f"no p-value ({self.result.reason})"
        if not math.isnan(row["pvalue"]):
            pvalue = f"p = {row['pvalue']:.2g}"
        of = f"look {self.number} of {self.n_looks}"
        return f"{of}: {self.cases} cases, {pvalue}, stops at {row['level']:.2g}"


def run_until(
    model: Model,
    plan: Plan,
    store: AnswerStore,
    stopping: StoppingPlan,
    *,
    ask: Callable[[Plan], tuple[pd.DataFrame, Tally]],
    seen: Callable[[Look], None],
) -> tuple[pd.DataFrame, Tally, Look]:
    """Ask cases up to each look until the plan stops, or ends; `ask` runs part of the plan.

    Raises
    ------
    InputError
        The store has another plan for these questions, they cannot be tested, or evidence does not
        suit them; what was asked is kept.
    """
    require_testable(plan)
    key, kept = _named(model, plan), f"{stopping} {_digest(model, plan)}"
    _require_same(store.keep_plan(key, kept), kept, store, f"{model.name} on {plan.task}")
    asked = 0
    for number, size in enumerate(_sizes(stopping, len(plan.cases)), start=1):
        runs, tally = ask(first_cases(plan, size))
        asked += tally.asked
        runs = with_plan(runs, stopping)
        look = look_at(runs, stopping, number)
        seen(look)
        if number == 1 and stopping.looks is None and look.result.lack is not None:
            # Told by beliefs alone, and no evidence was seen: another plan is not a changed one.
            store.drop_plan(key)
            raise InputError(
                f"--evidence {stopping.evidence:g} does not suit these answers: "
                f"{look.result.reason}. Looks do: --looks 5 --most {len(plan.cases)} in place of "
                f"--evidence; what was asked is kept in {store.path}."
            )
        if look.stops:
            break
    return runs, replace(tally, asked=asked, reused=tally.total - asked), look


def look_at(runs: pd.DataFrame, stopping: StoppingPlan, number: int) -> Look:
    """Return what a plan says of a table that carries it."""
    (evaluation,) = coherence.analyze(runs, checks=[CHECK], rng=stopping.seed).evaluations
    if not evaluation.results:
        why = evaluation.absent(CHECK) or "the table lacks what it needs"
        raise InputError(f"--stop-when {CHECK} cannot be tested: {why} Leave it out.")
    return Look(int(runs["arrival"].max()), stopping.looks, number, evaluation.results[0])


def with_plan(runs: pd.DataFrame, stopping: StoppingPlan) -> pd.DataFrame:
    """Return a table with its plan, and the place of each case, whose rows are in that order."""
    place = pd.factorize(runs["context"])[0] + 1
    return runs.assign(plan=str(stopping), arrival=np.asarray(place, dtype=np.int64))


def ending(look: Look, most: int) -> str:
    """Say where a session stopped, and why."""
    level = 1 / look.result.settings.get("evidence", 1 / LEVEL)
    known = "" if math.isnan(look.result.pvalue or 0.0) else f", p = {look.result.pvalue:.2g}"
    if look.stops:
        return (
            f"stopped after {look.cases} of at most {most} cases{known} with all looks allowed for"
        )
    return f"asked all {look.cases} cases: the plan did not stop at {level:g}{known}"


def first_cases(plan: Plan, n: int) -> Plan:
    """Return the part of a plan that is about its first cases."""
    asked = [question for question in plan.questions if question.case < n]
    return replace(plan, questions=asked, cases=plan.cases.iloc[:n])


def require_testable(plan: Plan) -> None:
    """Raise where answers to a plan could not be tested, before any is asked."""
    acts = any(question.spec.role in _TESTED[1:] for question in plan.questions)
    if not acts or not {"theta", "p_true"} & set(plan.cases):
        lack = "actions" if not acts else "the truth (theta or p_true) of its cases"
        raise InputError(
            f"--stop-when {CHECK} tests beliefs against actions and the truth; these questions "
            f"lack {lack}. Leave it out, or add them."
        )


def _sizes(stopping: StoppingPlan, n_cases: int) -> Iterator[int]:
    if stopping.looks is not None:
        yield from map(int, stopping.sizes)
        return
    yield from range(min(FIRST, n_cases), n_cases, EVERY)
    yield n_cases


def _named(model: Model, plan: Plan) -> str:
    """Name the evaluation: who is asked about what, in which way."""
    ways = {
        (spec.role, spec.key, spec.answer_mode, spec.belief_method)
        for spec in (question.spec for question in plan.questions)
        if spec.role in _TESTED
    }
    return "\n".join([model.name, plan.task, *map(repr, sorted(ways))])


def _digest(model: Model, plan: Plan) -> str:
    keys = "\n".join(question.key(model.fingerprint) for question in plan.questions)
    return hashlib.sha256(keys.encode()).hexdigest()[:16]


def _require_same(held: str, wanted: str, store: AnswerStore, what: str) -> None:
    if held == wanted:
        return
    (before, _), (now, _) = held.rsplit(" ", 1), wanted.rsplit(" ", 1)
    flags = " ".join(f"--{word.replace('=', ' ')}" for word in before.split())
    other = f"{now}" if before != now else "the same plan with other cases, questions or draws"
    raise InputError(
        f"store {store.path} has a plan for {what}, and a plan that is changed after a look no "
        f"longer keeps its error rate: it was {before}; received {other}. Type what it was "
        f"({flags}), or begin anew in another --store."
    )
