"""Binned information: the jackknife in closed form against leaving contexts out one by one."""

import math

import numpy as np
import pytest

from coherence.statistics.information import (
    binned_information,
    information_bins,
    plug_in_information,
)


def plug_in(bins, context, action, truth):
    """I(A; T | B) from joint frequencies, cell by cell."""
    rows = bins[context]
    total = 0.0
    for b in np.unique(rows):
        for a in np.unique(action):
            for t in np.unique(truth):
                both = ((rows == b) & (action == a) & (truth == t)).mean()
                if both:
                    parts = ((rows == b) & (action == a)).mean() * (
                        (rows == b) & (truth == t)
                    ).mean()
                    total += both * math.log(both * (rows == b).mean() / parts)
    return total


def test_equals_leaving_out_each_context():
    rng = np.random.default_rng(0)
    bins = rng.integers(0, 3, 15)
    context = np.concatenate([np.arange(15), rng.integers(0, 15, 30)])
    action, truth = rng.integers(0, 3, 45), rng.integers(0, 2, 15)[context]
    result = binned_information(bins, context, np.eye(action.max() + 1)[action], truth)
    left_out = []
    for gone in range(15):
        keep = context != gone
        left_out.append(plug_in(bins, context[keep], action[keep], truth[keep]))
    assert result.plug_in == pytest.approx(plug_in(bins, context, action, truth))
    assert plug_in_information(bins[context], action, truth) == pytest.approx(
        result.plug_in, abs=1e-15
    )
    assert result.corrected == pytest.approx(15 * result.plug_in - 14 * np.mean(left_out))
    assert result.standard_error == pytest.approx(
        math.sqrt(14 / 15 * ((left_out - np.mean(left_out)) ** 2).sum())
    )


@pytest.mark.parametrize(
    ("n_contexts", "n_bins"), [(1, 2), (23, 2), (24, 3), (80, 10), (159, 19), (160, 20), (9999, 20)]
)
def test_there_is_a_bin_for_every_eight_contexts(n_contexts, n_bins):
    assert information_bins(n_contexts) == n_bins


def test_bins_are_those_that_were_used():
    bins = np.array([0, 2, 1, 2])
    result = binned_information(bins, np.arange(4), np.eye(2)[[0, 1, 0, 1]], np.array([1, 0, 0, 1]))
    assert result.n_bins == 3


def test_bias_is_removed_under_independence():
    """Independent coins in ten bins of thirty, where theory has a bias of 10 / (2 * 300)."""
    rng = np.random.default_rng(1)
    every = np.arange(300)
    draws = [
        binned_information(
            every % 10, every, np.eye(2)[rng.integers(0, 2, 300)], rng.integers(0, 2, 300)
        )
        for _ in range(600)
    ]
    assert np.mean([draw.plug_in for draw in draws]) == pytest.approx(10 / 600, rel=0.1)
    assert abs(np.mean([draw.corrected for draw in draws])) < 0.002


def test_known_information():
    """A state copied with probability .9 into the action: log 2 - H(.9) nats in every bin."""
    rng = np.random.default_rng(2)
    truth = rng.integers(0, 2, 20000)
    action = np.where(rng.random(20000) < 0.9, truth, 1 - truth)
    result = binned_information(
        np.arange(20000) % 5, np.arange(20000), np.eye(action.max() + 1)[action], truth
    )
    exact = math.log(2) + 0.9 * math.log(0.9) + 0.1 * math.log(0.1)
    assert abs(result.corrected - exact) < 3 * result.standard_error
