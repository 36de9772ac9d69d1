"""Belief, action and truth of one unit, aligned and validated: what the checks of choices take."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from coherence.errors import InputError
from coherence.inputs import (
    Actions,
    Codes,
    Floats,
    as_actions,
    as_belief,
    as_codes,
    as_contexts,
    few_contexts,
    of_contexts,
    require,
    require_aligned,
)
from coherence.statistics.resample import context_means
from coherence.table.states import unknown_pair, zero_or_one

RESOLVED = 1e-9  # below which posteriors are equal


@dataclass(frozen=True)
class ChoiceData:
    """Validated belief, action and truth of one unit."""

    belief: Floats  # shape (n,) or (n, n_states): stated beliefs
    action: Codes  # shape (n,): codes of the chosen actions; empty where actions are probabilities
    # truth, context: shape (n,): codes
    truth: Codes
    context: Codes
    # actions, states, contexts: labels of the codes, in the order of the codes
    actions: tuple[Any, ...]
    states: tuple[Any, ...]
    contexts: tuple[Any, ...]
    # shape (n, n_actions), or None: probability of each action; None where actions were chosen
    policy: Floats | None = None
    # shape (n,), or None: exact posterior of the second state, which takes the place of the truth
    # where a check says so
    exact: Floats | None = None

    @property
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
        if len(self.actions) < 2:
            return f"only one action was seen ({self.actions[0]!r})"
        if self.exact is not None and np.ptp(self.exact) < RESOLVED:
            return f"the exact posterior is constant ({self.exact[0]:.3g})"
        if len(self.states) < 2:
            return f"truth is constant ({self.states[0]!r})"
        return few_contexts(self.n_contexts)


def as_choices(
    belief: ArrayLike,
    action: ArrayLike,
    truth: ArrayLike | None,
    context: ArrayLike | None,
    *,
    positive: Any = None,
    oriented: bool = False,
    exact: ArrayLike | None = None,
) -> ChoiceData:
    """Validate the aligned arrays and their contexts; truth may be absent beside `exact`."""
    require(
        truth is not None or exact is not None,
        "truth must hold the state of every row; received None. Pass it, or the exact posteriors "
        "as exact.",
    )
    require_aligned(belief=belief, action=action, truth=truth, context=context, exact=exact)
    checked = as_belief(belief)
    n_rows = len(checked)
    chosen = as_actions(action, n_rows)
    context_codes, contexts = as_contexts(context, n_rows)
    in_one = checked.ndim == 1 or checked.shape[1] == 2
    if truth is None:
        truth_codes, states = np.zeros(n_rows, dtype=np.int64), _states_named(positive)
    else:
        truth_codes, states = as_codes(truth, "truth", n_rows)
        remedy = "Give every realised state its own context id."
        of_contexts(truth_codes, states, context_codes, contexts, "truth", remedy)
    require(
        in_one or positive is None,
        f"positive names the state of a belief in one; received {positive!r} with beliefs over "
        f"{checked.shape[-1]} states. Leave it out.",
    )
    if truth is not None and in_one and (oriented or positive is not None):
        truth_codes, states = _oriented(truth_codes, states, positive)
    posterior = None
    if exact is not None:
        require(
            in_one,
            f"exact holds the posterior of one of two states; received beliefs over "
            f"{checked.shape[-1]}. Leave it out: the realised state is tested then.",
        )
        require(
            len(states) <= 2,
            f"exact holds the posterior of one of two states; truth has {len(states)} labels. Name "
            "the state that the belief is in (positive), to hold it against all others.",
        )
        posterior = _as_exact(exact, n_rows, context_codes, contexts)
        if len(states) == 1:  # nothing but the names of states is taken from the truth
            code = zero_or_one(states, positive)
            truth_codes = np.full(n_rows, 0 if code is None else code[0], dtype=np.int64)
            other = f"not {states[0]}"
            states = (other, states[0]) if code == (1,) else (states[0], other)
    return ChoiceData(
        checked,
        chosen.codes,
        truth_codes,
        context_codes,
        chosen.labels,
        states,
        contexts,
        chosen.probabilities,
        posterior,
    )


def _states_named(positive: Any) -> tuple[Any, Any]:
    """Name two states of which none was recorded."""
    return (0, 1) if positive is None else (f"not {positive}", positive)


def _as_exact(values: ArrayLike, n_rows: int, context: Codes, contexts: tuple[Any, ...]) -> Floats:
    """Validate exact posteriors: probabilities, alike within a context."""
    require(
        np.shape(values) == (n_rows,),
        f"exact must have one posterior for each of {n_rows} rows; received shape "
        f"{np.shape(values)}. Pass that of the state that the belief is in.",
    )
    exact = as_belief(values, "exact")
    mean = context_means(exact, context, len(contexts))
    away = np.abs(exact - mean[context])
    require(
        bool(away.max() < RESOLVED),
        "exact must be the same in all rows of a context; context "
        f"{contexts[context[int(away.argmax())]]!r} has {exact[int(away.argmax())]:.6g} beside "
        "others. Give other evidence another context id.",
    )
    return np.asarray(mean[context])


def _oriented(
    truth: Codes, states: tuple[Any, ...], positive: Any
) -> tuple[Codes, tuple[Any, ...]]:
    """Give the code 1 to the state that the belief is in, and 0 to what else came true."""
    codes = zero_or_one(states, positive)
    if codes is None and len(states) == 2:
        raise InputError(unknown_pair(states, "truth"))
    if codes is None or len(set(codes)) < 2:
        return truth, states  # a single state came true, or more than two
    of_other, of_belief = (
        [label for label, code in zip(states, codes, strict=True) if code == wanted]
        for wanted in (0, 1)
    )
    other = of_other[0] if len(of_other) == 1 else f"not {of_belief[0]}"
    return np.asarray(codes, dtype=np.int64)[truth], (other, of_belief[0])


def one_dimensional(data: ChoiceData, check: str) -> Floats:
    """Return the belief as one number per row, to 1e-9 as everywhere, or refuse.

    A last bit, as in 1 - (1 - p), must not pass for the scatter of repeated reports.
    """
    if data.belief.ndim == 1:
        return np.round(data.belief, 9)
    require(
        data.belief.shape[1] == 2,
        f"{check} needs one-dimensional beliefs; received beliefs over {data.belief.shape[1]} "
        "states. Pass the belief in one state against the rest.",
    )
    return np.round(data.belief[:, 1], 9)


def in_several_states(data: ChoiceData) -> bool:
    """Tell whether beliefs are over more than two states."""
    return data.belief.ndim == 2 and data.belief.shape[1] > 2


def separated(data: ChoiceData) -> bool:
    """Tell whether beliefs foretell every state without exception.

    With two states, every belief at one lies below every belief at the other; with several, the
    most probable one always came true. Nothing about the state is left to chance then. What a
    smooth regression misses of such a step it misses alike in choices that follow the belief, and
    covariance of these remains would be no sign of anything.
    """
    if in_several_states(data):
        all_seen = data.belief.shape[1] == len(data.states)
        return all_seen and bool((data.belief.argmax(axis=1) == data.truth).all())
    if len(data.states) != 2:
        return False
    belief = one_dimensional(data, "residual_covariance_test")
    first, second = belief[data.truth == 0], belief[data.truth == 1]
    return bool(first.max() < second.min() or second.max() < first.min())
