"""Scores of whole tables: sets, unread answers, what is left out, and several models."""

import itertools
import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from coherence import InputError
from coherence.batteries import crossed_interval, exact_test, score_bets
from coherence.batteries.bets.scores import join_answers, ladder_runs
from coherence.batteries.bets.shown import bets_report
from elicitation.batteries.bets.questions import bet_questions, default_items, value_questions
from tests.api.batteries.bets.conftest import by_truth, simulate_answers


def test_accuracy_does_not_depend_on_the_order_of_rows_or_letters(questions):
    answers = simulate_answers("maximiser", questions, sharpness=3, rng=1)
    reference = score_bets(questions, answers).accuracy
    payout = score_bets(questions.assign(payout=np.nan), answers).accuracy  # then it is the stake
    pd.testing.assert_frame_equal(payout, reference)
    mixed, names = questions.sample(frac=1, random_state=1), ("option", "role", "score", "prob")
    turn = {f"{name}_{old}": f"{name}_{new}" for name in names for old, new in ("ab", "bc", "ca")}
    turned = answers.sample(frac=1, random_state=2).rename(columns=turn)
    scored = score_bets(mixed.rename(columns=turn), turned).accuracy
    # The letters of the best constant answer turn with the options.
    tables = (
        table.sort_values(["template", "truth"], ignore_index=True).drop(columns="constant")
        for table in (scored, reference)
    )
    pd.testing.assert_frame_equal(*tables)


def test_unread_answers_are_wrong_and_counted(questions):
    values = questions[(questions["kind"] == "value") & (questions["split"] == "test")]
    texts = ["A", "(a)", "a.", "", "As I see it, a car", "A house."] + ["a"] * 19
    answers = pd.DataFrame({"question": values["question"], "answer": texts})
    row = by_truth(score_bets(questions, answers)).loc["choice-valuable", "correct"]
    assert (row["n"], row["n_right"], row["n_unread"], row["n_tied"]) == (25, 23, 1, 2)


def answered(questions, roles):
    """Answer every question by the letter of a role."""
    rows, roles = questions.to_dict("records"), np.broadcast_to(roles, len(questions))
    letters = [
        next(letter for letter in "abc" if row[f"role_{letter}"] == role)
        for row, role in zip(rows, roles, strict=True)
    ]
    return pd.DataFrame({"question": questions["question"], "answer": letters})


ITEMS = default_items()


def test_one_question_has_no_variance_and_none_has_no_share():
    values = value_questions(ITEMS, splits=["test"], templates=["choice-valuable"])
    answers = pd.DataFrame({"question": values["question"].head(1), "answer": "a"})
    scores = score_bets(values, answers)
    row = scores.accuracy.iloc[0]
    assert (row["n"], row["n_right"], row["accuracy"]) == (1, 1, 1)
    assert "100.0%" in bets_report(scores)
    assert np.isnan(row[["z", "p_z", "low", "high"]].astype(float)).all()
    assert row["p_exact"] == 1  # who always takes that letter is right as well
    # At other odds a bet between equals has no rational choice: no question is left.
    for chance, counted in ((0.5, 100), (0.4, 0)):
        bets = bet_questions(ITEMS, splits=["test"], modalities=["coin"]).assign(chance=chance)
        both = pd.concat([values, bets], ignore_index=True)
        same = pd.DataFrame({"question": both["question"], "answer": "c"})  # the same; no bet
        rows = score_bets(both, same).accuracy.set_index(["template", "truth"])
        row = rows.loc[("coin", "belief-conditioned")]
        assert (row["n"], row["n_right"], row["n_unread"]) == (counted, counted, 0)
    results = ["accuracy", "chance", "low", "high", "p_exact", "z", "p_z"]
    assert np.isnan(row[results].astype(float)).all()


def test_what_is_missing_is_said(questions):
    bets = questions[(questions["kind"] == "bet") & (questions["split"] == "test")]
    answers = simulate_answers("random", bets, rng=0)
    notes = " ".join(score_bets(questions, answers).notes)
    assert "no belief-conditioned accuracy without answers to the value questions" in notes
    assert "no threshold for 'strict' without scores of development questions" in notes
    dev = questions[questions["split"] == "dev"]
    with pytest.raises(InputError, match="no answers to questions of split 'test'"):
        score_bets(questions, simulate_answers("random", dev, rng=0))


@pytest.fixture(scope="module")
def card_bets():
    return bet_questions(ITEMS, splits=["test"], modalities=["card"])


def test_who_always_declines_is_no_better_than_the_best_constant_answer(card_bets):
    """Half of the bets are rightly declined, which is far above a guess among three choices or
    eight sets."""
    scores = score_bets(card_bets, answered(card_bets, "none"))
    rows = scores.accuracy.set_index("truth")
    assert exact_test(50, np.full(100, 1 / 3)) < 0.001
    assert exact_test(50, np.full(100, 1 / 8)) < 1e-15
    for truth in ("correct", "strict"):
        row = rows.loc[truth]
        assert (row["accuracy"], row["constant"], row["constant_rate"]) == (0.5, "none", 0.5)
        assert row["p_exact"] == pytest.approx(exact_test(50, np.full(100, 0.5)))
        assert row["p_z"] == pytest.approx(0.5)


# Tests and intervals of a share: the paper's p-values, other programs', and coverage.


def test_exact_test_convolves_where_chances_differ():
    pvalue = stats.binomtest(13, 25, 1 / 3, alternative="greater").pvalue
    assert exact_test(13, [1 / 3] * 25) == pytest.approx(pvalue)
    assert pvalue == pytest.approx(0.0415, abs=5e-5)  # the paper's
    chances = [3 / 8, 1 / 8, 3 / 8, 1 / 8]
    for k in range(5):
        by_hand = sum(
            math.prod(p if hit else 1 - p for p, hit in zip(chances, hits, strict=True))
            for hits in itertools.product((0, 1), repeat=4)
            if sum(hits) >= k
        )
        assert exact_test(k, chances) == pytest.approx(by_hand)


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
        wrong = crossed_interval(np.zeros(25 * repeats), high, low)
        assert (wrong.low, wrong.high) == (0.0, pytest.approx(1 - 0.025 ** (1 / 9)))


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
    shrink = (stats.t.ppf(0.975, n - 1) / stats.t.ppf(0.975, freedom)) ** 2
    effective = share * (1 - share) / variance * shrink
    end = stats.beta.ppf(0.025, effective * share, effective * (1 - share) + 1)
    assert interval.low == pytest.approx(end)
    # Where no thing differs from another the variance is that of independent answers.
    even = crossed_interval((high + low) % 2 == 0, high, low)
    independent = stats.binomtest(n // 2, n).proportion_ci()
    assert 1 <= (even.high - even.low) / (independent.high - independent.low) < 1.15


def coverage(share, thing_sd, *, draws, seed, shape=(5, 5, 4)):
    """Share of intervals that hold the expected share of right answers, and the same of intervals
    for independent answers.
    """
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
    assert math.isnan(crossed_interval([True, False], ["car", "car"], ["pen", "sock"]).low)
    ours, binomial = coverage(0.8, 1.0, draws=100, seed=0)
    assert ours >= 0.9
    assert binomial < 0.85


def test_answers_that_differ_within_every_thing_alone_have_the_interval_of_independent_ones():
    """Totals of all things are equal: the variance is p (1 - p) / (n - 1), and no t is needed."""
    high, low = crossed(4, 4, 1)
    interval = crossed_interval((high + low) % 2 == 0, high, low)
    assert (interval.low, interval.high) == pytest.approx(
        (stats.beta.ppf(0.025, 7.5, 8.5), stats.beta.ppf(0.975, 8.5, 7.5))
    )
    assert interval.level == 0.95
    wider = crossed_interval((high + low) % 2 == 0, high, low, level=0.99)
    assert wider.low == pytest.approx(stats.beta.ppf(0.005, 7.5, 8.5))


def test_a_ladder_tells_the_odds_of_its_contexts(questions):
    steps = questions[questions["kind"] == "ladder"]
    groups = join_answers(steps, simulate_answers("maximiser", steps, sharpness=1e6, rng=0))
    runs = ladder_runs(groups, rng=0)
    assert set(runs["task"]) == {"ladder:coin"}
    assert runs["p"].tolist() == steps["chance"].tolist()
    np.testing.assert_allclose(runs["break_even"], steps["break_even"])
    taken = np.where(steps["chance"] > steps["break_even"], "win", "pass")
    assert runs["action"].tolist() == taken.tolist()
    row = steps.iloc[0]
    assert runs["context"].iloc[0] == f"{row['high']} | {row['low']} | p {row['chance']:g}"
    np.testing.assert_allclose(runs["loss"] / (runs["gain"] + runs["loss"]), steps["break_even"])
    assert runs.groupby("context")["theta"].nunique().eq(1).all()
    # Equal seeds toss equal coins.
    pd.testing.assert_frame_equal(runs, ladder_runs(groups, rng=0))
    lost = simulate_answers("maximiser", steps, rng=0).head(1)
    letters = pd.DataFrame({"question": lost["question"], "answer": "hm"})
    (unread,) = ladder_runs(join_answers(steps, letters), rng=0).to_dict("records")
    assert unread["status"] == "unparsed"
    assert pd.isna(unread["action"])
