"""The runs table: its columns as data.

One row is one answer: context x repetition x prompt, and for questions under the law of iterated
expectation also x value of z. Any table of beliefs is a valid runs table if something else in it
can be checked against them (`coherence.table.needs`): actions, realised states, exact posteriors,
other wordings, or beliefs given z. What is absent is assumed or left out by `coherence.analyze`,
which says so in its report.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from coherence.decoding.decode import FAILURES as FAILURES
from coherence.decoding.decode import STATUSES as STATUSES

STATE_SUM_TOLERANCE = 0.02  # beliefs over several states are usually stated with two digits


BELIEF_KINDS = (
    *("stated:drawn", "stated:fixed", "stated:forced", "stated:masked", "stated:exact"),
    *("token", "sampled", "revealed"),
)
COMPUTED_KINDS = ("stated:exact", "stated:fixed", "token", "revealed")
"""Kinds of belief without the noise of drawing: computed, or the same whenever it is asked for."""
OWN_CONTEXT, SAME_CONTEXT = BELIEF_CONTEXTS = "own", "same_context"
DRAWN, RECORDED = "drawn", "recorded"
TRUTH_KINDS = (DRAWN, RECORDED)
ANY = "any"
"""Kind of a column that holds numbers where all its cells are numbers, else labels."""


@dataclass(frozen=True)
class Column:
    """One column of the runs table, or of a table in ``results.json``.

    What the cells of a file become, which values are refused, and which option names the column
    follow from its declaration.
    """

    name: str  # name in the table; of a family of columns what their names begin with
    # "probability", "label", "integer", "number", "positive" (number), "boolean", "text" (kept as
    # it is), "amount" (at least 0, and may be infinite) or `ANY`
    kind: str
    meaning: str  # a sentence, or the words of the option's help
    option: str = ""  # option of the command line that names it
    choices: tuple[str, ...] = ()  # its only values
    largest: float = 1.0  # of a probability
    filled: bool = False  # whether every row has a value where any has
    of_case: str = ""  # where it must not vary within a case: what to do if it does
    on_scale: bool = False  # whether --percent and --scale are about it
    remedy: str = "Or leave the cell empty."  # where a value is none of those that it may have


COLUMNS = (
    Column("task", "label", "decision tasks; absent: one", "task", filled=True),
    Column("model", "label", "models that were asked; absent: one", "model-column", filled=True),
    Column(
        "context",
        "label",
        "ids of the cases; rows of one case are not independent. Two columns, A,B, are one id "
        "where cases share nothing; absent: every row is a case",
        "context",
        filled=True,
    ),
    Column(
        "group",
        "label",
        "what cases share beyond their belief, such as a template: the clusters then",
        "group",
        filled=True,
        of_case="Contexts belong to one group each. Who judged a case that others judged too is "
        "its person: {person} in place of --group.",
    ),
    Column(
        "person",
        "label",
        "who judged, where several persons judged the same cases",
        "person",
        filled=True,
    ),
    Column("rep", "label", "repetitions within case, prompt and person", "rep"),
    Column("prompt", "label", "wordings of the belief question; empty: standard", "prompt"),
    Column(
        "p",
        "probability",
        "stated probabilities that theta = 1, yes, true or the label named as positive; A,B,C: a "
        "column for each of several states (usual names: p_<state>)",
        "belief",
        on_scale=True,
    ),
    Column(
        "p_sd",
        "probability",
        "standard deviation of the distribution over answers whose mean is p",
        largest=0.5,
        on_scale=True,
        remedy="Half of the answers at 0 and half at 1 is as wide as answers can lie.",
    ),
    Column("p_q05", "probability", "its 5% quantile", on_scale=True),
    Column("p_q95", "probability", "its 95% quantile", on_scale=True),
    Column("belief_kind", "label", "how p was got", choices=BELIEF_KINDS),
    Column(
        "belief_context",
        "label",
        "where p was stated: apart from the action (own; also where it is empty), or by an agent "
        "in the conversation in which it acts (same_context)",
        choices=BELIEF_CONTEXTS,
    ),
    Column(
        "action",
        "label",
        "actions, asked in a separate context; of probabilities of actions one column "
        "action_<label> each",
        "action",
    ),
    # Rows with a level have no `p`, and enter the check `matching` alone.
    Column("level", "number", "stated chances, in rows of matching questions", "level"),
    Column("frame", "text", "what the prize of these is on: event or complement", "frame"),
    Column("order", "text", "the option that these name first, or stakes questions do", "order"),
    Column("gain", "amount", "what the action --acts gains if the event happens, else 1", "gain"),
    Column("loss", "amount", "what it loses if not", "loss"),
    Column("acts", "text", "the action that stakes gain and loss; the other one passes"),
    Column("says_from", "probability", "where it says it would take that action, in its own rows"),
    Column(
        "theta",
        "label",
        "realised states, shared by the rows of a case; A,B,C: columns of which one is 1",
        "truth",
        of_case="Give every realised state its own context id. {cases}",
    ),
    Column("theta_name", "text", "what theta = 1 is, as 'lung = yes'; figures name states by it"),
    Column(
        "p_true",
        "probability",
        "exact posteriors of the state, given the evidence",
        "exact",
        on_scale=True,
    ),
    # Tables that the toolkit writes have it, and `p_true` is the exact posterior only beside it.
    Column(
        "truth_kind",
        "label",
        "how theta came about: drawn (from p_true) or recorded",
        choices=TRUTH_KINDS,
        remedy="If it is something else, drop it, in pandas: "
        "table = table.drop(columns=[{name!r}]).",
    ),
    Column("z", "label", "auxiliary variable of iterated expectation; empty in ordinary rows"),
    Column("z_state", "label", "value of z that p is conditional on"),
    Column("p_z", "probability", "stated probability of z_state", on_scale=True),
    Column("p_z_true", "probability", "exact probability of z_state"),
    Column(
        "status",
        "label",
        "ok, a repair or low_mass (values are kept), or why belief or action is empty",
        choices=STATUSES,
        filled=True,
        remedy="Use the nearest of these.",
    ),
    Column("asked", "text", "question for the belief, as the model was asked it"),
    Column("asked_action", "text", "question for the action, likewise"),
    Column("asked_z", "text", "question for the probabilities of z, likewise"),
    Column("raw_belief", "text", "belief answer as the model gave it"),
    Column("raw_action", "text", "action answer as the model gave it"),
    Column("raw_z", "text", "answer on the probabilities of z as the model gave it"),
    Column("answer_mass", "probability", "probability of all parsed answers; the least of a row"),
    Column("finish_reason", "text", "why the answers ended: stop, length (cut), content_filter"),
    Column("logprob_belief", "number", "log probability of the belief answer's tokens"),
    Column("logprob_action", "number", "log probability of the action answer's tokens"),
    Column("tokens", "integer", "tokens that were generated"),
    Column("seed", ANY, "seed of the draw"),
    Column("created", "text", "when the answer was stored"),
)
FEATURE_PREFIX, ACTION_PREFIX, STATE_PREFIX = "x_", "action_", "p_"
FAMILIES = (
    Column(FEATURE_PREFIX, ANY, "Evidence."),
    Column(ACTION_PREFIX, "probability", "Probability of an action, where it was computed."),
    Column(STATE_PREFIX, "probability", "Belief in one of several states.", on_scale=True),
)
"""Columns whose names begin alike."""
COLUMN_NAMES = tuple(column.name for column in COLUMNS)
_BY_NAME = {column.name: column for column in COLUMNS}
_FIRST = ("p", "action", "theta", "p_true", "context", "group", "person", "rep", "prompt")
OPTIONS = {
    _BY_NAME[name].option: name
    for name in dict.fromkeys((*_FIRST, *COLUMN_NAMES))
    if _BY_NAME[name].option
}
"""Option that names a column on the command line -> column; ``columns=`` in Python takes both."""
LEVEL_COLUMNS = ("level", "frame", "order")
OFFER_COLUMNS = (*LEVEL_COLUMNS, "gain", "loss")
EVENT, COMPLEMENT = FRAMES = "event", "complement"
LEVEL_OPTIONS = "event", "lottery"
"""The two options of a question with a level."""
KEY = ("task", "model", "context", "person", "rep", "prompt", "z", "z_state", *OFFER_COLUMNS)
PROBABILITY_TOLERANCE = 1e-6  # what rounding may put outside [0, 1]; it counts as 0 or 1
ACTION_SUM_TOLERANCE = 1e-6  # probabilities of actions are computed, not stated
LABELS = tuple(column.name for column in COLUMNS if column.kind == "label")
EXACT, KIND = "p_true", "truth_kind"


def is_state(name: str) -> bool:
    """Tell whether a column, where there is none called p, is the belief in one of the states."""
    return name.startswith(STATE_PREFIX) and name not in COLUMN_NAMES


def declared(name: str, names: Collection[str] = ()) -> Column | None:
    """Return the declaration of a column beside others; None of one that nothing reads."""
    if name in _BY_NAME:
        return _BY_NAME[name]
    family = next((family for family in FAMILIES if name.startswith(family.name)), None)
    return None if family is not None and family.name == STATE_PREFIX and "p" in names else family


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
