"""The figure of the main test. Breaks if a share, a band or a link stands at another state."""

import math

import numpy as np
import pandas as pd
import pytest

import coherence
from coherence import CheckResult, InputError, Interval
from coherence.checks.monotone import MonotoneResult
from coherence.plots import plot_forest, plot_pairwise_choice, plot_power, plot_state_shares
from coherence.statistics.figure_tables import calibration_bins
from coherence.statistics.mean_interval import mean_interval


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


# Calibration and its gaps. Breaks if a bin, a gap or an interval is not what calibration has.


@pytest.mark.parametrize("p_true", [False, True])
def test_gaps_are_the_distances_of_the_bins_from_the_diagonal(p_true, choices):
    bins = calibration_bins(choices(p_true=p_true))
    np.testing.assert_allclose(bins["gap"], bins["outcome"] - bins["belief"])
    # Of exact posteriors too: an interval of a share of tosses would be several times as wide.
    for end in ("low", "high"):
        of_gap = (bins[f"gap_{end}"] + bins["belief"]).clip(0, 1)
        np.testing.assert_allclose(of_gap, bins[end])


def test_of_exact_posteriors_the_interval_is_that_of_the_gap_over_contexts():
    rng = np.random.default_rng(1)
    belief = np.repeat([0.2, 0.8], 30)
    gap = rng.normal(0.01, 0.005, 60)
    table = pd.DataFrame({"belief": belief, "p_true": belief + gap, "context": range(60)})
    for rows in (table, pd.concat([table] * 4)):  # asking again adds nothing
        found = calibration_bins(rows, n_bins=2)
        for at, of_bin in enumerate((gap[:30], gap[30:])):
            wanted = mean_interval(of_bin)
            ends = found.loc[at, ["gap_low", "gap_high"]].to_list()
            np.testing.assert_allclose(ends, [wanted.low, wanted.high])


# Effects and ranks. Breaks if a point, an end, a colour or a rank is another evaluation's.


def row(model, effect, interval, pvalue, *, check="cmi"):
    result = CheckResult(check, "", effect, "belief", interval, pvalue, 90, 30, pvalue_holm=pvalue)
    return {"task": "", "model": model, **result.to_row()}


RESULTS = pd.DataFrame(
    [
        row("first", 0.4, Interval(0.2, 0.6), 0.001),
        row("$second$", -0.1, None, 0.3),
        row("third", math.nan, None, math.nan),
    ]
)


def test_effects_stand_below_each_other_in_the_order_given(ax, drawn):
    plot_forest(RESULTS, ax=ax)
    (points,) = drawn(ax, "effects")
    np.testing.assert_allclose(points.get_offsets().filled(np.nan)[:2], [(0.4, 0), (-0.1, 1)])
    filled, hollow = points.get_facecolor()[:2]
    assert hollow.tolist() == [1, 1, 1, 1] != filled.tolist()
    assert [label.get_text() for label in ax.get_yticklabels()] == ["first", "$second$", "third"]
    assert not any(label.get_parse_math() for label in ax.get_yticklabels())
    assert [note.get_text() for note in ax.texts] == ["not estimated"]
    assert ax.texts[0].xy[1] == 2
    assert ax.yaxis_inverted()
    assert ax.get_xlabel() == "effect (belief)"


def test_no_effect_is_in_sight_and_one_check_is_drawn_at_a_time(ax, drawn):
    plot_forest(RESULTS[:1], ax=ax)
    assert len(drawn(ax, "null")) == 1
    assert ax.get_xlim()[0] < 0 < 0.6 < ax.get_xlim()[1]
    both = pd.concat([RESULTS, pd.DataFrame([row("first", 2.0, None, 0.5, check="other")])])
    assert plot_forest(both, check="other").get_title(loc="left") == "other over evaluations"
    with pytest.raises(InputError, match="check must name one check of results; received None"):
        plot_forest(both)
    with pytest.raises(InputError, match="one unit of measurement; received belief and nats"):
        plot_forest(RESULTS.assign(unit=["belief", "belief", "nats"]))


# The figure of monotone choice. Breaks if a reversal, a bar or a label is another bin's.


def result(details):
    fields = ("monotone_choice:yes/no", "", 0.1, "", None, 0.5, 9, 9)
    return MonotoneResult(*fields, pair=["yes", "no"], details=details)


def test_pairwise_choice_marks_exactly_the_significant_reversals(pairs, ax, drawn, ends):
    bars = {"low_j": 0.02, "high_j": 0.97, "low_k": 0.02, "high_k": 0.97}
    plot_pairwise_choice(result(pairs().assign(**bars)), ax=ax)
    (points,) = drawn(ax, "bins")
    shown = [(0.08, 0.10), (0.29, 0.35), (0.52, 0.80), (0.71, 0.45), (0.93, 0.90)]
    np.testing.assert_allclose(points.get_offsets(), shown)
    assert points.get_sizes()[2] / points.get_sizes()[4] == pytest.approx(200 / 120)
    (reversal,) = drawn(ax, "reversal")
    assert ends(reversal) == shown[2:4]
    assert reversal.is_dashed()
    steps = drawn(ax, "step")
    assert [ends(line) for line in steps] == [shown[:2], shown[1:3], shown[3:]]
    assert not any(line.is_dashed() for line in steps)
    # Bars are the intervals of the table and no other.
    lines = [line for drawn in ax.collections for line in drawn.get_paths() if len(line) == 2]
    assert {tuple(line.vertices[:, 1]) for line in lines} == {(0.02, 0.97)}


def test_a_significant_reversal_over_several_bins_is_drawn_more_lightly(pairs, ax, drawn, ends):
    details = pairs(shares=(0.6, 0.5, 0.4, 0.3, 0.2), significant=((0, 4), (1, 2)))
    plot_pairwise_choice(result(details), ax=ax)
    far, near = drawn(ax, "reversal")
    assert ends(far) == [(0.08, 0.6), (0.93, 0.2)]
    assert far.get_linewidth() < near.get_linewidth()


# Power. Breaks if a line has the numbers of another.


def table_of(signal, share):
    columns = {"n_cases": [25, 50, 100], "power": share, "low": np.subtract(share, 0.1)}
    about = {"agent": "agent shaded", "check": "cmi", "signal": signal, "n_reps": 5}
    return pd.DataFrame({**columns, "high": np.add(share, 0.05)}).assign(**about)


def test_power_has_a_line_for_each_signal_through_its_numbers(ax):
    tables = [table_of(0.1, [0.2, 0.4, 0.6]), table_of(0.4, [0.3, 0.5, 0.9])]
    plot_power(pd.concat(tables), ax=ax)
    for line, table in zip(ax.containers, tables, strict=True):
        np.testing.assert_array_equal(line.lines[0].get_xdata(), table["n_cases"])
        np.testing.assert_array_equal(line.lines[0].get_ydata(), table["power"])
        bars = np.array([bar[:, 1] for bar in line.lines[2][0].get_segments()])
        np.testing.assert_allclose(bars, table[["low", "high"]])
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert labels[-2:] == ["signal 0.1", "signal 0.4"]
    heights = {line.get_ydata()[0] for line in ax.get_lines() if len(line.get_ydata()) == 2}
    assert heights == {0.05, 0.8}
