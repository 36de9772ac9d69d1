"""Conditional mutual information in belief bins, its bias and variance by leaving out contexts.

A nearest-neighbour estimate with few neighbours is nearly useless when repetitions share a context,
because a row's neighbours are then its own repetitions; resampling with replacement makes it worse.
The plug-in estimate in bins is a smooth function of counts that add up over contexts, so that the
delete-one-context jackknife removes its bias to first order and estimates its variance, in closed
form.
"""

from dataclasses import dataclass

import numpy as np

from coherence.inputs import Codes, Floats
from coherence.statistics.resample import jackknife_variance

MAX_BINS = 20
CONTEXTS_PER_BIN = 8


@dataclass(frozen=True)
class BinnedInformation:
    """Estimates in nats.

    Parameters
    ----------
    plug_in : float
        Maximum-likelihood estimate, biased upwards.
    corrected : float
        Jackknife estimate; may be negative.
    standard_error : float
        Jackknife standard error, contexts as units.
    n_bins : int
        Belief bins used.
    """

    plug_in: float
    corrected: float
    standard_error: float
    n_bins: int


def information_bins(n_contexts: int) -> int:
    """Return the number of belief bins: one per 8 contexts, between 2 and 20."""
    return int(np.clip(n_contexts // CONTEXTS_PER_BIN, 2, MAX_BINS))


def _n_log_n(counts: Floats) -> Floats:
    # 0 log 0 is 0, the limit: an empty cell carries no information.
    return counts * np.log(np.where(counts > 0, counts, 1.0))


def _total_information(table: Floats) -> Floats:
    """Information between the last two axes of tables of counts, times the number of rows."""
    # N * I = sum n_at log n_at - sum n_a log n_a - sum n_t log n_t + N log N, from integers alone.
    margins = _n_log_n(table.sum(axis=-1)).sum(axis=-1) + _n_log_n(table.sum(axis=-2)).sum(axis=-1)
    return np.asarray(
        _n_log_n(table).sum(axis=(-2, -1)) - margins + _n_log_n(table.sum(axis=(-2, -1)))
    )


def plug_in_policy_information(bins: Codes, share: Floats, truth: Codes) -> float:
    """Return the maximum-likelihood estimate for actions drawn from policies, in nats.

    Parameters
    ----------
    bins, truth : ndarray of int, shape (n,)
        Codes of the rows.
    share : ndarray, shape (n, n_actions)
        Probability of each action.

    Returns
    -------
    float
        I(action; truth | bin) under the mean policies of bins and truths.
    """
    table = np.zeros((int(bins.max()) + 1, int(truth.max()) + 1, share.shape[1]))
    np.add.at(table, (bins, truth), share)
    return float(_total_information(table).sum() / bins.size)


def plug_in_information(bins: Codes, action: Codes, truth: Codes) -> float:
    """Return the maximum-likelihood estimate of I(action; truth | bin) in nats.

    Parameters
    ----------
    bins, action, truth : ndarray of int, shape (n,)
        Codes of the rows.

    Returns
    -------
    float
        The estimate, biased upwards.
    """
    shape = (int(bins.max()) + 1, int(action.max()) + 1, int(truth.max()) + 1)
    # One pass of counting over flattened cells, because permutation tests call this often.
    cell = np.ravel_multi_index((bins, action, truth), shape)
    table = (
        np.bincount(cell, minlength=shape[0] * shape[1] * shape[2])
        .reshape(shape)
        .astype(np.float64)
    )
    return float(_total_information(table).sum() / bins.size)


def binned_information(
    bin_of_context: Codes, context: Codes, share: Floats, truth: Codes
) -> BinnedInformation:
    """Estimate I(action; truth | bin of belief).

    Parameters
    ----------
    bin_of_context : ndarray of int, shape (n_contexts,)
        Belief bin of each context.
    context, truth : ndarray of int, shape (n,)
        Codes of the rows.
    share : ndarray, shape (n, n_actions)
        Probability of each action; 1 for the one that was chosen, where one was. Probabilities
        give the information of an action that is drawn from them, without the noise of drawing.

    Returns
    -------
    BinnedInformation
        See there.
    """
    (n_rows, n_actions), n_contexts = share.shape, bin_of_context.size
    n_states = int(truth.max()) + 1
    by_state = np.zeros((n_contexts, n_states, n_actions))
    np.add.at(by_state, (context, truth), share)
    # Laid out as tables of actions by states, so that sums are added up in one and the same order.
    by_context = np.ascontiguousarray(by_state.transpose(0, 2, 1))
    table = np.zeros((int(bin_of_context.max()) + 1, n_actions, n_states))
    np.add.at(table, bin_of_context, by_context)
    by_bin = _total_information(table)
    # Leaving out a context changes the table of its bin alone.
    rest = _total_information(table[bin_of_context] - by_context)
    left_out = by_bin.sum() - by_bin[bin_of_context] + rest
    left_out /= n_rows - by_context.sum(axis=(1, 2))
    plug_in = float(by_bin.sum() / n_rows)
    # Quenouille's jackknife: what is left of the bias is of second order in 1 / n_contexts.
    corrected = n_contexts * plug_in - (n_contexts - 1) * float(left_out.mean())
    return BinnedInformation(
        plug_in, corrected, float(np.sqrt(jackknife_variance(left_out))), table.shape[0]
    )
