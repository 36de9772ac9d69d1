"""The gaps of a layout are those of the check, for every way in which they are known."""

import numpy as np
import pandas as pd
import pytest

from coherence import simulate
from coherence.checks.check import Original
from coherence.checks.iterated import _with_lifted
from coherence.checks.iterated_effect import NAME, effects_of, iterated_effects, layout_of


def of_check(runs):
    found = _with_lifted(runs, reference="standard", n_flips=99, rng=1)
    return {result.check: result.statistic for result in found}


@pytest.mark.parametrize(
    ("agent", "changes"),
    [("noisy", {}), ("rational", {}), ("noisy", {"grid": 0.0}), ("wordbound", {})],
)
def test_statistics_are_those_of_the_check(agent, changes):
    from coherence.agents import AGENTS

    runs = simulate(
        AGENTS[agent].with_parameters(**changes),
        n_contexts=30,
        n_reps=3,
        prompts=["standard"],
        rng=3,
    ).sample(frac=1, random_state=2)
    effects = iterated_effects(runs, Original({}, None), None, reference="standard")
    assert effects == pytest.approx(of_check(runs), abs=1e-6)


def test_computed_beliefs_keep_their_raw_gap():
    runs = simulate("wordbound", n_contexts=30, n_reps=1, prompts=["standard"], rng=3)
    runs["belief_kind"] = "token"
    effects = iterated_effects(runs, Original({}, None), None, reference="standard")
    assert effects == pytest.approx(of_check(runs), abs=1e-6)
    assert effects[f"{NAME}:noise_removed"] > 0.02


def test_what_is_missing_and_in_other_wordings_is_left_out():
    runs = simulate("noisy", n_contexts=40, n_reps=3, prompts=["standard", "mse"], rng=3)
    rng = np.random.default_rng(1)
    runs.loc[rng.random(len(runs)) < 0.1, "p"] = np.nan
    runs.loc[(rng.random(len(runs)) < 0.1) & runs["z_state"].notna(), "p_z"] = np.nan
    effects = iterated_effects(runs, Original({}, None), None, reference="standard")
    assert effects == pytest.approx(of_check(runs), abs=1e-6)


def test_one_layout_serves_tables_with_other_values():
    runs = simulate("noisy", n_contexts=30, n_reps=3, prompts=["standard"], rng=3)
    original = Original({}, None)
    iterated_effects(runs, original, None, reference="standard")
    other = runs.assign(
        p=simulate("noisy", n_contexts=30, n_reps=3, prompts=["standard"], rng=4)["p"]
    )
    effects = iterated_effects(other, original, None, reference="standard")
    assert effects == pytest.approx(of_check(other), abs=1e-6)
    assert list(original.kept) == [NAME]


def test_a_question_that_was_asked_twice_is_left_to_the_check():
    runs = simulate("noisy", n_contexts=30, n_reps=1, prompts=["standard"], rng=3)
    again = runs[runs["z_state"].notna()].iloc[:1]
    twice = pd.concat([runs, again], ignore_index=True)
    assert layout_of(twice, "standard") is None
    assert iterated_effects(twice, Original({}, None), None, reference="standard") is None


def test_shares_that_add_up_to_nothing_leave_no_gap():
    runs = simulate("noisy", n_contexts=30, n_reps=2, prompts=["standard"], rng=3)
    layout = layout_of(runs, "standard")
    share = np.zeros(len(runs))
    assert np.isnan(effects_of(runs["p"].to_numpy(), share, layout)[NAME])
