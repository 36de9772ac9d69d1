import numpy as np
import pandas as pd
import pytest

from coherence.analysis.comparison.effect_ranks import rank_effect
from coherence.analysis.comparison.effects import EFFECTS
from coherence.analysis.comparison.measured import Effect, Estimate, Unfit

CASES = [f"c{number:02d}" for number in range(40)]


def effect_of(values):
    """An effect with values by model; rows of answers hold the name of their model."""

    def of(answers):
        series = values[answers.rows["model"].iloc[0]]
        if isinstance(series, str):
            raise Unfit(series)
        return series

    def estimate(answers, contexts, seed):
        cases = of(answers)[contexts].to_numpy()
        return Estimate(float(cases.mean()), None, cases, "by hand")

    return Effect("calibration:brier", "by hand", lambda answers: of(answers).index, estimate)


@pytest.fixture
def given(about):
    def tables(models):
        rows = {"context": CASES, "p": 0.5, "theta": 0, "prompt": "standard"}
        return {name: about(pd.DataFrame({**rows, "model": name})) for name in models}

    return tables


def noise(seed, mean=0.0):
    return pd.Series(np.random.default_rng(seed).normal(mean, 1, len(CASES)), index=CASES)


def test_models_are_ranked_on_the_cases_that_all_of_them_show(given):
    values = {"a": noise(1), "b": noise(2, 9.0)[5:], "c": noise(3, 5.0)[:35]}
    ranked = rank_effect("t", given("abc"), effect_of(values), 40, 7)
    rows = {row["model"]: row for row in ranked.estimates}
    assert {row["n_contexts"] for row in ranked.estimates} == {30}
    assert rows["b"]["estimate"] == values["b"][CASES[5:35]].mean()
    assert [(rows[m]["rank_low"], rows[m]["rank_high"]) for m in "abc"] == [(1, 1), (3, 3), (2, 2)]
    assert [rows[m]["letters"] for m in "abc"] == ["a", "c", "b"]
    assert "10 of 40 cases left out" in ranked.notes[0]
    by_pair = {(row["model_a"], row["model_b"]): row for row in ranked.differences}
    assert by_pair["a", "c"]["difference"] == pytest.approx(
        (values["a"] - values["c"])[CASES[5:35]].mean()
    )


def test_a_model_that_shows_few_cases_is_left_out_by_name_and_costs_the_others_none(given):
    values = {"a": noise(1), "b": noise(2), "c": noise(3)[:15]}
    ranked = rank_effect("t", given("abc"), effect_of(values), 40, 7)
    lost = ranked.estimates[2]
    assert lost["reason"] == "it can be had in 15 of 40 cases only"
    assert lost["rank_low"] is None
    assert {row["n_contexts"] for row in ranked.estimates[:2]} == {40}
    assert len(ranked.differences) == 1


def test_fewer_than_two_models_are_not_compared_and_the_reasons_said(given):
    values = {"a": noise(1), "b": "it never answers", "c": "it never answers"}
    ranked = rank_effect("t", given("abc"), effect_of(values), 40, 7)
    assert (ranked.estimates, ranked.differences) == ((), ())
    assert ranked.notes == (
        "task 't', calibration:brier: not compared (only 'a' has it; 'b', 'c': it never answers).",
    )
    values["a"] = "it never answers"
    (note,) = rank_effect("", given("abc"), effect_of(values), 40, 7).notes
    assert note == "calibration:brier: not compared (it never answers)."


def test_cases_of_two_halves_leave_too_few_in_common(given):
    values = {"a": noise(1)[:22], "b": noise(2)[18:]}
    (note,) = rank_effect("", given("ab"), effect_of(values), 40, 7).notes
    assert "4 cases that all models show it in are fewer than 10" in note


def test_equal_models_have_a_reason_in_place_of_a_p(given):
    values = {"a": noise(1), "b": noise(1), "c": noise(1) + 1.0}
    ranked = rank_effect("t", given("abc"), effect_of(values), 40, 7)
    first, second, _ = ranked.differences
    assert first["reason"] == "no case differs"
    assert np.isnan(first["pvalue"])
    assert second["reason"] == "all cases differ alike"
    assert second["pvalue"] == 2.0**-39


def test_the_seed_of_folds_is_the_same_for_all_models(asked, about):
    """Else a model would differ from itself."""
    answers = {"one": about(asked["rational"]), "other": about(asked["rational"])}
    ranked = rank_effect("", answers, EFFECTS["residual_covariance"], 100, 3)
    assert ranked.differences[0]["reason"] == "no case differs"
