"""How the probability of each action changes with the belief: a logit in powers of the belief.

Used as a weight function and never as a null model, so that it may be wrong without harm to any
error rate; what it buys is slopes with little variance. The degree is chosen by log-likelihood on
held-out contexts.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import softmax

from coherence.inputs import Codes, Floats

DEGREES = (1, 2, 3)
RIDGE = 1e-3  # in units of one choice: keeps separated data finite
MAX_STEPS = 50
# beliefs are averaged within this many cells; finer ones change no slope that data could show
N_LEVELS = 400


@dataclass(frozen=True)
class ChoiceModel:
    """Multinomial logit of the action on powers of 2 * belief - 1.

    Parameters
    ----------
    coefficients : ndarray, shape (degree + 1, n_actions)
        Utilities; the columns sum to a constant that does not matter.
    """

    coefficients: Floats

    @property
    def degree(self) -> int:
        """Highest power of the belief."""
        return len(self.coefficients) - 1

    def share(self, belief: Floats) -> Floats:
        """Return the probability of each action, shape (n, n_actions)."""
        return np.asarray(softmax(_powers(belief, self.degree) @ self.coefficients, axis=1))

    def log_slope(self, belief: Floats) -> Floats:
        """Return the derivative of each log-probability by the belief, shape (n, n_actions)."""
        power = np.arange(1, self.degree + 1)
        # d/db (2b - 1)^j = 2j (2b - 1)^(j - 1); the softmax takes off the mean over actions.
        rise = (_powers(belief, self.degree - 1) * (2 * power)) @ self.coefficients[1:]
        return np.asarray(rise - (self.share(belief) * rise).sum(axis=1, keepdims=True))


def _powers(belief: Floats, degree: int) -> Floats:
    return np.asarray((2 * belief - 1)[:, None] ** np.arange(degree + 1))


def _log_share(utility: Floats) -> Floats:
    """Return the logarithm of the softmax along the last axis."""
    below = utility - utility.max(axis=-1, keepdims=True)
    return np.asarray(below - np.log(np.exp(below).sum(axis=-1, keepdims=True)))


def _fit(design: Floats, counts: Floats) -> Floats:
    """Penalised maximum likelihood by Newton's method, of several sets of counts at once.

    All actions are parametrised alike, and the penalty picks one of the equivalent solutions.
    `counts` has the shape (n_fits, n_cells, n_actions), the result (n_fits, n_terms, n_actions).
    """
    n_fits, _, n_actions = counts.shape
    n_terms = design.shape[1]
    ridge = RIDGE * np.eye(n_terms * n_actions)
    products = (design[:, :, None] * design[:, None, :]).reshape(len(design), -1)

    def losses(counts: Floats, candidates: Floats) -> Floats:
        misfit = -(counts * _log_share(design @ candidates)).sum(axis=(1, 2))
        return np.asarray(misfit + RIDGE / 2 * (candidates**2).sum(axis=(1, 2)))

    fitted = np.zeros((n_fits, n_terms, n_actions))
    going, coefficients = np.arange(n_fits), fitted
    value = losses(counts, coefficients)
    for _ in range(MAX_STEPS):
        size = counts.sum(axis=2)[..., None]
        share = np.exp(_log_share(design @ coefficients))
        # Second derivatives of the multinomial logit: size * (diag(share) - share share') between
        # actions, times the products of the design's columns.
        gradient = design.T @ (size * share - counts) + RIDGE * coefficients
        weight = -share[..., :, None] * share[..., None, :]
        weight[..., np.arange(n_actions), np.arange(n_actions)] += share
        weight = (weight * size[..., None]).reshape(len(going), len(design), -1)
        hessian = (weight.transpose(0, 2, 1) @ products).reshape(
            -1, n_actions, n_actions, n_terms, n_terms
        )
        hessian = hessian.transpose(0, 3, 1, 4, 2).reshape(len(going), *ridge.shape) + ridge
        step = np.linalg.solve(hessian, gradient.reshape(len(going), -1, 1)).reshape(gradient.shape)
        # Newton overshoots where data are nearly separated; halving keeps every step downhill.
        scale = np.ones((len(going), 1, 1))
        moved = losses(counts, coefficients - step)
        while (uphill := (moved > value) & (scale[:, 0, 0] > 1e-6)).any():
            scale[uphill] /= 2
            moved = losses(counts, coefficients - scale * step)
        coefficients = coefficients - scale * step
        fitted[going] = coefficients
        left = value - moved >= 1e-9 * (1 + np.abs(moved))
        if not left.any():
            break
        going, value = going[left], moved[left]
        coefficients, counts = coefficients[left], counts[left]
    return fitted


def merge_levels(belief: Floats) -> tuple[Codes, Floats]:
    """Gather beliefs into at most `N_LEVELS` + 1 cells.

    Parameters
    ----------
    belief : ndarray, shape (n,)
        Beliefs.

    Returns
    -------
    cell : ndarray of int, shape (n,)
        Cell of each row, in the order of belief.
    centre : ndarray
        Mean belief of each cell.
    """
    distinct = np.unique(belief)
    # Few distinct beliefs keep a cell each; inner quantiles leave about equally many rows in each.
    edges = (
        np.unique(np.quantile(belief, np.linspace(0, 1, N_LEVELS + 1)[1:-1]))
        if distinct.size > N_LEVELS
        else distinct[1:]
    )
    cell = np.unique(np.searchsorted(edges, belief, side="right"), return_inverse=True)[1]
    return cell, np.bincount(cell, weights=belief) / np.bincount(cell)


def fit_to_counts(belief: Floats, counts: Floats, degree: int) -> ChoiceModel:
    """Fit a model of given degree to counts of actions at each belief.

    Parameters
    ----------
    belief : ndarray, shape (n_cells,)
        Beliefs; they may leave [0, 1].
    counts : ndarray, shape (n_cells, n_actions)
        How often each action was chosen there, or the sum of its probabilities.
    degree : int
        Highest power.

    Returns
    -------
    ChoiceModel
        Penalised maximum likelihood fit.
    """
    return ChoiceModel(_fit(_powers(belief, degree), counts[None])[0])


def fit_choice_model(belief: Floats, share: Floats, folds: Codes) -> ChoiceModel:
    """Fit action on belief.

    Parameters
    ----------
    belief : ndarray, shape (n,)
        Beliefs in [0, 1].
    share : ndarray, shape (n, n_actions)
        Probability of each action; 1 for the one that was chosen, where one was.
    folds : ndarray of int, shape (n,)
        Fold of each row, whole contexts in one fold.

    Returns
    -------
    ChoiceModel
        Refitted to all rows with the degree that predicts held-out contexts best.
    """
    # Counts by fold and cell are all that a fit needs: leaving a fold out is a subtraction.
    n_folds = int(folds.max()) + 1
    level, centre = merge_levels(belief)
    counts = np.zeros((n_folds, centre.size, share.shape[1]))
    np.add.at(counts, (folds, level), share)
    total = counts.sum(axis=0)
    best = (-np.inf, DEGREES[0])
    for degree in DEGREES:
        if degree >= centre.size:  # a polynomial through every cell leaves nothing to predict
            break
        design = _powers(centre, degree)
        scores = counts * _log_share(design @ _fit(design, total - counts))
        best = max(best, (float(scores.sum()), degree), key=lambda scored: scored[0])
    return fit_to_counts(centre, total, best[1])
