"""What one (task, model) holds: its beliefs, states and choices, read off the columns.

Together with `coherence.runs` and the two modules beside it this is the only place that knows
column names; checks get arrays (`coherence.statistics.evaluation.EvaluationData`).
"""

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from coherence.errors import InputError, closest
from coherence.inputs import Floats, as_codes, require
from coherence.runs import needs
from coherence.runs.columns import (
    ACTION_PREFIX,
    CALLED,
    DRAWN,
    OFFER_COLUMNS,
    RECORDED,
    STATE_PREFIX,
)
from coherence.runs.notes import Code, Level, Note
from coherence.runs.row_condition import label_condition
from coherence.runs.runs import EVALUATION, Runs
from coherence.runs.states import folded, known_pair, names_of_state, typed_option, zero_or_one
from coherence.statistics.evaluation import EvaluationData, OwnAnswer, evaluation_data
from coherence.statistics.pvalues import SMALLEST, calibration_pvalue
from coherence.statistics.report_noise import ReportNoise, noise_bias, report_noise

STATE_KINDS = ("auto", "exact", "realised")


def require_kind_of_state(state: Any) -> None:
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


def _column_of(state: Any, columns: Sequence[str]) -> str:
    """Return the p_<state> column that is named after a state; empty if none is."""
    return next((name for name in names_of_state(state) if name in columns), "")


def _second(columns: Sequence[str]) -> str:
    order = f"the second of {joined_names(columns)} in sorted order."
    return f"beliefs are those of the column {columns[1]}, {order}"


def _ordered_states(columns: list[str], theta: pd.Series, positive: Any) -> list[str]:
    """Order the p_<state> columns as the states of theta are."""
    try:
        ordered = sorted(columns, key=lambda name: float(name.removeprefix(STATE_PREFIX)))
    except ValueError:
        ordered = sorted(columns)
    named = [_column_of(label, columns) for label in as_codes(theta, "theta")[1]]
    # The checks know theta by its own order, in which "10" as text comes before "2" and 10 as a
    # number after 2.
    ordered = named if len(named) == len(columns) else ordered
    codes = zero_or_one([name.removeprefix(STATE_PREFIX) for name in ordered], positive)
    if len(ordered) == 2 and codes == (1, 0):
        ordered = ordered[::-1]
    return ordered


def _positive_column(theta: pd.Series, columns: list[str], positive: Any) -> tuple[Any, str]:
    """Return the label of the state that the second column is named after, and a note on it."""
    named = columns[1].removeprefix(STATE_PREFIX)
    # One state may be all that came true: the columns say which of the two it is.
    labels = as_codes(theta, "theta")[1]
    second = next((label for label in labels if _column_of(label, columns) == columns[1]), named)
    note = ""
    if positive is not None:
        note = f"theta: beliefs are those of the column {columns[1]}, as was said."
    elif known_pair([name.removeprefix(STATE_PREFIX) for name in columns]) is None:
        note = f"theta: {_second(columns)}"
    return second, note


class EvaluationRows:
    """The rows of one (task, model), by what they can be used for.

    `positive` is the label of the state that the belief is in, None where the labels say it or
    nothing does; `labels` are all of theta in the task, by default those of `rows`; beliefs are
    checked against anything else under the prompt `reference`, by default `Runs.reference`. Checks
    of belief, action and state take for the `state` p_true ("exact"), theta ("realised"), or
    ("auto") p_true where every row with a belief and an action has it.
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
        # Columns p_<state> in the order of the states, none where there is one column p; and
        # columns action_<label>, none where actions were chosen.
        self.states = _ordered_states(runs.states, runs.theta, positive) if runs.states else []
        self.policies = [name for name in runs.policies if rows[name].notna().any()]
        asked = runs.with_prompt(self.reference)
        self.reference_rows, self.other_prompts = rows[asked], rows[~runs.given_z & ~asked]
        self.parsed = self.reference_rows[runs.believed[asked]]  # those whose belief could be read
        decided = runs.asked_for_action(self.reference)
        self.action_requested = rows[decided]
        self.with_action = self.parsed[(decided & runs.acted)[self.parsed.index]]
        self.complete_cases = self.with_action[runs.known("theta")[self.with_action.index]]
        self.exact_state = self._takes_exact(state)
        self.crossed = runs.crossed  # whether several persons judged the same context
        # Labels of theta where they are more than two and none was named, else 0; what was assumed
        # of the order of states; and the label of the state that is 1, where it is known.
        self.n_states_seen, self.state_note, self.positive = 0, "", None
        self.merged_states: dict[str, int] = {}  # label -> rows, of all that is not the named state
        self._read_states(positive, labels)

    def _read_states(self, positive: Any, labels: Sequence[Any] | None) -> None:
        theta = self.runs.theta.reindex(self.parsed.index).dropna()
        if not self.in_two_states or self.parsed.empty:
            return
        if theta.empty:
            if self.states:
                self.state_note = f"theta is not known: {_second(self.states)}"
            return
        self.positive = positive
        if self.states:
            self.positive, self.state_note = _positive_column(theta, self.states, positive)
        elif positive is not None:
            self.state_note = f"theta: p is the probability of {positive!r}, as was said."
            counts = theta[theta.map(folded) != folded(positive)].astype(str).value_counts()
            if len(counts) > 1:
                self.merged_states = {str(label): int(n) for label, n in counts.items()}
        if self._arrays.positive_code is None:
            labels = self._arrays.states if labels is None else labels
            self.n_states_seen = len(labels) if len(labels) > 2 else 0
            if not self.n_states_seen:
                listed = joined_names([repr(label) for label in labels], "or")
                self.state_note = (
                    f"theta is {listed}: nothing says which state p is the probability of "
                    "(--positive LABEL), so that beliefs were not compared with it."
                )
        self._require_exact()

    @cached_property
    def state(self) -> "pd.Series[float]":
        """Realised state of `parsed` as 0 or 1; NaN where it is not known."""
        return pd.Series(self._arrays.state, index=self.parsed.index)

    def _require_exact(self) -> None:
        """Refuse a ``p_true`` that recorded states speak against: it is no exact posterior."""
        known = ("truth_kind", "p_true")
        if not set(known) <= set(self.parsed.columns) or self.runs.graded:
            return
        # One row of a context; states of a group may be one.
        rows = self.parsed[["context", *known]].assign(
            group=self.parsed.get("group"), truth=self.state
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
        known = self.runs.known("p_true")[self.with_action.index]
        possible = self.in_two_states and len(known) > 0 and bool(known.all())
        if state == "exact" and not possible and len(self.with_action):
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
    def scatter(self) -> ReportNoise:
        """How far parsed reports of equal evidence lie apart, under the reference prompt."""
        rows, across = self.parsed, "persons" if persons_of(self.runs) else "repetitions"
        if self.runs.computed:  # repetitions of a computed belief are equal
            rows = self.rows[~self.runs.given_z].dropna(subset=self.states or ["p"])
            rows, across = rows.drop_duplicates(["context", "prompt"]), "wordings"
        cells = rows["context"].astype(str)
        if self.crossed and not self.runs.computed:
            # Beliefs of different persons are no copies of one.
            cells, across = cells + "\n" + rows["person"].astype(str), "repetitions of one person"
        noise = report_noise(self.belief(rows), pd.factorize(cells)[0], across=across)
        if self.runs.computed or self.crossed or math.isnan(noise.sd):
            return noise
        return replace(noise, bias=self._noise_bias() if noise.sd > 0 else 0.0)

    def _noise_bias(self) -> float:
        """Tell what noise in the reports does to tests of choice against state."""
        rows = self.with_action if self.exact_state else self.complete_cases
        data = self._arrays.subset(self.parsed.index.isin(rows.index))
        if not data.n_rows:
            return math.nan
        if self.in_two_states:
            states = [data.state]
            if self.exact_state and data.posterior is not None:
                states = [data.posterior]
        else:
            if not data.column_of:  # not known which column is which state
                return math.nan
            column = np.array([*data.column_of, -1])[data.truth]
            states = [(column == at).astype(np.float64) for at in range(len(self.states))]
        biases = [
            noise_bias(column, data.context, data.share, state)
            for column, state in zip(data.belief.reshape(data.n_rows, -1).T, states, strict=True)
            if not np.isnan(state).any()
        ]
        return float(np.nanmax(biases)) if np.isfinite(biases).any() else math.nan

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
        if not self.policies:  # where probabilities were asked for, none was parsed
            action = rows.get("action", pd.Series(None, index=rows.index, dtype=object))
            return action.astype(str).where(action.notna())
        return rows[self.policies].astype(np.float64).rename(columns=self.runs.action_names)

    @cached_property
    def _arrays(self) -> EvaluationData:
        """The parsed rows as arrays; checks get those of them that hold what they need."""
        return self._as_arrays(self.parsed, self.reference)

    def _as_arrays(self, rows: pd.DataFrame, prompt: str) -> EvaluationData:
        """Validate the rows of a prompt whose belief was parsed."""
        about: dict[str, Any] = {"prompt": prompt}
        if rows.empty:
            nothing = np.zeros(0, dtype=np.int64)
            return EvaluationData(np.zeros(0), nothing, nothing, nothing, (), (), (), **about)
        data = evaluation_data(
            self.belief(rows),
            None if self.action_requested.empty else self.action(rows),
            rows.get("theta"),
            rows["context"],
            positive=self.positive,
            labels=self.labels if self.in_two_states else (),
            posterior=rows.get("p_true") if self.in_two_states else None,
            group=rows.get("group"),
            person=rows["person"] if self.crossed else None,
            missing=True,
            one_truth=not self.runs.graded,
            may_be_confidence=not self.runs.says_state,
        )
        if not self.in_two_states:
            about["columns"] = tuple(name.removeprefix(STATE_PREFIX) for name in self.states)
            named = [_column_of(label, self.states) for label in data.states]
            about["column_of"] = tuple(self.states.index(name) for name in named)
        kind = rows.get("truth_kind")
        if kind is not None and (self.rows["truth_kind"] == DRAWN).any():
            about["drawn"] = (kind == DRAWN).to_numpy()
        return replace(data, computed=self.runs.computed, **about)

    @property
    def own_answer(self) -> OwnAnswer | None:
        """What tells that beliefs are confidences in the own answer; None where nothing does."""
        return self._arrays.own_answer

    def of_state(self, wanted: Sequence[str]) -> bool:
        """Tell whether choices without a known state are of no use: no posterior stands for it."""
        exact = self.exact_state and wanted == needs.STATE_AND_CHOICES
        return (
            needs.ACTION in wanted and not exact and bool({needs.THETA, needs.TARGET} & {*wanted})
        )

    def rows_for(self, wanted: Sequence[str]) -> pd.DataFrame:
        """Return the rows with a parsed belief that hold what a check needs."""
        if self.of_state(wanted):
            return self.complete_cases
        return self.with_action if needs.ACTION in wanted else self.parsed

    def data(self, wanted: Sequence[str]) -> EvaluationData:
        """Return the rows that hold what a check needs, with what else it takes."""
        exact = self.exact_state and wanted == needs.STATE_AND_CHOICES
        used = self.rows_for(wanted)
        asked = self.action_requested if needs.ACTION in wanted else self.reference_rows
        further: dict[str, Any] = {"n_asked": len(asked)}
        if {needs.ANOTHER_PROMPT, needs.GIVEN_Z} & set(wanted):
            further["runs"] = self.runs
        for kind, at in ((needs.MATCHING_QUESTIONS, "level"), (needs.STAKES_QUESTIONS, "loss")):
            further |= {"questions": self.questions(at)} if kind in wanted else {}
        if wanted == needs.NEEDS_STATE_AND_ACTION:
            features = used[self.runs.features].dropna(axis="columns", how="all")
            further["features"] = None if features.empty else features
        if wanted == needs.FORECASTS and "theta" in self.rows.columns:
            further["other_prompts"] = dict(self._of_other_prompts())
        data = self._arrays.subset(self.parsed.index.isin(used.index))
        return replace(data.with_exact_state() if exact else data, **further)

    def questions(self, at: str) -> pd.DataFrame | None:
        """Return beliefs, and choices with a level or a stake, of cases with both; None of none."""
        apart = [] if self.runs.levels is None else [self.runs.levels.table]
        rows = pd.concat([self.reference_rows, *apart], ignore_index=True)
        if at not in rows:
            return None
        asked, belief = rows[at].notna(), self.belief(rows)
        known = rows[asked].notna().any()
        options = [name for name in known.index[known] if str(name).startswith(ACTION_PREFIX)]
        choice = rows.reindex(columns=options or ["action"]).where(asked)
        of_case, named = ["p_true", "group"], ["level", "frame", "order", "gain", "loss", "acts"]
        table = rows.reindex(columns=["context", *named, "says_from", *of_case])
        table[of_case] = table.groupby("context", observed=True)[of_case].transform("first")
        answered, told = choice.notna().any(axis=1), ~np.isnan(belief)
        both = set(table["context"][answered]) & set(table["context"][told])
        # Of stakes those of cases without a belief too: which these are may go by the choice.
        cases = table["context"].isin(both) | (at == "loss")
        kept = (cases & (asked | told)) | (asked & table["says_from"].notna())
        return table.assign(belief=belief).join(choice)[kept] if both else None

    def _of_other_prompts(self) -> Iterator[tuple[str, EvaluationData]]:
        """Yield the parsed rows under each other prompt as arrays."""
        for prompt, rows in self.other_prompts.groupby("prompt", sort=True, observed=True):
            parsed = rows[self.runs.believed[rows.index]]
            yield str(prompt), replace(self._as_arrays(parsed, str(prompt)), n_asked=len(rows))

    def shown(self) -> pd.DataFrame:
        """Return the parsed beliefs with what they can be drawn against."""
        rows = self.parsed
        columns: dict[str, Any] = {"context": rows["context"].astype(str)}
        if self.in_two_states:
            columns["belief"] = self.belief(rows)
            if len(self.with_action) and self.policies:
                columns |= {name: self.with_action[name] for name in self.policies}
            elif len(self.with_action):
                columns["action"] = self.action(self.with_action)
            if not self.runs.graded and self.state.notna().any():
                columns["truth"] = self.state.dropna()
            if not self.runs.graded and self.runs.known("p_true")[rows.index].any():
                columns["p_true"] = rows["p_true"]
        return pd.DataFrame(columns, index=rows.index).reset_index(drop=True)


MOSTLY, FEWEST_CASES = 0.9, 5  # share of pairs of case and person; cases of a person
ASIDE = "unmapped_"  # begins a column that was set aside: no option says what it holds


def unnamed_columns(runs: Runs) -> list[Note]:
    """Say which columns of a table as it was read may be models, persons, turns or stakes."""
    return [note for of in (_models, _persons, _turns, _stakes) for note in of(runs)]


def persons_of(runs: Runs) -> str:
    """Return the column that may say who judged a case that others judged too; empty for none."""
    if "person" in runs.names:
        return ""
    found = (name for name, _ in _within_cases(runs, _called(runs, "person")))
    return next((name for name in found if _judges(runs.table["context"], runs.table[name])), "")


def _judges(context: pd.Series, values: pd.Series) -> bool:
    """Tell whether values can be persons: each in several cases, in each of them equally often."""
    by_both = pd.DataFrame({"case": context, "value": values}).value_counts()
    usual = (by_both == by_both.mode().iloc[0]).mean() if len(by_both) else 0.0
    cases = by_both.groupby(level="value").size()
    return bool(usual >= MOSTLY and cases.median() >= FEWEST_CASES)


def _called(runs: Runs, role: str) -> list[str]:
    """Return the columns that nothing reads, called as files call a role."""
    named = re.compile(rf"(?<![a-z])({CALLED[role]})", re.IGNORECASE)
    return [name for name in runs.unused_labels if named.search(str(name))]


def _within_cases(runs: Runs, names: Iterable[str]) -> Iterator[tuple[str, int]]:
    """Yield the columns of which one case has several values, with how many at most."""
    if "context" not in runs.names:
        return
    keys = [name for name in (*EVALUATION, "context") if name in runs.names]
    for name in names:
        most = int(runs.table.groupby(keys, observed=True)[name].nunique().max())
        if most > 1:
            yield name, most


def _models(runs: Runs) -> Iterator[Note]:
    if "model" not in runs.names:
        for name, most in _within_cases(runs, _called(runs, "model")):
            text = (
                f"{name} has {most} values in one case, and nothing reads it: if it names "
                f"models, they were pooled. Name it ({typed_option('--model-column', name)}, in "
                f"Python columns={{'model': {name!r}}})."
            )
            yield Note(Code.POOLED_MODELS, text, Level.ALERT)


def _persons(runs: Runs) -> Iterator[Note]:
    if name := persons_of(runs):
        text = (
            f"{name} differs within cases, and nothing reads it: if it says who judged, name it "
            f"({typed_option('--person', name)}, in Python columns={{'person': {name!r}}}), and "
            "each is compared at the own belief."
        )
        yield Note(Code.POOLED_PERSONS, text, Level.WARNING)
    elif not {"person", "rep"} & set(runs.names):
        # Files call it as they like, in any language: it is known by how it crosses the cases.
        said = {name for role in CALLED for name in _called(runs, role)}
        read = [name for name in ("prompt", "z", *OFFER_COLUMNS) if name in runs.names]
        keys = [runs.table[name] for name in read] or [pd.Series(0, runs.table.index)]
        for name, _ in _within_cases(runs, [n for n in runs.unused_labels if n not in said]):
            column = runs.table[name]
            by_read = column.groupby(keys, observed=True, dropna=False).nunique().max()
            # What goes with a wording or a stake that is read, such as its text, is known by it.
            if by_read > 1 and _judges(runs.table["context"], column):
                text = (
                    f"{name} differs within cases, nothing reads it, and its rows were taken as "
                    "repetitions. Say what it names: who judged (--person), models "
                    f"(--model-column), wordings (--prompt) or repetitions (--rep), such as "
                    f"{typed_option('--person', name)}."
                )
                yield Note(Code.POOLED_PERSONS, text, Level.WARNING)
                return


def _turns(runs: Runs) -> Iterator[Note]:
    """Yield a note where rows of a case are numbered as turns, each with an action of its own."""
    if {"rep", "person"} & set(runs.names) or not {"action", "context"} <= set(runs.names):
        return
    keys = [name for name in (*EVALUATION, "context", "prompt") if name in runs.names]
    for name, most in _within_cases(runs, _called(runs, "rep")):
        if not runs.table.duplicated([*keys, name]).any():
            last = label_condition(name, [runs.table[name].iloc[-1]], left_out=False)
            kept = typed_option("--where", last)
            text = (
                f"{name} has {most} values in one case, one a row, and rows of a case were taken "
                f"as repetitions. If they are turns, each with another action, keep one of a case, "
                f"such as {kept}; if they are repetitions, say so: {typed_option('--rep', name)}."
            )
            yield Note(Code.SHAPE, text, Level.WARNING)


def _stakes(runs: Runs) -> Iterator[Note]:
    """Yield a note where columns hold what a choice may lose, whatever comes true."""
    if "loss" in runs.names or not {"action", "context"} <= set(runs.names):
        return
    actions = sorted(runs.table["action"].dropna().astype(str).unique())
    losses = [name for name in _called(runs, "loss") if _offered(runs, name)]
    gains = [name for name in _called(runs, "gain") if _offered(runs, name, constant=True)]
    if len(actions) != 2 or not losses:
        return
    named = {
        role: of[0].removeprefix(ASIDE) for role, of in (("gain", gains), ("loss", losses)) if of
    }
    typed = " ".join(typed_option(f"--{role}", name) for role, name in named.items())
    text = (
        f"{' and '.join(named.values())}: nothing reads it. If that is what a choice stakes, name "
        f"it and the choice ({typed} --acts LABEL, {' or '.join(actions)}; in Python columns="
        f"{named}, acts=LABEL): whether choices move with the stakes is tested then."
    )
    yield Note(Code.UNNAMED_STAKES, text, Level.WARNING)


def _offered(runs: Runs, name: str, *, constant: bool = False) -> bool:
    """Tell whether a column holds amounts that were offered: what is paid goes with the truth."""
    amounts = pd.to_numeric(runs.table[name], errors="coerce")
    if amounts.isna().any() or (amounts < 0).any():
        return False
    if amounts.nunique() < 2:
        return constant and bool((amounts > 0).any())
    action = runs.table["action"].astype(str)
    truth = runs.table["theta"].astype(str) if "theta" in runs.names else action
    in_each = amounts.groupby([action, truth]).nunique().groupby(level=0).min()
    return bool(((in_each > 1) | (amounts.groupby(action).nunique() == 1)).all())
