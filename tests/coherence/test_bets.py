"""Bets: breaks if a gain, a truth of sets, a threshold, a test of the paper, an interval or the recovery of a chance acted on is off."""

import itertools
import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from coherence.analysis.analyze import analyze
from coherence.batteries.bets.accuracy import crossed_interval, exact_test, z_test
from coherence.batteries.bets.answers import join_answers, read_letters
from coherence.batteries.bets.break_even import break_even_chance
from coherence.batteries.bets.gains import bet_gains, expected_gains
from coherence.batteries.bets.ladder import ABOVE, BELOW, FITTED, FLAT, fit_ladder
from coherence.batteries.bets.predictions import standard_choices, threshold_sets, tune_threshold
from coherence.batteries.bets.right_choices import right_roles
from coherence.batteries.bets.runs import belief_runs, ladder_runs
from coherence.batteries.bets.scores import score_bets
from coherence.batteries.bets.simulated import simulate_answers
from coherence.batteries.bets.truths import (
    BET_CHOICES,
    MEMBERS,
    NO_CHOICE,
    asked,
    believed_best,
    bet_truths,
    is_right,
    random_rate,
    value_truths,
)
from coherence.errors import InputError
from coherence.table.faults import validate_runs
from elicitation.batteries.bets.items import default_items
from elicitation.batteries.bets.ladder import ladder_questions
from elicitation.batteries.bets.questions import bet_questions, value_questions

amount = st.floats(0.01, 1e4)


# Expected gains


def test_gains_are_those_of_tables_7_and_8():
    assert expected_gains(100, 1, 20).tolist() == [[40, -10.5, 14.75, 0]]
    assert expected_gains(1, 100, 20).tolist() == [[-9.5, -60, -34.75, 0]]
    # Section 4.3.3 at one place: whatever comes up is carried out for whoever bets; both sides then
    # gain .5 (H - L - X).
    assert expected_gains(100, 1, 20, rule="outcome").tolist() == [[39.5, 39.5, 39.5, 0]]


@settings(deadline=None, max_examples=60)
@given(
    amount, amount, amount, st.floats(0, 1), st.floats(0, 3), st.sampled_from(["side", "outcome"])
)
def test_gains_are_means_over_the_two_outcomes(prize, loss, stake, chance, payout, rule):
    def purse(side_bet, side_up):
        money = stake * payout if side_bet == side_up else -stake
        thing = prize if side_up == "win" else -loss
        return money + (thing if rule == "outcome" or side_bet == side_up else 0)

    by_hand = {
        side: chance * purse(side, "win") + (1 - chance) * purse(side, "lose")
        for side in ("win", "lose")
    }
    gains = expected_gains(prize, loss, stake, chance=chance, payout=payout, rule=rule)[0]
    np.testing.assert_allclose(gains[:2], [by_hand["win"], by_hand["lose"]], rtol=1e-9, atol=1e-7)
    assert gains[2] == pytest.approx((by_hand["win"] + by_hand["lose"]) / 2, abs=1e-6)
    assert gains[3] == 0


@settings(deadline=None, max_examples=60)
@given(amount, amount, st.floats(0, 3))
def test_break_even_chance_is_where_a_bet_gains_nothing(prize, stake, payout):
    even = break_even_chance(prize, stake, payout=payout)
    assert expected_gains(prize, 5.0, stake, chance=even, payout=payout)[0, 0] == pytest.approx(
        0, abs=1e-9 * (prize + stake) * (1 + payout)
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"stake": -1}, "stake must hold finite numbers of at least 0"),
        ({"stake": math.nan}, "stake must hold finite numbers"),
        ({"chance": 50}, "chance must hold probabilities in .0, 1.*Divide percentages by 100"),
        ({"rule": "both"}, "rule must be 'side' or 'outcome'; received 'both'"),
    ],
)
def test_gains_outside_their_range_are_refused(arguments, message):
    with pytest.raises(InputError, match=message):
        expected_gains(**({"prize": 100, "loss": 1, "stake": 20} | arguments))


# Truths for sets of choices


def names_of(right, choices):
    return {
        frozenset(name for name, inside in zip(choices, MEMBERS[code], strict=True) if inside)
        for code in range(8)
        if right[code]
    }


def test_right_sets_of_both_types_of_bets():
    truths = bet_truths(expected_gains([100, 1], [1, 100], 20))
    win, lose, none = (frozenset([name]) for name in BET_CHOICES)
    assert [names_of(row, BET_CHOICES) for row in truths.strict] == [{win}, {none}]
    assert [names_of(row, BET_CHOICES) for row in truths.positive] == [{win, win | lose}, set()]
    assert [names_of(row, BET_CHOICES) for row in truths.non_negative] == [
        {win, win | lose, none},
        {none},
    ]
    assert asked(truths.positive).tolist() == [True, False]


@settings(deadline=None, max_examples=60)
@given(amount, amount, amount, st.floats(0, 1), st.sampled_from(["side", "outcome"]))
def test_nothing_empty_or_contradictory_is_ever_right(prize, loss, stake, chance, rule):
    truths = bet_truths(expected_gains(prize, loss, stake, chance=chance, rule=rule))
    for right in truths.sets().values():
        assert not right[0, [0, 5, 6, 7]].any()
    assert truths.strict[0].any()  # something is always best
    assert (
        truths.strict <= truths.non_negative
    ).all()  # not to bet gains 0, so the best gains no less
    assert (truths.positive <= truths.non_negative).all()


def test_equal_gains_are_all_best():
    truths = bet_truths(expected_gains(100, 1, 20, rule="outcome"))
    assert truths.best.tolist() == [[True, True, False]]
    assert names_of(truths.strict[0], BET_CHOICES) == {
        frozenset(["win"]),
        frozenset(["lose"]),
        frozenset(["win", "lose"]),
    }


def test_random_rates_by_enumeration_are_those_of_the_paper():
    half = bet_truths(expected_gains([100, 1], [1, 100], 20))
    assert {name: random_rate(right) for name, right in half.sets().items()} == {
        "strict": 0.125,
        "positive gain": 0.25,
        "non-negative gain": 0.25,
    }
    assert {name: random_rate(right) for name, right in value_truths(3).items()} == {
        "normal": 0.125,
        "weak normal": 0.25,
        "weak": 0.625,
    }
    assert random_rate(half.best) == pytest.approx(1 / 3)


def test_the_stakes_of_the_paper_give_the_same_truths_wherever_they_lie():
    # L < X < .5 (H - L), strictly.
    reference = bet_truths(expected_gains([100, 1], [1, 100], 20))
    for stake in (1.01, 5, 30, 49.4):
        found = bet_truths(expected_gains([100, 1], [1, 100], stake))
        for name, right in found.sets().items():
            assert (right == reference.sets()[name]).all(), (stake, name)
    beyond = bet_truths(expected_gains(100, 1, 60))
    assert frozenset(["win", "lose"]) not in names_of(beyond.positive[0], BET_CHOICES)


# Standard and threshold method


def test_shared_or_missing_scores_are_no_choice():
    scores = [[0.2, 0.5, 0.3], [0.4, 0.4, 0.1], [np.nan, 0.4, 0.1]]
    assert standard_choices(scores).tolist() == [1, NO_CHOICE, NO_CHOICE]
    assert is_right(standard_choices(scores), np.ones((3, 3), dtype=bool)).tolist() == [
        True,
        False,
        False,
    ]


def test_threshold_is_the_median_of_the_best():
    right = value_truths(2)["normal"]
    tuned = tune_threshold([[0.9, 0.2, 0.1], [0.8, 0.4, 0.3]], right)
    # Right for .40 <= t < .80: forty thresholds, whose median lies between .59 and .60.
    assert (tuned.value, tuned.accuracy, tuned.n_best) == (pytest.approx(0.595), 1.0, 40)
    by_hand = [
        is_right(threshold_sets([[0.9, 0.2, 0.1], [0.8, 0.4, 0.3]], t / 100), right).mean()
        for t in range(101)
    ]
    assert sum(share == 1 for share in by_hand) == 40


def test_a_score_must_be_above_the_threshold():
    assert threshold_sets([[0.5, 0.4, 0.6]], 0.5).tolist() == [4]
    assert threshold_sets([[0.5, 0.4, 0.6]], 1.0).tolist() == [0]


def test_bets_without_a_right_set_do_not_tune():
    truths = bet_truths(expected_gains([100, 1], [1, 100], 20))
    scores = [[0.9, 0.1, 0.1], [0.9, 0.9, 0.9]]
    assert tune_threshold(scores, truths.positive) == tune_threshold(
        scores[:1], truths.positive[:1]
    )
    with pytest.raises(InputError, match="right must hold a right set for at least one question"):
        tune_threshold(scores[1:], truths.positive[1:])
    with pytest.raises(InputError, match="scores must be in .0, 1.*1 are not"):
        tune_threshold([[2.5, 0, 0]], truths.strict[:1])


def test_rational_given_the_own_belief():
    gains = expected_gains([100] * 4, [1] * 4, 20)
    swapped = expected_gains([1] * 4, [100] * 4, 20)
    rational = believed_best(np.array([0, 1, 2, NO_CHOICE]), gains, swapped)
    # High: bet to win. Low: the prize is held for the lesser thing, so no bet. Same: no bet. No
    # answer: nothing is right.
    assert rational.tolist() == [
        [True, False, False],
        [False, False, True],
        [False, False, True],
        [False, False, False],
    ]


# The paper's tests (PAPERS: p-values of tables 9 to 15)


@pytest.mark.parametrize(
    ("share", "n", "chance", "published"),
    [
        (0.52, 25, 1 / 3, 0.0336), (0.56, 25, 1 / 3, 0.0126), (0.48, 25, 1 / 3, 0.0752), (0.44, 25, 1 / 3, 0.1462), (0.36, 25, 1 / 3, 0.3927),
        (0.24, 25, 1 / 3, 0.8578), (0.43, 100, 1 / 3, 0.0260), (0.47, 100, 1 / 3, 0.0032), (0.44, 100, 1 / 3, 0.0163), (0.35, 100, 1 / 3, 0.3640),
        (0.25, 100, 1 / 3, 0.9722), (0.26, 50, 0.25, 0.4366), (0.22, 100, 0.25, 0.7644), (0.12, 100, 0.125, 0.5608),
    ],
)  # fmt: skip
def test_z_test_gives_the_published_pvalues(share, n, chance, published):
    assert z_test(round(share * n), n, chance).pvalue == pytest.approx(published, abs=6e-5)


@pytest.mark.parametrize(
    ("share", "n", "chance", "printed"),
    [
        (0.25, 100, 0.125, ".002"), (0.52, 100, 0.25, "<.001"), (0.12, 100, 0.125, ".561"), (0.05, 100, 0.125, "1.00"), (0.22, 100, 0.25, ".764"),
        (0.68, 25, 1 / 3, "<.001"), (0.08, 25, 1 / 3, "1.00"),
    ],
)  # fmt: skip
def test_z_test_gives_what_tables_9_and_15_print(share, n, chance, printed):
    # Accuracies of tables 5 and 14; the paper cuts or rounds to three digits.
    found = z_test(round(share * n), n, chance).pvalue
    assert printed == (
        "<.001" if found < 0.001 else "1.00" if found > 0.995 else f"{found:.3f}".lstrip("0")
    )


def test_z_test_at_the_ends_is_what_the_paper_prints():
    assert (z_test(0, 25, 1 / 3).z, z_test(0, 25, 1 / 3).pvalue) == (
        -math.inf,
        1.0,
    )  # "1.00" in table 9
    assert (z_test(25, 25, 1 / 3).z, z_test(25, 25, 1 / 3).pvalue) == (math.inf, 0.0)  # "<.001"
    assert math.isnan(z_test(25, 25, 1.0).z)


def test_exact_test_is_binomial_where_chances_are_equal():
    assert exact_test(13, [1 / 3] * 25) == pytest.approx(0.0415, abs=5e-5)
    assert exact_test(13, [1 / 3] * 25) == pytest.approx(
        stats.binomtest(13, 25, 1 / 3, alternative="greater").pvalue
    )


def test_exact_test_convolves_where_chances_differ():
    chances = [3 / 8, 1 / 8, 3 / 8, 1 / 8]
    for k in range(5):
        by_hand = sum(
            math.prod(p if hit else 1 - p for p, hit in zip(chances, hits, strict=True))
            for hits in itertools.product((0, 1), repeat=4)
            if sum(hits) >= k
        )
        assert exact_test(k, chances) == pytest.approx(by_hand)


@pytest.mark.parametrize(
    ("n_right", "n", "chance"), [(3, 2, 0.5), (-1, 4, 0.5), (1, 4, 1.5), (1, 0, 0.5)]
)
def test_impossible_counts_are_refused(n_right, n, chance):
    with pytest.raises(InputError):
        z_test(n_right, n, chance)


# The interval for crossed things


def crossed(n_high=5, n_low=5, repeats=4):
    return np.repeat(np.arange(n_high), n_low * repeats), np.tile(
        np.repeat(np.arange(n_low), repeats), n_high
    )


def test_interval_of_perfect_answers_counts_things_and_not_questions():
    for repeats in (1, 4):
        high, low = crossed(repeats=repeats)
        interval = crossed_interval(np.ones(25 * repeats), high, low)
        # An additive layout of five by five things has nine free means.
        assert (interval.low, interval.high) == (pytest.approx(0.025 ** (1 / 9)), 1.0)


def test_degrees_of_freedom_are_those_of_satterthwaite_less_what_kurtosis_takes():
    high, low = crossed(14, 15, 1)
    # One high thing of fourteen is always wrong: totals of low things are equal, and those of high
    # things are a spike.
    interval = crossed_interval(high > 0, high, low)
    share, n = 13 / 14, 14 * 15
    totals = np.where(np.arange(14) > 0, 15 * (1 - share), -15 * share)
    variance = 14 / 13 * (totals**2).sum() / n**2
    excess = (totals**4).mean() / (totals**2).mean() ** 2 - 3
    freedom = 2 / (excess / 14 + 2 / 13)
    assert freedom < 4 < 13
    effective = (
        share
        * (1 - share)
        / variance
        * (stats.t.ppf(0.975, n - 1) / stats.t.ppf(0.975, freedom)) ** 2
    )
    assert interval.low == pytest.approx(
        stats.beta.ppf(0.025, effective * share, effective * (1 - share) + 1)
    )
    # Where no thing differs from another the variance is that of independent answers.
    even = crossed_interval((high + low) % 2 == 0, high, low)
    independent = stats.binomtest(n // 2, n).proportion_ci()
    assert 1 <= (even.high - even.low) / (independent.high - independent.low) < 1.15


def test_interval_is_wider_where_a_thing_decides():
    high, low = crossed()
    by_thing = crossed_interval(high < 3, high, low)
    mixed = crossed_interval((np.arange(100) * 7) % 5 < 3, high, low)
    assert by_thing.high - by_thing.low > 1.5 * (mixed.high - mixed.low)


def test_interval_ignores_order_and_names():
    high, low = crossed()
    right = np.random.default_rng(3).random(100) < 0.4
    shuffled = np.random.default_rng(4).permutation(100)
    names = np.array(["car", "house", "bus", "gem", "tank"])
    one, other = (
        crossed_interval(right, high, low),
        crossed_interval(right[shuffled], names[high[shuffled]], low[shuffled]),
    )
    assert (one.low, one.high) == pytest.approx((other.low, other.high))


def test_one_thing_of_a_kind_gives_no_interval():
    assert math.isnan(crossed_interval([True, False], ["car", "car"], ["pen", "sock"]).low)


def coverage(share, thing_sd, *, draws, seed, shape=(5, 5, 4)):
    """Share of intervals that hold the expected share of right answers, and the same of intervals for independent answers."""
    rng = np.random.default_rng(seed)
    high, low = crossed(*shape)
    normal = stats.norm.ppf((np.arange(4000) + 0.5) / 4000) * thing_sd * math.sqrt(2)
    ends = np.array([-20.0, 20.0])
    for _ in range(60):  # the intercept at which the mean over things is the share
        middle = ends.mean()
        ends[int((1 / (1 + np.exp(-middle - normal))).mean() > share)] = middle
    held = np.zeros(2)
    for _ in range(draws):
        logit = ends.mean() + thing_sd * (
            rng.standard_normal(shape[0])[high] + rng.standard_normal(shape[1])[low]
        )
        right = rng.random(high.size) < 1 / (1 + np.exp(-logit))
        ours = crossed_interval(right, high, low)
        binomial = stats.binomtest(int(right.sum()), right.size).proportion_ci()
        held += [ours.low <= share <= ours.high, binomial.low <= share <= binomial.high]
    return held / draws


def test_interval_covers_where_the_binomial_one_does_not():
    ours, binomial = coverage(0.8, 1.0, draws=100, seed=0)
    assert ours >= 0.9
    assert binomial < 0.85


@pytest.mark.slow
@pytest.mark.parametrize("shape", [(5, 5, 4), (5, 5, 1), (14, 15, 4)])
@pytest.mark.parametrize("thing_sd", [0.0, 1.0, 2.0])
@pytest.mark.parametrize("share", [1 / 3, 0.8, 0.95])
def test_interval_covers(share, thing_sd, shape):
    draws = 600
    ours, _ = coverage(share, thing_sd, draws=draws, seed=1, shape=shape)
    assert ours >= stats.binom.ppf(0.005, draws, 0.95) / draws


# The chance acted on


def ladder(acted_on, *, slope, repeats, rng, stated=(0.1, 0.3, 0.5, 0.7, 0.9)):
    even = np.arange(0.05, 1, 0.1)
    rows = [(p, e) for p in stated for e in even for _ in range(repeats)]
    p, e = np.array(rows).T
    q = acted_on(p)
    logit = slope * (np.log(q / (1 - q)) - np.log(e / (1 - e)))
    return p, e, rng.random(p.size) < 1 / (1 + np.exp(-logit))


def test_ladder_recovers_a_chance_that_is_distorted():
    # Small chances are acted on as larger ones and large ones as smaller: half the logit.
    def shrunk(p):
        return 1 / (1 + np.exp(-0.5 * np.log(p / (1 - p))))

    fit = fit_ladder(*ladder(shrunk, slope=4.0, repeats=30, rng=np.random.default_rng(1)))
    truth = shrunk(fit.table["stated"].to_numpy())
    assert (fit.table["status"] == FITTED).all()
    np.testing.assert_allclose(fit.table["implied"], truth, atol=0.05)
    assert ((fit.table["low"] <= truth) & (truth <= fit.table["high"])).all()
    assert fit.steepness == pytest.approx(4.0, rel=0.25)
    assert fit.contradicted == 4  # all but one half


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


def test_a_jump_is_known_up_to_its_gap():
    even = np.arange(0.05, 1, 0.1)
    table = fit_ladder([0.5] * 10, even, even < 0.5).table
    assert table.loc[0, "implied"] == pytest.approx(0.5)
    assert table.loc[0, "low"] < 0.45 + 0.01
    assert table.loc[0, "high"] > 0.55 - 0.01


def test_who_never_switches_shows_a_bound_and_who_guesses_shows_nothing():
    even = np.tile(np.arange(0.05, 1, 0.1), 2)
    stated = np.repeat([0.2, 0.8], 10)
    always, never = fit_ladder(stated, even, [True] * 20), fit_ladder(stated, even, [False] * 20)
    assert set(always.table["status"]) == {ABOVE}
    assert set(never.table["status"]) == {BELOW}
    assert (always.table["high"] == 1).all()
    assert always.table["low"].min() > 0.5
    assert never.table["high"].max() < 0.5
    guesses = fit_ladder(stated, even, np.arange(20) % 3 == 0)
    assert set(guesses.table["status"]) == {FLAT}
    assert guesses.table[["low", "high"]].to_numpy().tolist() == [[0, 1], [0, 1]]
    assert guesses.table["implied"].isna().all()


def test_ladder_refuses_certain_chances():
    with pytest.raises(InputError, match="break_even must lie strictly between 0 and 1; 1 do not"):
        fit_ladder([0.5, 0.5], [0.0, 0.5], [True, False])


# Answers and scores of whole tables


@pytest.fixture(scope="module")
def questions():
    items = default_items()
    splits = ["dev", "test"]
    tables = [
        value_questions(items, splits=splits, templates=["choice-valuable"]),
        bet_questions(items, splits=splits, modalities=["coin"]),
    ]
    return pd.concat([*tables, ladder_questions(items)], ignore_index=True)


def by_truth(scores):
    return scores.accuracy.set_index(["template", "truth"])


def test_a_maximiser_is_right_and_its_ladder_lies_on_the_diagonal(questions):
    scores = score_bets(questions, simulate_answers("maximiser", questions, sharpness=1e4, rng=0))
    found = by_truth(scores)["accuracy"]
    assert (
        found["coin", "correct"]
        == found["coin", "belief-conditioned"]
        == found["coin", "positive gain"]
        == 1
    )
    # Its scores rise with the gain, and the gain of the right choice differs between bets: no
    # single threshold fits both types.
    assert found["coin", "strict"] <= 0.6
    table = scores.ladders["maximiser", "coin"].table
    assert ((table["low"] <= table["stated"]) & (table["stated"] <= table["high"])).all()


def test_a_value_only_chooser_is_right_about_values_and_half_of_the_bets(questions):
    found = by_truth(
        score_bets(questions, simulate_answers("value-only", questions, sharpness=1e4, rng=0))
    )["accuracy"]
    assert found["choice-valuable", "correct"] == 1
    assert found["coin", "correct"] == 0.5


def test_a_guesser_is_at_chance_under_every_truth(questions):
    found = by_truth(score_bets(questions, simulate_answers("random", questions, rng=5)))
    assert (found["p_exact"] > 0.005).all()
    assert found["chance"].loc["coin"].to_dict() == pytest.approx(
        {
            "correct": 1 / 3,
            "belief-conditioned": 1 / 3,
            "strict": 0.125,
            "positive gain": 0.25,
            "non-negative gain": 0.25,
        }
    )
    assert found["n"].loc["coin"].to_dict()["positive gain"] == 50  # questions of type 1 only


def test_wrong_values_with_bets_that_fit_them_are_rational(questions):
    # An agent that holds every low thing for the more valuable one, and bets accordingly.
    rows = []
    for row in questions[questions["kind"] != "ladder"].itertuples():
        role = "low" if row.kind == "value" else "win" if row.wins == "low" else "none"
        letter = next(name for name in "abc" if getattr(row, f"role_{name}") == role)
        rows.append({"question": row.question, "answer": letter})
    found = by_truth(score_bets(questions, pd.DataFrame(rows)))["accuracy"]
    assert found["choice-valuable", "correct"] == 0
    assert found["coin", "correct"] == 0
    assert found["coin", "belief-conditioned"] == 1


def test_accuracy_does_not_depend_on_the_order_of_rows_or_letters(questions):
    answers = simulate_answers("maximiser", questions, sharpness=3, rng=1)
    reference = score_bets(questions, answers).accuracy
    mixed = questions.sample(frac=1, random_state=1)
    turned = mixed.rename(
        columns={
            f"{name}_{old}": f"{name}_{new}"
            for name in ("option", "role")
            for old, new in ("ab", "bc", "ca")
        }
    )
    names = {
        f"{name}_{old}": f"{name}_{new}"
        for name in ("score", "prob")
        for old, new in ("ab", "bc", "ca")
    }
    found = score_bets(
        turned, answers.sample(frac=1, random_state=2).rename(columns=names)
    ).accuracy
    keys = ["template", "truth"]
    pd.testing.assert_frame_equal(
        found.sort_values(keys, ignore_index=True), reference.sort_values(keys, ignore_index=True)
    )


def test_sets_of_letters_are_scored_as_sets(questions):
    bets = questions[(questions["kind"] == "bet") & (questions["split"] == "test")]
    both = pd.DataFrame({"question": bets["question"], "answer": "a+b"})
    found = by_truth(score_bets(questions, both))["accuracy"]
    # Half the stake on each side gains 14.75 where the high thing is won.
    assert found["coin", "positive gain"] == 1
    assert found["coin", "non-negative gain"] == 0.5
    assert found["coin", "strict"] == found["coin", "correct"] == 0


def test_unread_answers_are_wrong_and_counted(questions):
    values = questions[(questions["kind"] == "value") & (questions["split"] == "test")]
    answers = pd.DataFrame(
        {
            "question": values["question"],
            "answer": ["A", "(a)", "a.", "", "As I see it, a car", "A house."] + ["a"] * 19,
        }
    )
    row = by_truth(score_bets(questions, answers)).loc["choice-valuable", "correct"]
    assert (row["n"], row["n_right"], row["n_unread"], row["n_tied"]) == (25, 23, 1, 2)


def test_unread_answers_are_told_once_per_model_and_counted_in_their_own_rows(questions):
    # One faulty answer to a bet on a low thing: "positive gain" does not ask such bets.
    bets = questions[(questions["kind"] == "bet") & (questions["split"] == "test")]
    said = np.where((bets["wins"] == "low") & (bets["wins"].shift() == "high"), "hm", "a")
    scores = score_bets(questions, pd.DataFrame({"question": bets["question"], "answer": said}))
    unread = int((said == "hm").sum())
    assert 0 < unread < 100
    found = by_truth(scores)["n_unread"]
    assert found["coin", "correct"] == found["coin", "strict"] == unread
    assert found["coin", "positive gain"] == 0
    assert [note for note in scores.notes if "could not be read" in note] == [
        f"model: {unread} of 100 answers on values and bets could not be read and count as wrong."
    ]
    read = pd.DataFrame({"question": bets["question"], "answer": "a"})
    assert not [note for note in score_bets(questions, read).notes if "could not be read" in note]


def perfect_answers(steps):
    roles = np.where(steps["chance"] > steps["break_even"], "win", "none")
    letters = [
        next(name for name in "abc" if row[f"role_{name}"] == role)
        for row, role in zip(steps.to_dict("records"), roles, strict=True)
    ]
    return pd.DataFrame({"question": steps["question"].to_numpy(), "answer": letters})


def test_unread_answers_do_not_move_the_chance_acted_on():
    steps = ladder_questions(default_items())
    answers = perfect_answers(steps)
    whole = score_bets(steps, answers).ladders["model", "coin"].table
    for text in ("I would rather not say", "", "a+b"):
        lost = np.random.default_rng(3).random(len(steps)) < 0.3
        scores = score_bets(steps, answers.assign(answer=np.where(lost, text, answers["answer"])))
        table = scores.ladders["model", "coin"].table
        np.testing.assert_allclose(table["implied"], whole["implied"], atol=0.03)
        assert table["n"].sum() == (~lost).sum()
        assert (
            f"model, coin: {lost.sum()} of {len(steps)} ladder answers have no single choice and are left out."
            in scores.notes
        )


def test_a_ladder_without_a_single_choice_is_left_out(questions):
    asked_of = questions[questions["kind"] != "value"]
    ladder = asked_of["kind"] == "ladder"
    scores = score_bets(
        questions,
        pd.DataFrame({"question": asked_of["question"], "answer": np.where(ladder, "hm", "a")}),
    )
    assert scores.ladders == {}
    assert "model, coin: no ladder without an answer that has a single choice." in scores.notes


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("b", "b"),
        ("(A)", "a"),
        ("a, c", "ac"),
        ("a and b", "ab"),
        ("abc", None),
        ("a car", None),
        ("", ""),
        (None, ""),
        (float("nan"), ""),
        ("d", None),
    ],
)
def test_letters(text, expected):
    found = read_letters(text, ["x", "y", "z"])
    assert found == (None if expected is None else frozenset(expected))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("**b**", "b"), ('"b"', "b"), ("'b.'", "b"), ("`b`", "b"), ("“b”", "b"), ("Option b", "b"), ("option (b).", "b"), ("b)", "b"), ("(B)", "b"),
        ("The answer is b.", "b"), ("answer: b", "b"), ("**Answer:** b", "b"), ("The answer is: **(b)**", "b"), ("The answer is option b", "b"),
        ("b) I bet on tails.", "b"), ("(b) I bet on tails", "b"), ("b. 'I bet on tails.'", "b"), ("b: I bet on tails", "b"),
        ("Option b - I bet on tails.", "b"), ('"I bet on tails."', "b"), ("'I bet on tails'.", "b"), ("The answer is: I bet on tails.", "b"),
        ("**a** and **c**", "ac"),
        ("b) I bet on heads.", None), ("Option b: I do not bet.", None), ("The answer is b: I bet on heads", None), ("The answer is a or b", None),
        ("The answer is a and b", None), ("Option a or b", None), ("b) a", "ab"), ("b: a", None), ("b I bet on tails", None), ("option", None),
        ("The answer is", None), ("a. I bet on tails or b", None), ("**", None), ("The answer is a car", None), ("answer b", None),
        ("I bet on heads. I bet on tails.", None), ("b) I bet on tails. I bet on heads.", None), ("not b", None), ("option bet", None),
    ],
)  # fmt: skip
def test_letters_in_a_sentence_and_words_in_quotes(text, expected):
    found = read_letters(text, ["I bet on heads.", "I bet on tails.", "I do not bet."])
    assert found == (None if expected is None else frozenset(expected))


def test_words_that_two_options_share_are_no_answer():
    assert read_letters("A car", ["A car.", "'A car.'", "both cost the same."]) is None
    assert read_letters("a", ["A car.", "A car.", ""]) == {"a"}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda t: t.assign(question="coin-tset-001"),
            "answers are to questions that there are not.*Closest name found",
        ),
        (lambda t: pd.concat([t, t]), "must answer a question once"),
        (
            lambda t: t.drop(columns="answer"),
            "need a column 'answer' with letters, or columns score_a",
        ),
        (lambda t: t.drop(columns="question"), "lack the column 'question'"),
        (lambda t: t.head(0), "answers have no rows"),
        (
            lambda t: t.assign(score_a=3.2, score_b=0.1, score_c=0.1),
            "must be in .0, 1.*logistic transform",
        ),
        (lambda t: t.assign(prob_a=0.5, prob_b=0.1, prob_c=0.1), "prob_a to prob_c must sum to 1"),
    ],
)
def test_faulty_answers_are_refused(questions, change, message):
    table = pd.DataFrame({"question": questions["question"].head(3), "answer": "a"})
    with pytest.raises(InputError, match=message):
        join_answers(questions, change(table))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda t: t.drop(columns="stake"), "questions lack the column 'stake'"),
        (lambda t: pd.concat([t, t]), "must have different ids"),
        (
            lambda t: t.assign(kind="wager"),
            "kind must be one of value, bet, ladder; received 'wager'",
        ),
        (lambda t: t.assign(role_a="none"), "role_a to role_c must be"),
    ],
)
def test_faulty_questions_are_refused(questions, change, message):
    with pytest.raises(InputError, match=message):
        join_answers(
            change(questions), pd.DataFrame({"question": ["coin-test-001"], "answer": "a"})
        )


def test_what_is_missing_is_said(questions):
    bets = questions[(questions["kind"] == "bet") & (questions["split"] == "test")]
    answers = simulate_answers("random", bets, rng=0)
    notes = " ".join(score_bets(questions, answers).notes)
    assert (
        "no belief-conditioned accuracy without answers to the value questions 'choice-valuable'"
        in notes
    )
    assert "no threshold for 'strict' without scores of development questions" in notes
    with pytest.raises(InputError, match="no answers to questions of split 'train'"):
        score_bets(questions, answers, split="train")


def test_roles_to_train_on_are_those_of_the_largest_gain(questions):
    bets = questions[questions["kind"] == "bet"]
    assert right_roles(bets) == np.where(bets["wins"] == "high", "win", "none").tolist()
    assert set(right_roles(questions[questions["kind"] == "value"])) == {"high"}
    steps = questions[questions["kind"] == "ladder"]
    assert (
        right_roles(steps)
        == np.where(steps["chance"] > steps["break_even"], "win", "none").tolist()
    )
    assert bet_gains(bets.head(1), swapped=True).tolist() == [[-9.5, -60, -34.75, 0]]


# Runs tables


def test_runs_of_value_beliefs_are_valid_and_mean_what_they_say(questions):
    answers = simulate_answers("maximiser", questions, sharpness=1e4, rng=0)
    runs = belief_runs(join_answers(questions, answers))
    validate_runs(runs)
    assert len(runs) == 200
    # It knows the values, so its belief that the thing to be won is worth more is the truth, and it
    # bets on that.
    assert (runs["p"].round(6) == runs["theta"]).all()
    assert (runs["action"] == np.where(runs["theta"] == 1, "win", "none")).all()
    assert runs.groupby("context")["rep"].apply(sorted).map(tuple).unique().tolist() == [(0, 1)]


def test_half_of_the_same_counts_as_belief(questions):
    values = questions[(questions["kind"] == "value") & (questions["split"] == "test")]
    bets = questions[(questions["kind"] == "bet") & (questions["split"] == "test")]
    same = pd.DataFrame(
        {
            "question": values["question"],
            "prob_a": 0.5,
            "prob_b": 0.1,
            "prob_c": 0.4,
            "score_a": 0.5,
            "score_b": 0.1,
            "score_c": 0.4,
        }
    )
    chosen = pd.DataFrame(
        {
            "question": bets["question"],
            "prob_a": 0.2,
            "prob_b": 0.2,
            "prob_c": 0.6,
            "score_a": 0.2,
            "score_b": 0.2,
            "score_c": 0.6,
        }
    )
    runs = belief_runs(join_answers(questions, pd.concat([same, chosen])))
    assert sorted(runs["p"].round(9).unique()) == [0.3, 0.7]
    assert set(runs["action"]) == {"none"}


def test_runs_of_ladders_are_valid_and_can_be_analysed(questions):
    answers = simulate_answers("maximiser", questions, sharpness=40, rng=0)
    runs = ladder_runs(join_answers(questions, answers), rng=7)
    validate_runs(runs)
    assert (runs["p"] == runs["p_true"]).all()
    # theta is a toss at the stated chance, one per context.
    tossed = runs.drop_duplicates("context")
    assert abs(tossed["theta"].mean() - tossed["p"].mean()) < 4 * math.sqrt(0.25 / len(tossed))
    report = analyze(runs, checks=["monotone_choice"], rng=0)
    assert len(report.results)


def test_runs_without_both_sides_are_empty(questions):
    bets = questions[questions["kind"] == "bet"]
    groups = join_answers(questions, simulate_answers("random", bets, rng=0))
    assert belief_runs(groups).empty
    assert ladder_runs(groups).empty
