import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from coherence.plots.variation import plot_variation

BELIEF = pd.Series([0.45, 0.46, 0.44, 0.47])
ACTIONS = {"defer": 0.9, "yes": 0.06, "$no$": 0.04}


def drawn(truth, actions):
    figure = Figure(layout="constrained")
    ax = plot_variation(BELIEF, pd.Series(truth), actions, ax=figure.add_subplot())
    return figure, ax


def points(ax):
    (cloud,) = [each for each in ax.collections if each.get_gid() == "contexts"]
    return np.asarray(cloud.get_offsets())


def test_a_point_a_context_on_axes_that_do_not_hide_how_little_beliefs_move():
    truth = [0.0, 0.3, 0.6, 0.9]
    _, ax = drawn(truth, {})
    assert np.allclose(points(ax), np.column_stack([truth, BELIEF]))
    assert ax.get_ylim()[1] - ax.get_ylim()[0] > 1


def test_realised_states_stand_apart_and_their_contexts_do_not_hide_each_other():
    _, ax = drawn([0, 1, 1, 0], {})
    x = points(ax)[:, 0]
    assert (np.rint(x) == [0, 1, 1, 0]).all()
    assert len(np.unique(x)) == 4


def test_the_share_of_every_action_is_written_above_its_bar():
    figure, _ = drawn([0.0, 0.3, 0.6, 0.9], ACTIONS)
    (beside,) = [ax for ax in figure.axes if ax.texts]
    assert [text.get_text() for text in beside.texts] == ["defer 90.0%", "yes 6.0%", "$no$ 4.0%"]
    bars = [bar for bar in beside.patches if str(bar.get_gid()).startswith("action-")]
    assert [bar.get_width() for bar in bars] == list(ACTIONS.values())
