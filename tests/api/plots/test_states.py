"""The figure of the main test. Breaks if a share, a band or a link stands at another state."""

import numpy as np
import pandas as pd
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

import coherence
from coherence.plots import plot_state_shares
from coherence.plots.beliefs import draw_variation
from coherence.plots.style import action_colours
from coherence.statistics.figure_tables import figure_tables


def test_sides_are_drawn_as_the_test_takes_them_with_the_gap_between(ax, drawn):
    runs = coherence.simulate("leaky", n_contexts=120, n_reps=3, rng=1)
    rows = runs[runs["action"].notna()]
    options = {"exact": "p_true", "context": "context", "data": rows, "rng": 1}
    result = coherence.sufficiency_test("p", "action", **options)
    assert plot_state_shares(result, ax=ax) is ax
    table = result.fitted[result.fitted["action"] == "yes"]
    for side in (0, 1):
        of_side = table[table["state"] == side]
        (points,) = drawn(ax, f"state-{side}")
        np.testing.assert_allclose(points.get_offsets(), of_side[["belief", "share"]])
        assert np.argmax(points.get_sizes()) == np.argmax(of_side["n_contexts"])
    (gap,) = drawn(ax, "gap")
    assert np.ptp(gap.get_paths()[0].vertices[:, 1]) == np.ptp(table["share"])
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert labels == ["gap", "posterior below", "posterior above"]
    assert ax.get_ylabel() == "share of yes"
    assert ax.get_title(loc="left") == "Share of yes at equal belief, by exact posterior"


def test_a_runs_table_its_arrays_and_the_result_give_the_same_points(drawn):
    runs = coherence.simulate("leaky", n_contexts=80, n_reps=3, rng=1)
    rows = runs[runs["action"].notna()]
    arrays = rows["p"].to_numpy(), rows["action"].to_numpy(), rows["theta"].to_numpy()
    context = rows["context"].to_numpy()
    exact = {"exact": rows["p_true"].to_numpy(), "context": context}
    of_exact = coherence.sufficiency_test(*arrays[:2], **exact, rng=4)
    of_truth = coherence.sufficiency_test(*arrays, context=context, rng=4)
    for drawings in (
        (plot_state_shares(runs, shown="no"), plot_state_shares(of_exact, shown="no")),
        (
            plot_state_shares(runs.drop(columns="p_true"), shown="no"),
            plot_state_shares(*arrays, context=context, shown="no"),
            plot_state_shares(of_truth, shown="no"),
        ),
    ):
        for side in (0, 1):
            first, *others = (drawn(each, f"state-{side}")[0].get_offsets() for each in drawings)
            for other in others:
                np.testing.assert_array_equal(other, first)


def test_the_legend_calls_states_as_the_table_does():
    """Breaks if states are "0" and "1" where the file has names for them, or change places."""
    runs = coherence.simulate("leaky", n_contexts=80, n_reps=3, rng=1).drop(columns="p_true")
    rows = runs[runs["action"].notna()]
    words = rows["theta"].map({0: "dry", 1: "flooded"})
    arrays, context = (rows["p"], rows["action"]), rows["context"]
    flooded = {"context": context, "positive": "flooded"}
    for ax, names in (
        (plot_state_shares(runs), ["truth = 0", "truth = 1"]),
        (plot_state_shares(*arrays, words, **flooded), ["dry", "flooded"]),
        (coherence.sufficiency_test(*arrays, words, rng=1, **flooded).plot(), ["dry", "flooded"]),
        (plot_state_shares(*arrays, rows["theta"] == 1), ["truth = False", "truth = True"]),
    ):
        assert [text.get_text() for text in ax.get_legend().get_texts()] == ["gap", *names]
    ax = coherence.plots.plot_calibration(rows["p"], words, context=context, positive="flooded")
    assert ax.get_ylabel() == "share of cases with flooded"


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
