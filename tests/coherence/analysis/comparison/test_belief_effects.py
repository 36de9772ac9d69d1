import numpy as np
import pandas as pd
import pytest

from coherence import prompt_consistency
from coherence.analysis.comparison.belief_effects import (
    calibration_error,
    cases_with_target,
    report_variance,
    squared_error,
    unread_share,
    wording_squares,
)
from coherence.analysis.comparison.measured import Answers, Unfit
from coherence.statistics.bins import belief_bins


def answers_of(**columns):
    table = pd.DataFrame(
        {"context": ["a", "a", "b", "b"], "rep": [0, 1, 0, 1], "p": [0.2, 0.4, 0.9, 0.9]}
        | {"theta": [0, 0, 1, 1], "prompt": "standard", "z_state": None}
        | columns
    )
    return Answers(table, "standard", (), (), None, (0, 1))


def test_errors_are_averaged_within_cases_first():
    squares = squared_error(answers_of(), "theta")
    assert squares["a"] == pytest.approx((0.04 + 0.16) / 2)
    assert squares["b"] == pytest.approx(0.01)
    with pytest.raises(Unfit, match="no p_true"):
        squared_error(answers_of(), "p_true")
    with pytest.raises(Unfit, match="no readable belief"):
        squared_error(answers_of(p=np.nan), "theta")


def test_a_case_counts_once_however_many_of_its_answers_are_lost():
    squares = squared_error(answers_of(p=[0.2, np.nan, 0.9, 0.9]), "theta")
    assert squares.to_dict() == pytest.approx({"a": 0.04, "b": 0.01})
    assert list(cases_with_target(answers_of(p=[np.nan, np.nan, 0.9, 0.9]), "theta")) == ["b"]


def test_beliefs_over_three_states_have_no_such_error():
    table = answers_of().rows.drop(columns="p").assign(p_x=0.2, p_y=0.3, p_z=0.5)
    three = table.rename(columns={"p_z": "p_w"}).assign(theta=["x", "x", "y", "y"])
    answers = Answers(three, "standard", (), (), None, ("x", "y"))
    with pytest.raises(Unfit, match="more than two states"):
        squared_error(answers, "theta")
    # Scatter and readability they have.
    assert report_variance(answers).tolist() == [0.0, 0.0]
    assert unread_share(answers).tolist() == [0.0, 0.0]


def test_reports_scatter_by_their_variance_within_cases():
    variance = report_variance(answers_of())
    assert variance.to_dict() == pytest.approx({"a": 0.02, "b": 0.0})
    once = answers_of(context=list("abcd"))
    with pytest.raises(Unfit, match="not repeated"):
        report_variance(once)
    computed = answers_of(context=list("abcd"), belief_kind="stated:exact")
    assert report_variance(computed).tolist() == [0.0] * 4


def test_answers_are_counted_as_unread_by_their_status():
    lost = answers_of(status=["ok", "refused", "ok", "repaired:percent"])
    assert unread_share(lost).to_dict() == {"a": 0.5, "b": 0.0}
    without_status = answers_of(p=[0.2, np.nan, np.nan, np.nan])
    assert unread_share(without_status).to_dict() == {"a": 0.5, "b": 1.0}


def test_wordings_are_pooled_as_the_check_pools_them(asked, about):
    runs = asked["wordbound"]
    plain = runs[runs["z_state"].isna()]
    squares = wording_squares(about(runs))
    assert np.sqrt(squares.mean()) == pytest.approx(prompt_consistency(plain).statistic)
    with pytest.raises(Unfit, match="no other wording"):
        wording_squares(answers_of())


def test_pseudo_values_of_the_calibration_error_are_those_of_the_jackknife(asked, about):
    """Recomputed case by case: n times the square less n - 1 times that without the case."""
    answers = about(asked["heaping"])
    found = calibration_error(answers, 0, "theta")
    unit = answers.unit
    belief, aim = unit.belief(unit.stated), unit.state.to_numpy()
    context = unit.stated["context"].to_numpy()
    bins = belief_bins(belief, 10)

    def square(kept):
        total = 0.0
        for code in np.unique(bins):
            inside = kept & (bins == code)
            total += (belief - aim)[inside].sum() ** 2 / max(inside.sum(), 1)
        return total / kept.sum()

    every = np.ones(len(belief), dtype=bool)
    n = len(found.cases)
    first = n * square(every) - (n - 1) * square(context != sorted(set(context))[0])
    assert found.cases[0] == pytest.approx(first, abs=1e-9)
