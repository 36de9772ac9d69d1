"""One evaluation (a model on a task) as arrays, validated once: what every check takes.

Public functions of arrays build it from what a user passes (`as_choices`, `evaluation_data`);
`coherence.analysis.evaluation` builds it from the columns of a runs table. Nothing behind it
validates again.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from coherence.errors import InputError, listing
from coherence.inputs import (
    Actions,
    Codes,
    Floats,
    as_actions,
    as_belief,
    as_codes,
    as_contexts,
    as_numbers,
    few_contexts,
    of_contexts,
    require,
    require_aligned,
    seen_policies,
)
from coherence.runs.read import told_apart
from coherence.runs.runs import Runs
from coherence.runs.states import (
    compared_labels,
    in_order,
    labels_error,
    named_state,
    names_of_state,
    unknown_pair,
    zero_or_one,
)
from coherence.statistics.resample import Clusters, context_means, groups_of_contexts

RESOLVED = 1e-9  # below which posteriors are equal
UNKNOWN = -1  # code of what a row does not have
_BOTH = 0.2  # share of other answers than the commonest, for being right to part from the truth
_SURE = 2.5  # standard errors by which it goes with being right
_BELOW = 0.25  # share of confidences below one half, as of answers that are talked out of
_RISES = 0.4  # correlation with the answer that a belief has and a confidence seldom
_FEWEST = 10  # cases in which the state is denied
_DENIED, _RARELY_LOW = 0.1, 0.1  # shares of answers that deny it, and of beliefs below one half
_APART = 0.2  # correlation of a confidence with the answer at the most, where it is never low


@dataclass(frozen=True)
class OwnAnswer:
    """What tells that beliefs are confidences in the own answer."""

    state: object  # label of the state that the belief would be in
    why: str

    def sentence(self, belief: str) -> str:
        """Say it, without a full stop; `belief` is what the column is called."""
        return f"{belief} looks like the confidence in the own answer: {self.why}"


@dataclass(frozen=True)
class EvaluationData:
    """Validated belief, action and truth of one evaluation, with what they are compared by."""

    belief: Floats  # shape (n,) or (n, n_states): belief in the second of two states, or in all
    # shape (n,): codes of the chosen actions; empty where actions are probabilities
    action: Codes
    truth: Codes  # shape (n,): codes of the realised states
    context: Codes  # shape (n,): codes
    # actions, states, contexts: labels of the codes, in the order of the codes
    actions: tuple[Any, ...]
    states: tuple[Any, ...]
    contexts: tuple[Any, ...]
    # shape (n, n_actions), or None: probability of each action; None where actions were chosen
    policy: Floats | None = None
    # shape (n,), or None: exact posterior of the second state, which takes the place of the truth
    # in the checks that can take either; see `with_exact_state`
    exact: Floats | None = None
    posterior: Floats | None = None  # shape (n,): the same where it is known, else NaN
    positive: Any = None  # label of the state that a belief in one is in, where it was named
    # its code; `UNKNOWN` where it never came true, None where nothing says which it is
    positive_code: int | None = None
    group: Codes | None = None  # shape (n_contexts,): what contexts share beyond their belief
    groups: tuple[Any, ...] = ()  # labels of `group`
    person: Codes | None = None  # shape (n,): who judged, where several judged the same contexts
    drawn: NDArray[np.bool_] | None = None  # rows whose truth was drawn from the posterior
    features: pd.DataFrame | None = None  # evidence columns in which the rows have any value
    own_answer: OwnAnswer | None = None  # why beliefs may be confidences in the action
    computed: bool = False  # whether beliefs come from a model's distribution, without noise
    n_asked: int = 0  # rows that were asked what a check needs, parsed or not
    # of beliefs over several states: the names of the columns, and the column of each of `states`
    columns: tuple[str, ...] = ()
    column_of: tuple[int, ...] = ()
    left_out: tuple[Any, ...] = ()  # of a subset: actions that only the other rows have
    prompt: str = ""  # of all rows above
    # rows under each other prompt, for the checks that compare every prompt with the truth
    other_prompts: Mapping[str, "EvaluationData"] = field(default_factory=dict)
    # every row, other prompts and beliefs given z included, for the checks that compare beliefs
    runs: Runs | None = None
    # parsed beliefs, and choices at a level or stake, of the cases that have both: columns context,
    # belief, level, frame, order, gain, loss, acts, p_true, group, and action or action_<option>
    questions: pd.DataFrame | None = None

    @cached_property
    def share(self) -> Floats:
        """Probability of each action in each row; 0 or 1 where one was chosen."""
        return Actions(self.action, self.actions, self.policy).share

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.belief)

    @property
    def n_contexts(self) -> int:
        """Number of contexts."""
        return len(self.contexts)

    @property
    def n_dropped(self) -> int:
        """Rows that were asked and are not here."""
        return self.n_asked - self.n_rows

    def by_context(self, values: Floats) -> "pd.Series[float]":
        """Index values of contexts, which are in their order, by their ids."""
        index = pd.Index(list(self.contexts), tupleize_cols=False)
        return pd.Series(values, index=index, name="contribution")

    @property
    def clusters(self) -> Clusters:
        """What is resampled: contexts, or the groups that they belong to."""
        if self.group is None:
            return Clusters("context", np.arange(self.n_contexts, dtype=np.int64))
        return Clusters("group", self.group)

    @property
    def state(self) -> Floats:
        """Whether the state that the belief is in came true, 0 or 1; NaN where it is not known."""
        known = (self.truth != UNKNOWN) & (self.positive_code is not None)
        return np.where(known, self.truth == self.positive_code, np.nan)

    def known(self, *names: str) -> NDArray[np.bool_]:
        """Tell which rows have all of "action", "truth" and "posterior" that are named."""
        of_name: dict[str, Any] = {"truth": self.truth != UNKNOWN, "action": self.action != UNKNOWN}
        if self.policy is not None:
            of_name["action"] = ~np.isnan(self.policy).any(axis=1)
        of_name["posterior"] = False if self.posterior is None else ~np.isnan(self.posterior)
        there = np.ones(self.n_rows, dtype=np.bool_)
        for name in names:
            there &= of_name[name]
        return there

    def difference_names(self, state: Any, other: Any) -> list[str]:
        """Name the difference of each action between two states; labels that are alike apart."""
        alike = {*map(str, self.actions)} & {*map(str, self.states)}
        act, given = ("action ", "state ") if alike else ("", "")
        return [
            f"P({act}{name} | {given}{state}) - P({act}{name} | {given}{other})"
            for name in self.actions
        ]

    @property
    def degenerate(self) -> str:
        """Why no check of belief, action and truth can say anything; empty if one can."""
        if self.own_answer is not None:
            return self.own_answer.sentence("belief")
        if len(self.actions) < 2:
            others = " or ".join(map(repr, self.left_out))
            lost = f"; only rows that were left out have {others}" if others else ""
            return f"only one action was seen ({self.actions[0]!r}){lost}"
        if self.exact is not None and np.ptp(self.exact) < RESOLVED:
            return f"the exact posterior is constant ({self.exact[0]:.3g})"
        if len(self.states) < 2:
            return f"truth is constant ({self.states[0]!r})"
        return few_contexts(self.n_contexts)

    @property
    def in_several_states(self) -> bool:
        """Whether beliefs are over more than two states."""
        return self.belief.ndim == 2 and self.belief.shape[1] > 2

    @property
    def separated(self) -> bool:
        """Whether beliefs foretell every state without exception.

        With two states, every belief at one lies below every belief at the other; with several, the
        most probable one always came true. Nothing about the state is left to chance then. What a
        smooth regression misses of such a step it misses alike in choices that follow the belief,
        and covariance of these remains would be no sign of anything.
        """
        if self.in_several_states:
            if not self.column_of and self.belief.shape[1] != len(self.states):
                return False  # of a state that never came true the column is not known
            columns = np.array(self.column_of or range(len(self.states)))
            return bool((self.belief.argmax(axis=1) == columns[self.truth]).all())
        if len(self.states) != 2:
            return False
        belief = one_dimensional(self, "sufficiency_test")
        first, second = belief[self.truth == 0], belief[self.truth == 1]
        return bool(first.max() < second.min() or second.max() < first.min())

    def subset(self, rows: NDArray[np.bool_]) -> "EvaluationData":
        """Return some rows; what none of them has is unknown to it."""
        if rows.all():
            return self
        kept = np.flatnonzero(np.bincount(self.context[rows], minlength=self.n_contexts))
        truth, states, of_states = _seen(self.truth[rows], self.states)
        chosen = Actions(self.action, self.actions, self.policy)
        if self.policy is not None:
            chosen = seen_policies(self.policy[rows], self.actions)
        elif self.action.size:
            chosen = Actions(*_seen(self.action[rows], self.actions)[:2])
        of_rows: dict[str, Any] = {
            name: None if values is None else values[rows]
            for name in ("exact", "posterior", "person", "drawn", "features")
            for values in [getattr(self, name)]
        }
        if of_rows["person"] is not None:
            of_rows["person"] = np.unique(of_rows["person"], return_inverse=True)[1]
        if of_rows["features"] is not None:
            features = of_rows["features"].dropna(axis="columns", how="all")
            of_rows["features"] = None if features.empty else features
        group, groups = self.group, self.groups
        if group is not None:
            group, groups, _ = _seen(group[kept], groups)
        positive, seen = self.positive_code, np.flatnonzero(of_states[:-1] >= 0)
        return replace(
            self,
            belief=self.belief[rows],
            action=chosen.codes,
            left_out=tuple(label for label in self.actions if label not in chosen.labels),
            truth=truth,
            context=_seen(self.context[rows], self.contexts)[0],
            actions=chosen.labels,
            states=states,
            contexts=tuple(self.contexts[code] for code in kept),
            policy=chosen.probabilities,
            positive_code=None if positive is None else int(of_states[positive]),
            group=group,
            groups=groups,
            column_of=tuple(self.column_of[code] for code in seen) if self.column_of else (),
            **of_rows,
        )

    def with_exact_state(self) -> "EvaluationData":
        """Return the same with the exact posterior, which every row has, in the truth's place."""
        in_one = self.belief.ndim == 1 or self.belief.shape[1] == 2
        require(
            in_one,
            "exact holds the posterior of one of two states; received beliefs over "
            f"{self.belief.shape[-1]}. Leave it out: the realised state is tested then.",
        )
        truth, states = self.truth, self.states
        if not states or (truth == UNKNOWN).any():
            named = (0, 1) if self.positive is None else (f"not {self.positive}", self.positive)
            truth, states = np.zeros(self.n_rows, dtype=np.int64), named
        require(
            len(states) <= 2,
            f"exact holds the posterior of one of two states; truth has {len(states)} labels. Name "
            "the state that the belief is in (positive), to hold it against all others.",
        )
        if len(states) == 1:  # nothing but the names of states is taken from the truth
            happened = self.positive_code == 0
            truth = np.full(self.n_rows, int(happened), dtype=np.int64)
            other = f"not {states[0]}"
            states = (other, states[0]) if happened else (states[0], other)
        return replace(self, truth=truth, states=states, exact=self.exact_of_contexts[self.context])

    @property
    def exact_of_contexts(self) -> Floats:
        """The exact posterior of each context, shape (n_contexts,); none may vary within one."""
        assert self.posterior is not None
        mean = context_means(self.posterior, self.context, self.n_contexts)
        away = np.abs(self.posterior - mean[self.context])
        at = int(away.argmax())
        require(
            bool(away[at] < RESOLVED),
            "exact must be constant within a context; in context "
            f"{self.contexts[self.context[at]]!r} it is {self.posterior[at]:.10g} at position "
            f"{at}, beside others. Give every body of evidence its own context id.",
        )
        return mean


def _seen(codes: Codes, labels: Sequence[Any]) -> tuple[Codes, tuple[Any, ...], Codes]:
    """Number the labels that occur anew; also the new code of each old one, `UNKNOWN` the last."""
    kept = np.unique(codes[codes != UNKNOWN])
    new = np.full(len(labels) + 1, UNKNOWN, dtype=np.int64)
    new[kept] = np.arange(kept.size)
    return new[codes], tuple(labels[code] for code in kept), new


def as_choices(
    belief: ArrayLike,
    action: ArrayLike,
    truth: ArrayLike | None,
    context: ArrayLike | None,
    *,
    exact: ArrayLike | None = None,
    **options: Any,
) -> EvaluationData:
    """Validate choices, and their truth or what takes its place; see `evaluation_data`."""
    require(
        truth is not None or exact is not None,
        "truth must hold the state of every row; received None. Pass it, or the exact posteriors "
        "as exact.",
    )
    options = {"posterior": exact, "may_be_confidence": True} | options
    if np.ndim(belief) == 2 and np.shape(belief)[1] > 1 and truth is not None:
        belief, options["positive"] = _as_states_stand(belief, truth, options.get("positive"))
    data = evaluation_data(belief, action, truth, context, **options)
    if data.belief.ndim == 1 and len(data.states) > 2:
        raise InputError(
            f"truth has {len(data.states)} labels ({', '.join(map(repr, data.states[:4]))}), of "
            "which belief is the probability of one. If it is the confidence in the own answer: "
            "calibration_test(belief, action == truth). If it is the probability of one label, "
            f"name it: positive={data.states[0]!r}. If over all: an array with a column for each."
        )
    if data.own_answer is not None and options.get("positive") is None:
        raise InputError(
            f"{data.own_answer.sentence('belief')}. A confidence is tested by "
            "calibration_test(belief, action == truth). If it is the probability of one state, "
            f"name it: positive={data.own_answer.state!r}."
        )
    return data if exact is None else data.with_exact_state()


def states_of_columns(
    belief: ArrayLike, truth: ArrayLike, states: Sequence[Any] | None = None
) -> list[Any]:
    """Return the label of truth that each column of belief is in, in their order, or refuse.

    As `states` or a DataFrame name them (``sun`` or ``p_sun``); else labels that are numbers by
    value, and no and yes, or false and true.
    """
    n_columns, seen = np.shape(belief)[1], as_codes(truth, "truth")[1]
    if states is None and isinstance(belief, pd.DataFrame):
        by_name: dict[Any, Any] = {n: label for label in seen for n in names_of_state(label)}
        names = [*map(str, belief.columns)]
        called = zip(belief.columns, names, *told_apart(names), strict=True)
        states = [next((by_name[t] for t in of if t in by_name), own) for own, *of in called]
        states = states if {*states} & {*seen} else None
    labels = list(seen) if states is None else list(states)
    if states is None and set(labels) <= set(range(n_columns)):
        labels = list(range(n_columns))
    remedy = "Give a DataFrame whose columns are named so."
    require(
        len(labels) == len(set(labels)) == n_columns,
        f"each of the {n_columns} columns of belief must be in a state of its own, named as truth "
        f"names it; received {listing(map(repr, labels))}. {remedy}",
    )
    if states is None:
        ordered = in_order(labels)
        require(
            ordered is not None,
            "nothing says which column of belief is which state: truth has "
            f"{listing(map(repr, seen))}. {remedy}",
        )
        labels = ordered or labels
    strange = [label for label in seen if label not in labels]
    require(
        not strange,
        f"truth must hold labels of states; received {listing(map(repr, strange))}, and the "
        f"columns of belief are {listing(map(repr, labels))}. {remedy}",
    )
    return labels


def _as_states_stand(belief: ArrayLike, truth: ArrayLike, positive: Any) -> tuple[ArrayLike, Any]:
    """Put columns of belief in the order of states; of two the second is that of the belief."""
    columns = belief if isinstance(belief, pd.DataFrame) else pd.DataFrame(np.asarray(belief))
    if columns.shape[1] == 2 and columns is not belief:
        return belief, positive
    labels, seen = states_of_columns(belief, truth), as_codes(truth, "truth")[1]
    if columns.shape[1] == 2:
        positive = labels[1] if positive is None else named_state(labels, positive)
        seen = (*(label for label in labels if label != positive), positive)
    ordered = [*seen, *(label for label in labels if label not in seen)]
    return columns.iloc[:, [labels.index(label) for label in ordered]], positive


def evaluation_data(
    belief: ArrayLike,
    action: ArrayLike | None = None,
    truth: ArrayLike | None = None,
    context: ArrayLike | None = None,
    *,
    positive: Any = None,
    oriented: bool = False,
    labels: Sequence[Any] | None = None,
    posterior: ArrayLike | None = None,
    group: ArrayLike | None = None,
    person: ArrayLike | None = None,
    missing: bool = False,
    one_truth: bool = True,
    may_be_confidence: bool = False,
) -> EvaluationData:
    """Validate aligned arrays.

    `oriented` refuses two labels of which nothing says which the belief is in; `labels` are all
    that the truth may have, of which its rows may lack some. With `missing`, actions, truths and
    posteriors may be. Without `one_truth`, rows of a context may differ in it. A belief
    `may_be_confidence` in the action where nothing but the arrays tells.
    """
    require_aligned(
        belief=belief,
        action=action,
        truth=truth,
        context=context,
        exact=posterior,
        group=group,
        person=person,
    )
    checked = as_belief(belief)
    n_rows = len(checked)
    chosen = Actions(np.full(n_rows, UNKNOWN, dtype=np.int64), ())
    if action is not None:
        chosen = as_known_actions(action, n_rows) if missing else as_actions(action, n_rows)
    of_row, contexts = as_contexts(context, n_rows)
    truths, states = np.full(n_rows, UNKNOWN, dtype=np.int64), ()
    if truth is not None:
        truths, states = _as_known_codes(truth, "truth", n_rows, missing=missing)
    order = "belief, truth" if action is None else "belief, action, truth"
    kinds = [] if chosen.probabilities is not None else [("action", chosen.labels)]
    if checked.ndim == 1 or len(states) > checked.shape[1]:  # columns are labels by themselves
        kinds.insert(0, ("truth", states))
    for name, of in kinds:
        error = labels_error(name, of, len(contexts), order=order)
        require(not error, error)
    if one_truth and len(states) > 1:
        known = truths != UNKNOWN
        remedy = "Give every realised state its own context id."
        of_contexts(truths[known], states, of_row[known], contexts, "truth", remedy)
    in_one = checked.ndim == 1 or checked.shape[1] == 2
    require(
        in_one or positive is None,
        f"positive names the state of a belief in one; received {positive!r} with beliefs over "
        f"{checked.shape[-1]} states. Leave it out.",
    )
    code, confidence, named = None, None, (truths, states)
    if in_one and states:
        truths, states, code = _oriented(truths, states, positive, labels)
        if code is None and oriented and len(states) == 2:
            raise InputError(unknown_pair(states, "truth"))
        if may_be_confidence:
            # Of two labels of which nothing says which the belief is in, both must look like it.
            about = states if code is None and len(states) == 2 else states[1:] * (code == 1)
            looks = [_own_answer(checked, chosen, *named, state, of_row) for state in about]
            confidence = looks[-1] if looks and all(looks) else None
    of_context, groups = None, ()
    if group is not None:
        of_context, groups = groups_of_contexts(group, of_row, contexts)
    return EvaluationData(
        checked,
        chosen.codes,
        truths,
        of_row,
        chosen.labels,
        states,
        contexts,
        chosen.probabilities,
        posterior=None if posterior is None else _as_posterior(posterior, n_rows, missing=missing),
        positive=positive,
        positive_code=code,
        group=of_context,
        groups=groups,
        person=None if person is None else as_codes(person, "person", n_rows)[0],
        own_answer=confidence,
        n_asked=n_rows,
    )


def _own_answer(
    belief: Floats, chosen: Actions, truth: Codes, states: Sequence[Any], state: Any, case: Codes
) -> OwnAnswer | None:
    """Hold beliefs in one state against answers and truths, in the rows that have both."""
    action = chosen.codes
    if chosen.probabilities is not None:  # the answer is the most probable one
        unknown = np.isnan(chosen.probabilities).any(axis=1)
        action = np.where(unknown, UNKNOWN, np.nan_to_num(chosen.probabilities).argmax(axis=1))
    known = (action != UNKNOWN) & (truth != UNKNOWN) if action.size else np.zeros(1, dtype=bool)
    if belief.ndim > 1 or not known.any():
        return None
    answers, truths = (
        np.array([*map(str, labels)], dtype=object)[codes[known]]
        for labels, codes in ((chosen.labels, action), (states, truth))
    )
    return own_answer(belief[known], answers, truths, state, case[known])


def as_known_actions(values: Any, n_rows: int) -> Actions:
    """Validate the actions of the rows that have one; others are `UNKNOWN`, or NaN throughout."""
    known = np.asarray(pd.notna(values), dtype=np.bool_)
    if known.ndim > 1:
        known = np.asarray(known.all(axis=1))
    if known.all():
        return as_actions(values, n_rows)
    codes = np.full(n_rows, UNKNOWN, dtype=np.int64)
    if not known.any():
        return Actions(codes, ())
    chosen = as_actions(values[known], int(known.sum()))
    if chosen.probabilities is None:
        codes[known] = chosen.codes
        return Actions(codes, chosen.labels)
    probabilities = np.full((n_rows, len(chosen.labels)), np.nan)
    probabilities[known] = chosen.probabilities
    return Actions(chosen.codes, chosen.labels, probabilities)


def _as_known_codes(
    values: ArrayLike, name: str, n_rows: int, *, missing: bool
) -> tuple[Codes, tuple[Any, ...]]:
    """Turn labels into codes; where they may be missing, those are `UNKNOWN`."""
    cells = np.asarray(values, dtype=object)
    known = np.asarray(pd.notna(cells), dtype=np.bool_)
    if not missing or known.all():
        return as_codes(values, name, n_rows)
    codes = np.full(n_rows, UNKNOWN, dtype=np.int64)
    codes[known], labels = as_codes(cells[known], name)
    return codes, labels


def _as_posterior(values: ArrayLike, n_rows: int, *, missing: bool) -> Floats:
    """Validate exact posteriors of one of two states; what may be missing is NaN."""
    require(
        np.shape(values) == (n_rows,),
        f"exact must have one posterior for each of {n_rows} rows; received shape "
        f"{np.shape(values)}. Pass that of the state that the belief is in.",
    )
    if not missing:
        return as_belief(values, "exact")
    posterior = as_numbers(values, "exact").copy()
    known = ~np.isnan(posterior)
    if known.any():
        posterior[known] = as_belief(posterior[known], "exact")
    return posterior


def _oriented(
    truth: Codes, states: tuple[Any, ...], positive: Any, labels: Sequence[Any] | None
) -> tuple[Codes, tuple[Any, ...], int | None]:
    """Give the code 1 to the state that the belief is in, and 0 to what else came true.

    Also return its code: `UNKNOWN` where it never came true, None where nothing says which it is.
    """
    known = states if labels is None else tuple(labels)
    of_known = zero_or_one(known, positive) if known else None
    if of_known is None:
        return truth, states, None
    by_label = dict(zip(known, of_known, strict=True))
    codes = [by_label[label] for label in states]
    if len(set(codes)) < 2:  # a single state came true, or others than that of the belief
        return truth, states, 0 if codes == [1] else UNKNOWN
    others = [label for label, code in zip(states, codes, strict=True) if code == 0]
    of_belief = states[codes.index(1)]
    other = others[0] if len(others) == 1 else f"not {of_belief}"
    # The last code is that of rows without a truth.
    return np.array([*codes, UNKNOWN], dtype=np.int64)[truth], (other, of_belief), 1


def require_state(data: EvaluationData) -> Floats:
    """Return the realised state as 0 or 1, or refuse where nothing says which one is which."""
    if data.positive_code is None:
        if len(data.states) == 2:
            raise InputError(unknown_pair(data.states, "truth"))
        raise InputError(
            f"truth has the labels {listing(map(repr, data.states))}, and nothing says which of "
            "them the belief is in. Name it: positive=LABEL."
        )
    return data.state


def one_dimensional(data: EvaluationData, check: str) -> Floats:
    """Return the belief as one number per row, to 1e-9 as everywhere, or refuse.

    A last bit, as in 1 - (1 - p), must not pass for the scatter of repeated reports.
    """
    require(
        not data.in_several_states,
        f"{check} needs one-dimensional beliefs; received beliefs over {data.belief.shape[-1]} "
        "states. Pass the belief in one state against the rest.",
    )
    return np.round(data.belief.T[-1] if data.belief.ndim == 2 else data.belief, 9)


# Whether a column of beliefs is the confidence in the own answer, and not the belief in a state


def own_answer(
    belief: Floats, answer: NDArray[Any], truth: NDArray[Any], state: object, case: Codes
) -> OwnAnswer | None:
    """Tell whether beliefs, shape (n,), are confidences in answers; None where nothing says so.

    A belief in "yes" is low where the answer is "no"; a confidence is as high there. Or it goes
    with the answer being right, better than with the truth and with the answer; or it lies above
    one half whatever the answer is. Every test of belief, action and truth takes a confidence for
    knowledge that is left unsaid. `state` is the label that the belief would be in. Where answers
    and truths do not share two labels, there is nothing to be right about.
    ``benchmarks/validity/confidence.csv`` has how often ordinary beliefs in a state are taken for
    confidences, and confidences for beliefs.
    """
    of_answers, of_truths = compared_labels(set(answer.tolist()), {*truth.tolist(), state})
    answers, truths = (
        np.array([texts[label] for label in labels.tolist()], dtype=object)
        for labels, texts in ((answer, of_answers), (truth, of_truths))
    )
    if len(set(answers) & set(truths)) < 2:
        return None
    named = of_truths[state]
    answered, came, right = (
        np.asarray(each, dtype=np.float64)
        for each in (answers == named, truths == named, answers == truths)
    )
    denied = answered == 0
    n_denied = np.unique(case[denied]).size
    if not n_denied or denied.all():
        return None
    p, good, true, given = map(_standardised, (belief, right, came, answered))
    goes = 1 - _commonest(answers) >= _BOTH and all(
        _excess(p * gap, case) > _SURE for gap in (good, good - true, good - given)
    )
    hits = float(came[denied].mean())
    allowed = _BELOW if abs((p * given).mean()) < _RISES else _BELOW / 10
    high = (
        n_denied >= _FEWEST
        and belief[denied].mean() > 0.5
        and (belief[denied] < 0.5).mean() <= allowed
        and hits + 1 / np.sqrt(n_denied) < 0.5
        and right.mean() > _commonest(truths)
    )
    # Who believes in it everywhere would not deny it in a tenth of the cases.
    never_low = (
        n_denied >= _FEWEST
        and denied.mean() >= _DENIED
        and (belief < 0.5).mean() <= _RARELY_LOW
        and (p * given).mean() < _APART
        and np.median(belief) > 0.5  # as much as ever says one half may be either
        and p.any()  # and so one number throughout
    )
    if not (goes or high or never_low):
        return None
    with_right, with_truth = float((p * good).mean()), float((p * true).mean())
    seen = (
        f"it goes with the answer being right (correlation {with_right:.2f}; with the truth "
        f"{with_truth:.2f})"
        if with_right > with_truth
        else f"it lies below one half in {(belief < 0.5).mean():.0%} of all"
    )
    named = repr(str(state))
    return OwnAnswer(
        state,
        f"where the answer is not {named} it is {belief[denied].mean():.2f} on average, where it "
        f"is {belief[~denied].mean():.2f}, and {named} came true in {hits:.0%} of the former; "
        f"{seen}",
    )


def _commonest(labels: NDArray[Any]) -> float:
    return float(np.unique(labels.astype(str), return_counts=True)[1].max() / labels.size)


def _standardised(values: Floats) -> Floats:
    spread = values.std()
    return (values - values.mean()) / spread if spread > 1e-12 else np.zeros_like(values)


def _excess(values: Floats, case: Codes) -> float:
    """Mean over its standard error, by cases."""
    sums = np.bincount(case, values)
    spread = sums.std(ddof=1) if sums.size > 1 else 0.0
    return float(np.sqrt(sums.size) * sums.mean() / spread) if spread > 1e-12 else 0.0
