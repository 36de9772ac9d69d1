"""The figure of the main test. Breaks if a share, a band or a link stands at another state."""

import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

import coherence
from coherence.plots import plot_state_shares
from coherence.plots.style import action_colours
from coherence.plots.variation import draw_variation
from coherence.statistics.figure_tables import figure_tables, shares_by_state


@pytest.fixture
def found(choices):
    return shares_by_state(choices(actions=("yes", "no"), n_contexts=120))


def of_yes(found):
    return found.table[found.table["action"] == "yes"].reset_index(drop=True)


def test_states_are_drawn_apart_with_their_bands(found, ax, drawn):
    found.table["outside"] = False
    found.table.loc[found.table["action"] == "yes", "outside"] = np.arange(len(of_yes(found))) == 3
    assert plot_state_shares(found, ax=ax) is ax
    table = of_yes(found)
    for state in (0, 1):
        rows = table[table["state"] == state]
        (points,) = drawn(ax, f"state-{state}")
        np.testing.assert_allclose(points.get_offsets()[:, 1], rows["share"])
        bars = sorted(drawn(ax, f"band-{state}"), key=lambda bar: bar.get_x())
        ends = [(bar.get_y(), bar.get_y() + bar.get_height()) for bar in bars]
        np.testing.assert_allclose(ends, rows[["band_low", "band_high"]])
    (ring,) = drawn(ax, "outside")
    assert ring.get_offsets()[:, 1].tolist() == [table.loc[3, "share"]]
    assert ax.get_ylabel() == "share of yes"
    assert ax.get_title(loc="left") == "Share of yes, by realised state"


def test_a_runs_table_and_its_arrays_give_the_same_points(ax, drawn):
    runs = coherence.simulate("leaky", n_contexts=80, n_reps=3, rng=1)
    rows = runs[runs["action"].notna()]
    plot_state_shares(runs, shown="no", ax=ax)
    arrays = rows["p"].to_numpy(), rows["action"].to_numpy(), rows["theta"].to_numpy()
    again = plot_state_shares(*arrays, context=rows["context"].to_numpy(), shown="no")
    for state in (0, 1):
        of_runs, of_arrays = (drawn(each, f"state-{state}")[0] for each in (ax, again))
        np.testing.assert_array_equal(of_runs.get_offsets(), of_arrays.get_offsets())


# What varies: a point a context, and the share of every action

BELIEF = [0.45, 0.46, 0.44, 0.47]
ACTIONS = {"defer": 0.9, "yes": 0.06, "$no$": 0.04}


def varying(truth, of="p_true"):
    figure = Figure(layout="constrained")
    rows = pd.DataFrame({"belief": BELIEF, of: truth, "context": list("abcd")})
    tables = figure_tables(rows).tables
    contexts, bars = tables["contexts"], tables["context_bars"]
    states, ax = ("not ill", "$ill$"), figure.add_subplot()
    ax = draw_variation(contexts, bars, ACTIONS, states=states, ax=ax)
    (cloud,) = [each for each in ax.collections if each.get_gid() == "contexts"]
    return figure, ax, np.asarray(cloud.get_offsets())


def test_a_point_a_context_on_axes_that_do_not_hide_how_little_beliefs_move():
    truth = [0.0, 0.3, 0.6, 0.9]
    figure, ax, points = varying(truth)
    assert np.allclose(points, np.column_stack([truth, BELIEF]))
    assert ax.get_ylim()[1] - ax.get_ylim()[0] > 1
    (beside,) = [ax for ax in figure.axes if ax.texts]
    assert [text.get_text() for text in beside.texts] == ["defer 90.0%", "yes 6.0%", "$no$ 4.0%"]
    bars = [bar for bar in beside.patches if str(bar.get_gid()).startswith("action-")]
    assert [bar.get_width() for bar in bars] == list(ACTIONS.values())
    colours = [action_colours(ACTIONS)[name].lower() for name in ACTIONS]
    assert [to_hex(bar.get_facecolor()) for bar in bars] == colours


def test_realised_states_stand_apart_and_their_contexts_do_not_hide_each_other():
    _, ax, points = varying([0, 1, 1, 0], "truth")
    assert (np.rint(points[:, 0]) == [0, 1, 1, 0]).all()
    assert len(np.unique(points[:, 0])) == 4
    assert [label.get_text() for label in ax.get_xticklabels()] == ["not ill", "$ill$"]
