"""A runs table and what its columns are: states, actions, prompts and evidence, told apart once.

`coherence.runs.read` makes the `Runs` of a valid table; `completed` fills the columns that
may be absent; `evaluations` parts the rows by task and model. What is derived from the columns is
an attribute here, and nothing else asks a table for it again.
"""

import hashlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from pandas.api.types import is_list_like

from coherence.decoding.decode import FAILURES, LOW_MASS, PARSED, REPAIRS
from coherence.errors import InputError, closest, listing
from coherence.runs import needs
from coherence.runs.cells import labels
from coherence.runs.columns import (
    ACTION_PREFIX,
    AS_IN_RUNS,
    COLUMN_NAMES,
    COMPUTED_KINDS,
    FEATURE_PREFIX,
    LABELS,
    LEVEL_COLUMNS,
    STATE_PREFIX,
    Column,
    Naming,
    holds_exact,
    is_state,
)
from coherence.runs.notes import Code, Note

REFERENCE = "standard"
"""The usual prompt; an empty cell in the column ``prompt`` stands for it."""
EVALUATION = ("task", "model")
COPIES = (
    "every row is there twice or more, equal in all columns, and each counts as a repetition. Drop "
    "copies, or number repetitions in a column rep."
)
NO_CONTEXT = (
    "no context column: every row was taken as its own context. If rows repeat a context, "
    "p-values and intervals are too optimistic; name the column of cases (--context NAME)."
)
NOTES = "notes_of_reading"  # attribute of a DataFrame that `coherence.read_runs` returns
MEANT = "columns_that_were_named"
"""Attribute with the columns that whoever read the table named: they are what their names say."""
NAMED = "named_columns"
"""Column of a file that lists them."""
STATED = "stated belief"
"""What a belief is called where the table does not tell how it was got."""
GIVEN_Z = "given z"
MISSING = "missing"
"""Status of an unparsed answer in a table that has no status column."""

STATUSES = (
    Column("question", "text", "Prompt, prompt with action, given z, or matching questions."),
    Column("status", "text", "As in the runs table; ok or missing where it has none."),
    Column("rows", "integer", "How many."),
)
ANSWERS = (
    STATUSES[0],
    Column("asked", "integer", "Rows."),
    Column("ok", "integer", "Answers in the form asked for."),
    Column("repaired", "integer", "Answers that missed the form and were repaired."),
    Column(LOW_MASS, "integer", "Values of little probability; they are kept."),
    *(Column(name, "integer", f"Answers with the status {name}.") for name in FAILURES),
    Column(MISSING, "integer", "Rows without a value that no status explains."),
    Column("share_unreadable", "probability", "Share of `asked` without a value."),
)
"""Columns of the tables of this module, which ``results.json`` holds."""


def question_kind(rows: pd.DataFrame) -> "pd.Series[str]":
    """Return which questions rows of a belief asked elsewhere are: matching or stakes."""
    stakes = rows["loss"].notna() if "loss" in rows else pd.Series(False, index=rows.index)
    return pd.Series(needs.MATCHING_QUESTIONS, rows.index).mask(stakes, needs.STAKES_QUESTIONS)


def all_computed(rows: pd.DataFrame, beliefs: Sequence[str]) -> bool:
    """Tell whether all beliefs of some rows were computed from a model's distribution."""
    if "belief_kind" not in rows.columns:
        return False
    kinds = rows.loc[rows[[*beliefs]].notna().all(axis=1), "belief_kind"]
    return len(kinds) > 0 and bool(kinds.isin(COMPUTED_KINDS).all())


def _left(table: pd.DataFrame, attribute: str) -> list[Any]:
    """Return what reading left with a table; attributes are anybody's."""
    left = table.attrs.get(attribute)
    return left if isinstance(left, list) else []


def meant_in(table: pd.DataFrame) -> frozenset[str]:
    """Return the columns that were named when a table was read, before it was written or not."""
    lists = table[NAMED].dropna().astype(str).unique() if NAMED in table.columns else ()
    meant = {*map(str, _left(table, MEANT)), *(name for each in lists for name in each.split(","))}
    return frozenset(meant & {*COLUMN_NAMES})


class Runs:
    """A runs table with its columns told apart.

    `table` is not changed; without `notes` and `meant` (columns that the user named) those count
    that `coherence.read_runs` left with it.
    """

    def __init__(
        self,
        table: pd.DataFrame,
        notes: Sequence[Note] | None = None,
        named: Naming = AS_IN_RUNS,  # what a user's file calls its columns
        levels: "Runs | None" = None,  # rows of questions with a level, which `completed` parts off
        meant: frozenset[str] | None = None,
    ) -> None:
        self.table, self.named, self.levels = table, named, levels
        left = map(Note.of_record, _left(table, NOTES)) if notes is None else notes
        self.notes = tuple(note for note in left if note is not None)
        self.meant = meant_in(table) if meant is None else meant

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.table)

    def frame(self) -> pd.DataFrame:
        """Return the table, with the notes as an attribute that `Runs` finds again."""
        if self.notes:
            self.table.attrs[NOTES] = [note.record() for note in self.notes]
        if self.meant:
            self.table.attrs[MEANT] = sorted(self.meant)
        return self.table

    @cached_property
    def names(self) -> list[str]:
        """Names of all columns, in table order."""
        return [str(name) for name in self.table.columns]

    @cached_property
    def states(self) -> list[str]:
        """Columns p_<state> of beliefs, in table order; none where there is one column p."""
        if "p" in self.table.columns:
            return []  # a table with p may well have a column p_value or p_note that is no belief
        return [name for name in self.names if is_state(name)]

    @cached_property
    def beliefs(self) -> list[str]:
        """The columns of beliefs: p, or those of the states."""
        return ["p"] if "p" in self.table.columns else self.states

    @cached_property
    def state_names(self) -> list[str]:
        """What the states of `states` are called."""
        return [name.removeprefix(STATE_PREFIX) for name in self.states]

    @cached_property
    def ours(self) -> bool:
        """Whether this toolkit wrote the table, so that its columns hold what their names say."""
        return holds_exact(self.names)

    @cached_property
    def says_state(self) -> bool:
        """Whether it is known what p is about: the state, and no confidence in the action."""
        return self.ours or "theta_name" in self.names

    @cached_property
    def features(self) -> list[str]:
        """Columns x_* of the evidence."""
        return [name for name in self.names if name.startswith(FEATURE_PREFIX)]

    @cached_property
    def policies(self) -> list[str]:
        """Columns action_<label> with probabilities of actions: a row has these or a chosen one.

        Where a row has both, or one column stands beside chosen actions, they are something else.
        """
        named, chosen = self._named_actions, self.known("action")
        beside = len(named) > 1 and not self.table.loc[chosen, named].notna().any(axis=None)
        return named if beside or not chosen.any() else []

    @cached_property
    def action_names(self) -> dict[str, str]:
        """Column of `policies` -> the action whose probability it holds."""
        return {name: name.removeprefix(ACTION_PREFIX) for name in self.policies}

    @cached_property
    def _named_actions(self) -> list[str]:
        return [name for name in self.names if name.startswith(ACTION_PREFIX)]

    @cached_property
    def acted(self) -> "pd.Series[bool]":
        """Rows with an action: the one that was chosen, or probabilities of all."""
        return self.known("action") | self.table[self.policies].notna().any(axis=1)

    @cached_property
    def asked_to_act(self) -> "pd.Series[bool]":
        """Rows with an action or an answer that none could be read from."""
        return self.acted | self.known("raw_action")

    @cached_property
    def believed(self) -> "pd.Series[bool]":
        """Rows with a parsed belief."""
        return self.table[self.beliefs].notna().all(axis=1)

    @cached_property
    def computed(self) -> bool:
        """Whether all beliefs were computed from a model's distribution, and have no noise."""
        return all_computed(self.table, self.beliefs)

    @cached_property
    def theta(self) -> "pd.Series[Any]":
        """Realised states, of the rows where they are known."""
        return self.table.get("theta", pd.Series(dtype=object)).dropna()

    @cached_property
    def crossed(self) -> bool:
        """Whether several persons judged the same context."""
        return self._varies("person")

    @cached_property
    def graded(self) -> bool:
        """Whether choices at stakes have a truth each, as answers that are graded one by one."""
        return "loss" in self.names and self._varies("theta")

    def _varies(self, name: str) -> bool:
        """Tell whether a column has several values in one context."""
        if not {name, "context"} <= set(self.names):
            return False
        return bool((self.table.groupby("context", observed=True)[name].nunique() > 1).any())

    @cached_property
    def given_z(self) -> "pd.Series[bool]":
        """Rows whose belief is conditional on an auxiliary variable."""
        return self.known("z_state")

    @cached_property
    def prompt(self) -> "pd.Series[Any]":
        """The prompt of every row; what is empty is "standard"."""
        prompt = self.table.get("prompt", pd.Series(None, self.table.index, dtype=object))
        return prompt.astype(object).where(prompt.notna(), REFERENCE).astype(str)

    @cached_property
    def kinds_of_questions(self) -> frozenset[str]:
        """Which of matching and stakes questions are there."""
        parts = [self] if self.levels is None else [self, self.levels]
        asked = (part.table[part.known("level") | part.known("loss")] for part in parts)
        return frozenset(kind for rows in asked for kind in question_kind(rows))

    def known(self, name: str) -> "pd.Series[bool]":
        """Tell which rows have a value in a column, which may be absent."""
        if name not in self.table.columns:
            return pd.Series(False, index=self.table.index)
        return self.table[name].notna()

    @cached_property
    def unused_columns(self) -> list[str]:
        """Columns that nothing reads, in table order."""
        read = {*COLUMN_NAMES, *self.features, *self.states, *self.policies}
        if "level" not in self.names:
            read -= {*LEVEL_COLUMNS} - ({"order"} if "loss" in self.names else set())
        return [name for name in self.names if name not in read]

    @cached_property
    def unused_labels(self) -> list[str]:
        """Those of them whose cells can be compared, as lists cannot."""
        of = {name: self.table[name] for name in self.unused_columns}
        lists = {n for n, c in of.items() if c.dtype == object and c.map(is_list_like).any()}
        return [name for name in of if name not in lists]

    def unmet(self, there: Collection[str] | None = None) -> frozenset[str]:
        """Say which needs of `coherence.runs.needs` the columns do not meet.

        `there` are the columns that count; None takes those with any value.
        """
        if there is None:
            there = [str(name) for name in self.table if self.table[name].notna().any()]
        n_states = sum(name in there for name in self.states)
        met = {
            # A single p_<state> column is no belief: it may be p, or lack the other state.
            needs.BELIEF: "p" in there or n_states > 1,
            needs.ONE_BELIEF: "p" in there or n_states == 2,
            needs.P: "p" in there,
            needs.ACTION: "action" in there or any(name in there for name in self.policies),
            needs.THETA: "theta" in there,
            needs.TARGET: "theta" in there or "p_true" in there,
            needs.EXACT: "p_true" in there,
            needs.ANOTHER_PROMPT: self.prompt.nunique() > 1,
            needs.GIVEN_Z: {"z", "z_state", "p_z"} <= set(there),
        }
        met |= {kind: kind in self.kinds_of_questions for kind in needs.QUESTIONS}
        return frozenset(need for need, is_met in met.items() if not is_met)

    def reference(self, named: str | None = None, *, where: str = "the table") -> str:
        """Find the prompt whose beliefs are held against anything else; the user's wish first.

        "standard" where it was asked. Else the prompt with the most actions, for their beliefs are
        what actions are held against; of several, the one with the most rows; of those the first by
        name. It does not depend on the order of rows.
        """
        prompt = self.prompt[~self.given_z]
        seen = sorted(prompt.unique())
        if not seen:  # beliefs given z alone, which are held against nothing
            return REFERENCE if named is None else str(named)
        if named is not None:
            if str(named) not in seen:
                raise InputError(
                    f"reference must be a prompt of {where}; received {named!r}. "
                    f"{closest(named, seen)}"
                )
            return str(named)
        if REFERENCE in seen:
            return REFERENCE
        actions, rows = self.asked_to_act.groupby(prompt).sum(), prompt.value_counts()
        return str(min(seen, key=lambda name: (-int(actions[name]), -int(rows[name]), name)))

    def with_prompt(self, prompt: str) -> "pd.Series[bool]":
        """Tell which rows were asked under a prompt, those given z left out."""
        return ~self.given_z & (self.prompt == prompt)

    def asked_for_action(self, reference: str) -> "pd.Series[bool]":
        """Tell which rows of one (task, model) asked for an action, whether it was parsed or not.

        A row with a parsed status, a belief and no action asked for none, because an unparsed
        action would have changed its status; a row with a failure counts as asked, because the
        failure may be that of the action. Without a status column all rows of the reference prompt
        were asked, or none if no action is there at all.
        """
        eligible = self.with_prompt(reference)
        if "action" not in self.names and not self.policies:
            return eligible & False
        has_status = "status" in self.names
        spared = ~self.acted & self.believed
        spared &= self.table["status"].isin(PARSED) if has_status else False
        # Where nothing looks like an answer, one row that was not asked speaks for all: the
        # failures are those of beliefs.
        none = not (eligible & self.asked_to_act).any() and (
            not has_status or bool((eligible & spared).any())
        )
        return eligible & ~spared & (not none)

    @cached_property
    def fingerprint(self) -> str:
        """Equal for equal values, whatever file they came from."""
        digest = hashlib.sha256()
        for name in sorted(self.table.columns, key=str):
            digest.update(f"{name}\n{len(self)}\n".encode("utf-8", "surrogatepass"))
            cells = self.table[name]
            # A category is no other value than its text.
            is_label = name in LABELS or isinstance(cells.dtype, pd.CategoricalDtype)
            plain = labels(cells) if is_label else cells
            try:
                hashed = pd.util.hash_pandas_object(plain, index=False)
            except (TypeError, ValueError):  # lists and the like, in columns that nothing reads
                hashed = pd.util.hash_pandas_object(plain.map(ascii), index=False)
            digest.update(hashed.to_numpy().tobytes())
        return digest.hexdigest()

    def completed(self) -> "Runs":
        """Fill the columns that may be absent, part off `levels`, and note what was assumed."""
        leveled, staked = self.known("level") | self.known("says_from"), self.known("loss")
        if not (staked & self.believed).any():  # no belief is stated in the row of its choice
            leveled |= staked
        if not leveled.any():
            return self._completed()
        offered = self.table.loc[leveled, self._named_actions].fillna(0).any()
        options = {*offered.index[offered.astype(bool)]}  # numbers above 0
        table = self.table[~leveled].drop(columns=[*LEVEL_COLUMNS], errors="ignore")
        # Computed policies of other rows lack these, or say that they were not on offer.
        foreign = [name for name in options if not table[name].fillna(0).any()]
        rest = Runs(table.drop(columns=foreign), self.notes, self.named)._completed()
        others = [name for name in self._named_actions if name not in options]
        levels = Runs(self.table[leveled].drop(columns=others), ())._completed()
        pairs = [part.table[list(EVALUATION)].drop_duplicates() for part in (rest, levels)]
        there, asked = ({*each.itertuples(index=False, name=None)} for each in pairs)
        said = "has questions with a level and no row of beliefs: left out."
        alone = [f"{' · '.join(filter(None, key))} {said}" for key in sorted(asked - there)]
        notes = [Note(Code.LEFT_OUT, text) for text in alone]
        return Runs(rest.table, (*rest.notes, *notes), self.named, levels)

    def _completed(self) -> "Runs":
        table, assumed = self.table.reset_index(drop=True), list[Note]()
        if self.unused_columns:
            # A column of the file that has another's name was set aside; see `reading`.
            unread = [str(name).removeprefix("unmapped_") for name in self.unused_columns]
            text = f"columns that nothing reads: {listing(unread, 12)}."
            assumed.append(Note(Code.UNREAD, text))
        if not self.policies:  # notes on actions, which a part without any takes for probabilities
            table = table.drop(columns=[name for name in table if str(name) in self._named_actions])
        for name in EVALUATION:
            named = table.get(name, pd.Series("", table.index)).astype(object)
            table = table.assign(**{name: named.where(named.notna(), "").astype(str)})
        if "z_state" not in table.columns:
            table = table.assign(z_state=None)
        # A belief given z whose prompt is not named belongs to the reference prompt of its
        # evaluation, which need not be the usual one.
        unnamed = ~self.known("prompt").to_numpy() & table["z_state"].notna().to_numpy()
        prompt = self.prompt.reset_index(drop=True).astype(object)
        table = table.assign(prompt=prompt.mask(unnamed, None))
        if "context" not in table.columns:
            table = table.assign(context=np.arange(len(table)))
            if "group" not in table.columns:  # else rows depend on each other within these alone
                assumed.append(Note(Code.NO_CONTEXT, NO_CONTEXT))
        if "rep" not in table.columns:
            # What nothing reads, and raw answers, may hold lists.
            other = [n for n in table if n in self.unused_columns or table[n].dtype == object]
            texts = table.assign(**{str(name): table[name].astype(str) for name in other})
            copies = texts.groupby([*texts.columns], dropna=False, observed=True, sort=False).size()
            if np.gcd.reduce(copies.to_numpy()) > 1:
                assumed.append(Note(Code.COPIES, COPIES))
            asked = ["task", "model", "context", "prompt", "z_state"]
            asked += ["person"] if "person" in table.columns else []
            # Two auxiliary variables may share the names of their states.
            variable = [table["z"].where(table["z_state"].notna())] if "z" in table.columns else []
            cells = table.groupby([*asked, *variable], dropna=False, observed=True)
            table = table.assign(rep=cells.cumcount())
        return Runs(table, (*self.notes, *assumed), self.named)

    def without_repairs(self) -> "Runs":
        """Empty what was read of repaired answers; the rows stay and are counted."""
        repaired = self.known("status") & self.table.get("status", self.prompt).isin(REPAIRS)
        read = [n for n in (*self.beliefs, "action", *self.policies, "p_z") if n in self.names]
        table = self.table.assign(**{name: self.table[name].mask(repaired) for name in read})
        text = f"strict: {int(repaired.sum())} repaired rows were treated as unreadable."
        note = Note(Code.STRICT, text)
        levels = None if self.levels is None else self.levels.without_repairs()
        return Runs(table, (*self.notes, note), self.named, levels)

    def evaluations(self) -> Iterator[tuple[tuple[str, str], "Runs"]]:
        """Yield the rows of each task and model of a completed table, sorted."""
        for (task, model), rows in self.table.groupby(list(EVALUATION), sort=True):
            part = self.subset(rows)
            if self.levels is not None:
                levels = self.levels.table
                of = levels[(levels["task"] == task) & (levels["model"] == model)]
                part.levels = self.levels.subset(of) if len(of) else None
            yield (str(task), str(model)), part

    def subset(self, rows: pd.DataFrame) -> "Runs":
        """Return some rows of a completed table; its columns are what they are in the whole."""
        part = Runs(rows, self.notes, self.named)
        part.__dict__.update(states=self.states, features=self.features, policies=self.policies)
        for name in ("acted", "prompt"):
            part.__dict__[name] = getattr(self, name)[rows.index]
        return part


def label_rows(evaluation: Runs, reference: str) -> pd.DataFrame:
    """Say of each row of one (task, model) what it asked and what became of the answer."""
    asked = evaluation.asked_for_action(reference)
    prompt = np.where(asked, f"{reference}, with action", evaluation.prompt)
    question = np.where(evaluation.given_z, GIVEN_Z, prompt)
    return _labelled(evaluation, question, evaluation.believed & (evaluation.acted | ~asked))


def count_statuses(labels: pd.DataFrame, levels: Runs | None) -> pd.DataFrame:
    """Count rows, labelled by `label_rows`, and questions with a level by question and status."""
    if levels is not None:
        labels = pd.concat([labels, _labelled(levels, question_kind(levels.table), levels.acted)])
    counted = labels.value_counts().rename("rows").reset_index()
    return counted.sort_values(["question", "status"], ignore_index=True)


def _labelled(rows: Runs, question: Any, answered: "pd.Series[bool]") -> pd.DataFrame:
    status = answered.map({True: "ok", False: MISSING})
    if "status" in rows.names:
        status = rows.table["status"].astype(str)
    return pd.DataFrame({"question": question, "status": status})


def audit_table(statuses: pd.DataFrame) -> pd.DataFrame:
    """Lay counts of statuses out as one row per question."""
    columns = [column.name for column in ANSWERS]
    if statuses.empty:
        return pd.DataFrame(columns=columns)
    rows = statuses.astype({"question": object, "status": object}).pivot_table(
        "rows", "question", "status", aggfunc="sum", fill_value=0, sort=False
    )
    known = rows.reindex(columns=[*PARSED, *FAILURES], fill_value=0)
    table = known.assign(
        asked=rows.sum(axis=1),
        repaired=known[list(REPAIRS)].sum(axis=1),
        # A hand-made record may bear a status of its own; it is not parsed, and what it was is
        # not known.
        **{MISSING: rows.sum(axis=1) - known.sum(axis=1)},
    )
    unreadable = table[[*FAILURES, MISSING]].sum(axis=1)
    table = table.assign(share_unreadable=unreadable / table["asked"])
    return table.reset_index().rename_axis(columns=None)[columns]


@dataclass(frozen=True)
class ElicitationSummary:
    """The way of answering of one (task, model), as far as its table tells."""

    # kind of belief -> rows, in the order of the kinds; empty where the table does not tell
    kinds: Mapping[str, int]
    policies: bool = False  # whether actions are probabilities
    # probability of the form asked for: kind of rows where it is known (`of`: belief alone, action
    # or level), their number `rows`, `median` and `smallest`
    masses: tuple[dict[str, Any], ...] = ()

    @property
    def known(self) -> bool:
        """Whether the table tells anything."""
        return bool(self.kinds) or self.policies or bool(self.masses)


def answering(evaluation: Runs) -> ElicitationSummary:
    """Read off how the answers of one (task, model) were got."""
    table, parts = evaluation.table, dict[str, Any]()
    counts = table.get("belief_kind", pd.Series(dtype=object)).dropna().astype(str).value_counts()
    kinds = {name: int(counts[name]) for name in sorted(counts.index)}
    policies = any(table[name].notna().any() for name in evaluation.policies)
    if "answer_mass" in evaluation.names:
        mass, acting = table["answer_mass"], evaluation.asked_to_act
        parts = {"belief alone": mass[~acting], "action": mass[acting]}
    if evaluation.levels is not None and "answer_mass" in evaluation.levels.names:
        parts["level"] = evaluation.levels.table["answer_mass"]
    known = {of: pd.to_numeric(part).dropna().astype(float) for of, part in parts.items()}
    masses = tuple(
        {"of": of, "rows": len(part), "median": float(part.median()), "smallest": float(part.min())}
        for of, part in known.items()
        if len(part)
    )
    return ElicitationSummary(kinds, policies, masses)
