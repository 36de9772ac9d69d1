"""Scores of whole tables: ceilings, bounds, what is undefined, and the leaderboard."""

import math

import numpy as np
import pandas as pd
import pytest

from coherence import expected_answers, score_mixing, simulate_mixing
from coherence.batteries.mixing.answers import check_answers, count_checked
from coherence.batteries.mixing.losses import measures_of

TENTHS = np.arange(1, 10) / 10


def step(p, at_half):
    return np.where(np.isclose(p, 0.5), at_half, p > 0.5).astype(float)


@pytest.mark.lengthy
def test_attainable_ceiling_with_a_hundred_answers():
    """From exact binomial sums: E[S] = .123, words 19.15, the whole battery 91.14, of which a
    player of the equilibria gets 80.73.
    """
    scores = score_mixing(simulate_mixing("literal", n_draws=100, rng=0), n_resamples=100, rng=0)
    ceiling = scores.experiments.set_index("experiment")["ceiling"]
    assert 1 - ceiling[1] / 20 == pytest.approx(0.123, abs=0.005)
    assert ceiling[5] == pytest.approx(19.15, abs=0.005)
    assert ceiling[0] == pytest.approx(91.14, abs=0.005)
    player = scores.experiments.set_index("experiment")["equilibrium"]
    assert player[0] == pytest.approx(80.73, abs=0.005)
    # The two differ in the games alone.
    assert player.drop([0, 4]).tolist() == pytest.approx(ceiling.drop([0, 4]).tolist())
    published = [
        score_mixing(simulate_mixing(name, rng=seed), n_resamples=100, rng=0)
        .experiments["published"]
        .iloc[-1]
        for name in ("literal", "ideal")
        for seed in range(4)
    ]
    # The average of four sessions, whose standard error is about .5.
    assert np.mean(published[:4]) == pytest.approx(91.14, abs=2.0)
    assert np.mean(published[4:]) == pytest.approx(80.7, abs=2.0)


def test_the_reference_of_an_ideal_sampler():
    """Reproduces the reference total of 82.7 for an ideal sampler with 100 answers.

    With E[S] = .123 and 19.15 for words, under one reading of it.

    Matching pennies at its solved equilibrium (no points for S, .237 points for direction),
    positioning by the larger payoff every time (luxury from p = .5 on: direction .5625, 2.25
    points), everything else at the rates asked for; with the games' roles exchanged the total is
    the same.
    """
    larger = step(TENTHS, 1.0)

    def published(pennies, positioning):
        table = expected_answers("literal")
        for name, first, rate in (
            ("pennies", "heads", pennies),
            ("positioning", "luxury", positioning),
        ):
            rows = table["experiment"] == name
            chosen = table.loc[rows, "p"].map(dict(zip(TENTHS.round(9), rate, strict=True)))
            table.loc[rows, "probability"] = chosen.where(
                table.loc[rows, "answer"] == first, 1 - chosen
            )
        (parts,) = count_checked(check_answers(table)).values()
        points, losses = {}, {}
        for name, counts in parts.items():
            for measure in measures_of(counts):
                loss = measure.published.expected(
                    counts.shares, np.full(len(counts.conditions), 100.0)
                )
                losses[name, measure.name] = loss
                points[name, measure.name] = measure.points * min(max(1 - loss, 0.0), 1.0)
        return points, losses

    points, losses = published(1 - TENTHS, larger)
    assert losses["flip", "S"] == pytest.approx(0.123, abs=5e-4)
    assert points["words", "position"] + points["words", "preference"] == pytest.approx(
        19.15, abs=5e-3
    )
    assert points["pennies", "S"] == 0
    assert points["pennies", "direction"] == pytest.approx(0.237, abs=5e-4)
    assert points["positioning", "direction"] == pytest.approx(2.25, abs=1e-12)
    assert math.fsum(points.values()) == pytest.approx(82.74, abs=0.005)
    exchanged, _ = published(larger, 1 - TENTHS)
    assert exchanged["pennies", "S"] == 0
    assert math.fsum(exchanged.values()) == pytest.approx(82.74, abs=0.005)


def test_unreadable_answers_leave_the_rates_and_come_back_as_bounds():
    """Of 100 answers at every p ten are refused: rates among the 90 are perfect, and the bounds
    hold every way to fill in the ten.
    """
    rows = [
        ("flip", p, label, "ok", n)
        for p in (0.0, 0.5, 1.0)
        for label, n in (("1", round(90 * p)), ("0", 90 - round(90 * p)))
    ]
    rows += [("flip", p, None, "refused", 10) for p in (0.0, 0.5, 1.0)]
    answers = pd.DataFrame(rows, columns=["experiment", "p", "answer", "status", "count"])
    scores = score_mixing(answers, n_resamples=100, rng=0)
    row = scores.experiments.iloc[0]
    assert row["published"] == 20
    assert row["refused"] == row["unread"] == pytest.approx(0.1)
    assert row["answers"] == 300
    filled = []
    for ones in np.ndindex(11, 11, 11):
        rate = (90 * np.array([0, 0.5, 1]) + ones) / 100
        filled.append(4 * np.trapezoid(np.abs(rate - [0, 0.5, 1]), [0, 0.5, 1]))
    assert row["best"] == pytest.approx(20 * (1 - min(filled)))
    assert row["worst"] == pytest.approx(20 * (1 - max(filled)))


def test_a_condition_without_a_parsed_answer_leaves_its_score_undefined():
    answers = simulate_mixing("ideal", n_draws=5, rng=0)
    empty = (answers["experiment"] == "flip") & (answers["p"] == 0.5)
    scores = score_mixing(
        answers.assign(status=np.where(empty, "refused", "ok")), n_resamples=100, rng=0
    ).experiments.set_index("experiment")
    assert math.isnan(scores.loc[1, "published"])
    assert math.isnan(scores.loc[0, "corrected"])
    assert 0 <= scores.loc[1, "worst"] < scores.loc[1, "best"] <= 20
    assert scores.loc[2, "published"] > 0


@pytest.mark.lengthy
def test_a_single_answer_shows_no_noise_to_take_out():
    """With one parsed answer at one p the ideal sampler would be charged for all of its chance;
    exact rates need no second answer.
    """
    answers = simulate_mixing("ideal", n_draws=5, rng=0)
    middle = (answers["experiment"] == "flip") & (answers["p"] == 0.5)
    lost = middle & (answers.groupby("p").cumcount() > 0)
    for kept, single in (
        (answers[~lost], 1),
        (answers.assign(status=np.where(lost, "refused", "ok")), 1),
        (answers.groupby(["experiment", "p", "item", "order"]).head(1), 98),
    ):
        scores = score_mixing(kept, n_resamples=100, rng=0)
        row = scores.experiments.set_index("experiment").loc[1]
        assert np.isnan(row[["corrected", "low", "high"]].astype(float)).all()
        assert 0 <= row["published"] <= 20
        assert math.isnan(scores.experiments["corrected"].iloc[-1])
        assert sum(int(note.split(" for ")[1].split()[0]) for note in scores.notes) == single
        assert "ideal, one flip: no corrected score" in scores.notes[0]
    whole = score_mixing(answers, n_resamples=100, rng=0)
    assert (
        whole.notes == score_mixing(expected_answers("ideal"), n_resamples=100, rng=0).notes == ()
    )
    assert whole.experiments["corrected"].notna().all()
    pair = score_mixing(
        answers.groupby(["experiment", "p", "item", "order"]).head(2), n_resamples=100, rng=0
    )
    assert pair.experiments["corrected"].notna().all()


@pytest.mark.lengthy
def test_the_order_of_rates_has_no_interval_below_twenty_draws():
    for n_draws, known in ((19, False), (20, True)):
        answers = simulate_mixing("steep", n_draws=n_draws, rng=0)
        measures = score_mixing(answers, n_resamples=100, rng=0).measures.set_index("measure")
        assert measures.loc[["direction"], "loss_low"].notna().all() == known
        assert measures.drop("direction")["loss_low"].notna().all()


def test_the_leaderboard_ranks_by_the_corrected_total():
    answers = pd.concat(
        [simulate_mixing(name, n_draws=20, rng=0) for name in ("first", "ideal", "argmax")]
    )
    answers = pd.concat(
        [
            answers,
            answers[(answers["model"] == "ideal") & (answers["experiment"] == "flip")].assign(
                model="flips only"
            ),
        ]
    )
    board = score_mixing(answers, n_resamples=100, rng=0).leaderboard()
    assert board["model"].tolist() == ["ideal", "argmax", "first", "flips only"]
    assert board["rank"].tolist()[:3] == [1, 2, 3]
    assert math.isnan(board["corrected"].iloc[3])
    assert board["experiment_1"].notna().all()


def test_where_nothing_was_read_any_rate_may_have_been():
    rows = [("flip", 0.2, None, "refused", 3), ("flip", 0.6, "1", "ok", 3)]
    rows += [("flip", 0.6, "0", "ok", 1), ("flip", 0.6, None, "unparsed", 1)]
    table = pd.DataFrame(rows, columns=["experiment", "p", "answer", "status", "count"])
    scores = score_mixing(table, n_resamples=100, rng=0)
    lost, kept = scores.curves.to_dict("records")
    assert math.isnan(lost["rate"])
    assert (lost["rate_least"], lost["rate_most"], lost["draws"]) == (0, 1, 0)
    assert (lost["refused"], lost["unread"]) == (1, 1)
    assert kept["rate"] == 0.75
    assert (kept["rate_least"], kept["rate_most"]) == pytest.approx((0.6, 0.8))
    assert (kept["refused"], kept["unread"], kept["draws"]) == (0, 0.2, 4)
    row = scores.experiments.set_index("experiment").loc[1]
    assert (row["answers"], row["refused"], row["unread"]) == (8, 3 / 8, 0.5)
    assert math.isnan(row["ceiling"])


def test_curves_hold_the_rate_of_every_quantity_with_its_target():
    curves = score_mixing(expected_answers("argmax"), n_resamples=100, rng=0).curves
    flips = curves[curves["part"] == "two_flips"].set_index(["quantity", "p"])
    for quantity, at_half in (("first", 0.5), ("second", 0.5), ("mean", 0.5)):
        rates = flips.loc[quantity, "rate"]
        assert rates.loc[[0.45, 0.5, 0.55]].tolist() == pytest.approx([0, at_half, 1])
        assert flips.loc[quantity, "target"].tolist() == pytest.approx(rates.index.tolist())
    three = curves[curves["part"] == "three_outcomes"].set_index(["quantity", "p"])
    targets = [three.loc[(name, 0.1), "target"] for name in "012"]
    assert targets == pytest.approx([0.1, 0.4, 0.5])
    games = curves[curves["part"] == "pennies"]
    np.testing.assert_allclose(games["optimum"], 1 - games["p"])
    np.testing.assert_allclose(games["target"], games["p"])
    others = curves[~curves["part"].isin(["pennies", "positioning"])]
    np.testing.assert_array_equal(others["optimum"], others["target"])
    assert set(curves.loc[curves["part"] == "words", "quantity"]) == {"first word"}


def test_experiments_are_sums_of_their_measures_and_the_total_of_all():
    scores = score_mixing(simulate_mixing("steep", n_draws=9, rng=2), n_resamples=100, rng=0)
    names = ["points", "published", "ceiling", "equilibrium", "corrected", "worst", "best"]
    rows = scores.experiments.set_index("experiment")
    sums = scores.measures.groupby("experiment")[names].sum()
    np.testing.assert_allclose(rows.loc[[1, 2, 3, 4, 5], names], sums)
    np.testing.assert_allclose(rows.loc[0, names].astype(float), sums.sum())
    assert rows["points"].tolist() == pytest.approx([20] * 5 + [100])
    assert (rows["low"] <= rows["corrected"]).all()
    assert (rows["corrected"] <= rows["high"]).all()
    # A part alone is no experiment, and without all experiments there is no total.
    answers = simulate_mixing("steep", n_draws=9, rng=2)
    some = score_mixing(
        answers[answers["experiment"].isin(["flip", "reads"])], n_resamples=100, rng=0
    ).experiments.set_index("experiment")
    assert some.index.tolist() == [1, 4, 0]
    assert some["points"].tolist() == pytest.approx([20, math.nan, math.nan], nan_ok=True)
    assert some["low"].notna().tolist() == [True, False, False]
    assert some["answers"].tolist() == [21 * 9, 9 * 9, 30 * 9]
