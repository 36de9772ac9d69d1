"""What smooth regressions on the belief leave of actions and states.

Regressions are those of `coherence.statistics.smoothing`, on folds that keep contexts whole. What
they leave is the raw material of the residual covariance (Shah and Peters 2020).
"""

from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from coherence.inputs import Codes, Floats
from coherence.statistics.canonical import content_ranks
from coherence.statistics.choice_model import ChoiceModel, fit_choice_model
from coherence.statistics.choices import ChoiceData, one_dimensional
from coherence.statistics.knn import RESOLUTION, as_levels
from coherence.statistics.resample import jackknife_groups
from coherence.statistics.smoothing import SmoothFit, regress

N_FOLDS = 5
FOLDS_SEED = 0
ROUNDING = 1e-6  # share of the variance that a regression leaves by rounding and its trace of ridge
CHECK = "residual_covariance_test"  # whom an error about the shape of beliefs names


@dataclass(frozen=True)
class Residuals:
    """Regressions of the action and truth indicators on the belief, and what they leave.

    Parameters
    ----------
    action : ndarray, shape (n, n_actions)
        Indicators of the actions, or their probabilities, less their fit.
    truth : ndarray, shape (n, 1) or (n, n_states)
        The same of the second of two states, or of every state.
    action_fit, truth_fit : SmoothFit
        The regressions.
    """

    action: Floats
    action_fit: SmoothFit
    truth: Floats
    truth_fit: SmoothFit


@dataclass(frozen=True)
class Chooser:
    """Belief of each row, as one number, and the choice model fitted to it."""

    belief: Floats
    choice: ChoiceModel


def in_several_states(data: ChoiceData) -> bool:
    """Tell whether beliefs are over more than two states."""
    return data.belief.ndim == 2 and data.belief.shape[1] > 2


def separated(data: ChoiceData) -> bool:
    """Tell whether beliefs foretell every state without exception.

    With two states, every belief at one lies below every belief at the other; with several, the
    most probable one always came true. Nothing about the state is left to chance then. What a
    smooth regression misses of such a step it misses alike in choices that follow the belief, and
    covariance of these remains would be no sign of anything.

    Parameters
    ----------
    data : ChoiceData
        Validated data.

    Returns
    -------
    bool
        Whether there is nothing to compare at equal belief.
    """
    if in_several_states(data):
        all_seen = data.belief.shape[1] == len(data.states)
        return all_seen and bool((data.belief.argmax(axis=1) == data.truth).all())
    if len(data.states) != 2:
        return False
    belief = one_dimensional(data, CHECK)
    first, second = belief[data.truth == 0], belief[data.truth == 1]
    return bool(first.max() < second.min() or second.max() < first.min())


def _indicators(codes: Codes, n_codes: int) -> Floats:
    return np.asarray(codes[:, None] == np.arange(n_codes), dtype=np.float64)


def _remains(columns: Floats, fit: SmoothFit) -> Floats:
    """Return what a regression leaves; nothing where it leaves no more than rounding.

    Rounding would otherwise be standardised like a signal.
    """
    residual = columns - fit.fitted
    variation = ((columns - columns.mean(axis=0)) ** 2).sum(axis=0)
    explained = (residual**2).sum(axis=0) <= ROUNDING * variation
    return np.where(explained, 0.0, residual)


def _together(fit: SmoothFit, action: Floats) -> tuple[SmoothFit, SmoothFit]:
    """Part the regression of policies and truth on the same curves."""
    n_actions = action.shape[1]
    parts = fit.fitted[:, :n_actions], fit.fitted[:, n_actions:]
    return replace(fit, fitted=parts[0]), replace(fit, fitted=parts[1])


def residuals(data: ChoiceData) -> tuple[Residuals, Chooser | None]:
    """Regress actions and truth on the belief.

    Policies may have no noise in which what a curve misses would drown, so that theirs are the
    curves of the truth as well: what either misses is then uncorrelated with the other's curve, and
    products of residuals are not biased towards 0. Where beliefs heap on round numbers, so may the
    truth, and each belief may have a mean of its own.

    Parameters
    ----------
    data : ChoiceData
        Validated data.

    Returns
    -------
    residuals : Residuals
        What the belief does not explain.
    chooser : Chooser or None
        None where the belief is over several states, or never changes.
    """
    several = in_several_states(data)
    # The last of several beliefs is one minus the others.
    belief = as_levels(data.belief[:, :-1] if several else one_dimensional(data, CHECK))
    # Sorting rows is slower than sorting numbers, so the axis is only named where there are rows.
    levels, level_of = np.unique(belief, axis=0 if several else None, return_inverse=True)
    distinct, level_of = levels / RESOLUTION, level_of.ravel()
    # Dealt by content: which curve is chosen, and with it what is tested and estimated, must depend
    # on no seed and no order of the rows.
    dealt = jackknife_groups(
        data.n_contexts, min(N_FOLDS, data.n_contexts), np.random.default_rng(FOLDS_SEED)
    )
    folds = dealt[content_ranks(data)][data.context]
    action = data.share
    truth = _indicators(data.truth, len(data.states))
    if len(data.states) == 2:
        truth = truth[:, -1:]  # with two states one indicator says it all
    fit = partial(regress, distinct, level_of, folds=folds, n_contexts=data.n_contexts)
    if data.policy is None:
        action_fit, truth_fit = (fit(columns=columns) for columns in (action, truth))
    else:
        action_fit, truth_fit = _together(fit(columns=np.hstack([action, truth])), action)
    remains = Residuals(
        _remains(action, action_fit), action_fit, _remains(truth, truth_fit), truth_fit
    )
    if several or len(distinct) == 1:
        return remains, None
    choice = fit_choice_model(distinct[level_of], action, folds)
    return remains, Chooser(distinct[level_of], choice)
