"""Conditional mutual information in belief bins, its bias and variance by leaving out contexts.

A nearest-neighbour estimate with few neighbours is nearly useless when repetitions share a context,
because a row's neighbours are then its own repetitions; resampling with replacement makes it worse.
An estimate from counts in bins is a smooth function of sums over contexts, so that the
delete-one-context jackknife removes its bias to first order and estimates its variance, in closed
form.

A bin holds several beliefs, and where action and truth both follow the belief they go together
within it. What is counted in a bin is therefore compared with what exchanging truths within
narrower blocks of contexts gives on average (the product of margins of each block), not with the
product of the bin's own margins. That divergence is at most the information given the block (data
processing inequality, Cover and Thomas 2006, section 2.8), and is equal to it where the bin is one
block.
"""

from dataclasses import dataclass

import numpy as np

from coherence.inputs import Codes, Floats
from coherence.statistics.resample import context_sums, jackknife_variance

MAX_BINS = 20
CONTEXTS_PER_BIN = 8
TINY = 1e-9  # of a row: less than this is what rounding leaves of an empty cell


@dataclass(frozen=True)
class BinnedInformation:
    """Estimates in nats.

    Parameters
    ----------
    plug_in : float
        Estimate from the counts as they are, biased upwards.
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


def _divergence(counted: Floats, expected: Floats) -> Floats:
    """Sum of counted * log(counted / expected) over the last two axes."""
    # 0 log 0 is 0, the limit. What is left of a count after subtraction may be a rounding error.
    some = (counted > TINY) & (expected > 0)
    ratio = np.where(some, counted, 1.0) / np.where(some, expected, 1.0)
    return np.asarray((np.where(some, counted, 0.0) * np.log(ratio)).sum(axis=(-2, -1)))


def _along(counted: Floats, expected: Floats) -> Floats:
    """Sum of (counted - expected) * log(lift of the expected table) over the last two axes."""
    some = expected > TINY
    margins = expected.sum(axis=-1, keepdims=True) * expected.sum(axis=-2, keepdims=True)
    total = expected.sum(axis=(-2, -1), keepdims=True)
    lift = np.where(some, expected * total, 1.0) / np.where(some, margins, 1.0)
    return np.asarray(((counted - expected) * np.log(lift)).sum(axis=(-2, -1)))


@dataclass(frozen=True)
class Divergences:
    """Divergence of what is counted from what exchanges give on average, by arrangement.

    Parameters
    ----------
    in_bins : ndarray, shape (n_arrangements,)
        Over bins, in nats: sees dependence of any direction in any bin.
    throughout : ndarray, shape (n_arrangements,)
        In one bin that holds everything, in nats: sees dependence that is alike at all beliefs,
        whatever actions it is between.
    along : ndarray, shape (n_arrangements,)
        Mean excess, in nats, of the logarithm by which the belief alone makes an action and a state
        go together: large where they go together further in the direction in which the belief
        already takes them, as they do when the belief acted on knows more than the stated one.
        That is the score of such a shift in a choice whose log odds are linear in the belief.
    """

    in_bins: Floats
    throughout: Floats
    along: Floats


class BinnedCounts:
    """Counts of actions by state in bins, for many arrangements of the states over contexts.

    Contexts that are alone in their block have no like to be compared with; they are left out.

    Parameters
    ----------
    blocks, bins : ndarray of int, shape (n_contexts,)
        Block and bin of each context; every block lies within one bin.
    context : ndarray of int, shape (n,)
        Context of each row.
    share : ndarray, shape (n, n_actions)
        Probability of each action; 1 for the one that was chosen, where one was. Probabilities
        give the information of an action that is drawn from them, without the noise of drawing.
    n_states : int
        Number of states.
    """

    def __init__(
        self, blocks: Codes, bins: Codes, context: Codes, share: Floats, n_states: int
    ) -> None:
        self._kept = np.flatnonzero(np.bincount(blocks)[blocks] > 1)
        self._block = np.unique(blocks[self._kept], return_inverse=True)[1]
        self._bin = np.unique(bins[self._kept], return_inverse=True)[1]
        by_action = [context_sums(column, context, blocks.size) for column in share.T]
        self._chosen: Floats = np.stack(by_action, axis=1)[self._kept]
        self._size: Floats = self._chosen.sum(axis=1)
        self._total = float(self._size.sum())
        self._n_states, self.n_bins = n_states, int(self._bin.max()) + 1
        self._bin_of_block = np.zeros(int(self._block.max()) + 1, dtype=np.int64)
        self._bin_of_block[self._block] = self._bin
        self._of_block = self._sums(self._block, self._bin_of_block.size)
        self._share = self._of_block / self._of_block.sum(axis=1, keepdims=True)
        # In the order of bins: what a context adds to counted and to expected tables.
        self._in_order = np.argsort(self._bin, kind="stable")
        self._edges = np.concatenate(([0], np.cumsum(np.bincount(self._bin))))
        added = [self._chosen, self._size[:, None] * self._share[self._block]]
        self._added: Floats = np.concatenate(added, axis=1)[self._in_order]
        self._of_bin = np.add.reduceat(self._added, self._edges[:-1], axis=0)

    def _sums(self, group: Codes, n_groups: int) -> Floats:
        """Sum the choices of contexts by group, shape (n_groups, n_actions)."""
        sums = [np.bincount(group, weights=column, minlength=n_groups) for column in self._chosen.T]
        return np.stack(sums, axis=1)

    def _tables(self, state: Codes) -> tuple[Floats, Floats, Floats]:
        """Counted and expected tables of bins, shape (n_bins, n_states, n_actions).

        The last one holds rows by block and state, shape (n_blocks, n_states).
        """
        n_states, n_actions = self._n_states, self._chosen.shape[1]
        shape = (self.n_bins, n_states, n_actions)
        counted = self._sums(self._bin * n_states + state, self.n_bins * n_states).reshape(shape)
        n_blocks = self._bin_of_block.size
        of_state = context_sums(
            self._size, self._block * n_states + state, n_blocks * n_states
        ).reshape(n_blocks, n_states)
        cell = (self._bin_of_block[:, None] * n_states + np.arange(n_states)).ravel()
        expected = [
            context_sums((of_state * column[:, None]).ravel(), cell, self.n_bins * n_states)
            for column in self._share.T
        ]
        return counted, np.stack(expected, axis=1).reshape(shape), of_state

    def divergences(self, states: Codes) -> Divergences:
        """Return the divergences of many arrangements at once.

        Parameters
        ----------
        states : ndarray of int, shape (n_arrangements, n_contexts)
            State of each context.

        Returns
        -------
        Divergences
            See there.
        """
        kept = states[:, self._kept[self._in_order]]
        n_actions = self._chosen.shape[1]
        tables = np.zeros((len(states), self.n_bins, self._n_states, 2 * n_actions))
        for number in range(self.n_bins):
            inside = slice(self._edges[number], self._edges[number + 1])
            for state in range(1, self._n_states):
                held = (kept[:, inside] == state).astype(np.float64)
                tables[:, number, state] = held @ self._added[inside]
            # The first state is what the others leave.
            tables[:, number, 0] = self._of_bin[number] - tables[:, number].sum(axis=1)
        counted, expected = tables[..., :n_actions], tables[..., n_actions:]
        whole = counted.sum(axis=1), expected.sum(axis=1)
        return Divergences(
            in_bins=_divergence(counted, expected).sum(axis=1) / self._total,
            throughout=_divergence(*whole) / self._total,
            along=_along(*whole) / self._total,
        )

    def estimate(self, state: Codes) -> BinnedInformation:
        """Estimate I(action; truth | belief), contexts as units.

        Parameters
        ----------
        state : ndarray of int, shape (n_contexts,)
            State of each context.

        Returns
        -------
        BinnedInformation
            See there.
        """
        kept = state[self._kept]
        counted, expected, of_state = self._tables(kept)
        by_bin = _divergence(counted, expected)
        # Leaving out a context changes the table of its bin alone, and there its block alone.
        is_state = np.eye(self._n_states)[kept]
        states, actions = of_state[self._block], self._of_block[self._block]
        before = states[:, :, None] * self._share[self._block][:, None, :]
        rows = (actions.sum(axis=1) - self._size)[:, None, None]
        states, actions = states - is_state * self._size[:, None], actions - self._chosen
        after = states[:, :, None] * actions[:, None, :] / rows
        rest = _divergence(
            counted[self._bin] - is_state[:, :, None] * self._chosen[:, None, :],
            expected[self._bin] - before + after,
        )
        left_out = (by_bin.sum() - by_bin[self._bin] + rest) / (self._total - self._size)
        plug_in, n = float(by_bin.sum()) / self._total, self._kept.size
        # Quenouille's jackknife: what is left of the bias is of second order in 1 / n.
        corrected = n * plug_in - (n - 1) * float(left_out.mean())
        return BinnedInformation(
            plug_in, corrected, float(np.sqrt(jackknife_variance(left_out))), self.n_bins
        )
