"""What is no label of a state or an action, and which column of beliefs is in which state."""

import time

import numpy as np
import pandas as pd
import pytest

from coherence import InputError, analyze, calibration_test, cmi_test, predictive_gain_test
from coherence import sufficiency_test as sufficiency

RNG = np.random.default_rng(1)
N = 300
TRUTH, ACTION = RNG.integers(0, 2, N), RNG.integers(0, 2, N)
BELIEF, POSTERIOR = RNG.random(N).round(2), RNG.random(N)


@pytest.mark.parametrize("test", [sufficiency, cmi_test, predictive_gain_test])
@pytest.mark.parametrize(
    ("arrays", "words"),
    [
        ((TRUTH * 1.0, ACTION, POSTERIOR), "truth holds 300 different numbers"),
        ((BELIEF, ACTION, POSTERIOR), r"from the evidence: exact="),
        ((BELIEF, ACTION, BELIEF.round(1).astype(str)), "truth holds 11 different numbers"),
        ((BELIEF, [f"answer {at}" for at in range(N)], TRUTH), "action holds 300 different labels"),
        ((BELIEF, POSTERIOR, TRUTH), "action must hold names of actions"),
    ],
)
def test_the_order_of_other_programs_is_refused_at_once(test, arrays, words):
    """Breaks if posteriors or forecasts pass for labels: minutes, and then "p = 1"."""
    arrays = [np.asarray(column)[:150] if "labels" in words else column for column in arrays]
    begun = time.process_time()
    with pytest.raises(InputError, match=words.replace("300 different l", "150 different l")[:30]):
        test(*arrays)
    assert time.process_time() - begun < 0.5


@pytest.mark.parametrize(
    ("truth", "refused"),
    [
        (TRUTH * 1.0, False),
        (RNG.choice([0, 0.5, 1.0], N), False),  # lost, drawn, won
        # doses
        (RNG.choice([*"abcdefghijklmnopqrstuvwxyz"], N), False),
        (RNG.integers(0, 5, N) / 4, True),  # posteriors on a coarse grid
        (RNG.choice(["0.05", "0.25", "0.5", "0.75"], N), True),
        (RNG.normal(size=N), True),  # log odds
        (np.arange(N), True),  # ids
    ],
)
def test_what_is_a_label(truth, refused):
    """Breaks if outcomes of one half or doses are refused, or posteriors in steps are not."""
    options = {"positive": truth[0], "rng": 1}
    if not refused:
        sufficiency(BELIEF, np.where(ACTION, "go", "stay"), truth, **options)
        return
    with pytest.raises(InputError, match="order is belief, action, truth"):
        sufficiency(BELIEF, ACTION, truth, **options)


def test_a_table_whose_truth_is_a_posterior_is_refused():
    table = pd.DataFrame({"b": BELIEF, "a": ACTION, "t": POSTERIOR})
    with pytest.raises(InputError, match="follows from the evidence: --exact t"):
        analyze(table, columns={"belief": "b", "action": "a", "truth": "t"})


def test_columns_of_beliefs_are_those_of_labels_by_value():
    """Breaks if "10" comes before "2": Brier 1.04 in place of .80."""
    belief = RNG.dirichlet(np.ones(12), 200)
    outcome = (RNG.random((200, 1)) > belief.cumsum(axis=1)[:, :-1]).sum(axis=1)
    of_numbers = calibration_test(belief, outcome, rng=1)
    of_texts = calibration_test(belief, outcome.astype(str), rng=1)
    assert of_texts.fitted.brier == of_numbers.fitted.brier
    named = [f"state {at}" for at in outcome]
    with pytest.raises(InputError, match="DataFrame whose columns are named so"):
        calibration_test(belief, named)
    states = [f"state {at}" for at in range(12)]
    assert calibration_test(belief, named, states=states).fitted.brier == of_texts.fitted.brier


@pytest.mark.parametrize("test", [sufficiency, cmi_test])
def test_columns_of_beliefs_are_known_by_their_names(test):
    """Breaks if columns are states in the order of the alphabet: -5 points [-12, 2] for 13."""
    names, rng = np.array(["sun", "rain", "snow"]), np.random.default_rng(6)
    belief = rng.dirichlet([1, 1, 1], 150)
    code = np.array([rng.choice(3, p=each) for each in belief])
    action = np.where(rng.random(150) < 0.8, code, rng.integers(0, 3, 150))
    stated = 0.5 * belief + 0.5 * rng.dirichlet([3, 3, 3], 150)
    by_number = test(stated, action, code, rng=1)
    frame = pd.DataFrame(stated, columns=names)
    for named in (frame, frame[["snow", "sun", "rain"]], frame.add_prefix("prob_")):
        assert test(named, action, names[code], rng=1).pvalue == pytest.approx(
            by_number.pvalue, abs=0.02
        )
    with pytest.raises(InputError, match="which column of belief is which state.*DataFrame"):
        test(stated, action, names[code])
    with pytest.raises(InputError, match="truth must hold labels of states; received 'sun'"):
        test(frame.rename(columns={"sun": "fog"}), action, names[code])
    # Of two, the second is in the state that is named, wherever it stands.
    ill = np.where(code == 0, "ill", "well")
    one = test(stated[:, 0], action, ill, positive="ill", rng=1)
    two = pd.DataFrame({"ill": stated[:, 0], "well": 1 - stated[:, 0]})
    for columns in (["ill", "well"], ["well", "ill"]):
        found = test(two[columns], action, ill, positive="ill", rng=1)
        assert (found.statistic, found.pvalue) == (one.statistic, one.pvalue)
