"""The figure of the main test. Breaks if a share, a band or a link stands at another state."""

import numpy as np
import pytest

import coherence
from coherence import InputError
from coherence.plots import plot_state_shares
from coherence.statistics.figure_tables import shares_by_state


@pytest.fixture
def found(choices):
    return shares_by_state(choices(actions=("yes", "no"), n_contexts=120))


def of_yes(found):
    return found.table[found.table["action"] == "yes"].reset_index(drop=True)


def test_states_are_drawn_apart_with_their_bands(found, ax, drawn):
    assert plot_state_shares(found, ax=ax) is ax
    table = of_yes(found)
    for state in (0, 1):
        rows = table[table["state"] == state]
        (points,) = drawn(ax, f"state-{state}")
        np.testing.assert_allclose(points.get_offsets()[:, 1], rows["share"])
        bars = sorted(drawn(ax, f"band-{state}"), key=lambda bar: bar.get_x())
        ends = [(bar.get_y(), bar.get_y() + bar.get_height()) for bar in bars]
        np.testing.assert_allclose(ends, rows[["band_low", "band_high"]])
    assert ax.get_ylabel() == "share of yes"
    assert ax.get_title(loc="left") == "Share of yes, by realised state"


def test_what_lies_outside_is_ringed_and_nothing_else(found, ax, drawn):
    found.table["outside"] = False
    found.table.loc[found.table["action"] == "yes", "outside"] = (
        [False] * 3 + [True] + [False] * (len(of_yes(found)) - 4)
    )
    plot_state_shares(found, ax=ax)
    (ring,) = drawn(ax, "outside")
    assert ring.get_offsets()[:, 1].tolist() == [of_yes(found).loc[3, "share"]]


def test_a_label_is_no_mathematics(choices, ax):
    rows = choices(actions=("yes", "no"), n_contexts=120).replace({"action": {"yes": "$x^2$"}})
    plot_state_shares(rows, title="$y^2$", ax=ax)
    assert ax.get_ylabel() == "share of $x^2$"
    assert ax.yaxis.label.get_parse_math() is False


def test_a_runs_table_and_its_arrays_give_the_same_points(ax, drawn):
    runs = coherence.simulate("leaky", n_contexts=80, n_reps=3, rng=1)
    rows = runs[runs["action"].notna()]
    plot_state_shares(runs, shown="no", ax=ax)
    arrays = rows["p"].to_numpy(), rows["action"].to_numpy(), rows["theta"].to_numpy()
    again = plot_state_shares(*arrays, context=rows["context"].to_numpy(), shown="no")
    for state in (0, 1):
        of_runs, of_arrays = (drawn(each, f"state-{state}")[0] for each in (ax, again))
        np.testing.assert_array_equal(of_runs.get_offsets(), of_arrays.get_offsets())


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"shown": "maybe"}, "shown must be an action; received 'maybe'"),
        ({"truth": None}, "no state is known"),
        ({"action": None}, "no parsed actions"),
        ({"context": np.zeros(120)}, "truth must be constant within a context"),
        ({"data": np.full(120, 85.0)}, "Divide percentages by 100"),
        ({"truth": np.repeat(["rain", "dry"], 60)}, "nothing says which of the two"),
        ({"ax": 3}, "ax must be matplotlib Axes"),
    ],
)
def test_what_cannot_be_drawn_is_said(change, said):
    rng = np.random.default_rng(1)
    belief = rng.uniform(size=120)
    arrays = {"data": belief, "action": rng.integers(2, size=120), "truth": belief > 0.5}
    arrays["truth"] = (rng.uniform(size=120) < belief).astype(int)
    with pytest.raises(InputError, match=said):
        plot_state_shares(**(arrays | change))


def test_small_shares_fill_their_axis_and_no_band_is_cut_off(found, ax, drawn):
    names = ["share", "low", "high", "expected", "band_low", "band_high"]
    found.table[names] *= 0.02
    found.table["belief"] = 0.3 + 0.02 * found.table["belief"]
    plot_state_shares(found, ax=ax)
    values = of_yes(found)[names]
    assert (
        ax.get_ylim()[0] < values.min(axis=None) < values.max(axis=None) < ax.get_ylim()[1] < 0.03
    )
    first, last = ax.get_xlim()
    bars = [*drawn(ax, "band-0"), *drawn(ax, "band-1")]
    for bar in bars:
        assert first < bar.get_x() < bar.get_x() + bar.get_width() < last
        assert bar.get_width() < 0.05 * (last - first)
