"""A session: the whole grid of questions put to a model, ending in a runs table.

Every answer goes to the store before it counts. A session that is started again with the same
arguments finds what it has and asks the rest, so an interruption costs at most one batch, and a
finished session costs no question at all.

The table has one row per context, repetition and prompt variant or state of z. The action, asked
for by itself, stands on the rows of the reference prompt variant. A row's status is the gravest of
its answers; what could be read of it is kept, the rest is null. Truth comes from the network,
exactly, or from the table of questions, as far as it is there.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import pandas as pd

from coherence.decoding.decode import PARSED, TRUNCATED, worst
from coherence.errors import InputError
from coherence.printable import clean
from coherence.runs.columns import OFFER_COLUMNS, RECORDED
from elicitation.asking.ask import Progress, ask, constrains_tokens
from elicitation.asking.store import AnswerStore
from elicitation.models.base import Answer, Model
from elicitation.questions.plan import Design, Plan, plan_own_questions, plan_task, reference_of
from elicitation.questions.prompts import ACT, SAID
from elicitation.questions.question import (
    AnsweredQuestion,
    Question,
)
from elicitation.questions.tasks import Subject, Truth, features_of
from elicitation.ways import SPREAD, Parsed, QuestionSpec

_ORDER = (
    *("task", "model", "context", "rep", "prompt", "p", *SPREAD, "belief_kind", "action"),
    *("level", "frame", "order", "gain", "loss", "acts", "says_from"),
    *("theta", "theta_name", "p_true", "truth_kind", "z", "z_state", "p_z", "p_z_true", "status"),
    *("asked", "asked_action", "asked_z", "raw_belief", "raw_action", "raw_z", "answer_mass"),
    *("finish_reason", "logprob_belief", "logprob_action", "seed", "created"),
)
_NUMBERS = (
    *("p", *SPREAD, "level", "gain", "loss", "says_from", "p_true", "p_z", "p_z_true"),
    *("answer_mass", "logprob_belief", "logprob_action"),
)
COLUMNS: dict[str, str | None] = {
    **dict.fromkeys(_ORDER, "string"),
    **dict.fromkeys(_NUMBERS, "float64"),
    **dict.fromkeys(("rep", "seed"), "int64"),
    **dict.fromkeys(("context", "theta")),
}
"""In this order, with the features before the status; None takes the type of the values."""
# The gravest first; a server's own words for anything else are left to the store.
_ENDS = ("content_filter", "length", "stop")


@dataclass(frozen=True)
class _Place:
    """The answers to a question: one, or the draws of a sampled belief."""

    answers: list[AnsweredQuestion]

    @property
    def spec(self) -> QuestionSpec:
        return self.answers[0].question.spec

    @property
    def first(self) -> Answer:
        return self.answers[0].stored

    @cached_property
    def parsed(self) -> Parsed:
        return self.spec.way.how.sum_up([answer.parsed for answer in self.answers])

    @property
    def raw(self) -> str:
        """The answers as they came, as a cell."""
        return self.spec.way.how.raw(self.spec, [each.stored.text for each in self.answers])

    def belief_cells(self) -> dict[str, Any]:
        """The cells of a row that come from a question for a belief."""
        read = self.parsed
        cells = {
            "p": read.value,
            "belief_kind": self.spec.way.how.kind,
            "asked": self.answers[0].question.text,
            "raw_belief": self.raw,
            "seed": self.first.seed,
        }
        if self.spec.way.how.is_distribution:
            cells |= dict(zip(SPREAD, (read.sd, read.q05, read.q95), strict=True))
        # A belief that is read off has a mass on Yes and No; the text of a stated one has a
        # likelihood.
        if read.answer_mass is not None:
            return cells | {"answer_mass": read.answer_mass}
        return cells | {"logprob_belief": self.first.logprob}

    def action_cells(self) -> dict[str, Any]:
        """The cells of a row that come from a question for an action."""
        spec, value = self.spec, self.parsed.value
        asked = {"asked_action": self.answers[0].question.text, "raw_action": self.raw}
        if spec.role == SAID:
            return {"prompt": SAID, "says_from": value} | asked
        if spec.way.how.is_distribution:
            # An action that is a distribution has a column for each label.
            shares = value or dict.fromkeys(spec.actions)
            return {f"action_{label}": shares[label] for label in spec.actions} | asked
        return {"action": value, "logprob_action": self.first.logprob} | asked

    def offer_cells(self) -> dict[str, Any]:
        """The cells of a row that is the answer to a matching or a stakes question."""
        spec = self.spec
        cells: dict[str, Any] = {"order": spec.order, "seed": self.first.seed}
        gain, staked, loss = spec.frame.partition(":")
        if staked:
            cells |= {"gain": float(gain), "loss": float(loss), "acts": ACT}
        else:
            cells |= {"level": spec.level, "frame": spec.frame}
        return {**cells, **self.action_cells()}


_At = tuple[int, int, bool, str, str]
"""Case, repetition, whether it is offered, role and key of a question."""


def assemble_runs(
    cases: pd.DataFrame, read: Sequence[AnsweredQuestion], truth: Truth, *, task: str, model: str
) -> pd.DataFrame:
    """Lay the answers out as a runs table.

    A row of which an answer has not come is left out: of a session that is none, of the log of a
    run that was cut off the last ones.
    """
    places: dict[_At, _Place] = {}
    for answer in read:
        question, spec = answer.question, answer.question.spec
        # What is offered is a row of its own, below the beliefs of the repetition.
        key = str(len(places)) if spec.frame else spec.key
        at: _At = (question.case, question.rep, bool(spec.frame), spec.role, key)
        places.setdefault(at, _Place([])).answers.append(answer)
    roles = dict.fromkeys(role for *_, role, _ in places)
    prompts = [key for *_, role, key in places if role == "belief"]
    reference = reference_of(list(dict.fromkeys(prompts)))
    acting = next((role for role in roles if role in ("decision", "choice")), None)
    # Lists, as a cell that is taken from a column by position copies the notes of the table.
    cells = cases.reindex(columns=["z", "p_true"]).to_dict("list")
    rows, positions = [], []
    # By case and repetition; sorting is stable, so that variants stay in the order of the plan.
    for at, place in sorted(places.items(), key=lambda item: item[0][:3]):
        position, rep, is_offer, role, key = at
        if not is_offer and role not in ("belief", "conditional"):
            continue
        # Actions are asked without a variant. On the rows of all variants one action would count
        # as several.
        second = "auxiliary" if role == "conditional" else acting if key == reference else None
        other = places.get((position, rep, False, second, "")) if second else None
        if second and other is None:
            continue
        row = {"task": task, "model": model, "rep": rep, "prompt": reference}
        if is_offer:
            row |= {"p_true": cells["p_true"][position], **place.offer_cells()}
        elif role == "conditional":
            assert other is not None, "left out above"
            row |= {**place.belief_cells(), "z": cells["z"][position], "z_state": key}
            row |= {"asked_z": other.answers[0].question.text, "raw_z": other.raw}
            row |= truth[position][key]
            # In the order of the labels that the question listed, which is that of the states.
            if other.parsed.value is not None:
                row["p_z"] = other.parsed.value[list(truth[position]).index(key)]
        else:
            row |= {**place.belief_cells(), "prompt": key, "p_true": cells["p_true"][position]}
            row |= {} if other is None else other.action_cells()
        rows.append(row | _sum_up([place] if other is None else [place, other]))
        positions.append(position)
    # What is not known of the truth is no column at all: an empty one would read as known and
    # missing.
    absent = [name for name in ("theta", "theta_name", "p_true") if name not in cases.columns]
    if "theta" in absent and "p_true" in absent:
        absent.append("truth_kind")
    elif "truth_kind" not in cases.columns:  # a truth of the user's own
        cases = cases.assign(truth_kind=RECORDED)
    asked = {name for row in rows for name in row}
    absent += {*OFFER_COLUMNS, "acts", "says_from"} - asked
    if acting is None and not any(is_offer for _, _, is_offer, *_ in places):
        absent += ["action", "asked_action", "raw_action", "logprob_action"]
    if "z" not in cases.columns:
        absent += ["z", "z_state", "p_z", "p_z_true", "asked_z", "raw_z"]
    features = features_of(cases)
    of_case = ("context", "theta", "theta_name", "truth_kind", *features)
    kept = [name for name in of_case if name in cases.columns]
    runs = _typed(rows, cases[kept].iloc[positions], features)
    return runs.drop(columns=runs.columns.intersection(absent))


def _sum_up(used: Sequence[_Place]) -> dict[str, Any]:
    """Return the status, the answer mass and the time of a row."""
    read = [place.parsed for place in used]
    masses = [each.answer_mass for each in read if each.answer_mass is not None]
    answers = [answer.stored for place in used for answer in place.answers]
    ended = {answer.finish_reason for answer in answers}
    return {
        "status": worst([each.status for each in read]),
        # As the status: of a belief and an action the one that the model would give less.
        **({"answer_mass": min(masses)} if masses else {}),
        "finish_reason": next((reason for reason in _ENDS if reason in ended), None),
        # A row is as old as the youngest of its answers.
        "created": max(answer.created or "" for answer in answers),
    }


def _typed(rows: list[dict[str, Any]], cases: pd.DataFrame, features: list[str]) -> pd.DataFrame:
    """Lay rows out as a table whose columns and types do not depend on what was answered."""
    # The same columns whatever was asked, so that sessions can be put below each other; but spreads
    # and the shares of actions are there only where answers are distributions.
    answered = pd.DataFrame.from_records(rows)
    known = pd.concat([answered, cases.reset_index(drop=True)], axis="columns")
    actions = [str(name) for name in known.columns if str(name).startswith("action_")]
    names = [name for name in COLUMNS if name in known.columns or name not in SPREAD]
    if actions:
        # Options may differ between rows: one that was not offered is not chosen.
        chosen = known[actions].notna().any(axis=1)
        known.loc[chosen, actions] = known.loc[chosen, actions].astype("float64").fillna(0.0)
        position = names.index("action")
        names[position : position + 1] = actions
    status = names.index("status")
    order = [*names[:status], *features, *names[status:]]
    # A column that happens to be all null would otherwise take another type than in the next
    # session.
    types = {name: COLUMNS.get(name, "float64") for name in names}
    return known.reindex(columns=order).astype(
        {name: dtype for name, dtype in types.items() if dtype is not None}
    )


_USUAL = Design()


@dataclass(frozen=True)
class Tally:
    """What a session did.

    Parameters
    ----------
    asked, reused : int
        Answers that the model gave now, and that the store had; equal questions have one.
    readable : int
        Answers that have a value, of all; `repaired` are those among them that missed the form.
    thought : int
        Answers before which the model thought aloud; the thinking is kept and not read.
    truncated : int
        Answers that were cut, or still thinking, before they were complete.
    too_wide : int
        Beliefs that are unparsed because the likely tokens of a server leave too much open: their
        bounds are wider than .02.
    masses : tuple of float
        Answer masses of the rows that were read off probabilities, or drawn from a form.
    unparsed_rows : float
        Share of the rows of the table that `coherence.analyze` counts as unparsed: those of which
        any answer has no value.
    served_by : mapping of str to int
        Answers by the server's own name for the weights, where it gives one.
    """

    asked: int
    reused: int
    readable: int
    repaired: int = 0
    thought: int = 0
    truncated: int = 0
    too_wide: int = 0
    masses: tuple[float, ...] = ()
    unparsed_rows: float = 0.0
    served_by: Mapping[str, int] = field(default_factory=dict)

    @property
    def total(self) -> int:
        """All answers of the session."""
        return self.asked + self.reused

    @property
    def warning(self) -> str:
        """That a server named several versions of the model that answered; "" where none did."""
        if len(self.served_by) < 2:
            return ""
        names = ", ".join(f"{clean(name)} ({n})" for name, n in self.served_by.items())
        return f"warning: answers came from several versions of the model: {names}\n"


def elicit(
    model: Model,
    task: Subject | str,
    cases: pd.DataFrame,
    store: AnswerStore,
    *,
    design: Design = _USUAL,
    batch_size: int = 64,
    keep_going: bool = False,
    progress: Progress | None = None,
) -> tuple[pd.DataFrame, Tally]:
    """Ask a model for its beliefs and, in separate contexts, for its actions.

    Parameters
    ----------
    model : Model
        Who is asked; any object with the three members of `Model`.
    task : Task or str
        What about; of questions of one's own the value of the column `task`.
    cases : DataFrame
        The contexts, from `Task.cases`; or questions of one's own, from `load_questions` or made
        in Python with the same columns.
    store : AnswerStore
        Where answers are kept and found.
    design : Design
        How often, in which ways and how randomly.
    batch_size : int
        Questions per call of the model and per transaction, positive.
    keep_going : bool
        Whether to ask on where none of the first 50 answers can be read.
    progress : callable, optional
        See `elicitation.asking.ask.Progress`.

    Returns
    -------
    runs : DataFrame
        The runs table.
    tally : Tally
        How many answers were asked for now, found, and readable.

    Raises
    ------
    InputError
        An option is outside its range, or a table of questions breaks a rule.
    CoherenceError
        The store failed, or none of the first answers can be read; what the store holds is kept.

    Examples
    --------
    >>> import elicitation
    >>> store = elicitation.AnswerStore(":memory:")
    >>> task = elicitation.load_task("asia")
    >>> cases = task.cases(20, seed=0)
    >>> agent = elicitation.agent_for_task("leaky", task, cases)
    >>> runs, tally = elicit(agent, task, cases, store, design=elicitation.Design(reps=2))
    >>> tally.asked == tally.readable, runs["context"].nunique()
    (True, 20)
    >>> store.close()
    """
    if isinstance(task, str):
        plan = plan_own_questions(cases, design, task=task)
    else:
        plan = plan_task(task, cases, design)
    return run_plan(
        model, plan, store, batch_size=batch_size, keep_going=keep_going, progress=progress
    )


def run_plan(
    model: Model,
    plan: Plan,
    store: AnswerStore,
    *,
    batch_size: int = 64,
    keep_going: bool = False,
    progress: Progress | None = None,
) -> tuple[pd.DataFrame, Tally]:
    """Have a plan's questions answered and lay the answers out; else as `elicit`."""
    if batch_size < 1:
        raise InputError(f"batch_size must be positive; received {batch_size}.")
    early: dict[Question, AnsweredQuestion] = {}

    def readable(question: Question, answer: Answer) -> bool:
        early[question] = AnsweredQuestion.of(question, answer, plan.options)
        return early[question].parsed.value is not None

    answers, asked = ask(
        model,
        plan.questions,
        store,
        batch_size=batch_size,
        readable=None if keep_going else readable,
        hint="--answers forced, ",
        progress=progress,
    )
    read = [
        # What was read while answers came is not read again.
        early.get(question) or AnsweredQuestion.of(question, answer, plan.options)
        for question, answer in zip(plan.questions, answers, strict=True)
    ]
    runs = assemble_runs(plan.cases, read, plan.truth, task=plan.task, model=model.name)
    if constrains_tokens(model):
        # Not what the model would say if its answer had the form; the table says so.
        runs["belief_kind"] = runs["belief_kind"].replace("stated:forced", "stated:masked")
    if getattr(model, "repeats_itself", False):
        runs["belief_kind"] = runs["belief_kind"].replace("stated:drawn", "stated:fixed")
    # At temperature 0 the draws of a text are one answer.
    once = {each.question.key(model.fingerprint): each for each in read}.values()
    statuses = [answer.parsed.status for answer in once]
    return runs, Tally(
        asked,
        len(once) - asked,
        readable=sum(answer.parsed.value is not None for answer in once),
        repaired=sum(status.startswith("repaired:") for status in statuses),
        thought=sum(answer.thought_aloud for answer in once),
        truncated=statuses.count(TRUNCATED),
        too_wide=sum(answer.parsed.too_wide for answer in once),
        masses=tuple(runs["answer_mass"].dropna()),
        unparsed_rows=float((~runs["status"].isin(PARSED)).mean()),
        served_by=Counter(each.stored.served_by for each in once if each.stored.served_by),
    )
