"""Bets at odds that are not even, ladders whose answers share things, and tables of several models: breaks if a gain, a switching chance, a unit of
the intervals or a pooled share is off."""

import itertools
import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.special import expit, logit

from coherence.batteries.bets.accuracy import crossed_interval, exact_test
from coherence.batteries.bets.answers import join_answers
from coherence.batteries.bets.break_even import switching_chance
from coherence.batteries.bets.gains import bet_gains, break_evens, expected_gains
from coherence.batteries.bets.independence import CROSSED, INDEPENDENT, PAIRS, units_of
from coherence.batteries.bets.ladder import FITTED, FLAT, fit_ladder
from coherence.batteries.bets.right_choices import right_roles
from coherence.batteries.bets.runs import belief_runs
from coherence.batteries.bets.scores import compare_models, score_bets
from coherence.batteries.bets.simulated import simulate_answers
from coherence.batteries.bets.truths import bet_truths
from coherence.batteries.bets.weighting import weighting_line
from coherence.errors import InputError
from elicitation.batteries.bets.items import Item, Items, default_items
from elicitation.batteries.bets.ladder import BREAK_EVENS, highest_break_even, ladder_questions
from elicitation.batteries.bets.questions import (
    bet_questions,
    value_questions,
)

ITEMS = default_items()


# Gains and truths at any odds


def purse(bet_on, comes_up, prize, loss, stake, payout):
    """What one play of the gamble leaves in the purse under the rule "side", with half the stake and half the thing on each side for "both"."""
    if bet_on == "none":
        return 0.0
    if bet_on == "both":
        return (
            purse("win", comes_up, prize, loss, stake, payout)
            + purse("lose", comes_up, prize, loss, stake, payout)
        ) / 2
    if bet_on != comes_up:
        return -stake
    return stake * payout + (prize if bet_on == "win" else -loss)


@pytest.mark.parametrize("chance", [0.15, 0.5, 0.8])
@pytest.mark.parametrize("payout", [0.0, 0.4, 1.0, 3.5])
@pytest.mark.parametrize("stake", [4, 20, 70])
def test_truths_of_bets_at_any_odds_are_those_of_the_enumerated_gamble(chance, payout, stake):
    bets = bet_questions(
        ITEMS,
        splits=["test"],
        modalities=["coin"],
        chances=(chance,),
        stake=stake,
        payout=payout,
        amounts=True,
    )
    gains = bet_gains(bets)
    truths = bet_truths(gains)
    sets = {1: "win", 2: "lose", 3: "both", 4: "none"}  # the consistent ones, by code
    for row, (wins, paid) in enumerate(zip(bets["wins"], bets["payout"], strict=True)):
        prize, loss = (100, 1) if wins == "high" else (1, 100)
        by_hand = {
            name: chance * purse(name, "win", prize, loss, stake, paid)
            + (1 - chance) * purse(name, "lose", prize, loss, stake, paid)
            for name in sets.values()
        }
        np.testing.assert_allclose(gains[row], list(by_hand.values()), atol=1e-9)
        largest = max(by_hand[name] for name in ("win", "lose", "none"))
        assert truths.best[row].tolist() == [
            by_hand[name] > largest - 1e-7 for name in ("win", "lose", "none")
        ]
        for code in range(8):
            assert truths.positive[row, code] == (code in sets and by_hand[sets[code]] > 1e-7)
            assert truths.non_negative[row, code] == (code in sets and by_hand[sets[code]] > -1e-7)
    best_role = np.array(["win", "lose", "none"])[truths.best.argmax(axis=1)]
    assert right_roles(bets) == best_role.tolist()


@settings(deadline=None, max_examples=60)
@given(st.floats(1, 200), st.floats(0.01, 1), st.floats(0.5, 300), st.floats(0, 4))
def test_switching_chance_is_where_the_winning_side_becomes_the_best_choice(
    prize, loss, stake, payout
):
    switch = float(switching_chance(prize, loss, stake, payout=payout))
    chances = np.linspace(0.0005, 0.9995, 1000)
    gains = expected_gains(prize, loss, stake, chance=chances, payout=payout)
    winning_is_best = gains[:, 0] > np.maximum(gains[:, 1], 0)
    apart = np.abs(chances - switch) > 1e-6
    assert (winning_is_best == (chances > switch))[apart].all()


def test_switching_chances_of_any_bets_are_those_of_brute_force():
    """Prizes, losses, stakes and payouts at random, those where the thing that may be lost is worth more than all that comes back among them."""
    rng, chances, ahead = np.random.default_rng(0), np.linspace(0, 1, 4001), 0
    for _ in range(300):
        prize, loss, stake = rng.uniform(1, 100), rng.uniform(0, 100), rng.uniform(0.1, 100)
        payout = rng.choice([0.0, rng.uniform(0, 5)])
        gains = expected_gains(
            np.full(chances.size, prize), loss, stake, chance=chances, payout=payout
        )
        best = (gains[:, 0] > gains[:, 1]) & (gains[:, 0] > 0)
        first = chances[best.argmax()] if best.any() else 1.0
        assert float(switching_chance(prize, loss, stake, payout=payout)) == pytest.approx(
            first, abs=3e-4
        )
        ahead += loss > (1 + payout) * stake
    assert ahead > 30
    assert float(switching_chance(1, 100, 20)) == pytest.approx(20 / 21)
    assert float(switching_chance(0, 40, 20)) == 1.0  # nothing to be won


@pytest.mark.parametrize("payout", [0.0, 0.25, 1.0, 4.0])
def test_ladders_with_a_payout_switch_where_they_say(payout):
    rungs = [even for even in BREAK_EVENS if even < highest_break_even(payout)]
    steps = ladder_questions(ITEMS, payout=payout, break_evens=rungs)
    np.testing.assert_allclose(steps["break_even"], break_evens(steps), rtol=1e-12)
    np.testing.assert_allclose(sorted(steps["break_even"].round(3).unique()), rungs, atol=1e-3)
    assert (np.array(right_roles(steps)) == "win").tolist() == (
        steps["chance"] > steps["break_even"]
    ).tolist()


def test_a_payout_is_stated_in_the_money_that_it_is_computed_from():
    row = bet_questions(
        ITEMS, splits=["test"], modalities=["coin"], stake=7, payout=1 / 3, amounts=True
    ).iloc[0]
    assert (
        "A bet costs a stake of 7 dollars; it comes back, with 2.33 dollars on top, if I bet on the right side."
        in row["text"]
    )
    assert row["payout"] * 7 == pytest.approx(2.33)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: bet_questions(ITEMS, payout=1.0),
            "a payout of 1 needs amounts=True: which choice is right depends on the stake",
        ),
        (
            lambda: bet_questions(ITEMS, payout=-1.0, amounts=True),
            "payout must be a number of at least 0; received -1.0",
        ),
        (
            lambda: ladder_questions(ITEMS, payout=1.0),
            "break_evens must be below 0.5 with a payout of 1, for no stake breaks even at more; received 0.55",
        ),
        (lambda: switching_chance(100, 1, 0), "stake must be positive"),
    ],
)
def test_odds_that_make_no_sense_are_refused(call, message):
    with pytest.raises(InputError, match=message):
        call()


def test_a_maximiser_is_right_at_other_odds_and_its_ladder_lies_on_the_diagonal():
    bets = bet_questions(
        ITEMS,
        splits=["dev", "test"],
        modalities=["card"],
        chances=(0.3,),
        stake=50,
        payout=1.5,
        amounts=True,
    )
    rungs = [even for even in BREAK_EVENS if even < highest_break_even(0.25)]
    values = value_questions(ITEMS, splits=["dev", "test"], templates=["choice-valuable"])
    questions = pd.concat(
        [values, bets, ladder_questions(ITEMS, payout=0.25, break_evens=rungs)], ignore_index=True
    )
    scores = score_bets(questions, simulate_answers("maximiser", questions, sharpness=1e6, rng=0))
    found = scores.accuracy.set_index(["template", "truth"])["accuracy"]
    assert found["card", "correct"] == found["card", "belief-conditioned"] == 1
    table = scores.ladders["maximiser", "coin"].table
    inside = table["status"] == FITTED
    np.testing.assert_allclose(table["implied"][inside], table["stated"][inside], atol=1e-3)
    assert table["stated"][inside].max() == 0.7  # the ladder ends below 0.8
    assert (table["high"][~inside] == 1).all()


def test_at_other_odds_a_bet_between_equals_has_no_rational_choice():
    values = value_questions(ITEMS, splits=["test"], templates=["choice-valuable"])
    for chance, counted in ((0.5, 100), (0.4, 0)):
        bets = bet_questions(ITEMS, splits=["test"], modalities=["coin"], chances=(chance,))
        questions = pd.concat([values, bets], ignore_index=True)
        answers = pd.DataFrame(
            {"question": questions["question"], "answer": "c"}
        )  # the same; no bet
        row = (
            score_bets(questions, answers)
            .accuracy.set_index(["template", "truth"])
            .loc["coin", "belief-conditioned"]
        )
        assert (row["n"], row["n_right"]) == (counted, counted)


def test_amounts_that_are_no_numbers_are_refused():
    bets = bet_questions(ITEMS, splits=["test"], modalities=["coin"])
    faulty = bets.assign(stake=bets["stake"].astype(object).where(bets.index != 3, "lots"))
    with pytest.raises(
        InputError,
        match="stake must hold numbers for bets; 1 are none, the first is that of question 'coin-test-004'",
    ):
        join_answers(faulty, pd.DataFrame({"question": ["coin-test-001"], "answer": ["a"]}))


# Ladders whose answers share things


def climb(shocks, *, crossed=False, elevation=0.0, sensitivity=1.0, slope=50.0, rng=0):
    """Answers to the default ladder about five pairs, or all 25, whose switching points are off by a shock each; both orders are answered alike."""
    pairs = [(i, j) for i in range(5) for j in range(5) if crossed or i == j]
    rows = [
        (i, j, p, even) for i, j in pairs for p in np.arange(1, 10) / 10 for even in BREAK_EVENS
    ]
    high, low, stated, even = (np.repeat(column, 2) for column in zip(*rows, strict=True))
    logits = slope * (
        elevation + sensitivity * logit(stated) + np.asarray(shocks)[high, low] - logit(even)
    )
    taken = np.repeat(np.random.default_rng(rng).random(len(rows)), 2) < expit(logits)
    return stated, even, taken, high, low


def shocks_of(rng, sd, *, crossed):
    if crossed:
        return sd / math.sqrt(2) * (rng.standard_normal((5, 1)) + rng.standard_normal((1, 5)))
    return sd * np.diag(rng.standard_normal(5))


def held(sd, *, crossed, draws, seed, **line):
    """Shares of intervals that hold the truth, of independent answers and of things as the unit, and of rejections of implied = stated."""
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
        for place, table in enumerate((fit_ladder(stated, even, taken).table, ours.table)):
            counts[place] += ((table["low"] <= truth) & (truth <= table["high"])).mean()
        counts[2] += ours.weighting.pvalue < 0.05
    return counts / draws


def test_things_that_differ_widen_the_intervals():
    stated, even, taken, high, low = climb(np.diag([-1.0, -0.4, 0.0, 0.5, 1.1]))
    alone, things = (
        fit_ladder(stated, even, taken),
        fit_ladder(stated, even, taken, first=high, second=low),
    )
    assert (alone.unit, things.unit) == (INDEPENDENT, PAIRS)
    np.testing.assert_array_equal(alone.table["implied"], things.table["implied"])
    widths = [fit.table["high"] - fit.table["low"] for fit in (alone, things)]
    assert (widths[1] > 1.5 * widths[0]).all()
    named = fit_ladder(stated, even, taken, first=np.array(list("edcba"))[high], second=low)
    np.testing.assert_allclose(
        named.table[["low", "high"]], things.table[["low", "high"]], atol=1e-9
    )


def test_things_that_switch_alike_leave_the_rungs():
    stated, even, taken, high, low = climb(np.zeros((5, 5)), slope=1e4)
    table = fit_ladder(stated, even, taken, first=high, second=low).table
    np.testing.assert_allclose(table["low"], table["stated"] - 0.05, atol=0.011)
    np.testing.assert_allclose(table["high"], table["stated"] + 0.05, atol=0.011)


def test_who_follows_the_stakes_on_some_things_only_shows_no_probability():
    stated, even, taken, high, low = climb(np.zeros((5, 5)), slope=1e4)
    one_thing = taken & (high == 2)
    assert set(fit_ladder(stated, even, one_thing, first=high, second=low).table["status"]) == {
        FLAT
    }
    assert set(fit_ladder(stated, even, taken, first=high, second=low).table["status"]) == {FITTED}
    against = fit_ladder(stated, even, ~taken, first=high, second=low)  # takes what loses
    assert set(against.table["status"]) == {FLAT}
    assert math.isnan(against.weighting.sensitivity)


def test_units_are_pairs_only_where_each_thing_has_one_partner():
    assert units_of(None, None, 4).name == INDEPENDENT
    assert units_of(list("aabb"), list("xxyy"), 4).name == PAIRS
    assert units_of(list("aabb"), list("xyxy"), 4).name == CROSSED
    assert units_of(list("aabb"), list("xyzz"), 4).name == CROSSED
    with pytest.raises(InputError, match="first and second must both be given, or neither"):
        units_of(list("ab"), None, 2)
    with pytest.raises(InputError, match="two or more different things each; they hold 1 and 2"):
        units_of(list("aa"), list("xy"), 2)


def test_ladder_intervals_hold_with_few_things_where_those_of_independent_answers_do_not():
    alone, things, _ = held(1.0, crossed=False, draws=25, seed=4)
    assert alone < 0.75
    assert things > 0.85


@pytest.mark.slow
@pytest.mark.parametrize("crossed", [False, True])
@pytest.mark.parametrize("sd", [0.0, 0.5, 1.0])
def test_ladder_intervals_cover(sd, crossed):
    draws = 150
    _, things, rejected = held(sd, crossed=crossed, draws=draws, seed=5)
    assert things >= 0.92  # 0.96 to 1 in 1,000 draws each
    assert rejected <= stats.binom.ppf(0.999, draws, 0.05) / draws


def test_a_ladder_about_one_pair_says_that_its_answers_were_taken_as_independent():
    items = Items((Item("a car", "high", "test", 100.0), Item("a pen", "low", "test", 1.0)))
    questions = ladder_questions(items)
    scores = score_bets(questions, simulate_answers("maximiser", questions, sharpness=1e6, rng=0))
    assert scores.ladders["maximiser", "coin"].unit == INDEPENDENT
    assert scores.notes == (
        "maximiser, coin: intervals of the ladder take answers as independent, for it is about one thing of a kind.",
    )


def test_ladders_are_not_fitted_where_whoever_bets_gets_what_comes_up():
    questions = ladder_questions(ITEMS)
    values = value_questions(ITEMS, splits=["test"], templates=["choice-valuable"])
    both = pd.concat([questions, values], ignore_index=True)
    scores = score_bets(both, simulate_answers("maximiser", both, rng=0), rule="outcome")
    assert not scores.ladders
    assert "maximiser, coin: ladders are fitted for the rule 'side' only." in scores.notes


# Probability weighting


def test_weighting_is_that_of_the_agent():
    stated, even, taken, high, low = climb(
        0.1 * np.diag([-2.0, -1.0, 0.0, 1.0, 2.0]), elevation=0.3, sensitivity=0.5, slope=20
    )
    line = fit_ladder(stated, even, taken, first=high, second=low).weighting
    assert line.elevation == pytest.approx(0.3, abs=0.08)
    assert line.sensitivity == pytest.approx(0.5, abs=0.08)
    assert line.elevation_interval.low <= 0.3 <= line.elevation_interval.high
    assert line.sensitivity_interval.high < 1
    assert line.pvalue < 0.05
    honest = fit_ladder(*climb(np.zeros((5, 5)))[:3]).weighting
    assert (honest.elevation, honest.sensitivity) == (
        pytest.approx(0, abs=0.03),
        pytest.approx(1, abs=0.03),
    )
    assert honest.pvalue > 0.5


@pytest.mark.parametrize(
    "rungs", [np.linspace(0.1, 0.9, 9), np.linspace(0.05, 0.95, 19)], ids=["nine", "nineteen"]
)
@pytest.mark.parametrize("n_pairs", [1, 5])
@pytest.mark.parametrize("takes_nothing", [False, True])
def test_who_is_rational_where_stated_chances_are_rungs_is_not_called_otherwise(
    rungs, n_pairs, takes_nothing
):
    """At the stated chance a bet gains nothing: taken or not throughout, all switches lie on one side of what was stated."""
    stated, even, pair = (
        x.ravel()
        for x in np.meshgrid(
            np.linspace(0.1, 0.9, 9).round(3), rungs.round(3), np.arange(n_pairs), indexing="ij"
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


# Runs of which no two contexts share a thing, and several models


@pytest.fixture(scope="module")
def questions():
    splits = ["dev", "test"]
    tables = [
        value_questions(ITEMS, splits=splits, templates=["choice-valuable"]),
        bet_questions(ITEMS, splits=splits),
    ]
    return pd.concat(tables, ignore_index=True)


def test_disjoint_contexts_share_no_thing(questions):
    groups = join_answers(questions, simulate_answers("maximiser", questions, rng=0))
    runs = belief_runs(groups, disjoint=True)
    crossed = belief_runs(groups)
    coin = runs[runs["task"] == "bets:coin"]
    assert coin["context"].nunique() == 10  # five of dev, five of test
    things = (
        coin["context"]
        .drop_duplicates()
        .str.split(" | ", regex=False)
        .map(lambda words: words[:2])
        .sum()
    )
    assert len(things) == len(set(things)) == 20
    assert coin.groupby("context")["theta"].first().value_counts().to_dict() == {0: 5, 1: 5}
    assert crossed[crossed["task"] == "bets:coin"]["context"].nunique() == 100
    kept = crossed[crossed["context"].isin(runs["context"])].reset_index(drop=True)
    pd.testing.assert_frame_equal(runs, kept)


def test_models_are_compared_on_all_their_test_questions(questions):
    answers = pd.concat(
        [
            simulate_answers(name, questions, sharpness=1e4, rng=0)
            for name in ("random", "value-only", "maximiser")
        ]
    )
    table = compare_models(join_answers(questions, answers)).set_index(["measure", "model"])
    assert table.loc["bets"].index.tolist() == ["maximiser", "value-only", "random"]  # best first
    assert table.loc[("bets", "value-only"), ["n", "n_right"]].tolist() == [300, 150]
    assert table.loc[("values", "maximiser"), ["n", "accuracy"]].tolist() == [25, 1]
    row = table.loc[("bets", "random")]
    test = questions[(questions["kind"] == "bet") & (questions["split"] == "test")]
    own = answers[
        (answers["model"] == "random") & answers["question"].isin(test["question"])
    ].merge(test, on="question")
    chosen = own[["prob_a", "prob_b", "prob_c"]].to_numpy().argmax(axis=1)
    roles = own[["role_a", "role_b", "role_c"]].to_numpy()[np.arange(len(own)), chosen]
    right = roles == np.array(right_roles(own))
    interval = crossed_interval(right, own["high"], own["low"])
    assert (row["n_right"], row["low"], row["high"]) == (
        right.sum(),
        pytest.approx(interval.low),
        pytest.approx(interval.high),
    )
    assert row["p_exact"] == pytest.approx(exact_test(int(right.sum()), np.full(300, 1 / 3)))
    letters = itertools.cycle("abc")
    unasked = compare_models(
        join_answers(
            questions,
            pd.DataFrame(
                {"question": test["question"], "answer": [next(letters) for _ in test.index]}
            ),
        )
    )
    assert unasked["measure"].tolist() == ["bets"]
