"""Figures of the battery: what is drawn where."""

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from scipy import stats

from coherence import expected_answers, score_mixing, simulate_mixing
from coherence.batteries.mixing.figures import plot_rates, plot_words


def test_refusals_have_a_share_and_a_band_in_tables_and_figures():
    """Of 10 answers at each p two are refused and one cannot be read; the band is what those three
    may have been, drawn where there is any.
    """
    rows = [
        ("flip", p, label, status, n)
        for p in (0.25, 0.75)
        for label, status, n in (("1", "ok", 2), ("0", "ok", 5), (None, "refused", 2))
    ]
    rows += [("flip", p, None, "unparsed", 1) for p in (0.25, 0.75)]
    curves = score_mixing(
        pd.DataFrame(rows, columns=["experiment", "p", "answer", "status", "count"]),
        n_resamples=100,
        rng=0,
    ).curves

    def drawn(plot, table):
        ax = plot(table, Figure().add_subplot())
        return ax, {artist.get_gid(): artist for artist in ax.get_children() if artist.get_gid()}

    ax, artists = drawn(plot_rates, curves)
    heights = artists["band-1"].get_paths()[0].vertices[:, 1]
    assert (heights.min(), heights.max()) == pytest.approx((0.2, 0.5))
    assert list(artists["refused"].get_ydata()) == pytest.approx([0.2, 0.2])
    assert {"if all were read", "refused"} <= {
        text.get_text() for text in ax.get_legend().get_texts()
    }

    answers = simulate_mixing("ideal", n_draws=4, rng=0)
    whole = score_mixing(answers, n_resamples=100, rng=0).curves
    assert (whole["rate_least"] == whole["rate"]).all()
    assert not {"band-1", "refused"} & set(drawn(plot_rates, whole[whole["part"] == "flip"])[1])
    # A condition with no parsed answer has no rate, and a band from 0 to 1.
    lost = (
        (answers["experiment"] == "words")
        & (answers["item"] == answers["item"].iloc[-1])
        & (answers["order"] == "forward")
    )
    curves = score_mixing(
        answers.assign(status=np.where(lost, "refused", "ok")), n_resamples=100, rng=0
    ).curves
    words = curves[curves["part"] == "words"]
    ax, artists = drawn(plot_words, words)
    assert artists["band-forward"].get_segments()[0][:, 0].tolist() == [0, 1]
    assert "5% refused" in ax.get_xlabel()


def curves_of(agent, part):
    curves = score_mixing(expected_answers(agent), n_resamples=100, rng=0).curves
    return curves[curves["part"] == part]


def axes():
    return Figure().add_subplot()


def artists_of(ax, gid):
    return [artist for artist in ax.get_children() if artist.get_gid() == gid]


def test_rates_of_a_flip_lie_between_the_diagonal_and_a_step():
    curves = curves_of("steep", "flip")
    ax = plot_rates(curves.sample(frac=1, random_state=0), axes())
    (target,), (step,), (rate,) = (artists_of(ax, gid) for gid in ("target", "step", "rate-1"))
    np.testing.assert_array_equal(target.get_xydata(), [[0, 0], [1, 1]])
    np.testing.assert_array_equal(step.get_xydata(), [[0, 0], [0.5, 0], [0.5, 1], [1, 1]])
    p = np.arange(21) / 20
    expected = p**3 / (p**3 + (1 - p) ** 3)
    np.testing.assert_allclose(rate.get_xydata(), np.stack([p, expected], axis=1))
    # Rates that are exact have no intervals.
    assert not [lines for lines in ax.collections if lines.get_gid() is None]
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("probability asked for", "rate in the answers")
    texts = [text.get_text() for text in ax.get_legend().get_texts()]
    assert texts[:3] == ["asked for", "step (S = 1)", "rate of 1"]


def test_rates_of_a_game_are_held_against_its_equilibrium():
    ax = plot_rates(curves_of("ideal", "pennies"), axes())
    (target,), (published,) = artists_of(ax, "target"), artists_of(ax, "published")
    np.testing.assert_array_equal(target.get_xydata(), [[0, 1], [1, 0]])
    np.testing.assert_array_equal(published.get_xydata(), [[0, 0], [1, 1]])
    (rate,) = artists_of(ax, "rate-heads")
    tenths = np.arange(1, 10) / 10
    np.testing.assert_allclose(rate.get_xydata(), np.stack([tenths, 1 - tenths], axis=1))
    assert not artists_of(ax, "step")
    assert ax.get_xlabel() == "parameter of the game"


def test_each_of_three_outcomes_has_a_target_of_its_own():
    ax = plot_rates(curves_of("argmax", "three_outcomes"), axes())
    p = np.arange(7) / 10
    targets = [line.get_ydata() for line in artists_of(ax, "target")]
    np.testing.assert_allclose(targets, [p, np.full(7, 0.4), 0.6 - p], atol=1e-12)
    (middle,) = artists_of(ax, "rate-1")
    # Outcome 1 is likeliest while the others are below .4, and tied where one of them has .4.
    np.testing.assert_allclose(middle.get_ydata(), [0, 0, 0.5, 1, 0.5, 0, 0])
    assert not artists_of(ax, "step")
    assert ax.get_xlabel() == "probability of 0 (that of 1 is .4)"
    texts = [text.get_text() for text in ax.get_legend().get_texts()]
    assert texts == ["rate of 0", "rate of 1", "rate of 2", "asked for"]


def test_drawn_rates_have_wilson_intervals_but_not_the_mean_of_two_flips():
    answers = simulate_mixing("uniform", n_draws=16, rng=0)
    curves = score_mixing(answers, n_resamples=100, rng=0).curves
    ax = plot_rates(curves[curves["part"] == "flip"], axes())
    (intervals,) = ax.collections
    flips = curves[curves["part"] == "flip"].sort_values("p")
    counts = np.rint(flips["rate"] * 16).astype(int)
    expected = [stats.binomtest(k, 16).proportion_ci(0.95, method="wilson") for k in counts]
    ends = np.array([segment[:, 1] for segment in intervals.get_segments()])
    np.testing.assert_allclose(ends, expected, atol=1e-9)
    two = plot_rates(curves[curves["part"] == "two_flips"], axes())
    assert len(two.collections) == 2  # of the first and of the second flip
    (first,), (second,), (mean,) = (
        artists_of(two, f"rate-{name}") for name in ("first", "second", "mean")
    )
    np.testing.assert_allclose(mean.get_ydata(), (first.get_ydata() + second.get_ydata()) / 2)
