"""The runs table: its columns, and the options of reading it, each declared once.

One row is one answer: context x repetition x prompt, and for questions under the law of iterated
expectation also x value of z. Any table of beliefs is a valid runs table if something else in it
can be checked against them (`coherence.runs.needs`). What a user says of a table is a `Reading`,
whose fields are options of the command line and arguments of `coherence.read_runs`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any

from coherence.decoding.decode import STATUSES
from coherence.errors import InputError, closest, listing

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
        "what cases share beyond their belief, such as a template: sufficiency compares within it, "
        "other tests resample it",
        "group",
        filled=True,
        of_case="Contexts belong to one group each. Where their ids are numbered anew in each "
        "group: {anew}. Who judged a case that others judged too is its person: {person} in place "
        "of --group.",
    ),
    Column("person", "label", "who judged, where several judged one case", "person", filled=True),
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
    Column("p_sd", "probability", "standard deviation of answers whose mean is p", on_scale=True),
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
    Column("frame", "label", "what the prize of these is on: event or complement", "frame"),
    Column("order", "label", "the option that these name first, or stakes questions do", "order"),
    Column("gain", "amount", "what the action --acts gains if the event happens, else 1", "gain"),
    Column("loss", "amount", "what it loses if not", "loss"),
    Column("acts", "label", "the action that stakes gain and loss; the other one passes"),
    Column("says_from", "probability", "where it says it would take that action, in its own rows"),
    Column(
        "theta",
        "label",
        "realised states, shared by the rows of a case; A,B,C: columns of which one is 1",
        "truth",
        of_case="Name what has one truth: --context NAME, or two columns, A,B, where ids are "
        "numbered anew within A. Of several answers to a question, each right or wrong by itself, "
        "the question is the group: {question} in place of --context.",
    ),
    Column("theta_name", "text", "what theta = 1 is, as 'lung = yes'; figures name states by it"),
    Column("p_true", "probability", "exact posteriors of the state", "exact", on_scale=True),
    # Tables that the toolkit writes have it, and `p_true` is the exact posterior only beside it.
    Column("truth_kind", "label", "how theta came about: drawn or recorded", choices=TRUTH_KINDS),
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
NEEDED = {"person": ("context",), "level": ("context",), "z": ("z_state", "p_z")}
NEEDED |= dict.fromkeys(("gain", "loss", "acts"), ("loss", "acts", "context"))
"""Column -> the columns without which it means nothing."""
FEATURE_PREFIX, ACTION_PREFIX, STATE_PREFIX = "x_", "action_", "p_"
FAMILIES = (
    Column(FEATURE_PREFIX, ANY, "Evidence."),
    Column(ACTION_PREFIX, "probability", "Probability of an action, where it was computed."),
    Column(STATE_PREFIX, "probability", "Belief in one of several states.", on_scale=True),
)
"""Columns whose names begin alike."""
CALLED = {
    "model": "model|llm|engine|checkpoint",
    "person": "person|participant|subject|judge|rater|annotator|respondent|expert|forecaster"
    "|physician|doctor|clinician|nurse|coder|reader|worker",
    "rep": "turn|step|stage|round|phase|move",
    "gain": "gain|reward|payoff|prize",
    "loss": "loss|penalty|cost|stake",
}
"""Column -> pattern of what files call it that no option names."""
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
LABELS = tuple(column.name for column in COLUMNS if column.kind == "label")
EXACT, KIND = "p_true", "truth_kind"


def is_state(name: str) -> bool:
    """Tell whether a column, where there is none called p, is the belief in one of the states."""
    return name.startswith(STATE_PREFIX) and name not in COLUMN_NAMES


def holds_exact(columns: Collection[Any]) -> bool:
    """Tell by a table's columns whether ``p_true`` is the exact posterior: ours, or named so.

    It is also the name of a stated confidence (P(True), Kadavath et al. 2022).
    """
    return KIND in columns


def is_belief(name: str) -> bool:
    """Tell whether a column holds the stated belief: ``p`` or ``p_<state>``."""
    return name == "p" or is_state(name)


def declared(name: str, names: Collection[str] = ()) -> Column | None:
    """Return the declaration of a column beside others; None of one that nothing reads."""
    if name in _BY_NAME:
        return _BY_NAME[name]
    family = next((family for family in FAMILIES if name.startswith(family.name)), None)
    return None if family is not None and family.name == STATE_PREFIX and "p" in names else family


def answer_columns(names: Iterable[object]) -> list[str]:
    """Return the columns that hold beliefs or choices."""
    texts = [name for name in names if isinstance(name, str)]
    return [n for n in texts if is_belief(n) or n == "action" or n.startswith(ACTION_PREFIX)]


@dataclass(frozen=True)
class Naming:
    """What a user calls the columns of the runs table: messages about a file speak of its own."""

    # column of the runs table -> column of the file; columns that are not in it are called alike.
    columns: Mapping[str, str] = field(default_factory=dict)

    def __call__(self, name: str) -> str:
        """Return the name in quotation marks, with that of the runs table where it is another."""
        own = self.columns.get(name, name)
        return repr(own) if own == name else f"{own!r} (mapped to {name!r})"

    def plain(self, name: str) -> str:
        """Return the name without quotation marks, for a sentence that begins with it."""
        own = self.columns.get(name, name)
        return own if own == name else f"{own} (mapped to {name!r})"


AS_IN_RUNS = Naming()
"""The names of the runs table itself."""

COMPARED = ("prediction", "gold")
_OPTIONS = {option.replace("-", "_"): name for option, name in OPTIONS.items()} | OPTIONS
_OPTIONS["penalty"] = "loss"


@dataclass(frozen=True)
class Scale:
    """A scale of stated beliefs and the probabilities of its ends: a straight line."""

    low: float
    high: float
    p_low: float = 0.0
    p_high: float = 1.0

    @classmethod
    def parse(cls, text: str) -> Scale:
        """Read ``1..7`` or ``1..4=.5..1``: different ends, and different probabilities of them."""
        number = r"([+-]?(?:[0-9]+(?:\.[0-9]+)?|\.[0-9]+))"
        ends = rf"\s*{number}\s*\.\.\s*{number}\s*"
        match = re.fullmatch(f"{ends}(?:={ends})?", text) if isinstance(text, str) else None
        scale = cls(*(float(end) for end in match.groups() if end is not None)) if match else None
        if (
            scale is None
            or scale.low == scale.high
            or not 0 <= min(scale.p_low, scale.p_high) < max(scale.p_low, scale.p_high) <= 1
        ):
            raise InputError(
                "scale must be LOW..HIGH, or LOW..HIGH=P..P with probabilities P, such as 1..7, "
                f"-1..1 or 1..4=.5..1; received {text!r}."
            )
        return scale

    def __str__(self) -> str:
        return f"{self.low:g}..{self.high:g}"

    def probability(self, values: Any, *, spread: bool = False) -> Any:
        """Return the probabilities of values on the scale, or of the width of some."""
        if spread:
            return abs(self.p_high - self.p_low) * (values / abs(self.high - self.low))
        share = (values - self.low) / (self.high - self.low)
        return self.p_low + share * (self.p_high - self.p_low)

    def described(self) -> str:
        """Return what the ends and the middle are mapped to."""
        steps = sorted((self.low, (self.low + self.high) / 2, self.high))
        return ", ".join(f"{step:g} as {self.probability(step):.3g}" for step in steps)


PERCENT = Scale(0, 100)


def _option(help_: str, metavar: str | None = "COLUMN", default: Any = None, **more: Any) -> Any:
    """Declare a field that is an option; without a `metavar` it is a switch."""
    shown = {"action": "store_true"} if metavar is None else {"metavar": metavar}
    return field(default=default, metadata={"help": help_, **shown, **more})


@dataclass(frozen=True)
class Reading:
    """How a table is to be understood; see `coherence.read_runs`."""

    # column of the runs table, or option that names it -> column of the file, several as A,B or as
    # a list; once made, texts by column of the runs table
    columns: Mapping[str, Any] = field(default_factory=dict)
    prediction: str | None = _option(
        "predicted labels, where the belief is the confidence in them: with --gold the truth is "
        "whether they are right"
    )
    gold: str | None = _option("right labels, for --prediction")
    acts: str | None = _option("the action that stakes gain and loss", "LABEL")
    scale: str | None = _option(
        "scale of beliefs and exact posteriors, such as 1..7 or -1..1, mapped to probabilities "
        "from 0 to 1; 1..4=.5..1 maps it to others, as where the lowest step is a guess between "
        "two",
        "LOW..HIGH",
    )
    percent: bool = _option(
        "beliefs and exact posteriors are percentages: 70 or 70%% is 0.7", None, default=False
    )
    where: str | None = _option(
        "rows to keep: columns compared with literals, joined by and, or, not, such as "
        "'type == \"binary\" and score >= 0.5'; of several all must hold",
        "CONDITION",
        action="append",
    )
    sep: str | None = _option(
        "separator of a .csv or .tsv file; ';', tab and '|' are recognised",
        "CHARACTER",
        of_file=True,
    )
    decimal: str = _option(
        "decimal mark of numbers in texts: . or , (default: .)", "MARK", ".", of_file=True
    )
    encoding: str | None = _option(
        "encoding of a text file, such as latin-1 or cp1252 "
        "(default: UTF-8; UTF-16 with its mark is recognised)",
        "NAME",
        of_file=True,
    )
    missing: Collection[str] = _option(
        "what cells hold that are missing, such as NA,-99; empty ones are so anyway",
        "A,B",
        (),
        of_file=True,
    )
    sheet: str | None = _option(
        "sheet of a workbook (default: the one with cells)", "NAME", of_file=True
    )

    def __post_init__(self) -> None:
        """Refuse what contradicts itself; columns are kept by their names in the runs table."""
        sep = "\t" if self.sep in ("\\t", "tab") else self.sep  # what a shell passes on of a tab
        marks = self.missing
        if isinstance(marks, str) or not isinstance(marks, Collection):
            marks = (marks,)
        missing = tuple(str(mark).strip() for mark in marks)
        acts = None if self.acts is None else str(self.acts)
        self.__dict__.update(sep=sep, acts=acts, missing=missing, _named=self.columns, columns={})
        errors = [*self._column_errors(), *self._errors()]
        if errors:
            raise InputError.all_at_once("", errors)

    def _column_errors(self) -> Iterator[str]:
        """Yield what is wrong with names of columns, and keep those that are right."""
        given, known = self.__dict__.pop("_named"), (*COLUMN_NAMES, *COMPARED)
        if not isinstance(given, Mapping):
            yield (
                "columns must map columns of the runs table to columns of the file, such as "
                f"{{'p': 'confidence'}}; received {given!r}."
            )
            return
        for key, column in given.items():
            name, named = _OPTIONS.get(key, key), column
            keep = self.__dict__ if name in COMPARED else dict(self.columns)
            if isinstance(column, list | tuple) and not any("," in str(part) for part in column):
                named = ",".join(map(str, column))
            if name not in known:
                yield (
                    f"columns maps to {name!r}, which is not a column of the runs table. "
                    f"{closest(name, (*known, *_OPTIONS))}"
                )
            elif keep.get(name) is not None:
                yield f"columns names {name!r} twice, the second time as {key!r}. Leave one out."
            elif not isinstance(named, str):
                yield (
                    f"columns maps {key!r} to the name of a column, or a list of names without "
                    f"commas; received {column!r}. Write names as text (runs.columns.map(str))."
                )
            elif name in COMPARED:
                keep[name] = named
            else:
                self.__dict__["columns"] = {**self.columns, name: named}
        if len({*self.columns.values()}) < len(self.columns):
            yield f"columns uses one column of the file twice: {self.columns}. Map each once."

    def _errors(self) -> Iterator[str]:
        """Yield what is wrong with rows, scales, predictions and how a file is said to be."""
        texts = ("sep", "decimal", "encoding", "sheet", "where")
        odd = {name: of for name in texts if not isinstance(of := getattr(self, name), str | None)}
        if odd:
            yield f"{listing(odd)} must be text; received {odd}."
            return
        try:
            if self.where is not None:
                from coherence.runs.row_condition import RowCondition

                RowCondition.parse(self.where)
            if self.scale is not None and Scale.parse(self.scale) and self.percent:
                yield "percent is the scale 0..100. Leave percent (--percent) or scale out."
        except InputError as error:
            yield str(error)
        pair = {name: getattr(self, name) for name in COMPARED}
        named = [name for name in pair.values() if isinstance(name, str)]
        if len({*named}) < 2 and [*pair.values()] != [None, None]:
            yield (
                f"prediction and gold must name two columns, or neither; received {pair}. Name "
                "both: --prediction COLUMN --gold COLUMN (prediction=, gold=)."
            )
        elif named and "theta" in self.columns:
            yield "prediction and gold say what the truth is. Leave --truth out (columns)."
        elif named and self.columns.get("action") in named:
            yield (
                "action must be another choice than the prediction, such as whether to abstain; "
                f"received {self.columns['action']!r} for both. Leave --action out (columns)."
            )
        if self.sep is not None and (len(self.sep) != 1 or self.sep in f'"\r\n.{self.decimal}'):
            yield (
                f"sep must be one character, and neither the decimal mark nor a quote; received "
                f"{self.sep!r}. A semicolon is --sep ';', a tab --sep tab."
            )
        if self.decimal not in (".", ","):
            yield f"decimal must be '.' or ','; received {self.decimal!r}."
        if not all(self.missing):
            yield f"missing must hold marks, such as NA,-99; received {self.missing!r}."

    @cached_property
    def line(self) -> Scale | None:
        """The scale that beliefs are on; None where they are probabilities."""
        if self.percent:
            return PERCENT
        return None if self.scale is None else Scale.parse(self.scale)

    def words(self) -> list[str]:
        """Return what is said of a table as words of the command line."""
        said: dict[str, Any] = {option: self.columns.get(name) for option, name in OPTIONS.items()}
        for each in fields(self):
            if each.metadata and (value := getattr(self, each.name)) != each.default:
                said[each.name] = ",".join(value) if isinstance(value, tuple) else value
        given = {option: value for option, value in said.items() if value is not None}
        return [f"--{name}" if is_ is True else f"--{name}={is_}" for name, is_ in given.items()]


AS_IT_IS = Reading()
OPTIONS_OF_READING = {each.name: dict(each.metadata) for each in fields(Reading) if each.metadata}
"""Field of a `Reading` -> how its option is declared; `of_file` where it says how a file is."""
