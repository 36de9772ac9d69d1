"""The histograms of beliefs. Breaks if an answer is counted with another action, or twice."""

import numpy as np
import pandas as pd
import pytest

import coherence
from coherence import CheckResult, InputError, plots
from coherence.checks.monotone import MonotoneResult
from coherence.plots import plot_beliefs
from coherence.plots.beliefs import choices_of
from coherence.statistics.figure_tables import figure_tables
from tests.api.tables import make_choices


def labels(ax):
    return [text.get_text() for text in ax.texts]


def test_each_action_has_its_own_histogram_on_the_common_scale(choices, ax, drawn):
    table = choices()
    plot_beliefs(table, ax=ax)
    edges = np.arange(-0.5, 21) / 20
    heights, expected = [], []
    for number, action in enumerate(("defer", "no", "yes")):
        expected.append(np.histogram(table.loc[table["action"] == action, "belief"], edges)[0])
        (stairs,) = drawn(ax, f"action-{number}")
        values, drawn_edges, baseline = stairs.get_data()
        np.testing.assert_allclose(drawn_edges, edges)
        heights.append(values - baseline)
    np.testing.assert_allclose(heights / np.max(heights), np.array(expected) / np.max(expected))
    counts = zip(("defer", "no", "yes"), expected, strict=True)
    assert labels(ax) == [f"{action} (n = {count.sum()})" for action, count in counts]


def test_mathematics_in_a_label_stays_text(choices, ax):
    plot_beliefs(choices(actions=("$x^{", "$$", "\\frac")), ax=ax)
    assert not any(text.get_parse_math() for text in ax.texts)


def test_probabilities_of_actions_are_weights():
    policies = pd.DataFrame({"wait": [0.75, 0.0], "treat": [0.25, 1.0]})
    assert labels(plot_beliefs([0.1, 0.9], policies)) == ["treat (n = 1.2)", "wait (n = 0.8)"]
    # Other columns beside chosen actions are no probabilities.
    rows = pd.DataFrame({"belief": [0.1, 0.2, 0.9], "action": ["wait", "wait", "treat"]})
    noted = rows.assign(action_seconds=[1.0, 0.5, 0.25])
    assert labels(plot_beliefs(noted)) == ["treat (n = 1)", "wait (n = 2)"]


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
    assert [text.split(" (")[0] for text in labels(ax)] == [*"zyxwv", "4 other actions"]
    assert labels(ax)[-1].endswith("(n = 5)")


@pytest.mark.parametrize("agent", ["leaky", "wordbound"])
def test_a_runs_table_gives_the_rows_of_its_report(agent):
    runs = coherence.simulate(agent, n_contexts=40, n_reps=3, rng=1)
    runs.loc[runs.index[3], ["p", "status"]] = [None, "refused"]
    report = coherence.analyze(runs, checks=["calibration"], rng=1)
    of_report, (of_runs, _) = report.evaluations[0].figures, figure_tables(choices_of(runs))
    assert set(of_report) == set(of_runs)
    for name, table in of_report.items():
        pd.testing.assert_frame_equal(table, of_runs[name])


# Calls of figures that cannot be drawn: the parameter and the remedy are named.


RNG = np.random.default_rng(1)
BELIEF = RNG.random(120)
TRUTH, ACTION = (RNG.random(120) < BELIEF).astype(int), RNG.integers(2, size=120)


def result(check, kind=CheckResult):
    return kind(check, "", 0.1, "", None, 0.5, 9, 9)


def states(data=BELIEF, **changes):
    return plots.plot_state_shares(data, **{"action": ACTION, "truth": TRUTH} | changes)


def beliefs(*arguments):
    return plots.plot_beliefs(*arguments)


CALLS = [
    (lambda: beliefs(pd.DataFrame({"p": [None]})), "at least one parsed belief"),
    (lambda: beliefs(pd.DataFrame({"p_no": [0.1], "p_yes": [0.9]})), "must have a column p"),
    (lambda: beliefs(pd.DataFrame({"p": 0.1, "model": ["a", "b"]})), "2 values of 'model'"),
    (lambda: beliefs(pd.DataFrame({"p": [0.1]}), ["yes"]), "action must be left out beside"),
    (lambda: plots.plot_calibration(make_choices(p_true=False).assign(truth="x")), "be 0 or 1"),
    (lambda: plots.plot_calibration([0.1, 0.4]), "or p_true be known"),
    (lambda: plots.plot_forest(pd.DataFrame({"p": [0.1]})), "lacking the columns check, estimate"),
    (lambda: plots.plot_pairwise_choice(result("a", MonotoneResult)), "must have bins to draw"),
    (lambda: plots.plot_pairwise_choice(result("cmi")), "received cmi"),
    (lambda: plots.plot_power(pd.DataFrame()), "lacking the columns agent, check, signal"),
    (lambda: plots.plot_state_shares(result("cmi")), "sufficiency_test; received a result of cmi"),
    (lambda: states(shown="maybe"), "shown must be an action; received 'maybe'"),
    (lambda: states(truth=np.repeat(["rain", "dry"], 60)), "nothing says which of the two"),
    (lambda: states(truth=None), "no state is known"),
    (lambda: states(action=None), "no parsed actions"),
    (lambda: states(ax=3), "ax must be matplotlib Axes"),
]


@pytest.mark.parametrize(("call", "said"), CALLS)
def test_what_cannot_be_drawn_is_said(call, said):
    with pytest.raises(InputError, match=said):
        call()
