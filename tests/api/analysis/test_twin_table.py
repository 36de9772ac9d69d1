"""Tables of twins: the rows of the unit, one belief behind all of a context's answers."""

import numpy as np
import pandas as pd
import pytest

from coherence import AGENTS, fit_rational_agent, simulate
from coherence.analysis.evaluation import EvaluationRows
from coherence.analysis.twin_table import TwinTable


def table_of(runs, **options):
    unit = EvaluationRows(runs, **options)
    rows = unit.complete_cases
    agent = fit_rational_agent(
        unit.belief(rows),
        unit.action(rows),
        rows["theta"],
        context=rows["context"],
        positive=unit.positive,
    )
    return TwinTable(unit, agent)


@pytest.fixture(scope="module")
def runs():
    return simulate("noisy", n_contexts=120, n_reps=5, prompts=["standard", "mse"], rng=1)


@pytest.fixture(scope="module")
def twin(runs):
    return table_of(runs).draw(np.random.default_rng(2))


def scatter(rows, by=("context",)):
    return float(np.sqrt(rows.groupby(list(by))["p"].var().mean()))


def test_every_row_is_answered_and_what_was_empty_stays_so(runs, twin):
    assert len(twin) == len(runs)
    for name in ("rep", "prompt", "z", "z_state"):
        pd.testing.assert_series_equal(twin[name], runs[name])
    for name in ("p", "action", "theta", "p_z"):
        assert (twin[name].isna() == runs[name].isna()).all()
    assert twin["theta"].dtype == runs["theta"].dtype
    names = runs.groupby("context", sort=True).ngroup()  # contexts are numbered in their order
    assert (twin["context"] == names).all()
    assert not twin["p"].equals(runs["p"])


def test_another_wording_has_the_same_beliefs_and_its_own_noise(runs, twin):
    plain, drawn = (rows[rows["z_state"].isna()] for rows in (runs, twin))
    for prompt in ("standard", "mse"):
        wanted = scatter(plain[plain["prompt"] == prompt])
        assert scatter(drawn[drawn["prompt"] == prompt]) == pytest.approx(wanted, rel=0.12)
    means = drawn.groupby(["context", "prompt"])["p"].mean().unstack()
    # Means of five reports with noise .13 differ by .13 * sqrt(2 / 5), and by nothing else.
    assert (means["mse"] - means["standard"]).std() == pytest.approx(0.082, rel=0.25)


def test_a_wording_that_shifts_reports_does_not_shift_those_of_twins():
    agent = AGENTS["wordbound"].with_parameters(report_noise=0.1)
    runs = simulate(agent, n_contexts=120, n_reps=3, prompts=["standard", "bayes"], rng=1)
    twin = table_of(runs).draw(np.random.default_rng(2))
    seen, drawn = (
        rows[rows["z_state"].isna()].groupby("prompt")["p"].mean() for rows in (runs, twin)
    )
    assert seen["bayes"] - seen["standard"] > 0.1
    assert drawn["bayes"] - drawn["standard"] == pytest.approx(0, abs=0.02)
    plain = twin[twin["z_state"].isna() & (twin["prompt"] == "bayes")]
    # The shift is not mistaken for noise.
    assert scatter(plain) == pytest.approx(0.095, rel=0.15)


def test_states_and_choices_are_those_of_a_context(twin):
    assert twin.groupby("context")["theta"].nunique().eq(1).all()
    chosen = twin[twin["action"].notna()]
    assert set(chosen["action"]) == {"yes", "no", "defer"}
    high = chosen.groupby("action")["p"].mean()
    assert high["yes"] > high["defer"] > high["no"]


@pytest.mark.lengthy
def test_contexts_without_a_judged_choice_have_the_beliefs_that_they_report():
    runs = simulate("noisy", n_contexts=120, n_reps=5, prompts=["standard", "mse"], rng=1)
    silent = runs["context"] < "c0030"
    runs.loc[silent, "action"] = None
    runs.loc[runs["context"] < "c0010", "theta"] = np.nan
    only_other = silent & (runs["prompt"] == "standard") & (runs["context"] >= "c0020")
    runs.loc[only_other, "p"] = np.nan
    twin = table_of(runs).draw(np.random.default_rng(2))
    for name in ("p", "action", "theta"):
        assert (twin[name].isna() == runs[name].isna()).all()
    few = silent & runs["z_state"].isna()
    means = [rows[few].groupby("context")["p"].mean() for rows in (runs, twin)]
    assert np.corrcoef(*means)[0, 1] > 0.9


def test_a_state_that_is_not_the_one_believed_in_keeps_a_name_of_the_table():
    runs = simulate("noisy", n_contexts=60, n_reps=3, prompts=["standard"], iterated=False, rng=1)
    runs["theta"] = runs["theta"].map({0: "dry", 1: "rain"})
    twin = table_of(runs, positive="rain").draw(np.random.default_rng(2))
    assert set(twin["theta"]) == {"dry", "rain"}
    assert twin.groupby("theta")["p"].mean()["rain"] > 0.5


def test_reports_without_scatter_stay_as_they_are_beside_choices():
    runs = simulate("rational", n_contexts=60, n_reps=3, prompts=["standard", "mse"], rng=1)
    twin = table_of(runs).draw(np.random.default_rng(2))
    plain = runs["z_state"].isna()
    # On one grid a belief is rounded alike under every wording.
    assert twin["p"][plain].to_numpy() == pytest.approx(runs["p"][plain].to_numpy())
    assert scatter(twin[~plain], ("context", "z_state")) == 0


def test_columns_of_two_states_complement_each_other():
    runs = simulate("noisy", n_contexts=60, n_reps=3, prompts=["standard"], iterated=False, rng=1)
    both = runs.assign(p_0=1 - runs["p"], p_1=runs["p"]).drop(columns="p")
    twin = table_of(both).draw(np.random.default_rng(2))
    assert (twin["p_0"] + twin["p_1"]).to_numpy() == pytest.approx(np.ones(len(runs)))
    true = twin.groupby("theta")["p_1"].mean()
    assert true[1] > true[0] + 0.1
