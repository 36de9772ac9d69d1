"""The histograms of beliefs. Breaks if an answer is counted with another action, or twice."""

import numpy as np
import pandas as pd
import pytest

from coherence import InputError
from coherence.plots import plot_beliefs


def test_each_action_has_its_own_histogram_on_the_common_scale(choices, ax, drawn):
    table = choices()
    plot_beliefs(table, ax=ax)
    edges = np.arange(-0.5, 21) / 20
    counts = {
        action: np.histogram(table.loc[table["action"] == action, "belief"], edges)[0]
        for action in ("defer", "no", "yes")
    }
    heights = []
    for number in range(len(counts)):
        (stairs,) = drawn(ax, f"action-{number}")
        values, drawn_edges, baseline = stairs.get_data()
        np.testing.assert_allclose(drawn_edges, edges)
        heights.append(values - baseline)
    expected = np.array([*counts.values()])
    np.testing.assert_allclose(heights / np.max(heights), expected / expected.max())
    texts = [text.get_text() for text in ax.texts]
    assert texts == [f"{action} (n = {count.sum()})" for action, count in counts.items()]


def test_mathematics_in_a_label_stays_text(choices, ax):
    plot_beliefs(choices(actions=("$x^{", "$$", "\\frac")), ax=ax)
    assert not any(text.get_parse_math() for text in ax.texts)


def test_probabilities_of_actions_are_weights():
    policies = pd.DataFrame({"wait": [0.75, 0.0], "treat": [0.25, 1.0]})
    ax = plot_beliefs([0.1, 0.9], policies)
    assert [text.get_text() for text in ax.texts] == ["treat (n = 1.2)", "wait (n = 0.8)"]


def test_other_columns_beside_chosen_actions_are_no_probabilities():
    rows = pd.DataFrame({"belief": [0.1, 0.2, 0.9], "action": ["wait", "wait", "treat"]})
    noted = rows.assign(action_seconds=[1.0, 0.5, 0.25])
    ax = plot_beliefs(noted)
    assert [text.get_text() for text in ax.texts] == ["treat (n = 1)", "wait (n = 2)"]


def test_nothing_to_draw_is_said():
    with pytest.raises(InputError, match="at least one parsed belief"):
        plot_beliefs(pd.DataFrame({"p": [None]}))


def test_beliefs_close_together_have_finer_bars_that_hold_all_of_them(ax, drawn):
    belief = np.concatenate([np.linspace(0.0312, 0.0449, 40), [0.0451]])
    plot_beliefs(belief, ax=ax)
    (stairs,) = drawn(ax, "action-0")
    values, edges, _ = stairs.get_data()
    assert np.count_nonzero(values) >= 10
    np.testing.assert_allclose(np.diff(edges), 0.001)
    assert edges[0] <= belief.min() <= belief.max() <= edges[-1]
    assert ax.get_xlim()[0] < edges[0] < edges[-1] < ax.get_xlim()[1] < 0.05


def test_rare_actions_are_gathered_and_the_order_of_a_categorical_is_kept(ax):
    actions = pd.Categorical([*"zzzyyyxxx", *"wwvvuutsr"], categories=list("zyxwvutsr"))
    plot_beliefs(pd.DataFrame({"belief": 0.5, "action": actions}), ax=ax)
    texts = [text.get_text().split(" (")[0] for text in ax.texts]
    assert texts == ["z", "y", "x", "w", "v", "4 other actions"]
    assert ax.texts[-1].get_text().endswith("(n = 5)")
