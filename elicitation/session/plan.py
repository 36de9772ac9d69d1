"""What a session will ask, before anyone is asked.

The task or the table of questions, the design, and the grid that follows from both.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol, cast

import numpy as np
import pandas as pd

from bayesnets import (
    Network,
    Phrases,
    dataset_names,
    load_dataset,
    load_network,
    load_phrases,
    network_names,
    sample_cases,
)
from coherence.errors import InputError, suggestion
from coherence.table.frames import require_frame
from elicitation.reading.belief import READ_OFF
from elicitation.session.custom import check_questions
from elicitation.session.design import Design as Design
from elicitation.session.formed import form_of
from elicitation.session.prompts import NETWORK_PROMPTS, TABLE_PROMPTS
from elicitation.session.questions import Question, plan_questions, plan_table
from elicitation.session.read_answers import ReadAnswer
from elicitation.session.runs import Truth, assemble_runs, conditional_truth, features_of
from elicitation.store import Draw


@dataclass(frozen=True)
class Task:
    """What is asked about: a network, its words, and a variable of it.

    Parameters
    ----------
    name : str
        Value of the `task` column.
    network : Network
        Source of cases and truth.
    phrases : Phrases
        The network in words.
    target : str
        The variable asked about; a belief is the probability of its positive state.
    min_records : int or None
        Records that the evidence of a case needs, as of ``bayesnets.sample_cases``.
    """

    name: str
    network: Network
    phrases: Phrases
    target: str
    min_records: int | None = None

    @classmethod
    def load(cls, name: str, *, target: str | None = None) -> "Task":
        """Load a network of the catalogue with its words.

        Parameters
        ----------
        name : str
            Name in the catalogue; for records as truth see `load_task`.
        target : str or None
            The variable asked about; None takes the one that the words name as usual.

        Returns
        -------
        Task
            Named after the network, and after the target where that is not the usual one.
        """
        network = load_network(name)
        phrases = load_phrases(name, network)
        # The usual target goes without saying; the task column tells the others from it.
        usual = phrases.default_target
        chosen = usual if target is None else target
        return cls(name if chosen == usual else f"{name}:{chosen}", network, phrases, chosen)

    def cases(self, n: int, *, seed: int) -> pd.DataFrame:
        """Draw the contexts of a session.

        Parameters
        ----------
        n : int
            Number of contexts, positive.
        seed : int
            At least 0.

        Returns
        -------
        DataFrame
            As from ``bayesnets.sample_cases``.
        """
        if n < 1 or seed < 0:
            raise InputError(
                f"contexts must be positive and seed at least 0; received {n} and {seed}."
            )
        return sample_cases(
            self.network,
            self.target,
            n,
            target_state=self.phrases.positive(self.target),
            min_records=self.min_records,
            rng=np.random.default_rng(seed),
        )


class Subject(Protocol):
    """Whatever can be asked about: a `Task`, or ``bayesnets.RecordTask`` with words."""

    @property
    def name(self) -> str:
        """Value of the `task` column."""

    @property
    def network(self) -> Network:
        """Source of the truth."""

    @property
    def phrases(self) -> Phrases:
        """The network in words."""

    @property
    def target(self) -> str:
        """The variable asked about."""

    def cases(self, n: int, *, seed: int) -> pd.DataFrame:
        """Draw the contexts of a session."""


def load_task(name: str, *, target: str | None = None, min_records: int | None = None) -> Subject:
    """Load what is asked about by its name.

    That is a network of the catalogue, or a data set whose records are the truth.

    Parameters
    ----------
    name : str
        In ``bayesnets.network_names()`` or ``bayesnets.dataset_names()``.
    target : str or None
        The variable asked about; None takes the usual one. A data set has only that one.
    min_records : int or None
        Of a data set, the records that the evidence of a case needs; None is 100.

    Returns
    -------
    Task or RecordTask
        With words.

    Raises
    ------
    InputError
        An unknown name or target, or `min_records` where there are no records.

    Examples
    --------
    >>> load_task("asia").name
    'asia'
    """
    if name in network_names():
        if min_records:
            raise InputError(
                f"min_records counts records, and the network {name!r} of the catalogue has none "
                f"behind it; received {min_records}. Leave it out."
            )
        return Task.load(name, target=target)
    known = (*network_names(), *dataset_names())
    if name not in known:
        raise InputError(
            f"task must be one of {', '.join(known)}; received {name!r}. {suggestion(name, known)} "
            "A network of your own is a file: .bif, .xml, .xmlbif or .json."
        )
    task = (
        load_dataset(name) if min_records is None else load_dataset(name, min_records=min_records)
    )
    if target not in (None, task.target):
        raise InputError(
            f"target of the records {name!r} must be {task.target!r}, the outcome they hold; "
            f"received {target!r}. Leave it out."
        )
    # Records may come without words; the data sets of the package have them.
    return cast("Subject", task)


@dataclass(frozen=True)
class Plan:
    """The questions of a session, before anyone is asked.

    Parameters
    ----------
    questions : list of Question
        In a fixed order.
    draws : list of Draw
        One per question.
    task : str
        Value of the `task` column.
    cases : DataFrame
        The contexts, or the table of questions.
    truth : mapping
        Of cases that are asked about z: state of z -> ``p_true``, the exact P(theta | x, z), and
        ``p_z_true``, P(z | x).
    min_mass : float
        See `Design`.
    """

    questions: list[Question]
    draws: list[Draw]
    task: str
    cases: pd.DataFrame
    truth: Truth = field(default_factory=dict)
    min_mass: float = 0.0

    def assemble(self, read: Sequence[ReadAnswer], model: str) -> pd.DataFrame:
        """Return the runs table of what was read of a model's answers, one per question."""
        return assemble_runs(self.cases, read, self.truth, task=self.task, model=model)


def plan_task(task: Subject, cases: pd.DataFrame, design: Design) -> Plan:
    """Plan a session about a network.

    Parameters
    ----------
    task : Task, or another Subject
        What about.
    cases : DataFrame
        The contexts, from `Task.cases`.
    design : Design
        How often and in which ways.

    Returns
    -------
    Plan
        To be looked at, or run.

    Raises
    ------
    InputError
        An option is outside its range.

    Examples
    --------
    >>> import elicitation
    >>> task = elicitation.load_task("asia")
    >>> cases = task.cases(20, seed=0)
    >>> agent = elicitation.agent_for_task("leaky", task, cases)
    >>> plan = plan_task(task, cases, elicitation.Design(reps=2))
    >>> len(plan.questions)
    320
    """
    require_frame(cases, "cases")
    questions = plan_questions(
        cases,
        task.phrases,
        task.target,
        reps=design.n_reps,
        prompts=design.prompts,
        iterated=design.iterated,
        belief=design.belief,
        draws=design.draws,
        templates=design.templates or NETWORK_PROMPTS,
    )
    questions = _in_form(questions, design)
    truth: Truth = {}
    if any(question.role == "conditional" for question in questions):
        truth = conditional_truth(cases, task.network, task.phrases, task.target)
    # A network knows every theta, so that the column is never null, as that of a table may be.
    types = {"theta": "int64", **dict.fromkeys(features_of(cases), "string")}
    draws = number_draws(questions, design)
    return Plan(questions, draws, task.name, cases.astype(types), truth, design.min_mass)


def plan_own_questions(table: pd.DataFrame, design: Design, *, task: str = "questions") -> Plan:
    """Plan a session about a table of questions; as `plan_task`.

    Parameters
    ----------
    table : DataFrame
        From ``elicitation.load_questions``, or made in Python with the same columns.
    design : Design
        How often and in which ways.
    task : str
        Value of the `task` column.

    Returns
    -------
    Plan
        To be looked at, or run.

    Raises
    ------
    InputError
        An option is outside its range, or the table breaks a rule.

    Examples
    --------
    >>> import pandas as pd
    >>> import elicitation
    >>> table = pd.DataFrame(
    ...     {"context": ["monday"], "belief_question": ["How probable is rain on Monday?"]}
    ... )
    >>> design = elicitation.Design(reps=3, prompts=("standard",))
    >>> len(plan_own_questions(table, design).questions)
    3
    """
    # A table made in Python has not been through the checks of a file.
    table = check_questions(table)
    questions = plan_table(
        table,
        reps=design.n_reps,
        prompts=design.prompts,
        belief=design.belief,
        draws=design.draws,
        templates=design.templates or TABLE_PROMPTS,
    )
    questions = _in_form(questions, design)
    draws = number_draws(questions, design)
    return Plan(questions, draws, task, table, min_mass=design.min_mass)


def _in_form(questions: Sequence[Question], design: Design) -> list[Question]:
    """Return questions as they are answered; labels have their own way already."""
    if design.answers == "drawn":
        return list(questions)
    return [
        replace(question, way=design.answers) if question.way not in READ_OFF else question
        for question in questions
    ]


def number_draws(questions: Sequence[Question], design: Design) -> list[Draw]:
    """Number the draws of every text: contexts with the same words get answers of their own."""
    # Counted by text and not by context: two contexts of the same words would else get the same
    # seed, and with it the same answer.
    drawn: Counter[str] = Counter()
    draws = []
    for question in questions:
        if question.way == "token":
            # A probability is read, not drawn: it has no number, and is asked once.
            draws.append(Draw.of_labels(question.text, question.lines, about=question.about))
            continue
        form = form_of(question) if question.way in ("forced", "exact") else None
        if form and question.way == "exact":
            draws.append(Draw.of_form(question.text, form, about=question.about))
            continue
        draws.append(
            Draw.of(
                question.text,
                drawn[question.text],
                base_seed=design.seed,
                temperature=design.temperature,
                max_new_tokens=design.max_new_tokens or question.max_new_tokens,
                max_lines=question.max_lines,
                about=question.about,
                form=form,
            )
        )
        drawn[question.text] += 1
    return draws
