"""What a session will ask, before anyone is asked.

The task or the table of questions, the design, and the grid that follows from both.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import pandas as pd

from coherence.table.frames import require_frame
from elicitation.questions.design import Design as Design
from elicitation.questions.grid import Question, form_of, plan_questions, plan_table
from elicitation.questions.own import check_questions
from elicitation.questions.prompts import NETWORK_PROMPTS, TABLE_PROMPTS
from elicitation.questions.question import READ_OFF, Draw
from elicitation.questions.tasks import Subject, Truth, conditional_truth, features_of


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
