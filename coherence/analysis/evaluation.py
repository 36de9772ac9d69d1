"""What one (task, model) holds: its beliefs, states and choices, read off the columns.

Together with `coherence.table` and the two modules beside it this is the only place that knows
column names; checks get aligned arrays (`coherence.checks.check.EvaluationData`).
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from coherence.checks.check import EvaluationData
from coherence.errors import InputError, closest
from coherence.inputs import Floats, as_codes, require
from coherence.statistics.scatter import ReportNoise, noise_bias, report_noise_within
from coherence.table.exact import SMALLEST, calibration_pvalue
from coherence.table.needs import ACTION, TARGET, THETA
from coherence.table.runs import Runs
from coherence.table.schema import PARSED, RECORDED, STATE_PREFIX
from coherence.table.states import known_pair, zero_or_one

N_UNREADABLE_SHOWN = 8
N_LABELS_SHOWN = 6


STATE_KINDS = ("auto", "exact", "realised")


def require_state(state: Any) -> None:
    """Refuse what is no kind of state."""
    require(
        state in STATE_KINDS,
        f"state must be one of {', '.join(map(repr, STATE_KINDS))}; received {state!r}. "
        f"{closest(str(state), STATE_KINDS)}",
    )


def joined_names(names: Sequence[Any], last: str = "and") -> str:
    """Join names as a sentence does: "a, b and c"."""
    texts = [str(name) for name in names]
    return f"{', '.join(texts[:-1])} {last} {texts[-1]}" if len(texts) > 1 else texts[0]


def unreadable(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the first answers that could not be read, with what the model wrote."""
    shown = ("context", "prompt", "z_state", "status", "raw_belief", "raw_z", "raw_action")
    columns = [name for name in shown if name in rows.columns]
    if "status" not in rows.columns:
        return pd.DataFrame(columns=columns)
    unread = rows.loc[~rows["status"].isin(PARSED), columns].head(N_UNREADABLE_SHOWN)
    return unread.dropna(axis="columns", how="all").reset_index(drop=True)


def _column_of(state: Any, columns: Sequence[str]) -> str:
    """Return the p_<state> column that is named after a state; empty if none is."""
    names = [f"{STATE_PREFIX}{state}"]
    if isinstance(state, float) and state.is_integer():
        names.append(f"{STATE_PREFIX}{int(state)}")  # empty cells in theta turn 1 into 1.0
    return next((name for name in names if name in columns), "")


def _second(columns: Sequence[str]) -> str:
    order = f"the second of {joined_names(columns)} in sorted order."
    return f"beliefs are those of the column {columns[1]}, {order}"


def _ordered_states(columns: list[str], theta: pd.Series, positive: Any) -> tuple[list[str], str]:
    """Order the p_<state> columns as the states of theta are, or say why its labels cannot tell."""
    try:
        ordered = sorted(columns, key=lambda name: float(name.removeprefix(STATE_PREFIX)))
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
    ordered = named if len(named) == len(columns) else ordered
    codes = zero_or_one([name.removeprefix(STATE_PREFIX) for name in ordered], positive)
    if len(ordered) == 2 and codes == (1, 0):
        ordered = ordered[::-1]
    return ordered, ""


def _realised(
    theta: pd.Series, labels: Sequence[Any], positive: Any
) -> tuple["pd.Series[float]", Any, str]:
    """Read states as 0 or 1, else NaN; the label that is 1 if it was named; a note on it.

    `labels` are those of the whole task, of which this model's rows may have one alone.
    """
    codes = zero_or_one(labels, positive, name="theta")
    if codes is None:
        listed = joined_names([repr(label) for label in labels[:2]], "or")
        note = f"theta is {listed}: nothing says which state p is the probability of"
        unread = f"{note} (--positive LABEL), so that beliefs were not compared with it."
        return theta.astype(object).map(lambda _: np.nan), None, unread if len(labels) < 3 else ""
    by_label = dict(zip(labels, codes, strict=True))
    said = (
        f"theta: p is the probability of {positive!r}, as was said." if positive is not None else ""
    )
    return theta.astype(object).map(by_label).astype(np.float64), positive, said


def _realised_columns(
    theta: pd.Series, columns: list[str], positive: Any
) -> tuple["pd.Series[float]", Any, str]:
    """Read states as the number of the column that is named after them; else as `_realised`."""
    labels = as_codes(theta, "theta")[1]
    # One state may be all that came true: the columns say which of the two it is.
    by_label = {label: columns.index(_column_of(label, columns)) for label in labels}
    named = columns[1].removeprefix(STATE_PREFIX)
    second = next((label for label, code in by_label.items() if code), named)
    note = ""
    if positive is not None:
        note = f"theta: beliefs are those of the column {columns[1]}, as was said."
    elif known_pair([name.removeprefix(STATE_PREFIX) for name in columns]) is None:
        note = f"theta: {_second(columns)}"
    return theta.astype(object).map(by_label).astype(np.float64), second, note


class EvaluationRows:
    """The rows of one (task, model), by what they can be used for.

    Parameters
    ----------
    rows : Runs or DataFrame
        Rows of a completed runs table.
    positive : Any
        Label of the state that the belief is in; None where the labels say it, or nothing does.
    labels : sequence, optional
        All labels of theta in the task; None takes those of `rows`.
    reference : str, optional
        The reference prompt; None leaves it to `Runs.reference`.
    state : str
        What checks of belief, action and state take for the state: "exact" (p_true), "realised"
        (theta), or "auto", exact where every row with a belief and an action has it.

    Attributes
    ----------
    runs : Runs
        All rows; `rows` is their table.
    named, labels
        As they were given.
    reference : str
        The prompt under which beliefs are checked against anything else.
    elsewhere : DataFrame
        Rows under other prompts.
    asked, stated : DataFrame
        Rows under that prompt; those of them with a parsed belief.
    decided, choices, judged : DataFrame
        Rows that were asked for an action; those with parsed belief and action; those of them
        whose state is known.
    states : list of str
        Columns p_<state> in the order of the states; empty where there is one column p.
    policies : list of str
        Columns action_<label> of this evaluation; empty where actions were chosen.
    unpaired : str
        Why it is not known which belief is in which state; empty where it is.
    state : Series
        Realised state of `stated` as 0 or 1; NaN where it is not known.
    positive : Any
        Label of the state that is 1; None where the labels say it, or it is not known.
    crossed : bool
        Whether several persons judged the same context.
    n_states_seen : int
        Labels of theta where they are more than two and none was named; else 0.
    state_note : str
        What was assumed of the order of states; empty where nothing was.
    """

    def __init__(
        self,
        rows: Runs | pd.DataFrame,
        *,
        positive: Any = None,
        labels: Sequence[Any] | None = None,
        reference: str | None = None,
        state: str = "auto",
    ) -> None:
        runs = rows if isinstance(rows, Runs) else Runs(rows)
        rows = runs.table
        self.runs, self.rows, self.named, self.labels = runs, rows, positive, labels
        self.reference = runs.reference(reference)
        self.states, self.unpaired = runs.states, ""
        if self.states:
            self.states, self.unpaired = _ordered_states(self.states, runs.theta, positive)
        self.policies = [name for name in runs.policies if rows[name].notna().any()]
        asked = runs.under(self.reference)
        self.asked, self.elsewhere = rows[asked], rows[~runs.given_z & ~asked]
        self.stated = self.asked[runs.believed[asked]]
        decided = runs.asked_for_action(self.reference)
        self.decided = rows[decided]
        self.choices = self.stated[(decided & runs.acted)[self.stated.index]]
        self.judged = self.choices[runs.known("theta")[self.choices.index]]
        self.state = pd.Series(np.nan, index=self.stated.index)
        self.exact_state = self._takes_exact(state)
        self.crossed = runs.crossed
        self.n_states_seen, self.state_note, self.positive = 0, "", None
        self._read_states(positive, labels)

    def _read_states(self, positive: Any, labels: Sequence[Any] | None) -> None:
        theta = self.runs.theta.reindex(self.stated.index).dropna()
        if not self.paired or self.stated.empty:
            return
        if theta.empty:
            if self.states:
                self.state_note = f"theta is not known: {_second(self.states)}"
            return
        if self.states:
            codes, self.positive, self.state_note = _realised_columns(theta, self.states, positive)
        else:
            seen = as_codes(theta, "theta")[1] if labels is None else labels
            codes, self.positive, self.state_note = _realised(theta, seen, positive)
            if codes.isna().all() and len(seen) > 2:
                self.n_states_seen = len(seen)
        self.state[theta.index] = codes
        self._require_exact()

    def _require_exact(self) -> None:
        """Refuse a ``p_true`` that recorded states speak against: it is no exact posterior."""
        known = ("truth_kind", "p_true")
        if not set(known) <= set(self.stated.columns):
            return
        # One row of a context; states of a group may be one.
        rows = self.stated[["context", *known]].assign(
            group=self.stated.get("group"), truth=self.state
        )
        rows = rows[rows["truth_kind"] == RECORDED].dropna(subset=["p_true", "truth"])
        rows = rows[~rows.duplicated("context") | rows["context"].isna()]
        if rows.empty:
            return
        group = None
        if rows["group"].notna().all():
            group = pd.factorize(rows["group"])[0].astype(np.int64)
        exact, truth = rows["p_true"].to_numpy(dtype=np.float64), rows["truth"].to_numpy() == 1
        pvalue = calibration_pvalue(exact, truth, group)
        require(
            pvalue >= SMALLEST,
            "p_true must be the exact posterior of theta, as --exact says, and is not calibrated "
            f"to it: over {len(rows)} contexts its mean is {exact.mean():.3f} and theta is 1 in "
            f"{truth.mean():.3f} (score test of calibration in the large and slope, theta redrawn "
            f"from p_true, p = {pvalue:.1g}). Name another column (--exact NAME), or none: without "
            "--exact it is not read. If rows repeat a case, name --context.",
        )

    def _takes_exact(self, state: str) -> bool:
        """Tell whether the exact posterior is the state; refuse where one that was named lacks."""
        known = self.runs.known("p_true")[self.choices.index]
        possible = self.in_two_states and len(known) > 0 and bool(known.all())
        if state == "exact" and not possible and len(self.choices):
            lack = (
                f"{int((~known).sum())} of {len(known)} rows with a belief and an action lack it"
                if self.in_two_states
                else "it is the posterior of one of two states, and beliefs are over "
                f"{len(self.states)}"
            )
            raise InputError(
                f"state='exact' takes p_true in every row with a belief and an action; {lack}. "
                "Leave state (--state) out, or name the column of exact posteriors (--exact NAME)."
            )
        return possible and state != "realised"

    @property
    def in_two_states(self) -> bool:
        """Whether the beliefs are in one of two states."""
        return len(self.states) in (0, 2)

    @property
    def paired(self) -> bool:
        """Whether the beliefs are in one of two states and it is known in which."""
        return self.in_two_states and not self.unpaired

    @property
    def scatter(self) -> ReportNoise:
        """How far the beliefs of equal evidence lie apart."""
        if self.runs.computed:  # repetitions of a computed belief are equal
            rows = self.rows[~self.runs.given_z].dropna(subset=self.states or ["p"])
            rows = rows.drop_duplicates(["context", "prompt"])
            return report_noise_within(self.belief(rows), rows["context"], across="wordings")
        rows = self.judged if len(self.judged) else self.stated
        if self.crossed:  # beliefs of different persons are no copies of one
            cells = rows["context"].astype(str) + "\n" + rows["person"].astype(str)
            return report_noise_within(self.belief(rows), cells, across="repetitions of one person")
        found = report_noise_within(self.belief(rows), rows["context"])
        if found.sd > 0 and len(self.choices):
            return replace(found, bias=self._noise_bias())
        return replace(found, bias=0.0) if found.sd == 0 else found

    def _noise_bias(self) -> float:
        """Tell what noise in the reports does to tests of choice against state."""
        rows = self.choices if self.exact_state else self.judged
        if rows.empty:
            return math.nan
        chosen, belief = self.action(rows), self.belief(rows)
        share = pd.get_dummies(chosen) if isinstance(chosen, pd.Series) else chosen
        context = pd.factorize(rows["context"])[0].astype(np.int64)
        if self.in_two_states:
            states = [rows["p_true"] if self.exact_state else self.state[rows.index]]
        else:
            theta = self.runs.theta[rows.index].map(lambda label: _column_of(label, self.states))
            states = [theta == name for name in self.states]
        found = [
            noise_bias(column, context, np.asarray(share, dtype=np.float64), state)
            for column, state in zip(
                belief.reshape(len(belief), -1).T,
                (np.asarray(state, dtype=np.float64) for state in states),
                strict=True,
            )
            if not np.isnan(state).any()
        ]
        return float(np.nanmax(found)) if np.isfinite(found).any() else math.nan

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
        return rows[self.policies].astype(np.float64).rename(columns=self.runs.action_names)

    def facts(self, needs: Sequence[str], published: bool) -> EvaluationData:
        """Return the rows that hold what a check needs, as aligned arrays."""
        if THETA in needs or ({ACTION, TARGET} <= set(needs) and not self.exact_state):
            rows = self.judged
        else:
            rows = self.choices if ACTION in needs else self.stated
        features = [name for name in self.runs.features if rows[name].notna().any()]
        absent = pd.Series(np.nan, index=rows.index)
        return EvaluationData(
            belief=self.belief(rows),
            action=self.action(rows) if ACTION in needs else absent,
            truth=rows.get("theta", absent),
            state=self.state[rows.index],
            positive=self.positive,
            exact=rows.get("p_true", absent),
            exact_state=self.exact_state,
            context=rows["context"],
            features=rows[features] if features else None,
            n_asked=len(self.decided if ACTION in needs else self.asked),
            runs=self.runs,
            reference=self.reference,
            published=published,
            computed=self.runs.computed,
            group=rows.get("group"),
            person=rows["person"] if self.crossed else None,
            states=tuple(self.states),
            state_of=self._state_of(),
            unpaired=self.unpaired,
        )

    def _state_of(self) -> dict[Any, int]:
        """Return the number of the column of each label, of three states and more."""
        if self.in_two_states or self.unpaired:
            return {}
        labels = as_codes(self.runs.theta.dropna(), "theta")[1]
        return {label: self.states.index(_column_of(label, self.states)) for label in labels}

    def shown(self) -> pd.DataFrame:
        """Return the parsed beliefs with what they can be drawn against."""
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
            if self.runs.known("p_true")[rows.index].any():
                columns["p_true"] = rows["p_true"]
        return pd.DataFrame(columns, index=rows.index).reset_index(drop=True)
