"""Scores of whole tables: ceilings, bounds, intervals, dependence of draws, totals of models."""

import math

import numpy as np
import pandas as pd
import pytest

from coherence.batteries import expected_answers, simulate_mixing
from coherence.batteries.mixing.design import check_answers, count_checked
from coherence.batteries.mixing.losses import measures_of
from coherence.batteries.mixing.shown import mix_report
from tests.api.batteries.mixing.conftest import scored

TENTHS = np.arange(1, 10) / 10


def test_the_reference_of_an_ideal_sampler():
    """The reference total of 82.7 for an ideal sampler with 100 answers, under one reading of it.

    E[S] = .123 and 19.15 for words; matching pennies at its solved equilibrium (no points for S,
    .237 points for direction), positioning by the larger payoff every time (luxury from p = .5 on:
    direction .5625, 2.25 points), everything else at the rates asked for; with the games' roles
    exchanged the total is the same.
    """

    def published(**rates):
        table = expected_answers("literal")
        for name, first in (("pennies", "heads"), ("positioning", "luxury")):
            rows = table["experiment"] == name
            by_p = dict(zip(TENTHS.round(9), rates[name], strict=True))
            chosen = table.loc[rows, "p"].map(by_p)
            first = table.loc[rows, "answer"] == first
            table.loc[rows, "probability"] = chosen.where(first, 1 - chosen)
        (parts,) = count_checked(check_answers(table)).values()
        points, losses = {}, {}
        for name, counts in parts.items():
            n = np.full(len(counts.conditions), 100.0)
            for measure in measures_of(counts):
                loss = losses[name, measure.name] = measure.published.expected(counts.shares, n)
                points[name, measure.name] = measure.points * min(max(1 - loss, 0.0), 1.0)
        return points, losses

    larger = np.where(TENTHS > 0.45, 1.0, 0.0)
    points, losses = published(pennies=1 - TENTHS, positioning=larger)
    assert losses["flip", "S"] == pytest.approx(0.123, abs=5e-4)
    words = points["words", "position"] + points["words", "preference"]
    assert words == pytest.approx(19.15, abs=5e-3)
    assert points["pennies", "S"] == 0
    assert points["pennies", "direction"] == pytest.approx(0.237, abs=5e-4)
    assert points["positioning", "direction"] == pytest.approx(2.25, abs=1e-12)
    assert math.fsum(points.values()) == pytest.approx(82.74, abs=0.005)
    exchanged, _ = published(pennies=larger, positioning=1 - TENTHS)
    assert exchanged["pennies", "S"] == 0
    assert math.fsum(exchanged.values()) == pytest.approx(82.74, abs=0.005)


def test_unreadable_answers_leave_the_rates_and_come_back_as_bounds():
    """Of 100 answers at every p seven are refused and three unread: rates among the 90 are perfect,
    and the bounds hold every way to fill in the ten.
    """
    rows = [
        ("flip", p, label, status, n)
        for p in (0.0, 0.5, 1.0)
        for label, status, n in (
            *(("1", "ok", round(90 * p)), ("0", "ok", 90 - round(90 * p))),
            *((None, "refused", 7), (None, "unparsed", 3)),
        )
    ]
    columns = ["experiment", "p", "answer", "status", "count"]
    row = scored(pd.DataFrame(rows, columns=columns)).experiments.iloc[0]
    assert row["published"] == 20
    assert (row["refused"], row["unread"]) == pytest.approx((0.07, 0.1))
    assert row["answers"] == 300
    p = np.array([0, 0.5, 1])
    rates = [(90 * p + ones) / 100 for ones in np.ndindex(11, 11, 11)]
    filled = [4 * np.trapezoid(np.abs(rate - p), p) for rate in rates]
    assert row["best"] == pytest.approx(20 * (1 - min(filled)))
    assert row["worst"] == pytest.approx(20 * (1 - max(filled)))


def test_curves_hold_the_rate_of_every_quantity_with_its_target():
    curves = scored(expected_answers("argmax")).curves
    flips = curves[curves["part"] == "two_flips"].set_index(["quantity", "p"])
    for quantity in ("first", "second", "mean"):
        rates = flips.loc[quantity, "rate"]
        assert rates.loc[[0.45, 0.5, 0.55]].tolist() == pytest.approx([0, 0.5, 1])
        assert flips.loc[quantity, "target"].tolist() == pytest.approx(rates.index.tolist())
    three = curves[curves["part"] == "three_outcomes"].set_index(["quantity", "p"])
    targets = [three.loc[(name, 0.1), "target"] for name in "012"]
    assert targets == pytest.approx([0.1, 0.4, 0.5])
    games = curves[curves["part"] == "pennies"]
    np.testing.assert_allclose(games["optimum"], 1 - games["p"])
    np.testing.assert_allclose(games["target"], games["p"])
    others = curves[~curves["part"].isin(["pennies", "positioning"])]
    np.testing.assert_array_equal(others["optimum"], others["target"])


def test_experiments_are_sums_of_their_measures_and_the_total_of_all():
    answers = simulate_mixing("steep", n_draws=9, rng=2)
    scores = scored(answers)
    names = ["points", "published", "ceiling", "equilibrium", "corrected", "worst", "best"]
    rows = scores.experiments.set_index("experiment")
    sums = scores.measures.groupby("experiment")[names].sum()
    np.testing.assert_allclose(rows.loc[[1, 2, 3, 4, 5], names], sums)
    np.testing.assert_allclose(rows.loc[0, names].astype(float), sums.sum())
    assert rows["points"].tolist() == pytest.approx([20] * 5 + [100])
    assert (rows["low"] <= rows["corrected"]).all()
    assert (rows["corrected"] <= rows["high"]).all()
    # A part alone is no experiment, and without all experiments there is no total.
    some = scored(answers[answers["experiment"].isin(["flip", "reads"])]).experiments
    assert some["experiment"].tolist() == [1, 4, 0]
    assert some["points"].tolist() == pytest.approx([20, math.nan, math.nan], nan_ok=True)
    assert some["low"].notna().tolist() == [True, False, False]
    assert some["answers"].tolist() == [21 * 9, 9 * 9, 30 * 9]


def test_only_what_was_read_is_a_draw_and_each_model_has_its_own():
    flips = simulate_mixing("steep", n_draws=6, rng=1).query("experiment == 'two_flips'")
    lost = flips["draw"] == 3
    refused = flips.assign(status=np.where(lost, "refused", "ok"))
    two = pd.concat([refused.assign(model="other", answer="1 1"), refused])
    alone, both, twice = (scored(table).dependence for table in (flips[~lost], refused, two))
    pd.testing.assert_frame_equal(alone, both)
    assert alone["pairs"].item() == 21 * 5
    ours = twice[twice["model"] == "steep"].reset_index(drop=True)
    pd.testing.assert_frame_equal(ours, alone)
    # All flips are equal, whatever the order.
    theirs = twice[twice["model"] == "other"]
    assert theirs[["observed", "expected"]].to_numpy().tolist() == [[1, 1]]


def test_a_report_says_of_each_model_what_its_own_report_says():
    flips = [simulate_mixing(name, n_draws=4, rng=1) for name in ("steep", "uniform")]
    flips = [table[table["experiment"].isin(["flip", "two_flips"])] for table in flips]
    lost = flips[0]["draw"] == 3
    flips[0] = flips[0].assign(status=np.where(lost, "refused", "ok"))

    def said(table):
        lines = mix_report(scored(table)).splitlines()
        return [line.partition(", 95%")[0] for line in lines if " given " in line or "S of" in line]

    assert said(pd.concat(flips)) == [line for table in flips for line in said(table)]
    assert len(said(flips[0])) == 2
    assert set(scored(flips[0]).curves["refused"]) == {1 / 4}
