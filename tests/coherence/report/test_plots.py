import numpy as np
import pandas as pd
import pytest

from coherence.report import plots
from coherence.report.figure_svg import render_svg


def test_bins_are_collected_from_both_sides_of_the_pairs(pairs):
    bins = plots.choice_bins(pairs())
    assert bins["bin"].tolist() == [0, 1, 2, 3, 4]
    assert bins["share"].tolist() == [0.10, 0.35, 0.80, 0.45, 0.90]
    assert bins["n"].tolist() == [180, 160, 200, 140, 120]


def test_bars_are_the_intervals_of_the_table_and_no_other(pairs, ax):
    bars = {"low_j": 0.02, "high_j": 0.97, "low_k": 0.02, "high_k": 0.97}
    plots.plot_pairwise_choice(pairs().assign(**bars), ("yes", "no"), ax)
    lines = [line for drawn in ax.collections for line in drawn.get_paths() if len(line) == 2]
    assert {tuple(line.vertices[:, 1]) for line in lines} == {(0.02, 0.97)}


def test_without_intervals_there_are_no_bars(pairs, ax):
    plots.plot_pairwise_choice(pairs(), ("yes", "no"), ax)
    assert len(ax.collections) == 1  # the points


def test_bins_without_choices_are_left_out(pairs):
    details = pairs()
    details.loc[details["bin_j"] == 1, "n_j"] = 0
    details.loc[details["bin_k"] == 1, "n_k"] = 0
    assert plots.choice_bins(details)["bin"].tolist() == [0, 2, 3, 4]


def test_pairwise_choice_marks_exactly_the_significant_reversals(pairs, ax, drawn, ends):
    plots.plot_pairwise_choice(pairs(), ("yes", "no"), ax)
    (points,) = drawn(ax, "bins")
    np.testing.assert_allclose(
        points.get_offsets(), [(0.08, 0.10), (0.29, 0.35), (0.52, 0.80), (0.71, 0.45), (0.93, 0.90)]
    )
    assert points.get_sizes()[2] / points.get_sizes()[4] == pytest.approx(200 / 120)
    (reversal,) = drawn(ax, "reversal")
    assert ends(reversal) == [(0.52, 0.80), (0.71, 0.45)]
    assert reversal.is_dashed()
    assert [ends(line) for line in drawn(ax, "step")] == [
        [(0.08, 0.10), (0.29, 0.35)],
        [(0.29, 0.35), (0.52, 0.80)],
        [(0.71, 0.45), (0.93, 0.90)],
    ]
    assert not any(line.is_dashed() for line in drawn(ax, "step"))


def test_a_reversal_that_chance_explains_is_not_marked(pairs, ax, drawn):
    plots.plot_pairwise_choice(pairs(significant=()), ("yes", "no"), ax)
    assert drawn(ax, "reversal") == []
    assert len(drawn(ax, "step")) == 4
    assert ax.get_legend() is None


def test_a_significant_reversal_over_several_bins_is_drawn_more_lightly(pairs, ax, drawn, ends):
    details = pairs(shares=(0.6, 0.5, 0.4, 0.3, 0.2), significant=((0, 4), (1, 2)))
    plots.plot_pairwise_choice(details, ("yes", "no"), ax)
    far, near = drawn(ax, "reversal")
    assert ends(far) == [(0.08, 0.6), (0.93, 0.2)]
    assert far.get_linewidth() < near.get_linewidth()


def test_each_action_has_its_own_histogram_on_the_common_scale(choices, ax, drawn):
    table = choices()
    plots.plot_belief_histogram(table, ax)
    edges = np.arange(-0.5, 21) / 20
    counts = {
        action: np.histogram(table.loc[table["action"] == action, "belief"], edges)[0]
        for action in ("defer", "no", "yes")
    }
    tallest = max(count.max() for count in counts.values())
    for number, (_, count) in enumerate(counts.items()):
        (stairs,) = drawn(ax, f"action-{number}")
        values, drawn_edges, baseline = stairs.get_data()
        np.testing.assert_allclose(drawn_edges, edges)
        np.testing.assert_allclose(values - baseline, plots._BAR * count / tallest)
    texts = [text.get_text() for text in ax.texts]
    assert texts == [f"{action} (n = {count.sum()})" for action, count in counts.items()]


def test_continuous_beliefs_are_not_cut_in_half_at_the_ends():
    assert plots._histogram_edges(np.linspace(0, 1, 999))[0] == 0.0
    assert plots._histogram_edges(np.array([0.05, 0.15, 0.333]))[0] == -0.025


def test_rare_actions_are_gathered_and_the_order_of_a_categorical_is_kept():
    actions = pd.Categorical([*"zzzyyyxxx", *"wwvvuutsr"], categories=list("zyxwvutsr"))
    labels = plots.action_labels(pd.DataFrame({"action": actions}))
    assert labels.cat.categories.tolist() == ["z", "y", "x", "w", "v", "4 other actions"]
    assert (labels == "4 other actions").sum() == 5


def test_labels_that_look_alike_once_cleaned_stay_apart():
    labels = plots.action_labels(pd.DataFrame({"action": ["yes", "yes\x1b[1m", "yes"]}))
    assert labels.nunique() == 2


def test_mathematics_in_a_label_stays_text(choices, ax):
    plots.plot_belief_histogram(choices(actions=("$x^{", "$$", "\\frac")), ax)
    assert not any(text.get_parse_math() for text in ax.texts)
    svg = render_svg(
        lambda axes: plots.plot_belief_histogram(choices(actions=("$x^{", "$$", "\\frac")), axes),
        key="k",
        title="t",
    )
    assert "$x^{ (n = " in svg
