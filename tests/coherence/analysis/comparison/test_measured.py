import numpy as np
import pandas as pd
import pytest

from coherence.analysis.comparison.measured import case_ids, mean_by_context, mean_effect


def test_a_mean_effect_counts_each_case_once(asked, about):
    by_case = pd.Series([0.3, 0.1, 0.2], index=["c", "a", "b"])
    effect = mean_effect("name", "what", lambda answers: by_case)
    answers = about(asked["rational"])
    found = effect.estimate(answers, ["a", "b", "c"], 0)
    assert found.value == pytest.approx(0.2)
    assert found.cases.tolist() == [0.1, 0.2, 0.3]  # in the order of the ids
    assert set(effect.usable(answers)) == {"a", "b", "c"}


def test_a_root_keeps_its_mean_square_below_zero(asked, about):
    by_case = pd.Series([0.3, -0.4, -0.2], index=["a", "b", "c"])
    found = mean_effect("name", "what", lambda answers: by_case, squared=True).estimate(
        about(asked["rational"]), ["a", "b", "c"], 0
    )
    assert found.value == 0
    assert found.cases.mean() == pytest.approx(-0.1)


def test_equal_cases_have_no_interval_and_a_reason(asked, about):
    by_case = pd.Series(0.25, index=list("abc"))
    found = mean_effect("name", "what", lambda answers: by_case).estimate(
        about(asked["rational"]), ["a", "b", "c"], 0
    )
    assert found.interval is None
    assert found.reason == "no interval, because all contexts have the same value"


def test_rows_are_averaged_by_context():
    context = pd.Series(["b", "a", "b"], index=[4, 7, 9])
    means = mean_by_context(np.array([1.0, 5.0, 3.0]), context)
    assert means.to_dict() == {"a": 5.0, "b": 2.0}
    assert case_ids(["b", "a"]).tolist() == ["b", "a"]


def test_answers_about_some_cases_are_read_once(asked, about):
    answers = about(asked["rational"])
    contexts = sorted(set(answers.rows["context"]))
    assert answers.about(contexts) is answers
    part = answers.about(contexts[:20])
    assert set(part.rows["context"]) == set(contexts[:20])
    assert answers.about(contexts[:20]) is part
