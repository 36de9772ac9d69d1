"""The chance acted on: recovered where it is known, with intervals that cover."""

import math

import numpy as np
import pytest
from scipy import stats
from scipy.special import expit, logit

from coherence import InputError
from coherence.batteries import fit_ladder
from coherence.batteries.bets.ladder import weighting_line
from tests.api.batteries.bets.conftest import climb


def ladder(acted_on, *, slope, repeats, rng, stated=(0.1, 0.3, 0.5, 0.7, 0.9)):
    even = np.arange(0.05, 1, 0.1)
    rows = [(p, e) for p in stated for e in even for _ in range(repeats)]
    p, e = np.array(rows).T
    q = acted_on(p)
    logit = slope * (np.log(q / (1 - q)) - np.log(e / (1 - e)))
    return p, e, rng.random(p.size) < 1 / (1 + np.exp(-logit))


def test_ladder_intervals_cover():
    rng = np.random.default_rng(2)
    held = [
        ((table["low"] <= table["stated"]) & (table["stated"] <= table["high"])).to_numpy()
        for table in (
            fit_ladder(*ladder(lambda p: p, slope=3.0, repeats=6, rng=rng, stated=(0.3, 0.6))).table
            for _ in range(100)
        )
    ]
    assert np.mean(held) >= stats.binom.ppf(0.001, 200, 0.95) / 200


def test_who_never_switches_shows_a_bound_and_who_guesses_shows_nothing():
    even = np.tile(np.arange(0.05, 1, 0.1), 2)
    stated = np.repeat([0.2, 0.8], 10)
    always, never = fit_ladder(stated, even, [True] * 20), fit_ladder(stated, even, [False] * 20)
    assert set(always.table["status"]) == {"above the ladder"}
    assert set(never.table["status"]) == {"below the ladder"}
    assert (always.table["high"] == 1).all()
    assert always.table["low"].min() > 0.5
    assert never.table["high"].max() < 0.5
    guesses = fit_ladder(stated, even, np.arange(20) % 3 == 0)
    assert set(guesses.table["status"]) == {"no response to stakes"}
    assert guesses.table[["low", "high"]].to_numpy().tolist() == [[0, 1], [0, 1]]
    assert guesses.table["implied"].isna().all()


def test_units_are_pairs_only_where_each_thing_has_one_partner():
    def unit(first, second):
        return fit_ladder(
            [0.5] * 4, [0.2, 0.4, 0.6, 0.8], [1, 1, 0, 0], first=list(first), second=list(second)
        ).unit

    assert unit("aabb", "xxyy") == unit("baab", "yxxy") == "pairs of things"
    assert unit("aabb", "xyxy") == unit("aabb", "xyzz") == "high and low things, crossed"
    with pytest.raises(InputError, match="two or more different things each; they hold 1 and 4"):
        unit("aaaa", "wxyz")


def shocks_of(rng, sd, *, crossed):
    if crossed:
        return sd / math.sqrt(2) * (rng.standard_normal((5, 1)) + rng.standard_normal((1, 5)))
    return sd * np.diag(rng.standard_normal(5))


def held(sd, *, crossed, draws, seed, **line):
    """Shares of intervals that hold the truth, of independent answers and of things as the unit,
    and of rejections of implied = stated.
    """
    rng = np.random.default_rng(seed)
    truth = expit(
        line.get("elevation", 0.0) + line.get("sensitivity", 1.0) * logit(np.arange(1, 10) / 10)
    )
    counts = np.zeros(3)
    for _ in range(draws):
        stated, even, taken, high, low = climb(
            shocks_of(rng, sd, crossed=crossed), crossed=crossed, rng=rng, **line
        )
        ours = fit_ladder(stated, even, taken, first=high, second=low)
        for way, table in enumerate((fit_ladder(stated, even, taken).table, ours.table)):
            counts[way] += ((table["low"] <= truth) & (truth <= table["high"])).mean()
        counts[2] += ours.weighting.pvalue < 0.05
    return counts / draws


@pytest.mark.parametrize("responsive_side", ["first", "second"])
def test_either_kind_of_crossed_things_can_show_that_few_follow_the_stakes(responsive_side):
    """Breaks if the variances over both kinds of things are not added up.

    One thing of a kind is bet on as the stakes say, the other four are, and are not, once each. So
    all of the score comes from one thing of its kind, whose t is 1, and from all of the other kind
    alike, with no variance at all.
    """
    even = np.round(np.arange(0.1, 0.95, 0.1), 3)
    thing, other, order, even = (
        x.ravel() for x in np.meshgrid(np.arange(5), np.arange(5), [0, 1], even, indexing="ij")
    )
    taken = np.where(thing == 0, even < 0.45, order == 1)
    sides = (thing, other) if responsive_side == "first" else (other, thing)
    fit = fit_ladder(np.full(even.size, 0.45), even, taken, first=sides[0], second=sides[1])
    assert fit.unit == "high and low things, crossed"
    assert fit.table["status"].tolist() == ["no response to stakes"]
    # The likelihood of independent answers follows the stakes beyond doubt.
    assert fit_ladder(np.full(even.size, 0.45), even, taken).table["status"].tolist() == ["fitted"]


def test_switches_of_like_things_are_uncertain_as_a_uniform_variable_between_rungs():
    stated, rungs = np.array([0.23, 0.52, 0.84]), np.round(np.arange(0.1, 0.95, 0.1), 3)
    p, even, high, low = (
        x.ravel() for x in np.meshgrid(stated, rungs, np.arange(5), np.arange(5), indexing="ij")
    )
    fit = fit_ladder(p, even, even < p, first=high, second=low)
    ends = logit(np.array([[0.2, 0.3], [0.5, 0.6], [0.8, 0.9]]))
    middles = np.array([0.25, 0.55, 0.85])
    np.testing.assert_allclose(fit.table["implied"], middles)
    # Least squares by hand; the standard deviation of a uniform variable is its width / sqrt(12).
    weights = np.linalg.pinv(np.column_stack([np.ones(3), logit(stated)]))
    estimate = weights @ logit(middles)
    error = np.sqrt(weights**2 @ (np.ptp(ends, axis=1) ** 2 / 12))
    lean = np.abs(weights) @ np.abs(logit(middles) - logit(stated))
    reach = lean + stats.t.ppf(0.975, 4) * error
    line = fit.weighting
    assert (line.elevation, line.sensitivity) == pytest.approx(tuple(estimate))
    for number, interval in enumerate((line.elevation_interval, line.sensitivity_interval)):
        assert (interval.low, interval.high) == pytest.approx(
            (estimate[number] - reach[number], estimate[number] + reach[number])
        )


def test_intervals_with_things_reach_as_far_as_the_jackknife():
    """Two pairs that switch at -.2 and at .2, in logits: without either, at the other."""
    rungs = expit(np.arange(-3.9, 4, 0.2))
    even, pair, _ = (
        x.ravel() for x in np.meshgrid(rungs, np.arange(2), np.arange(500), indexing="ij")
    )
    taken = logit(even) < np.where(pair == 0, -0.2, 0.2)
    (row,) = fit_ladder(
        np.full(even.size, 0.5), even, taken, first=pair, second=pair
    ).table.to_dict("records")
    # The variance of -.2 and .2 is .04, times n - 1 = 1; t has one degree of freedom. So many
    # answers leave nothing to the likelihood.
    reach = stats.t.ppf(0.975, 1) * 0.2
    assert row["implied"] == pytest.approx(0.5)
    assert (row["low"], row["high"]) == pytest.approx((expit(-reach), expit(reach)), abs=1e-6)


@pytest.mark.lengthy
def test_ladder_intervals_hold_with_few_things_where_those_of_independent_answers_do_not():
    alone, things, _ = held(1.0, crossed=False, draws=25, seed=4)
    assert alone < 0.75
    assert things > 0.85


@pytest.mark.parametrize(("n_rungs", "n_pairs"), [(9, 1), (9, 5), (19, 5)])
@pytest.mark.parametrize("takes_nothing", [False, True])
def test_who_is_rational_where_stated_chances_are_rungs_is_not_called_otherwise(
    n_rungs, n_pairs, takes_nothing
):
    """At the stated chance a bet gains nothing: taken or not throughout, all switches lie on one
    side of what was stated.
    """
    rungs = (np.arange(1, n_rungs + 1) / (n_rungs + 1)).round(3)
    stated, even, pair = (
        x.ravel()
        for x in np.meshgrid(
            np.linspace(0.1, 0.9, 9).round(3), rungs, np.arange(n_pairs), indexing="ij"
        )
    )
    taken = even < stated + (1e-9 if takes_nothing else -1e-9)
    things = {"first": pair, "second": pair} if n_pairs > 1 else {}
    line = fit_ladder(stated, even, taken, **things).weighting
    assert abs(line.elevation) > 0.1
    assert line.pvalue == pytest.approx(1)
    assert line.elevation_interval.low <= 0 <= line.elevation_interval.high
    # Who shifts all chances by more than the rungs can is still found out.
    optimist = fit_ladder(stated, even, logit(even) < logit(stated) + 1.2, **things).weighting
    assert optimist.pvalue < 0.05


def test_weighting_by_hand():
    stated, leave_outs = np.array([-1.0, 1.0]), np.array([[-1.2, 0.8], [-0.8, 1.2]])
    line = weighting_line(stated, stated, np.full(2, 1e-9), np.zeros(2), [leave_outs], freedom=1.0)
    # Elevations without one thing are -.2 and .2: jackknife variance (1/2) (.04 + .04); slopes do
    # not move.
    assert line.elevation_interval.high == pytest.approx(0.2 * stats.t.ppf(0.975, 1))
    assert line.sensitivity_interval.high == pytest.approx(1.0)
    with_error = weighting_line(
        stated, stated + 0.5, np.full(2, 0.3), np.zeros(2), [], freedom=math.inf
    )
    assert with_error.elevation_interval.high - 0.5 == pytest.approx(1.959964 * 0.3 / math.sqrt(2))
    assert with_error.pvalue == pytest.approx(2 * 2 * stats.norm.sf(0.5 / (0.3 / math.sqrt(2))))
    # Leans of one size: their sum moves the elevation by that size, and the sensitivity too.
    leaning = weighting_line(
        stated, stated + 0.5, np.full(2, 0.3), np.full(2, 0.2), [], freedom=math.inf
    )
    assert leaning.elevation_interval.low == pytest.approx(0.3 - 1.959964 * 0.3 / math.sqrt(2))
    assert leaning.sensitivity_interval.high == pytest.approx(1.2 + 1.959964 * 0.3 / math.sqrt(2))
    assert leaning.pvalue == pytest.approx(2 * 2 * stats.norm.sf(0.3 / (0.3 / math.sqrt(2))))
    nothing = weighting_line(stated[:1], stated[:1], np.ones(1), np.zeros(1), [], freedom=4.0)
    assert math.isnan(nothing.elevation)
    assert nothing.n_chances == 1


def test_who_follows_the_stakes_on_some_things_only_shows_no_probability():
    stated, even, taken, high, low = climb(np.zeros((5, 5)), slope=1e4)
    one_thing = taken & (high == 2)
    for answers, status in ((one_thing, "no response to stakes"), (taken, "fitted")):
        table = fit_ladder(stated, even, answers, first=high, second=low).table
        assert set(table["status"]) == {status}
    against = fit_ladder(stated, even, ~taken, first=high, second=low)  # takes what loses
    assert set(against.table["status"]) == {"no response to stakes"}
    assert math.isnan(against.weighting.sensitivity)
