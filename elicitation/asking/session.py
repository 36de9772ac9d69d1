"""A session: the whole grid of questions put to a model, ending in a runs table.

Every answer goes to the store before it counts. A session that is started again with the same
arguments finds what it has and asks the rest, so an interruption costs at most one batch, and a
finished session costs no question at all.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

import pandas as pd

from coherence.decoding.decode import PARSED, TRUNCATED
from coherence.errors import InputError
from elicitation.answers.runs import assemble_runs
from elicitation.asking.ask import Progress, ask, constrains_tokens
from elicitation.asking.store import AnswerStore
from elicitation.models.base import Answer, Model
from elicitation.questions.plan import Design, Plan, plan_own_questions, plan_task
from elicitation.questions.question import Question, ReadAnswer
from elicitation.questions.tasks import Subject
from elicitation.simulated_model import AgentModel

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


def elicit(
    model: Model,
    task: Subject,
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
    task : Task
        What about.
    cases : DataFrame
        The contexts, from `Task.cases`.
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
        An option is outside its range.
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
    plan = plan_task(task, cases, design)
    return run_plan(
        model, plan, store, batch_size=batch_size, keep_going=keep_going, progress=progress
    )


def elicit_questions(
    model: Model,
    questions: pd.DataFrame,
    store: AnswerStore,
    *,
    task: str = "questions",
    design: Design = _USUAL,
    batch_size: int = 64,
    keep_going: bool = False,
    progress: Progress | None = None,
) -> tuple[pd.DataFrame, Tally]:
    r"""Ask a model questions of one's own; as `elicit`.

    Parameters
    ----------
    questions : DataFrame
        From ``elicitation.load_questions``, or made in Python with the same columns.
    task : str
        Value of the `task` column.
    model, store, design, batch_size, keep_going, progress
        As of `elicit`.

    Returns
    -------
    runs, tally
        As from `elicit`.

    Raises
    ------
    InputError
        An option is outside its range, or the table breaks a rule.
    CoherenceError
        The store failed, or none of the first answers can be read; what the store holds is kept.

    Examples
    --------
    >>> import elicitation
    >>> store = elicitation.AnswerStore(":memory:")
    >>> import pandas as pd
    >>> class Steadfast:
    ...     name, fingerprint = "steadfast", "always 0.7"
    ...
    ...     def generate(self, requests):
    ...         return [elicitation.Answer("No: 0.30\nYes: 0.70") for _ in requests]
    >>> table = pd.DataFrame(
    ...     {"context": ["monday"], "belief_question": ["How probable is rain on Monday?"]}
    ... )
    >>> design = elicitation.Design(reps=2, prompts=("standard",))
    >>> runs, _ = elicit_questions(Steadfast(), table, store, design=design)
    >>> runs["p"].tolist()
    [0.7, 0.7]
    >>> store.close()
    """
    plan = plan_own_questions(questions, design, task=task)
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
    early: dict[Question, ReadAnswer] = {}

    def readable(question: Question, answer: Answer) -> bool:
        early[question] = ReadAnswer.of(question, answer, min_mass=plan.min_mass)
        return early[question].reading.value is not None

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
        early.get(question) or ReadAnswer.of(question, answer, min_mass=plan.min_mass)
        for question, answer in zip(plan.questions, answers, strict=True)
    ]
    runs = assemble_runs(plan.cases, read, plan.truth, task=plan.task, model=model.name)
    if constrains_tokens(model):
        # Not what the model would say if its answer had the form; the table says so.
        runs["belief_kind"] = runs["belief_kind"].replace("stated:forced", "stated:masked")
    if isinstance(model, AgentModel) and model.agent.grid and not model.agent.scatters:
        runs["belief_kind"] = runs["belief_kind"].replace("stated:drawn", "stated:fixed")
    # At temperature 0 the draws of a text are one answer.
    once = {each.question.key(model.fingerprint): each for each in read}.values()
    statuses = [answer.reading.status for answer in once]
    given = {
        question.key(model.fingerprint): answer
        for question, answer in zip(plan.questions, answers, strict=True)
    }
    return runs, Tally(
        asked,
        len(once) - asked,
        readable=sum(answer.reading.value is not None for answer in once),
        repaired=sum(status.startswith("repaired:") for status in statuses),
        thought=sum(answer.thought_aloud for answer in once),
        truncated=statuses.count(TRUNCATED),
        too_wide=sum(answer.reading.too_wide for answer in once),
        masses=tuple(runs["answer_mass"].dropna()),
        unparsed_rows=float((~runs["status"].isin(PARSED)).mean()),
        served_by=Counter(each.served_by for each in given.values() if each.served_by),
    )
