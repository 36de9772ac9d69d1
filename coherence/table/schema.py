"""The runs table: its columns as data.

One row is one answer: context x repetition x prompt, and for questions under the law of iterated
expectation also x value of z. Any table of beliefs is a valid runs table if something else in it
can be checked against them (`coherence.table.needs`): actions, realised states, exact posteriors,
other wordings, or beliefs given z. What is absent is assumed or left out by `coherence.analyze`,
which says so in its report.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

REPAIRS = (
    "repaired:characters",
    "repaired:markup",
    "repaired:json",
    "repaired:spelling",
    "repaired:punctuation",
    "repaired:notation",
    "repaired:comma",
    "repaired:percent",
    "repaired:fraction",
    "repaired:layout",
    "repaired:single",
    "repaired:words",
    "repaired:passage",
)
LOW_MASS = "low_mass"
"""A value read off a distribution of which the parsed answers have little; kept, and counted."""
PARSED = ("ok", *REPAIRS, LOW_MASS)
FAILURES = ("sum_not_one", "out_of_range", "truncated", "unparsed", "refused")
STATUSES = (*PARSED, *FAILURES)
"""All statuses, from the mildest to the gravest; a row has the gravest of its answers."""
STATE_SUM_TOLERANCE = 0.02  # beliefs over several states are usually stated with two digits


@dataclass(frozen=True)
class Column:
    """One column of the runs table, or of a table in ``results.json``."""

    name: str  # name in the table
    # "probability", "label", "integer", "number", "positive" (number), "boolean" or "text"
    kind: str
    meaning: str  # one sentence


COLUMNS = (
    Column(
        "task",
        "label",
        "The decision task; with `model` the evaluation. Absent: one task.",
    ),
    Column("model", "label", "The model asked. Absent: one model."),
    Column(
        "context",
        "label",
        "Id of the evidence x; the cluster of resampling and of cross-validation folds. "
        "Absent: every row is its own context.",
    ),
    Column(
        "group",
        "label",
        "What contexts share beyond their belief (template, disease, paraphrase family); realised "
        "states are then permuted within groups, and intervals take groups for clusters.",
    ),
    Column(
        "person",
        "label",
        "Who judged, where several persons judged the same contexts: the state is that of the "
        "context, beliefs and tastes are those of the person.",
    ),
    Column("rep", "label", "Repetition within context and prompt, and person where there is one."),
    Column("prompt", "label", "Wording of the belief question; absent means 'standard'."),
    Column(
        "p",
        "probability",
        "Stated or revealed belief that theta = 1, yes, true or the label named as positive; "
        "with several states one p_<state> column each instead.",
    ),
    Column(
        "p_sd",
        "probability",
        "Standard deviation of the distribution over answers whose mean is `p`, where that was "
        "computed.",
    ),
    Column("p_q05", "probability", "Its 5% quantile."),
    Column("p_q95", "probability", "Its 95% quantile."),
    Column(
        "belief_kind",
        "label",
        "How `p` was got: stated:drawn, stated:forced, stated:masked (a server masked its tokens), "
        "stated:exact, token, sampled or revealed.",
    ),
    Column(
        "belief_context",
        "label",
        "Where the belief was stated: own (a context apart from the action's; also where it is "
        "null) or same_context (by an agent in the conversation in which it acts).",
    ),
    Column(
        "action",
        "label",
        "What the model chose, asked in a separate context; "
        "with probabilities of actions one action_<label> column each instead.",
    ),
    Column(
        "level",
        "number",
        "Rows of matching and stakes questions: the chance of the lottery, or the probability from "
        "which acting pays, as the question states it; in (0, 1), and null on ordinary rows. These "
        "rows have no `p`, and enter the checks `matching` and `stakes` alone.",
    ),
    Column(
        "frame",
        "text",
        "Of rows with a level: event (also where it is null), complement (the prize is on the "
        "event not happening) or stakes.",
    ),
    Column(
        "order",
        "text",
        "Of rows with a level: the option named first, event or lottery, of stakes act or pass; "
        "these are also their actions.",
    ),
    Column("theta", "label", "Realised state, shared by the rows of a context."),
    Column("theta_name", "text", "What theta = 1 is, as 'lung = yes'; figures name states by it."),
    Column("p_true", "probability", "Exact posterior, where known."),
    Column(
        "truth_kind",
        "label",
        "How `theta` came about: drawn (from `p_true`) or recorded. Tables that the toolkit writes "
        "have it, and `p_true` is the exact posterior only where it is there.",
    ),
    Column(
        "z",
        "label",
        "Rows for iterated expectation: name of the auxiliary variable; null on ordinary rows.",
    ),
    Column("z_state", "label", "Value of z that the belief is conditional on."),
    Column("p_z", "probability", "Stated probability of z_state given x."),
    Column("p_z_true", "probability", "Exact probability of z_state given x, where known."),
    Column(
        "status",
        "label",
        "ok, a repair ('repaired:percent' and its like; values are kept), low_mass (likewise), or "
        + ", ".join(FAILURES)
        + " (belief or action is null).",
    ),
    Column("asked", "text", "The question for the belief, as the model was asked it."),
    Column("asked_action", "text", "The question for the action, as the model was asked it."),
    Column("asked_z", "text", "The question for the probabilities of z, likewise."),
    Column("raw_belief", "text", "The belief answer as the model gave it."),
    Column("raw_action", "text", "The action answer as the model gave it."),
    Column("raw_z", "text", "The answer on the probabilities of z as the model gave it."),
    Column(
        "answer_mass",
        "probability",
        "Probability that the model put on parsed answers; of a row's answers the least.",
    ),
    Column("finish_reason", "text", "Why the answers ended: stop, length (cut), content_filter."),
    Column(
        "logprob_belief",
        "number",
        "Natural logarithm of the probability of the belief answer's tokens.",
    ),
    Column(
        "logprob_action",
        "number",
        "Natural logarithm of the probability of the action answer's tokens.",
    ),
    Column("tokens", "integer", "Tokens that were generated."),
    Column("seed", "integer", "Seed of the draw."),
    Column("created", "text", "When the answer was stored."),
)
COLUMN_NAMES = tuple(column.name for column in COLUMNS)
OPTIONS = {
    "belief": "p",
    "action": "action",
    "truth": "theta",
    "exact": "p_true",
    "context": "context",
    "group": "group",
    "person": "person",
    "rep": "rep",
    "prompt": "prompt",
    "task": "task",
    "model-column": "model",
    "level": "level",
    "frame": "frame",
    "order": "order",
}
"""Option that names a column on the command line -> column; ``columns=`` in Python takes both."""
LEVEL_COLUMNS = ("level", "frame", "order")
EVENT, COMPLEMENT, STAKES = "event", "complement", "stakes"
FRAMES = {EVENT: ("event", "lottery"), COMPLEMENT: ("event", "lottery"), STAKES: ("act", "pass")}
"""Frame of a question with a level -> its two options."""
LEVEL_OPTIONS = tuple(dict.fromkeys(option for options in FRAMES.values() for option in options))
KEY = ("task", "model", "context", "person", "rep", "prompt", "z", "z_state", *LEVEL_COLUMNS)
FEATURE_PREFIX = "x_"
ACTION_PREFIX = "action_"
STATE_PREFIX = "p_"
BELIEF_KINDS = (
    "stated:drawn",
    "stated:forced",
    "stated:masked",
    "stated:exact",
    "token",
    "sampled",
    "revealed",
)
COMPUTED_KINDS = ("stated:exact", "token", "revealed")
"""Kinds of belief that are computed from a model's distribution, without the noise of drawing."""
OWN_CONTEXT, SAME_CONTEXT = BELIEF_CONTEXTS = "own", "same_context"
DRAWN, RECORDED = "drawn", "recorded"
TRUTH_KINDS = (DRAWN, RECORDED)
PROBABILITY_TOLERANCE = 1e-6  # what rounding may put outside [0, 1]; it counts as 0 or 1
ACTION_SUM_TOLERANCE = 1e-6  # probabilities of actions are computed, not stated
PROBABILITIES = tuple(column.name for column in COLUMNS if column.kind == "probability")


def is_state(name: str) -> bool:
    """Tell whether a column, where there is none called p, is the belief in one of the states."""
    return name.startswith(STATE_PREFIX) and name not in COLUMN_NAMES


def answer_columns(names: Iterable[object]) -> list[str]:
    """Return the columns that hold beliefs or choices."""
    texts = [name for name in names if isinstance(name, str)]
    return [
        name
        for name in texts
        if name in ("p", "action") or name.startswith(ACTION_PREFIX) or is_state(name)
    ]


@dataclass(frozen=True)
class Naming:
    """What a user calls the columns of the runs table: messages about a file speak of its own."""

    # column of the runs table -> column of the file; columns that are not in it are called alike.
    columns: Mapping[str, str] = field(default_factory=dict)

    def __call__(self, name: str) -> str:
        """Return the name in quotation marks, with that of the runs table where it is another."""
        return repr(self.columns.get(name, name)) + self._meaning(name)

    def plain(self, name: str) -> str:
        """Return the name without quotation marks, for a sentence that begins with it."""
        return self.columns.get(name, name) + self._meaning(name)

    def _meaning(self, name: str) -> str:
        return "" if self.columns.get(name, name) == name else f" (mapped to {name!r})"


AS_IN_RUNS = Naming()
"""The names of the runs table itself."""
