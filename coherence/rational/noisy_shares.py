"""What the nearest rational agent allows in the figure of choices by belief and realised state.

A report that scatters around the belief is a poor copy of it: at equal report the belief lies
higher where the state is true, so that an agent without fault chooses differently in the two
states. From the fitted distribution of beliefs in each state, the noise of reports and the choices
follow the shares to be expected in each bin of the reports, exactly, and how far chance takes them.
"""

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.special import betainc

from coherence.inputs import Codes, Floats
from coherence.rational.agent import RationalAgent
from coherence.statistics.state_shares import LEVEL, StateShares

_ROUNDING = 1e-9
_NEARLY = 1e-9  # from 0 and 1: a share that is certain has no spread
_HALVINGS = 40


@dataclass(frozen=True)
class NoisyShares:
    """What a fitted agent reports and chooses at each belief, and which beliefs each state has."""

    actions: tuple[str, ...]  # labels in the order of the columns of `chosen`
    levels: Floats  # shape (n_levels,): values of reports
    # shape (2, n_points): distribution of the beliefs of contexts in which the state is 0, and 1
    held: Floats
    reported: Floats  # shape (n_points, n_levels): probability of each report at each belief
    chosen: Floats  # shape (n_points, n_actions): probability of each action at each belief


def noisy_shares(agent: RationalAgent) -> NoisyShares | None:
    """Return what an agent's reports, choices and beliefs are distributed like."""
    held, truth = agent.held, agent.chosen.choices.truth > 0
    drawn = np.isin(agent.data.share, (0.0, 1.0)).all()
    if not held.noisy or not drawn or not agent.converged:
        return None
    return NoisyShares(
        actions=tuple(map(str, agent.data.actions)),
        levels=held.reports.grid.levels,
        held=np.stack([agent.posterior[truth == state].mean(axis=0) for state in (0, 1)]),
        reported=held.chances,
        chosen=agent.chosen.probabilities[0],
    )


def with_noise(
    found: StateShares,
    shares: NoisyShares,
    belief: ArrayLike,
    action: ArrayLike,
    truth: ArrayLike,
    context: ArrayLike,
) -> StateShares:
    """Replace what exact reports would allow by what the agent allows, whose reports scatter.

    The expected share is exact given the fit. Its spread has contexts as units: that of the agent's
    reports and choices, or that of the observed contexts of the bin where it is larger (their
    choices may share a taste). Ends are those of a binomial number of as many trials as have that
    spread, for all bins, states and actions at once (Sidak); the fit is taken as known.
    """
    reports = np.asarray(belief, dtype=np.float64)
    state, ids = np.asarray(truth, dtype=np.int64), pd.factorize(np.asarray(context))[0]
    inside = _bins_of_levels(reports, found.bin_of_row, shares.levels)
    in_bin = shares.reported @ inside
    chosen_labels = np.asarray(action).astype(str)
    table = found.table.copy()
    n_bins, n_actions = inside.shape[1], table["action"].nunique()
    tail = (1 - LEVEL ** (1 / (2 * n_bins * max(n_actions - 1, 1)))) / 2
    rows = zip(table["action"].astype(str), table["bin"], table["state"], strict=True)
    expected, spread = [], []
    for label, position, of_state in rows:
        held, chance = shares.held[of_state], shares.chosen[:, shares.actions.index(label)]
        here = (found.bin_of_row == position) & (state == of_state)
        sizes = np.bincount(ids[state == of_state], minlength=ids.max() + 1)
        share, by_agent = _of_agent(held, in_bin[:, position], chance, sizes[sizes > 0])
        observed = _of_contexts((chosen_labels == label)[here], ids[here])
        expected.append(share)
        spread.append(max(by_agent, observed) / int(here.sum()) ** 2)
    mean, variance = np.array(expected), np.array(spread)
    low, high = _ends(mean, variance, tail)
    table = table.assign(expected=mean, band_low=low, band_high=high)
    above = table["share"] > table["band_high"] + _ROUNDING
    below = table["share"] < table["band_low"] - _ROUNDING
    return replace(found, table=table.assign(outside=above | below))


def _bins_of_levels(reports: Floats, bin_of_row: Codes, levels: Floats) -> Floats:
    """Tell in which bin each value of reports lies, as columns of zeros and ones."""
    n_bins = int(bin_of_row.max()) + 1
    ends = [reports[bin_of_row == position] for position in range(n_bins)]
    between = [(low.max() + high.min()) / 2 for low, high in pairwise(ends)]
    return np.eye(n_bins)[np.searchsorted(np.array(between), levels)]


def _of_agent(held: Floats, in_bin: Floats, chance: Floats, sizes: Codes) -> tuple[float, float]:
    """Return the agent's share in a bin, and the variance of the excess over it in that bin.

    The excess of a context is its choices of the action less its rows times the share.
    """
    weight = held * in_bin
    mean = float(np.clip(weight @ chance / max(weight.sum(), _NEARLY), _NEARLY, 1 - _NEARLY))
    single = float(weight @ (chance * (1 - mean) ** 2 + (1 - chance) * mean**2))
    pair = float(held @ (in_bin * (chance - mean)) ** 2)
    return mean, single * float(sizes.sum()) + pair * float((sizes * (sizes - 1)).sum())


def _of_contexts(chosen: "np.ndarray[tuple[int], np.dtype[np.bool_]]", ids: Codes) -> float:
    """Return the variance of the same excess as the contexts of a bin show it."""
    codes = np.unique(ids, return_inverse=True)[1]
    away = np.bincount(codes, weights=chosen - chosen.mean())
    return float(away @ away) * len(away) / max(len(away) - 1, 1)


def _ends(mean: Floats, variance: Floats, tail: float) -> tuple[Floats, Floats]:
    """Return the ends of what chance allows of binomial shares with these means and variances."""
    trials = mean * (1 - mean) / np.maximum(variance, _NEARLY**2)
    # How often other actions are chosen is binomial too.
    return _least(mean, trials, tail), 1 - _least(1 - mean, trials, tail)


def _least(mean: Floats, trials: Floats, tail: float) -> Floats:
    """Return the share below which a binomial number seldom stays; 0 where it may be none."""
    low, high = np.zeros_like(trials), trials.copy()
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        below = betainc(np.maximum(trials - middle, _NEARLY), middle + 1, 1 - mean)
        low, high = np.where(below <= tail, middle, low), np.where(below <= tail, high, middle)
    return np.asarray(low / trials, dtype=np.float64)
