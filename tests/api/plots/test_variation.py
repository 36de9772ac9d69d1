import numpy as np
import pandas as pd
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

from coherence.plots.style import action_colours
from coherence.plots.variation import draw_variation
from coherence.statistics.figure_tables import figure_tables

BELIEF = [0.45, 0.46, 0.44, 0.47]
ACTIONS = {"defer": 0.9, "yes": 0.06, "$no$": 0.04}


def drawn(truth, actions, of="p_true"):
    figure = Figure(layout="constrained")
    rows = pd.DataFrame({"belief": BELIEF, of: truth, "context": list("abcd")})
    tables = figure_tables(rows).tables
    contexts, bars = tables["contexts"], tables["context_bars"]
    names = ("not ill", "$ill$")
    ax = draw_variation(contexts, bars, actions, states=names, ax=figure.add_subplot())
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
    _, ax = drawn([0, 1, 1, 0], {}, "truth")
    x = points(ax)[:, 0]
    assert (np.rint(x) == [0, 1, 1, 0]).all()
    assert len(np.unique(x)) == 4
    assert [label.get_text() for label in ax.get_xticklabels()] == ["not ill", "$ill$"]


def test_the_share_of_every_action_is_written_above_its_bar():
    figure, _ = drawn([0.0, 0.3, 0.6, 0.9], ACTIONS)
    (beside,) = [ax for ax in figure.axes if ax.texts]
    assert [text.get_text() for text in beside.texts] == ["defer 90.0%", "yes 6.0%", "$no$ 4.0%"]
    bars = [bar for bar in beside.patches if str(bar.get_gid()).startswith("action-")]
    assert [bar.get_width() for bar in bars] == list(ACTIONS.values())
    assert [to_hex(bar.get_facecolor()) for bar in bars] == [
        action_colours(ACTIONS)[name].lower() for name in ACTIONS
    ]
