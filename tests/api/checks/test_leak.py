"""evidence_leak_test: what it finds, what it cannot be misled by, what it refuses."""

import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from coherence import AGENTS, analyze, evidence_leak_test, simulate


def answers(seed=1, n_contexts=150, n_reps=3, **changes):
    agent = AGENTS["rational"].with_parameters(**changes)
    runs = simulate(
        agent, n_contexts=n_contexts, n_reps=n_reps, prompts=["standard"], iterated=False, rng=seed
    )
    return runs.assign(truth_kind="drawn")


def test_of(rows, **options):
    arrays = (rows[name] for name in ("p", "action", "theta", "p_true"))
    return evidence_leak_test(*arrays, context=rows["context"], **{"rng": 1, **options})


test_of.__test__ = False


def of_component(result, name):
    return result.details.set_index("component").loc[name]


def test_finds_an_agent_that_sees_the_state_and_none_that_sees_the_evidence():
    leak = test_of(answers(hidden_signal=0.4))
    assert leak.pvalue <= 0.001
    assert leak.settings["component"] == "P(yes | 1) - P(yes | 0)"
    assert 0.1 < leak.interval.low < leak.statistic < leak.interval.high < 0.6
    # Incoherent and wrong, of a choice that turns: but of the state it knows what x says.
    clean = answers(belief_slope=2.0, belief_shift=0.5, report_noise=0.2, peak=0.5)
    assert test_of(clean).pvalue > 0.05


def test_finds_beliefs_that_know_the_state_where_actions_do_not():
    rows = answers()
    told = rows.assign(p=np.clip(rows["p"] + 0.04 * (rows["theta"] - 0.5), 0, 1))
    result = test_of(told)
    assert result.pvalue <= 0.001
    belief = of_component(result, "mean belief, state 1 less 0")
    assert belief["low"] < 0.04 < belief["high"]
    assert belief["pvalue"] < 0.001 < of_component(result, result.settings["component"])["pvalue"]
    one_action = test_of(told.assign(action="yes"))
    assert one_action.pvalue < 0.001
    assert one_action.interval is None
    assert one_action.reason


def test_p_of_one_column_is_that_of_every_state_enumerated():
    """Of two actions and a belief that the posterior settles one statistic is left."""
    n = 12
    rng = np.random.default_rng(4)
    exact = rng.uniform(0.2, 0.8, n)
    state = (rng.random(n) < exact).astype(int)
    share = np.clip(exact + rng.normal(0, 0.1, n) + 0.06 * (state - 0.5), 0, 1)
    policy = pd.DataFrame({"no": 1 - share, "yes": share})
    result = evidence_leak_test(exact, policy, state, exact, n_draws=99_999, rng=1)
    cubic = np.vander(exact, 4)
    left = share - cubic @ np.linalg.lstsq(cubic, share)[0]
    states = (np.arange(2**n)[:, None] >> np.arange(n)) & 1
    chance = np.where(states, exact, 1 - exact).prod(axis=1)
    reached = np.abs((states - exact) @ left) >= np.abs((state - exact) @ left) - 1e-12
    assert result.pvalue == pytest.approx(chance[reached].sum(), abs=0.005)
    slope = np.linalg.lstsq(np.column_stack([cubic, state]), share)[0][-1]
    assert result.statistic == pytest.approx(slope)


@pytest.mark.lengthy
def test_p_is_uniform_where_the_posterior_is_off_by_a_shift_of_log_odds():
    """Breaks without the residuals: states are then not what the draws say."""
    pvalues = []
    for seed in range(150):
        rng = np.random.default_rng(seed)
        exact = rng.uniform(0.02, 0.98, 60)
        right = 1 / (1 + np.exp(-np.log(exact / (1 - exact)) - 1.3))
        state = (rng.random(60) < right).astype(int)
        policy = np.column_stack([1 - exact, exact]) + rng.normal(0, 0.02, 60)[:, None] * [-1, 1]
        policy = np.clip(policy, 0, 1)
        policy /= policy.sum(axis=1, keepdims=True)
        pvalues.append(evidence_leak_test(exact, policy, state, exact, n_draws=99, rng=rng).pvalue)
    rejected = int((np.array(pvalues) <= 0.05).sum())
    assert rejected <= stats.binom.ppf(0.995, len(pvalues), 0.05)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"p_true": lambda rows: 1.0 * rows["theta"]}, "0 contexts with an exact posterior"),
        ({"theta": 1}, "truth is constant (1)"),
        ({"p_true": 0.5, "p": 0.5, "action": "yes"}, "settles actions and beliefs"),
        ({"p_true": lambda rows: 1.0 - rows["theta"].where(rows["context"] == "c0001", 1)},
         "rules out"),
        ({"context": lambda rows: np.arange(len(rows)) // 60, "theta": 1, "p_true": 0.5},
         "fewer than 10"),
    ],
)  # fmt: skip
def test_nothing_to_test_is_said(changes, reason):
    result = test_of(answers(n_contexts=60).assign(**changes))
    assert math.isnan(result.statistic)
    assert math.isnan(result.pvalue)
    assert reason in result.reason


def test_states_that_are_no_draws_from_the_posterior_are_noted():
    rows = answers()
    states = rows.drop_duplicates("context").set_index("context")["theta"]
    mixed = pd.Series(states.sample(frac=1, random_state=0).to_numpy(), states.index)
    result = test_of(rows.assign(theta=rows["context"].map(mixed)))
    assert "do not look like draws" in result.reason
    assert not test_of(rows).reason


@pytest.mark.lengthy
def test_runs_by_itself_where_states_were_drawn_and_elsewhere_by_name():
    rows = answers(hidden_signal=0.4, n_contexts=20)
    light = rows[["context", "rep", "p", "action", "theta", "p_true", "truth_kind"]]
    recorded = light.assign(truth_kind="recorded")

    def checks_of(table, checks=None):
        return set(analyze(table, checks=checks, rng=1).results["check"].str.split(":").str[0])

    assert "evidence_leak" in checks_of(light)
    assert "evidence_leak" not in checks_of(recorded)
    assert checks_of(recorded, ["evidence_leak"]) == {"evidence_leak"}


def test_states_that_a_group_shares_are_not_taken_for_draws_of_their_own():
    """Breaks if rows of a group are tested as cases: .14 of coherent agents were rejected."""
    runs = simulate("rational", n_contexts=60, n_reps=1, rng=1).dropna(subset=["action"])
    place = runs["context"].factorize()[0]
    runs = runs.assign(group=[f"g{at // 3}" for at in place], p_true=0.5)
    own = np.random.default_rng(1).integers(0, 2, 60)[place]
    shared = runs.assign(theta=runs.assign(own=own).groupby("group")["own"].transform("first"))

    def said(table):
        evaluation = analyze(table, checks=["evidence_leak"], rng=1).evaluations[0]
        return len(evaluation.results), " ".join(note.text for note in evaluation.notes)

    n_results, notes = said(shared)
    assert n_results == 0
    assert "Test one context of each group." in notes
    assert said(runs.assign(theta=own))[0] == 1
