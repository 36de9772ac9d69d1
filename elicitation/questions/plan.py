"""What a session will ask, before anyone is asked: every case, prompt variant and repetition.

Cases come from a network, whose phrases give the words, or from a table of questions. Each question
is answered in a context of its own: no text asks for a belief and an action, and no answer sees
another.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pandas as pd

from coherence.decoding.decode import BELIEF_LABELS, DECISION_LABELS, Form
from coherence.errors import InputError, closest, listing
from coherence.runs.formats import require_frame
from elicitation.declarations import require_in_range
from elicitation.questions.prompts import (
    BELIEF,
    LETTERS,
    NETWORK_PROMPTS,
    SAID,
    TABLE_PROMPTS,
    Offer,
    PromptSet,
    Template,
    case_words,
    costs_of,
    label_words,
    offers_of,
    said_of,
)
from elicitation.questions.question import Question
from elicitation.questions.tasks import (
    Subject,
    Truth,
    cells_of,
    check_questions,
    conditional_truth,
    evidence_of,
    features_of,
)
from elicitation.ways import OFFERED, QuestionSpec, Role, Way, WayOptions

REFERENCE = "standard"
USUAL_LEVELS = 10
"""Chances that matching questions state; 99 are the most that are different whole percents."""
_SpecAndText = tuple[QuestionSpec, str]
"""What is asked of a case, and the text."""
_OfCase = tuple[list[_SpecAndText], Mapping[str, str]]
"""What is asked of a case in every repetition, and the placeholders of what is offered besides."""


@dataclass(frozen=True, kw_only=True)
class Design(WayOptions):
    """How often, in which ways and how randomly the questions of a session are asked.

    Its fields have the names, ranges and defaults of the options of ``coherence elicit``, which
    docs/eliciting.md describes: `reps`, `prompts`, `iterated`, `belief`, `draws`, `temperature`,
    `max_new_tokens`, `seed`, `answers`, `min_mass`, `decision`, `costs` and `levels`. Actions are
    set beside the prompt "standard", or beside the first where it is missing. `templates` are a
    `PromptSet` of one's own; None takes the built-in ones. What is out of range raises
    `InputError`.
    """

    prompts: Sequence[str] = tuple(BELIEF)
    templates: PromptSet | None = None

    @property
    def n_levels(self) -> int:
        """Chances that matching questions state."""
        return USUAL_LEVELS if self.levels is None else self.levels

    @property
    def n_reps(self) -> int:
        """Repetitions."""
        return self.way.how.usual_reps if self.reps is None else self.reps

    @property
    def belief_way(self) -> Way:
        """How beliefs are had under the prompt variants."""
        return Way.of(self.belief, self.answers)

    @property
    def way(self) -> Way:
        """How all other answers are had."""
        return Way.of("verbalised", self.answers)

    def __post_init__(self) -> None:
        require_in_range(self)
        if self.levels is not None and self.decision != "matching":
            raise InputError(
                f"levels are those of decision='matching'; received {self.levels} with "
                f"decision={self.decision!r}. Leave them out."
            )
        if self.decision in ("stakes", SAID):
            costs_of(self.decision, self.costs)
        elif self.costs is not None:
            raise InputError(
                f"costs are those of decision='stakes' and '{SAID}'; received {self.costs!r} with "
                f"decision={self.decision!r}. Leave them out."
            )
        for way in (self.belief_way, self.way):
            way.how.check(self)


@dataclass(frozen=True)
class Plan:
    """The questions of a session, before anyone is asked.

    They are in a fixed order: more repetitions only add to its end. `truth` is that of the cases
    that are asked about z.
    """

    questions: list[Question]
    task: str
    cases: pd.DataFrame
    truth: Truth = field(default_factory=dict)
    options: WayOptions = field(default_factory=WayOptions)  # how answers are read


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
        A prompt variant that the templates do not have, or cases about what has no words.

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
    cases = require_frame(cases, "cases")
    templates = design.templates or NETWORK_PROMPTS
    if design.iterated and "z" not in cases.columns:
        raise InputError(
            f"cases must have a column 'z', as those of sample_cases; found: "
            f"{listing(cases.columns)}. Draw them with task.cases(n), or pass iterated=False."
        )
    once: list[_OfCase] = []
    yes_no = design.belief_way.how.asks_yes_no
    for case in cells_of(cases):
        evidence = evidence_of(case)
        words = case_words(task.phrases, evidence, task.target)
        asked = _beliefs(words, templates, design)
        if design.decision == "usual":
            decision = QuestionSpec("decision", "", DECISION_LABELS, way=design.way)
            asked.append((decision, templates.decision.fill(**words)))
        # The law is about stated numbers: a read-off belief has no variant to set them beside.
        if design.iterated and not yes_no and pd.notna(case["z"]):
            asked += _law(task, evidence, str(case["z"]), templates, design.way)
        once.append((asked, words))
    truth: Truth = {}
    if any(spec.role == "conditional" for asked, _ in once for spec, _ in asked):
        truth = conditional_truth(cases, task.network, task.phrases, task.target)
    # A network knows every theta, so that the column is never null, as that of a table may be.
    types = {"theta": "int64", **dict.fromkeys(features_of(cases), "string")}
    questions = list(_numbered(once, templates, design))
    positive = f"{task.target} = {task.phrases.positive(task.target)}"
    told = cases.astype(types).assign(theta_name=positive)
    return Plan(questions, task.name, told, truth, design)


def plan_own_questions(table: pd.DataFrame, design: Design, *, task: str = "questions") -> Plan:
    """Plan a session about a table of questions, as from `load_questions`; see `plan_task`.

    Raises `InputError` where the table breaks a rule, too.
    """
    # A table made in Python has not been through the checks of a file.
    table = check_questions(table)
    templates = design.templates or TABLE_PROMPTS
    # A question for a number does not read as one for Yes or No, so that each way has its column.
    yes_no = design.belief_way.how.asks_yes_no
    column = "yes_no_question" if yes_no else "belief_question"
    if column not in table.columns:
        raise InputError(
            f"belief={design.belief!r} needs the column {column!r} in the table of questions. "
            "Add it, or elicit the belief in another way."
        )
    # What is offered is a prize on the answer Yes.
    if design.decision != "usual" and "yes_no_question" not in table.columns:
        raise InputError(
            f"decision={design.decision!r} offers a prize on the answer Yes, and needs the column "
            "'yes_no_question' in the table of questions. Add it."
        )
    once: list[_OfCase] = []
    for row in cells_of(table):
        asked = _beliefs({"question": row[column]}, templates, design)
        if design.decision == "usual" and "action_question" in table.columns:
            options = row["options"]
            text = templates.decision.fill(
                question=row["action_question"],
                options="\n".join(options),
                **label_words(options),
            )
            asked.append((QuestionSpec("choice", "", options, way=design.way), text))
        once.append((asked, {"question": row.get("yes_no_question", "")}))
    questions = list(_numbered(once, templates, design))
    return Plan(questions, task, table, options=design)


def _beliefs(words: dict[str, str], templates: PromptSet, design: Design) -> list[_SpecAndText]:
    prompts = design.prompts
    unknown = [name for name in prompts if name not in templates.belief]
    if unknown or not prompts or len(set(prompts)) < len(prompts):
        nearest = f" {closest(unknown[0], templates.belief)}" if unknown else ""
        raise InputError(
            f"prompts must be distinct names among {', '.join(templates.belief)}; "
            f"received {', '.join(prompts) or 'none'}.{nearest}"
        )
    way = design.belief_way
    if way.how.asks_yes_no:
        spec = QuestionSpec("belief", design.belief, BELIEF_LABELS, way=way)
        once = [(spec, templates.yes_no.fill(**words))]
    else:
        words = words | label_words(BELIEF_LABELS)
        chosen = [templates.belief[name] for name in prompts]
        once = [
            (QuestionSpec("belief", each.name, BELIEF_LABELS, each.form, way), each.fill(**words))
            for each in chosen
        ]
    # The answers that a belief is made of are to one text; their numbers tell them apart.
    return [asked for asked in once for _ in range(way.how.n_answers(design))]


def _law(
    task: Subject, evidence: dict[str, str], z: str, templates: PromptSet, way: Way
) -> list[_SpecAndText]:
    """Return the questions of the law of iterated expectation."""
    # Templates for tables have neither: there is no z to ask about.
    if not (templates.auxiliary and templates.conditional):
        return []
    labels = task.phrases.labels(z)
    words = case_words(task.phrases, evidence, task.target, z=z)
    text = templates.auxiliary.fill(**words)
    # One question for the whole distribution of z: its shares are the weights of the law.
    spec = QuestionSpec("auxiliary", "", tuple(labels.values()), way=way)
    asked: list[_SpecAndText] = [(spec, text)]
    for state in labels:
        words = case_words(task.phrases, evidence, task.target, z=z, state=state)
        text = templates.conditional.fill(**words)
        asked.append((QuestionSpec("conditional", state, BELIEF_LABELS, way=way), text))
    return asked


def _offered(
    words: Mapping[str, str], templates: PromptSet, design: Design, case: int, rep: int
) -> Iterator[_SpecAndText]:
    """Yield the matching or stakes questions about a case."""
    if design.decision == "usual":
        return
    role: Role = "matching" if design.decision == "matching" else "stakes"
    every, template = design.way.how.is_distribution, _template(templates, role)
    at: dict[str, Any] = {"every": every, "seed": design.seed, "case": case, "rep": rep}
    for offer in offers_of(design.decision, design.n_levels, design.costs, **at):
        yield _offer(role, offer, design, LETTERS), template.offer(offer, OFFERED[role], **words)


def _said(
    words: Mapping[str, str], templates: PromptSet, design: Design
) -> Iterator[tuple[int, QuestionSpec, str]]:
    """Yield the questions from which probability on it would act, in both orders, numbered."""
    if design.decision != SAID:
        return
    template = _template(templates, "costs_said")
    n = 2 if design.way.how.is_distribution else design.draws
    for number, offer in said_of(design.costs, n):
        spec = _offer(SAID, offer, design, BELIEF_LABELS)
        yield number, spec, template.offer(offer, OFFERED["stakes"], **words)


def _template(templates: PromptSet, name: str) -> Template:
    template: Template | None = getattr(templates, name)
    if template is None:
        raise InputError(f"templates must have {name!r} for this decision. Give PromptSet one.")
    return template


def _offer(role: Role, of: Offer, design: Design, lines: tuple[str, ...]) -> QuestionSpec:
    form: Form = "number" if role == SAID else "lines"
    offered: dict[str, Any] = {"level": of.level, "frame": of.frame, "order": of.order}
    return QuestionSpec(role, "", lines, form, way=design.way, **offered)


def _numbered(once: Sequence[_OfCase], templates: PromptSet, design: Design) -> Iterator[Question]:
    """Repeat questions, and number the draws of every text."""
    # Counted by text and not by context: two contexts of the same words would else get the same
    # seed, and with it the same answer.
    drawn: Counter[str] = Counter()

    def numbered(spec: QuestionSpec, text: str, case: int, rep: int) -> Question:
        drawn[text] += 1
        return replace(_settled(text, spec, drawn[text] - 1, design), case=case, rep=rep)

    for rep in range(design.n_reps):
        for case, (asked, words) in enumerate(once):
            for spec, text in (*asked, *_offered(words, templates, design, case, rep)):
                yield numbered(spec, text, case, rep)
        for number, spec, text in _said(once[0][1], templates, design) if rep == 0 else ():
            yield numbered(spec, text, 0, number)


def _settled(text: str, spec: QuestionSpec, number: int, design: Design) -> Question:
    form = spec.way.how.form(spec)
    if spec.way.how.is_read:
        assert form is not None, "probabilities are those of the answers in a form"
        # What is read, and not drawn, has no number, and is asked once.
        return Question.of_form(text, form, spec=spec)
    return Question.of(
        text,
        number,
        base_seed=design.seed,
        temperature=design.temperature,
        max_new_tokens=design.max_new_tokens or spec.max_new_tokens,
        max_lines=spec.max_lines,
        form=form,
        spec=spec,
    )


def reference_of(prompts: Sequence[str]) -> str:
    """Return the variant that actions are set beside: "standard" if it is there, or the first."""
    return REFERENCE if REFERENCE in prompts else prompts[0]
