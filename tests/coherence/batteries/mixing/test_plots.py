"""Figures of the battery: what is drawn where."""

import numpy as np
import pandas as pd
import pytest

from coherence.batteries.mixing.scoring import score_mixing
from coherence.batteries.mixing.simulated import simulate_mixing


def test_refusals_have_a_share_and_a_band_in_tables_and_figures():
    """Of 10 answers at each p two are refused and one cannot be read; the band is what those three
    may have been, drawn where there is any.
    """
    figure_module = pytest.importorskip("matplotlib.figure")
    from coherence.batteries.mixing.plots import plot_rates, plot_words

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
    assert curves["refused"].tolist() == pytest.approx([0.2, 0.2])
    assert curves["unread"].tolist() == pytest.approx([0.3, 0.3])
    assert curves["rate"].tolist() == pytest.approx([2 / 7, 2 / 7])
    assert curves["rate_least"].tolist() == pytest.approx([0.2, 0.2])
    assert curves["rate_most"].tolist() == pytest.approx([0.5, 0.5])

    def drawn(plot, table):
        ax = plot(table, figure_module.Figure().add_subplot())
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
    # A condition with no readable answer has no rate, and a band from 0 to 1.
    lost = (
        (answers["experiment"] == "words")
        & (answers["item"] == answers["item"].iloc[-1])
        & (answers["order"] == "forward")
    )
    curves = score_mixing(
        answers.assign(status=np.where(lost, "refused", "ok")), n_resamples=100, rng=0
    ).curves
    words = curves[curves["part"] == "words"]
    empty = words[words["rate"].isna()]
    assert empty[["rate_least", "rate_most", "refused"]].to_numpy().tolist() == [[0, 1, 1]]
    ax, artists = drawn(plot_words, words)
    assert artists["band-forward"].get_segments()[0][:, 0].tolist() == [0, 1]
    assert "5% refused" in ax.get_xlabel()
