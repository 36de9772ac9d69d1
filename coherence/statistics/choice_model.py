"""How the probability of each action changes with the belief: a logit in powers of the belief.

Used as a weight function and never as a null model, so that it may be wrong without harm to any
error rate; what it buys is slopes with little variance. The degree is chosen by log-likelihood on
held-out contexts.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import log_softmax, softmax

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


def _fit(design: Floats, counts: Floats) -> Floats:
    """Penalised maximum likelihood by Newton's method.

    All actions are parametrised alike, and the penalty picks one of the equivalent solutions.
    """
    n_terms, n_actions = design.shape[1], counts.shape[1]
    size = counts.sum(axis=1)
    coefficients = np.zeros((n_terms, n_actions))
    squares = design[:, :, None] * design[:, None, :]

    def loss(candidate: Floats) -> float:
        return float(
            -(counts * _log_share(design @ candidate)).sum() + RIDGE / 2 * (candidate**2).sum()
        )

    value = loss(coefficients)
    for _ in range(MAX_STEPS):
        share = np.exp(_log_share(design @ coefficients))
        # Second derivatives of the multinomial logit: size * (diag(share) - share share') between
        # actions, times the products of the design's columns.
        sized = size[:, None] * share
        gradient = design.T @ (sized - counts) + RIDGE * coefficients
        weight = sized[:, :, None] * (np.eye(n_actions) - share[:, None, :])
        # Actions a, b times terms i, j, and then in the order of the flat coefficients.
        blocks = np.tensordot(weight, squares, axes=(0, 0))
        hessian = blocks.transpose(2, 0, 3, 1).reshape(n_terms * n_actions, -1)
        step = np.linalg.solve(hessian + RIDGE * np.eye(len(hessian)), gradient.ravel()).reshape(
            coefficients.shape
        )
        scale = 1.0
        # Newton overshoots where data are nearly separated; halving keeps every step downhill.
        while loss(coefficients - scale * step) > value and scale > 1e-6:
            scale /= 2
        coefficients = coefficients - scale * step
        previous, value = value, loss(coefficients)
        if previous - value < 1e-9 * (1 + abs(value)):
            break
    return coefficients


def _log_share(utility: Floats) -> Floats:
    """Return the log-softmax of rows; scipy's checks take longer than these small arrays."""
    utility = utility - utility.max(axis=1, keepdims=True)
    return np.asarray(utility - np.log(np.exp(utility).sum(axis=1, keepdims=True)))


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
    return ChoiceModel(_fit(_powers(belief, degree), counts))


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
        scores = [
            (counts[fold] * log_softmax(design @ _fit(design, total - counts[fold]), axis=1)).sum()
            for fold in range(n_folds)
        ]
        best = max(best, (float(np.sum(scores)), degree), key=lambda scored: scored[0])
    return fit_to_counts(centre, total, best[1])
