"""Which state beliefs are in, for a whole table."""

import re

import numpy as np
import pandas as pd
import pytest

from coherence import InputError, analyze
from coherence.analysis.reading import positive_labels, states_of_tasks
from coherence.checks.catalogue import declaration
from coherence.table.runs import Runs

CALIBRATION, CMI = declaration("calibration"), declaration("cmi")


def answers(first="nein", second="ja", n=200, seed=0):
    """A calibrated agent whose actions follow the belief; p is the probability of `second`."""
    rng = np.random.default_rng(seed)
    belief = rng.uniform(0.05, 0.95, n).round(2)
    happened = rng.random(n) < belief
    return pd.DataFrame(
        {
            "context": np.arange(n),
            "p": belief,
            "action": np.where(rng.random(n) < belief, "go", "stay"),
            "theta": np.where(happened, second, first),
        }
    )


CHECKS = ["residual_covariance", "calibration"]


def numbers(runs, **options):
    results = analyze(runs, checks=CHECKS, rng=1, **options).results
    return results.set_index("check")["statistic"]


@pytest.mark.parametrize(
    ("first", "second"),
    [("nein", "ja"), pytest.param("incorrect", "correct", marks=pytest.mark.lengthy)],
)
def test_p_is_not_reversed_by_the_alphabet(first, second):
    expected = numbers(answers(0, 1))
    assert expected["calibration:brier"] < 0.25
    said = numbers(answers(first, second), positive=second)
    assert said.tolist() == pytest.approx(expected.tolist())
    reverse = numbers(answers(first, second), positive=first)
    assert reverse["calibration:brier"] > 0.3
    assert reverse["residual_covariance"] == pytest.approx(-expected["residual_covariance"])


def test_other_labels_are_refused_with_both_choices():
    message = (
        "theta is 'ja' or 'nein', and nothing says which of the two the belief is in. Name it: "
        "positive='ja' or positive='nein' (--positive ja or --positive nein)."
    )
    with pytest.raises(InputError, match=f"^{re.escape(message)}$"):
        analyze(answers(), rng=1)


@pytest.mark.lengthy
@pytest.mark.parametrize("pair", [(0, 1), ("no", "yes"), ("NO", "Yes"), ("False", "true")])
def test_known_pairs_need_no_word_in_any_case(pair):
    assert numbers(answers(*pair)).tolist() == pytest.approx(numbers(answers(0, 1)).tolist())


@pytest.mark.lengthy
def test_a_check_that_need_not_know_is_run():
    report = analyze(answers(), checks=["cmi"], rng=1)
    assert report.results["statistic"].notna().all()
    (note,) = [note for note in report.units[0].notes if "--positive" in note]
    assert note == (
        "theta is 'ja' or 'nein': nothing says which state p is the probability of "
        "(--positive LABEL), so that beliefs were not compared with it."
    )
    assert report.to_html()
    assert report.settings["positive"] == []


def test_each_task_has_its_word():
    both = pd.concat(
        [answers().assign(task="rain"), answers("miss", "hit", seed=1).assign(task="darts")]
    )
    with pytest.raises(InputError) as error:
        analyze(both, rng=1)
    assert "task 'darts': theta is 'hit' or 'miss'" in str(error.value)
    assert "task 'rain': theta is 'ja' or 'nein'" in str(error.value)
    states = states_of_tasks(Runs(both), ["ja", "hit"], [CALIBRATION])
    assert states == {"darts": (("hit", "miss"), "hit"), "rain": (("ja", "nein"), "ja")}


@pytest.mark.parametrize(
    ("positive", "message"),
    [
        ("jaa", "positive must be a label of theta; received 'jaa'. Closest name found: 'ja'."),
        (["ja", "nein"], "positive must name one state of a task; received 'ja', 'nein'."),
    ],
)
def test_a_word_that_is_no_state_is_refused(positive, message):
    with pytest.raises(InputError, match=re.escape(message)):
        states_of_tasks(Runs(answers().assign(task="")), positive, [CMI])


def test_beliefs_in_three_states_have_no_word():
    table = pd.DataFrame({"task": "", "p_a": [0.2], "p_b": [0.3], "p_c": [0.5], "theta": ["a"]})
    with pytest.raises(InputError, match="there are beliefs in 3 states"):
        states_of_tasks(Runs(table), "a", [CMI])


def test_one_word_or_several_or_none():
    assert positive_labels(None) == []
    assert positive_labels(0) == [0]
    assert positive_labels(("a", None)) == ["a"]
