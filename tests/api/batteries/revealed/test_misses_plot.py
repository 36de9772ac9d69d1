"""The figure of both ways of asking: breaks if a mark is not at its number."""

import pandas as pd
import pytest
from matplotlib.figure import Figure

from coherence.batteries.revealed.figures import MOST_GROUPS, misses_figure, plot_misses
from coherence.batteries.revealed.scores import ALL, COLUMNS


def misses_of(groups, *, source="m", scenario="dice"):
    row = dict.fromkeys(COLUMNS, 0.1) | {"source": source, "scenario": scenario, "n_settings": 3}
    numbers = {"revealed_miss": 0.2, "revealed_low": 0.1, "revealed_high": 0.3, "stated_miss": 0.4}
    rows = [row | numbers | {"group": group} for group in groups]
    return pd.DataFrame([*rows, row | {"group": ALL, "scenario": ""}])


def test_marks_are_at_their_numbers():
    table = misses_of(["g$1$", "h"])
    ax = plot_misses(table[table["group"] != ALL], Figure().add_subplot())
    intervals, revealed, _, stated, guess = ax.collections
    marks = [points.get_offsets()[:, 0].tolist() for points in (revealed, stated, guess)]
    assert marks == [[0.2, 0.2], [0.4, 0.4], [0.1, 0.1]]
    segments = intervals.get_segments()
    assert [sorted(part[:, 0]) for part in segments] == [[0.1, 0.3]] * 2
    labels = [text.get_text() for text in ax.get_yticklabels()]
    assert labels == ["g$1$ (3)", "h (3)"]
    assert not any(text.get_parse_math() for text in ax.get_yticklabels())


@pytest.mark.parametrize("n_groups", [1, MOST_GROUPS + 7])
def test_a_scenario_has_an_example_and_a_panel_per_source(beliefs, n_groups):
    table = beliefs("s", "a", [0.2, 0.3], [0.25, 0.75])
    groups = [f"g{number}" for number in range(n_groups)]
    misses = pd.concat([misses_of(groups), misses_of(groups, source="other")])
    figure = misses_figure(table, misses)
    drawn = [len(ax.get_yticklabels()) for ax in figure.axes]
    assert drawn[1:] == [min(n_groups, MOST_GROUPS)] * 2
