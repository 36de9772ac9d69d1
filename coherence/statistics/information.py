"""Conditional mutual information in belief bins, with its bias and its variance estimated by leaving out contexts.

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
    return counts * np.log(np.where(counts > 0, counts, 1.0))


def _total_information(table: Floats) -> Floats:
    """Information between the last two axes of tables of counts, times the number of rows."""
    margins = _n_log_n(table.sum(axis=-1)).sum(axis=-1) + _n_log_n(table.sum(axis=-2)).sum(axis=-1)
    return np.asarray(
        _n_log_n(table).sum(axis=(-2, -1)) - margins + _n_log_n(table.sum(axis=(-2, -1)))
    )


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
    cell = np.ravel_multi_index((bins, action, truth), shape)
    table = (
        np.bincount(cell, minlength=shape[0] * shape[1] * shape[2])
        .reshape(shape)
        .astype(np.float64)
    )
    return float(_total_information(table).sum() / bins.size)


def binned_information(
    bin_of_context: Codes, context: Codes, action: Codes, truth: Codes
) -> BinnedInformation:
    """Estimate I(action; truth | bin of belief).

    Parameters
    ----------
    bin_of_context : ndarray of int, shape (n_contexts,)
        Belief bin of each context.
    context, action, truth : ndarray of int, shape (n,)
        Codes of the rows.

    Returns
    -------
    BinnedInformation
        See there.
    """
    n_rows, n_contexts = action.size, bin_of_context.size
    n_actions, n_states = int(action.max()) + 1, int(truth.max()) + 1
    own = np.zeros((n_contexts, n_actions, n_states))
    np.add.at(own, (context, action, truth), 1.0)
    table = np.zeros((int(bin_of_context.max()) + 1, n_actions, n_states))
    np.add.at(table, bin_of_context, own)
    by_bin = _total_information(table)
    # Leaving out a context changes the table of its own bin alone.
    left_out = (
        by_bin.sum() - by_bin[bin_of_context] + _total_information(table[bin_of_context] - own)
    )
    left_out /= n_rows - own.sum(axis=(1, 2))
    plug_in = float(by_bin.sum() / n_rows)
    corrected = n_contexts * plug_in - (n_contexts - 1) * float(left_out.mean())
    return BinnedInformation(
        plug_in, corrected, float(np.sqrt(jackknife_variance(left_out))), table.shape[0]
    )
