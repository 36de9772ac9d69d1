"""Ranks beside estimates. Breaks if a model has the ranks or the ends of another."""

import numpy as np
import pandas as pd
import pytest

from coherence import InputError
from coherence.plots import plot_ranks


@pytest.fixture
def estimates():
    return pd.DataFrame(
        {
            "task": "asia",
            "effect": "calibration:rmse",
            "model": ["a", "$b$", "c"],
            "estimate": [0.1, 0.3, np.nan],
            "low": [0.05, np.nan, np.nan],
            "high": [0.2, np.nan, np.nan],
            "rank_low": pd.array([1, 1, None], dtype="Int64"),
            "rank_high": pd.array([1, 2, None], dtype="Int64"),
            "letters": ["a", "ab", ""],
        }
    )


def test_points_ends_and_ranks_stand_in_the_line_of_their_model(estimates, ax):
    plot_ranks(estimates, ax=ax)
    dots = next(line for line in ax.lines if line.get_marker() == "o")
    assert dots.get_xydata().tolist() == [[0.1, 0.0], [0.3, 1.0]]
    (line,) = ax.collections[0].get_segments()
    assert line[:, 0].tolist() == [0.05, 0.2]
    assert [label.get_text() for label in ax.get_yticklabels()] == ["a", "$b$", "c"]
    assert [note.get_text() for note in ax.texts] == ["not estimated"]
    right = next(child for child in ax.child_axes if not child.collections)
    assert [label.get_text() for label in right.get_yticklabels()] == ["1  a", "1–2  ab", ""]


@pytest.mark.parametrize("signed", [True, False])
def test_only_what_may_be_negative_has_a_line_at_nothing(estimates, ax, signed):
    plot_ranks(estimates, signed=signed, ax=ax)
    assert any(line.is_dashed() for line in ax.lines) == signed


def test_one_effect_of_one_task_is_drawn_at_a_time(estimates):
    both = pd.concat([estimates, estimates.assign(effect="unreadable")])
    assert plot_ranks(both, effect="unreadable").get_title(loc="left") == "unreadable"
    with pytest.raises(InputError, match="effect must name one effect of estimates; received None"):
        plot_ranks(both)
    with pytest.raises(InputError, match="estimates must be of one task; received 2"):
        plot_ranks(pd.concat([estimates, estimates.assign(task="other")]))
    with pytest.raises(InputError, match="lacking the columns effect, model"):
        plot_ranks([0.1])
