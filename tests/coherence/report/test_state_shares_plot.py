import numpy as np
import pytest

from coherence.report.state_shares_plot import plot_state_shares
from coherence.statistics.state_shares import state_shares


@pytest.fixture
def table(choices):
    rows = choices(actions=("no", "yes"), n_contexts=120)
    found = state_shares(rows["belief"], rows["action"], rows["truth"], context=rows["context"])
    return found.table[found.table["action"] == "yes"].reset_index(drop=True)


def test_states_are_drawn_apart_with_their_bands(table, ax, drawn):
    plot_state_shares(table, ax)
    for state in (0, 1):
        rows = table[table["state"] == state]
        (points,) = drawn(ax, f"state-{state}")
        np.testing.assert_allclose(points.get_offsets()[:, 1], rows["share"])
        bars = sorted(drawn(ax, f"band-{state}"), key=lambda bar: bar.get_x())
        ends = [(bar.get_y(), bar.get_y() + bar.get_height()) for bar in bars]
        np.testing.assert_allclose(ends, rows[["band_low", "band_high"]])
    assert ax.get_ylabel() == "share of yes"


def test_what_lies_outside_is_ringed_and_nothing_else(table, ax, drawn):
    table["outside"] = False
    table.loc[3, "outside"] = True
    plot_state_shares(table, ax)
    (ring,) = drawn(ax, "outside")
    assert ring.get_offsets()[:, 1].tolist() == [table.loc[3, "share"]]


def test_points_are_links_where_they_lead_somewhere(table, ax, drawn):
    plot_state_shares(table.assign(url=[f"a.html#{at}" for at in table.index]), ax)
    (points,) = drawn(ax, "state-1")
    assert points.get_urls() == [f"a.html#{at}" for at in table.index[table["state"] == 1]]


def test_a_label_is_no_mathematics(table, ax):
    plot_state_shares(table.assign(action="$x^2$"), ax)
    assert ax.yaxis.label.get_parse_math() is False
