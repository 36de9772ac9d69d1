"""Whether the smooth choice curve fits: a step is no logit in powers of the belief.

The score test of White (1982) for adding a constant for every bin of the belief, with the sums of
contexts as observations, so that choices of one context may depend on each other in any way.
"""

import numpy as np
from scipy import stats

from coherence.inputs import Codes, Floats
from coherence.statistics.choice_model import ChoiceModel, merge_levels

CONTEXTS_PER_BIN = 20
MOST_BINS = 10
# Difference of choice probabilities in a bin below which a misfit is none that matters: the ridge
# of the fit leaves as much where choices follow the belief without exception.
TRIFLE = 0.005
_SINGULAR = 1e-7  # eigenvalues below this share of the largest are directions without data


def _bins(centre: Floats, level: Codes, context: Codes, n_contexts: int) -> Codes:
    """Return the bin of each level: about as many contexts in each."""
    n_bins = int(np.clip(n_contexts // CONTEXTS_PER_BIN, 2, MOST_BINS))
    size = np.bincount(context, minlength=n_contexts)
    held = np.bincount(level, weights=1 / size[context], minlength=centre.size)
    middle = np.cumsum(held) - held / 2
    return np.asarray((middle * n_bins / held.sum()).astype(np.int64).clip(0, n_bins - 1))


def choice_misfit(
    belief: Floats, share: Floats, context: Codes, n_contexts: int, model: ChoiceModel
) -> float:
    """Test whether a choice model fits at every belief.

    Null: the probability of each action given the belief is the model's.

    Parameters
    ----------
    belief : ndarray, shape (n,)
        Beliefs in [0, 1].
    share : ndarray, shape (n, n_actions)
        Probability of each action; 1 for the one that was chosen, where one was.
    context : ndarray of int, shape (n,)
        Context of each row.
    n_contexts : int
        Their number.
    model : ChoiceModel
        Fitted to these rows.

    Returns
    -------
    float
        P-value; 1 where the model leaves nothing that bins of the belief could explain.
    """
    level, centre = merge_levels(belief)
    n_actions, rows = share.shape[1], np.bincount(level)
    fitted = model.share(centre)
    bin_of_level = _bins(centre, level, context, n_contexts)
    bins = np.eye(MOST_BINS)[bin_of_level]
    powers = (2 * centre - 1)[:, None] ** np.arange(model.degree + 1)
    # Information of the multinomial logit: size * (diag(share) - share share') between actions.
    weight = rows[:, None, None] * (
        np.einsum("la,ab->lab", fitted, np.eye(n_actions)) - fitted[:, :, None] * fitted[:, None]
    )

    def information(left: Floats, right: Floats) -> Floats:
        between = np.einsum("li,lab,lj->iajb", left, weight, right, optimize=True)
        return np.asarray(between.reshape(left.shape[1] * n_actions, -1))

    # What fitting the curve has taken out of the bins' scores already.
    taken = information(bins, powers) @ np.linalg.pinv(information(powers, powers), hermitian=True)
    remains = share - fitted[level]
    of_level = np.stack([np.bincount(level, weights=column) for column in remains.T], axis=1)
    held = bins.T @ rows
    if (np.abs(bins.T @ of_level) <= TRIFLE * held[:, None]).all():
        return 1.0
    # Sums by context, column by column: rows times all columns would not fit in memory.
    in_bin = context * MOST_BINS + bin_of_level[level]
    scores = np.stack(
        [
            np.bincount(in_bin, weights=column, minlength=n_contexts * MOST_BINS)
            for column in remains.T
        ],
        axis=-1,
    ).reshape(n_contexts, -1)
    of_curve = [
        np.bincount(context, weights=power[level] * column, minlength=n_contexts)
        for power in powers.T
        for column in remains.T
    ]
    scores -= np.stack(of_curve, axis=1) @ taken.T
    values, vectors = np.linalg.eigh(scores.T @ scores)
    there = values > _SINGULAR * values[-1]
    if values[-1] <= 0 or not there.any():
        return 1.0
    along = scores.sum(axis=0) @ vectors[:, there]
    degrees = int(there.sum())
    statistic = float((along**2 / values[there]).sum())
    # Hotelling: with few contexts the sums of squares are uncertain themselves.
    n = n_contexts
    if degrees >= n:
        return 1.0
    # The statistic is at most n: in terms of the squares about the mean it is that of a t test.
    about_mean = (n - 1) * statistic / (n - statistic) if statistic < n else np.inf
    return float(stats.f.sf(about_mean * (n - degrees) / (degrees * (n - 1)), degrees, n - degrees))
