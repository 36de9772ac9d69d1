"""Checks take names of columns of a table beside arrays."""

import inspect
import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import coherence
from coherence import AGENTS, CheckResult, InputError, Interval, simulate

RUNS = coherence.simulate("leaky", n_contexts=40, n_reps=2, rng=1)
ROWS = RUNS[RUNS["action"].notna()]
COLUMNS = {"belief": "p", "action": "action", "truth": "theta", "exact": "p_true"}
COLUMNS |= {"context": "context"}
FEW = {"rng": 3, "n_draws": 999, "n_permutations": 99, "n_bootstraps": 99, "n_seeds": 1}
FEW |= {"describe": False}
OPTIONS = {"monotone_choice_test": {"pair": ("yes", "no")}}
CHECKS = [
    name
    for name in coherence.__all__
    if inspect.isfunction(found := getattr(coherence, name))
    and {"belief", "data"} <= {*inspect.signature(found).parameters}
    and name not in ("matching_estimates", "stakes_estimates")  # of rows of two kinds
]


def test_every_check_of_arrays_takes_a_table():
    tests = {name for name in coherence.__all__ if name.endswith("_test")}
    others = {"iterated_expectation_test"}  # of the runs table
    assert tests - {*CHECKS} == others


@pytest.mark.parametrize("name", CHECKS)
def test_columns_give_what_their_arrays_give(name):
    check = getattr(coherence, name)
    takes = inspect.signature(check).parameters
    named = {key: column for key, column in COLUMNS.items() if key in takes}
    options = {key: value for key, value in FEW.items() if key in takes} | OPTIONS.get(name, {})
    by_name = check(**named, data=ROWS, **options)
    by_array = check(**{key: ROWS[column] for key, column in named.items()}, **options)
    both = (
        [each] if isinstance(each, coherence.CheckResult) else each for each in (by_name, by_array)
    )
    for one, other in zip(*both, strict=True):
        assert one.to_row() == pytest.approx(other.to_row(), nan_ok=True)


def test_lists_name_several_columns_and_arrays_may_stand_beside_names():
    table = pd.get_dummies(ROWS["action"], dtype=float).assign(p=ROWS["p"], theta=ROWS["theta"])
    options, policies = (
        {"context": ROWS["context"], "n_draws": 999, "rng": 1},
        ["yes", "no", "defer"],
    )
    test = coherence.sufficiency_test
    named = test("p", policies, "theta", data=table, **options)
    assert named.pvalue == test(table["p"], table[policies], table["theta"], **options).pvalue


def test_what_is_no_column_or_no_table_is_said():
    with pytest.raises(InputError, match=r"truth must have shape \(n,\)"):
        coherence.cmi_test("p", "action", ["theta", "p_true"], data=ROWS)
    with pytest.raises(InputError, match=r"belief must be a column of data; there is no 'P'.*'p'"):
        coherence.sufficiency_test("P", "action", "theta", data=ROWS)
    with pytest.raises(InputError, match=r"truth is the name of a column.*'theta'.*data="):
        coherence.cmi_test(ROWS["p"], ROWS["action"], "theta")
    with pytest.raises(InputError, match=r"data must be .*dict"):
        coherence.sufficiency_test("p", "action", "theta", data={"p": [0.1]})


# CheckResult: flat rows, readable text.


def result(**changes):
    fields = {"check": "cmi", "null": "nothing", "statistic": 0.123456789, "unit": "nats"}
    fields |= {"interval": Interval(0.1, 0.2), "pvalue": 0.01, "n_rows": 10, "n_contexts": 5}
    return CheckResult(**fields | changes)


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ({"statistic": math.nan, "pvalue": math.nan}, "  undefined: too few"),
        ({"statistic": math.nan, "pvalue": None}, "  undefined: too few"),
        ({"statistic": math.nan, "pvalue": 0.0001}, "  effect undefined: too few"),
        ({"pvalue": math.nan}, "  p-value undefined: too few"),
        ({"interval": None}, "  note: too few"),
        ({"interval": None, "pvalue": None}, "  note: too few"),
    ],
)
def test_only_a_missing_number_is_called_undefined(changes, line):
    assert str(result(**changes, reason="too few")).splitlines()[-1] == line


def test_an_interval_ends_where_its_quantity_does():
    assert Interval(-0.66, 2.5, 0.9, "by hand").within(-1, 1) == Interval(-0.66, 1, 0.9, "by hand")
    assert Interval(1.1, 1.2).within(-1, 1) == Interval(1, 1)
    assert Interval(-0.5, 0.5).within(-1, 1) == Interval(-0.5, 0.5)


def test_a_list_of_results_fits_on_a_screen_and_a_notebook_runs_nothing():
    marked = result(check="<script>x</script>", details=pd.DataFrame({"<i>": ["<b>"]}))
    assert len(repr(marked)) < 200
    assert "\n" not in repr(marked)
    page = marked._repr_html_()
    assert not any(tag in page for tag in ("<script>", "<b>", "<i>"))
    assert "&lt;script&gt;x&lt;/script&gt;" in page


def test_what_a_check_of_ones_own_names_among_its_settings_is_its_component():
    named = {"component": "P(a)", "tested": "both"}
    result = CheckResult("mine", "null", 0.1, "probability", None, 0.03, 10, 10, settings=named)
    assert (result.component, result.settings) == ("P(a)", named)
    assert "P(a), adjusted; p is that of both" in result.estimate_note()


# Simulated agents: what they believe, say and do is what their parameters say.


def test_choices_follow_the_softmax_of_the_documented_utilities():
    agent = AGENTS["rational"].with_parameters(taste=0.0, grid=0.0)
    rng = np.random.default_rng(2)
    chosen = agent.choose(np.full(40000, 0.7), np.zeros(40000), np.zeros((40000, 3)), rng)
    weights = np.exp([6 * 0.1, 6 * -0.3, 0.5])
    for action, share in zip(("yes", "no", "defer"), weights / weights.sum(), strict=True):
        assert abs((chosen == action).mean() - share) < 4 * np.sqrt(share * (1 - share) / 40000)
    runs = simulate("rational", n_contexts=200, n_reps=1, iterated=False, rng=0)
    assert set(runs["p"]) <= {round(step / 20, 2) for step in range(21)}  # the grid of reports


def test_weights_lapses_heaps_and_drift_are_those_of_the_parameters():
    rng = np.random.default_rng(1)
    belief, none = np.full(20_000, 0.1), np.zeros((20_000, 3))
    rational, theta = AGENTS["rational"].with_parameters(taste=0.0), np.zeros(20_000)
    # Prelec's weight of .1 at .6 is exp(-(2.302585^.6)).
    weighted = rational.with_parameters(prelec=0.6).policies(belief, theta, none)
    plain = rational.policies(np.full(20_000, np.exp(-(2.302585**0.6))), theta, none)
    assert weighted["yes"][0] == pytest.approx(plain["yes"][0], abs=1e-5)
    greedy = AGENTS["greedy"]
    assert greedy.policies(belief, theta, none)["no"][0] == pytest.approx(0.95 + 0.05 / 3)
    chosen = greedy.choose(belief, theta, none, rng)
    assert np.mean(chosen == "no") == pytest.approx(0.95 + 0.05 / 3, abs=0.005)
    heaped = AGENTS["heaping"].report(rng.uniform(0.4, 0.6, 20_000), "standard", rng)
    tenths = np.isclose(heaped * 10, np.round(heaped * 10))
    assert np.mean(tenths) == pytest.approx(0.75, abs=0.02)  # half, and half of the others
    fine = AGENTS["noisy"].with_parameters(grid=0.0).report(belief, "standard", rng)
    assert len(np.unique(fine)) > len(belief) / 2
    runs = simulate(rational.with_parameters(drift=0.2), n_contexts=400, n_reps=5, rng=1)
    means = runs[runs["z_state"].isna()].groupby("rep")["p"].mean()
    # What ends at 0 and 1 drifts less.
    assert means[4] - means[0] == pytest.approx(0.2, abs=0.02)
    with pytest.raises(InputError, match="prelec must be above 0; received 0"):
        rational.with_parameters(prelec=0)


def test_world_is_exact():
    """Features sum to the log-odds, the state follows, beliefs given z average to the posterior."""
    runs = simulate("rational", n_contexts=4000, n_reps=1, prompts=["standard"], rng=1)
    plain = runs[runs["z_state"].isna()].set_index("context")
    log_odds = plain[[f"x_{j}" for j in range(1, 7)]].sum(axis=1)
    exact = plain["p_true"]
    np.testing.assert_allclose(log_odds, np.log(exact / (1 - exact)), atol=0.004)
    assert stats.kstest(exact, "uniform").pvalue > 0.01
    z = (plain["theta"] - exact).sum() / np.sqrt((exact * (1 - exact)).sum())
    assert abs(z) < 3.3
    with_z = runs[runs["z_state"].notna()]
    averaged = (with_z["p_true"] * with_z["p_z"]).groupby(with_z["context"]).sum()
    np.testing.assert_allclose(averaged, plain["p_true"].loc[averaged.index], atol=1e-9)


def test_what_is_stated_is_an_average_of_what_is_acted_on():
    for name, weight in (("leaky", 1.0), ("shaded", 0.4)):
        agent = AGENTS[name].with_parameters(grid=0.0, taste=0.0)
        assert agent.weight == weight
        runs = simulate(agent, n_contexts=30_000, n_reps=1, prompts=["standard"], rng=2)
        plain = runs[runs["z_state"].isna()].set_index("context")
        gap = (plain["p_true"] - plain["p"]).groupby((10 * plain["p"]).astype(int))
        assert (gap.mean().abs() / gap.sem()).max() < 4
        assert plain["p"].std() < 0.8 * plain["p_true"].std()
        given = runs[runs["z_state"].notna()]
        averaged = (given["p"] * given["p_z"]).groupby(given["context"]).sum()
        np.testing.assert_allclose(averaged, plain["p"].loc[averaged.index], atol=1e-9)
        assert given["p"].between(0, 1).all()
        # At what is acted on, neither the statement nor the state tells anything more.
        acted = plain["p"] + weight * (plain["p_true"] - plain["p"])
        at = acted.between(0.48, 0.52)
        yes = plain["action"][at] == "yes"
        for known in (plain["theta"] == 1, plain["p"] > 0.5):
            shares = yes.groupby(known[at]).mean()
            assert abs(shares[True] - shares[False]) < 0.1
    with pytest.raises(InputError, match="weight must be at most 1; received 2"):
        agent.with_parameters(weight=2)
