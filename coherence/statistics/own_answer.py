"""Whether a column of beliefs is the confidence in the own answer, and not the belief in a state.

A belief in "yes" is low where the answer is "no"; a confidence is as high there. Or it goes with
the answer being right, better than with the truth and with the answer; or it lies above one half
whatever the answer is. Every test of belief, action
and truth takes a confidence for knowledge that is left unsaid.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coherence.inputs import Codes, Floats
from coherence.runs.states import compared_labels

_BOTH = 0.2  # share of other answers than the commonest, for being right to part from the truth
_SURE = 2.5  # standard errors by which it goes with being right
_BELOW = 0.25  # share of confidences below one half, as of answers that are talked out of
_RISES = 0.4  # correlation with the answer that a belief has and a confidence seldom
_FEWEST = 10  # cases in which the state is denied
_DENIED, _RARELY_LOW = 0.1, 0.1  # shares of answers that deny it, and of beliefs below one half
_APART = 0.2  # correlation of a confidence with the answer at the most, where it is never low


@dataclass(frozen=True)
class OwnAnswer:
    """What tells that beliefs are confidences in the own answer.

    Parameters
    ----------
    state : object
        Label of the state that the belief would be in.
    where_denied, where_answered : float
        Mean belief where another state is the answer, and where the one is that it would be in.
    came_true : float
        How often that state came true where it was denied.
    with_right, with_truth : float
        Correlation of the belief with the answer being right, and with the truth.
    low : float
        Share of beliefs below one half.
    """

    state: object
    where_denied: float
    where_answered: float
    came_true: float
    with_right: float
    with_truth: float
    low: float

    def sentence(self, belief: str) -> str:
        """Say it, without a full stop; `belief` is what the column is called."""
        state = repr(str(self.state))
        why = (
            f"it goes with the answer being right (correlation {self.with_right:.2f}; with the "
            f"truth {self.with_truth:.2f})"
        )
        if self.with_right <= self.with_truth:
            why = f"it lies below one half in {self.low:.0%} of all"
        return (
            f"{belief} looks like the confidence in the own answer: where the answer is not "
            f"{state} it is {self.where_denied:.2f} on average, where it is "
            f"{self.where_answered:.2f}, and {state} came true in {self.came_true:.0%} of the "
            f"former; {why}"
        )


def own_answer(
    belief: Floats,
    answer: NDArray[Any],
    truth: NDArray[Any],
    state: object,
    case: Codes,
) -> OwnAnswer | None:
    """Tell whether beliefs, shape (n,), are confidences in answers; None where nothing says so.

    `state` is the label that the belief would be in. Where answers and truths do not share two
    labels, there is nothing to be right about. ``benchmarks/validity/confidence.csv`` has how often
    ordinary beliefs in a state are taken for confidences, and confidences for beliefs.
    """
    of_answers, of_truths = compared_labels(set(answer.tolist()), {*truth.tolist(), state})
    answers, truths = _mapped(answer, of_answers), _mapped(truth, of_truths)
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
    means = float(belief[denied].mean()), float(belief[~denied].mean())
    with_right, with_truth = float((p * good).mean()), float((p * true).mean())
    return OwnAnswer(state, *means, hits, with_right, with_truth, float((belief < 0.5).mean()))


def _mapped(labels: NDArray[Any], texts: Mapping[Any, str]) -> NDArray[Any]:
    return np.array([texts[label] for label in labels.tolist()], dtype=object)


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
