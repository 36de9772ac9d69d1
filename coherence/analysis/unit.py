"""What one (task, model) holds: its beliefs, states and choices, read off the columns.

Together with `coherence.table` and the two modules beside it this is the only place that knows
column names; checks get aligned arrays (`coherence.checks.check.Facts`).
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from coherence.checks.check import Facts
from coherence.inputs import Floats, as_codes
from coherence.table.audit import asked_for_action
from coherence.table.needs import ACTION, THETA
from coherence.table.schema import (
    ACTION_PREFIX,
    READABLE,
    action_columns,
    feature_columns,
    has_action,
    state_columns,
)

REFERENCE = "standard"
N_UNREADABLE_SHOWN = 8
N_LABELS_SHOWN = 6
# Labels of two states of which everybody takes the second for the one that p is about.
USUAL_STATES = (["0", "1"], ["false", "true"], ["no", "yes"], ["0.0", "1.0"])


def joined_names(names: Sequence[Any], last: str = "and") -> str:
    """Join names as a sentence does: "a, b and c"."""
    texts = [str(name) for name in names]
    return f"{', '.join(texts[:-1])} {last} {texts[-1]}" if len(texts) > 1 else texts[0]


def known(rows: pd.DataFrame, name: str) -> "pd.Series[bool]":
    """Tell which rows have a value in a column, which may be absent."""
    return rows[name].notna() if name in rows.columns else pd.Series(False, index=rows.index)


def unreadable(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the first answers that could not be read, with what the model wrote."""
    shown = ("context", "prompt", "z_state", "status", "raw_belief", "raw_z", "raw_action")
    columns = [name for name in shown if name in rows.columns]
    if "status" not in rows.columns:
        return pd.DataFrame(columns=columns)
    unread = rows.loc[~rows["status"].isin(READABLE), columns].head(N_UNREADABLE_SHOWN)
    return unread.dropna(axis="columns", how="all").reset_index(drop=True)


def _known_states(rows: pd.DataFrame) -> pd.Series:
    return rows["theta"].dropna() if "theta" in rows.columns else pd.Series(dtype=object)


def _column_of(state: Any, columns: Sequence[str]) -> str:
    """Return the p_<state> column that is named after a state; empty if none is."""
    names = [f"p_{state}"]
    if isinstance(state, float) and state.is_integer():
        names.append(f"p_{int(state)}")  # empty cells in theta turn 1 into 1.0
    return next((name for name in names if name in columns), "")


def _second(columns: Sequence[str]) -> str:
    order = f"the second of {joined_names(columns)} in sorted order."
    return f"beliefs are those of the column {columns[1]}, {order}"


def _ordered_states(columns: list[str], theta: pd.Series) -> tuple[list[str], str]:
    """Order the p_<state> columns as the states of theta are, or say why its labels cannot tell."""
    try:
        ordered = sorted(columns, key=lambda name: float(name.removeprefix("p_")))
    except ValueError:
        ordered = sorted(columns)
    labels = as_codes(theta, "theta")[1]
    named = [name for name in (_column_of(label, columns) for label in labels) if name]
    if len(set(named)) < len(labels):
        more = ["more"] if len(labels) > N_LABELS_SHOWN else []
        states = joined_names([*map(repr, labels[:N_LABELS_SHOWN]), *more], "or")
        return ordered, f"theta is {states}, and the columns of beliefs are {joined_names(ordered)}"
    # The checks know theta by its own order, in which "10" as text comes before "2" and 10 as a
    # number after 2.
    return (named if len(named) == len(columns) else ordered), ""


def _realised(theta: pd.Series, columns: list[str]) -> tuple[Floats | float, int, str]:
    """Read states as 0 or 1 (else NaN and how many there are); note where their order was assumed.

    `columns` are the two of a belief per state, if there are any.
    """
    codes, labels = as_codes(theta, "theta")
    if columns:
        # One state may be all that came true: the columns say which of the two it is.
        codes = np.array([columns.index(_column_of(label, columns)) for label in labels])[codes]
        labels = tuple(name.removeprefix("p_") for name in columns)
    elif len(labels) == 1 and labels[0] in (0, 1, "0", "1"):
        return float(labels[0]), 0, ""
    if len(labels) != 2:
        return math.nan, len(labels), ""
    if [str(label).lower() for label in labels] in USUAL_STATES:
        return codes.astype(np.float64), 0, ""
    order = "the second of the two labels in sorted order."
    assumed = f"p was taken as the probability of {labels[1]!r}, {order}"
    return codes.astype(np.float64), 0, f"theta: {_second(columns) if columns else assumed}"


class UnitRows:
    """The rows of one (task, model), by what they can be used for.

    Parameters
    ----------
    rows : DataFrame
        Rows of a runs table with ``context``, ``rep``, ``prompt`` and ``z_state``.

    Attributes
    ----------
    reference : str
        The prompt under which beliefs are checked against anything else.
    asked, stated : DataFrame
        Rows under that prompt; those of them with a readable belief.
    decided, choices, judged : DataFrame
        Rows that were asked for an action; those with readable belief and action; those of them
        whose state is known.
    states : list of str
        Columns p_<state> in the order of the states; empty where there is one column p.
    policies : list of str
        Columns action_<label> of this unit; empty where actions were chosen.
    unpaired : str
        Why it is not known which belief is in which state; empty where it is.
    state : Series
        Realised state of `stated` as 0 or 1; NaN where it is not known.
    n_states_seen : int
        Labels of theta where they cannot be read as 0 or 1; else 0.
    state_note : str
        What was assumed of the order of states; empty where nothing was.
    """

    def __init__(self, rows: pd.DataFrame) -> None:
        self.rows = rows
        plain = rows[rows["z_state"].isna()]
        prompts = list(plain["prompt"].unique())
        # Where the usual wording was not asked for, the first one that was stands for it.
        self.reference = REFERENCE if REFERENCE in prompts or not prompts else prompts[0]
        self.states, self.unpaired = state_columns(rows), ""
        if self.states:
            self.states, self.unpaired = _ordered_states(self.states, _known_states(rows))
        policies = action_columns(rows)
        self.policies = [name for name in policies if rows[name].notna().any()]
        self.asked = plain[plain["prompt"] == self.reference]
        self.stated = self.asked.dropna(subset=self.states or ["p"])
        decided = asked_for_action(rows, self.reference)
        self.decided = rows[decided]
        self.choices = self.stated[decided[self.stated.index] & has_action(self.stated)]
        self.judged = self.choices[known(self.choices, "theta")]
        self.state = pd.Series(np.nan, index=self.stated.index)
        self.n_states_seen, self.state_note = 0, ""
        theta = _known_states(self.stated)
        if self.paired and len(theta):
            codes, self.n_states_seen, self.state_note = _realised(theta, self.states)
            self.state[theta.index] = codes
        elif self.paired and self.states and len(self.stated):
            self.state_note = f"theta is not known: {_second(self.states)}"

    @property
    def in_two_states(self) -> bool:
        """Whether the beliefs are in one of two states."""
        return len(self.states) in (0, 2)

    @property
    def paired(self) -> bool:
        """Whether the beliefs are in one of two states and it is known in which."""
        return self.in_two_states and not self.unpaired

    def belief(self, rows: pd.DataFrame) -> Floats:
        """Return one belief per row, or one column per state where there are several."""
        if not self.states:
            return rows["p"].to_numpy(dtype=np.float64)
        beliefs = rows[self.states].to_numpy(dtype=np.float64)
        # Stated with two digits, the states may sum to .99 or 1.01; the schema bounds how far off
        # they are.
        shares = np.asarray(beliefs / beliefs.sum(axis=1, keepdims=True))
        return shares[:, 1] if shares.shape[1] == 2 else shares

    def action(self, rows: pd.DataFrame) -> pd.Series | pd.DataFrame:
        """Return the chosen action of each row, or the probabilities of all, labels as names."""
        if not self.policies:
            return rows["action"].astype(str)
        named = {name: name.removeprefix(ACTION_PREFIX) for name in self.policies}
        return rows[self.policies].astype(np.float64).rename(columns=named)

    def facts(self, needs: Sequence[str], published: bool) -> Facts:
        """Return the rows that hold what a check needs, as aligned arrays."""
        rows = self.judged if THETA in needs else self.choices if ACTION in needs else self.stated
        features = [name for name in feature_columns(rows) if rows[name].notna().any()]
        absent = pd.Series(np.nan, index=rows.index)
        return Facts(
            belief=self.belief(rows),
            action=self.action(rows) if ACTION in needs else absent,
            truth=rows.get("theta", absent),
            state=self.state[rows.index],
            exact=rows.get("p_true", absent),
            context=rows["context"],
            features=rows[features] if features else None,
            n_asked=len(self.decided if ACTION in needs else self.asked),
            runs=self.rows,
            reference=self.reference,
            published=published,
        )

    def shown(self) -> pd.DataFrame:
        """Return the readable beliefs with what they can be drawn against."""
        rows = self.stated
        columns: dict[str, Any] = {"context": rows["context"].astype(str)}
        if self.paired:
            columns["belief"] = self.belief(rows)
            if len(self.choices) and self.policies:
                columns |= {name: self.choices[name] for name in self.policies}
            elif len(self.choices):
                columns["action"] = self.action(self.choices)
            if self.state.notna().any():
                columns["truth"] = self.state.dropna()
            if known(rows, "p_true").any():
                columns["p_true"] = rows["p_true"]
        return pd.DataFrame(columns, index=rows.index).reset_index(drop=True)
