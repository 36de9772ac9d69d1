"""What other contexts chose at a level: the numbers by which trees see large categories."""

import numpy as np
from numpy.typing import NDArray

from coherence.inputs import Codes, Floats

N_PARTS = 4  # training contexts are judged by those of the other parts
PRIOR = 1.0  # rows at the mean share that every level starts from


def level_shares(
    levels: Codes, weights: Floats, part: Codes, training: NDArray[np.bool_]
) -> Floats:
    """Shares of actions at each row's level, among other contexts.

    A row is not told what its own context chose: rows that train get the shares of the other parts,
    rows that are judged those of all that train.

    Parameters
    ----------
    levels : ndarray of int, shape (n,)
        Level of each row.
    weights : ndarray, shape (n, n_actions)
        Weight of each action in each row, 0 in rows that are judged.
    part : ndarray of int, shape (n,)
        Part from 0 that each row's context is dealt to.
    training : ndarray of bool, shape (n,)
        Rows that train.

    Returns
    -------
    ndarray, shape (n, n_actions - 1)
        Shares of all actions but the first, drawn towards their mean by one row at each level.
    """
    n_actions, n_levels, n_parts = weights.shape[1], int(levels.max()) + 1, int(part.max()) + 1
    counts = np.stack(
        [
            np.bincount(
                part * n_levels + levels, weights=weights[:, action], minlength=n_parts * n_levels
            ).reshape(n_parts, n_levels)
            for action in range(n_actions)
        ],
        axis=-1,
    )
    every = counts.sum(axis=0)
    mean = every.sum(axis=0) / every.sum()
    # Rows that are judged trained nothing, so that nothing is taken away for them.
    known = np.where(training[:, None], every[levels] - counts[part, levels], every[levels])
    shares = (known + PRIOR * mean) / (known.sum(axis=1, keepdims=True) + PRIOR)
    return np.asarray(shares[:, 1:])
