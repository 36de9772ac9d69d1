"""The one list of checks: declarations, the command, and what they need."""

import math
import subprocess
import sys
import time
from functools import cache, partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import coherence
from coherence import (
    InputError,
    analyze,
    calibration_test,
    cmi_test,
    monotone_choice_test,
    predictive_gain_test,
    simulate,
    sufficiency_test,
)
from coherence import sufficiency_test as sufficiency
from coherence.checks import CHECKS
from coherence.checks.check import declarations, interpretation_of

ROOT = Path(__file__).parents[3]


def test_tests_say_both_outcomes_and_everything_says_something():
    for check in declarations():
        for sentences in check.sentences.values():
            assert bool(sentences.rejected) == bool(sentences.nominal)
            assert sentences.rejected or sentences.estimate or sentences.words


def test_the_command_lists_them_without_loading_them():
    code = (
        "import sys; from coherence.cli.main import main; main(['analyze', '--help']); "
        "sys.stderr.write(str([m for m in sys.modules if m.startswith('scipy')]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True
    )
    assert ", ".join(CHECKS) in " ".join(done.stdout.split())
    assert done.stderr.strip() == "[]"


@pytest.mark.lengthy
def test_every_result_of_an_analysis_is_declared():
    runs = simulate("noisy", n_contexts=20, n_reps=2, rng=0)
    checks = [name for name in CHECKS if name != "predictive_gain"]
    for published in (False, True):
        for name in analyze(runs, checks=checks, published=published, rng=0).results["check"]:
            assert interpretation_of(name)


# What says nothing about coherence moves no number of a check.


RUNS = coherence.simulate(
    "leaky", n_contexts=60, n_reps=3, prompts=["standard"], iterated=False, rng=1
)


def result_of(test, belief, action, truth, context, *, turned=False):
    options = {"context": context, "rng": 2}
    if test == "cmi":
        return coherence.cmi_test(belief, action, truth, n_permutations=199, **options)
    if test == "monotone":
        pair = ("do sey", "do on") if turned else ("yes", "no")
        return coherence.monotone_choice_test(belief, action, pair=pair, n_draws=199, **options)
    options |= {"positive": "a"} if turned else {}
    return coherence.sufficiency_test(belief, action, truth, n_draws=199, **options)


@pytest.mark.parametrize("test", ["cmi", "sufficiency", "monotone"])
def test_names_labels_the_order_of_rows_and_the_way_in_which_a_belief_is_written(test):
    belief, action, truth, context = (RUNS[name] for name in ("p", "action", "theta", "context"))
    belief, truth, context = belief.to_numpy(), truth.to_numpy(), context.to_numpy()
    first = result_of(test, belief, action, truth, context)
    order = np.random.default_rng(0).permutation(len(context))
    half = np.random.default_rng(1).random(len(context)) < 0.5
    other = result_of(
        test,
        np.where(half, 1 - (1 - belief), belief)[order],
        np.array([f"do {name[::-1]}" for name in action])[order],
        np.where(truth == 1, "a", "z")[order],
        np.array([f"{name}"[::-1] for name in context])[order],
        turned=True,
    )
    assert other.statistic == pytest.approx(first.statistic, abs=1e-9)
    assert other.pvalue == first.pvalue
    if first.interval is not None:
        assert other.interval.high == pytest.approx(first.interval.high, abs=1e-9)
    paired = np.stack([1 - belief, belief], axis=1)
    if test in ("cmi", "sufficiency"):
        alike = result_of(test, paired, action, truth, context)
        assert (alike.statistic, alike.pvalue) == (first.statistic, first.pvalue)


OF_TABLES = {
    "consistency": lambda runs: coherence.prompt_consistency(runs, rng=1),
    "iterated": lambda runs: coherence.iterated_expectation_test(runs, rng=1),
}


@pytest.mark.parametrize("check", OF_TABLES)
def test_rows_come_in_any_order_and_contexts_have_any_name(check):
    runs = coherence.simulate("noisy", n_contexts=60, n_reps=5, rng=1)
    mixed = runs.sample(frac=1, random_state=1)
    other = mixed.assign(context=mixed["context"].str[::-1].astype("category"))
    first, second = OF_TABLES[check](runs), OF_TABLES[check](other)
    assert second.statistic == pytest.approx(first.statistic, abs=1e-6, nan_ok=True)
    assert second.reason == first.reason
    if first.interval is not None:  # of other draws, as is the p-value, where there are any
        assert second.interval.high == pytest.approx(first.interval.high, abs=0.02)
    if first.pvalue is not None:
        assert second.pvalue == pytest.approx(first.pvalue, abs=0.02, nan_ok=True)


# What is no label of a state or an action, and which column of beliefs is in which state.


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


# Data that leave nothing to test: no number is made up, and the reason is said.


OF_TRUTH = [cmi_test, sufficiency_test, predictive_gain_test]
OF_CHOICE = [partial(monotone_choice_test, pair=("yes", "no"))]
ONE_ACTION, ONE_STATE, ONE_BELIEF = (
    {"action": ["yes"] * 40},
    {"truth": [1] * 40},
    {"belief": [0.5] * 40},
)
CASES = [(OF_TRUTH, ONE_ACTION, "only one action"), (OF_TRUTH, ONE_STATE, "constant (1)")]
CASES += [(OF_CHOICE, ONE_ACTION, "only "), (OF_CHOICE, ONE_BELIEF, "fewer than two belief bins")]
CASES += [(OF_CHOICE, {"context": np.arange(40) // 10}, "fewer than 10")]


@pytest.mark.parametrize(("tests", "changes", "reason"), CASES)
def test_data_that_do_not_vary_give_no_number_and_a_reason(tests, changes, reason):
    table = {"belief": np.linspace(0, 1, 40), "action": ["yes", "no"] * 20} | changes
    truth = {"truth": np.random.default_rng(0).integers(0, 2, 40)} if tests is OF_TRUTH else {}
    for test in tests:
        found = test(**truth | table)
        assert math.isnan(found.statistic)
        assert math.isnan(found.pvalue)
        assert reason in found.reason


@pytest.mark.parametrize("n_seen", [2, 3])
def test_beliefs_that_settle_the_state_leave_nothing_to_compare_in_any_number_of_states(n_seen):
    """Breaks if the most probable of three states, which always came true, gives a p-value."""
    rng = np.random.default_rng(4)
    belief = rng.dirichlet([1, 1, 1], 90)
    if n_seen == 2:
        belief = belief[belief.argmax(axis=1) < 2]
    truth = np.array([*"abc"], dtype=object)[belief.argmax(axis=1)]
    action = np.where(rng.random(len(truth)) < 0.8, truth, "a")
    names = [f"p_{state}" for state in "abc"]
    table = pd.DataFrame(belief, columns=names).assign(action=action, theta=truth)
    report = analyze(table, checks=["sufficiency", "cmi"], rng=1)
    for result in report.evaluations[0].results:
        assert math.isnan(result.pvalue)
        assert "separates the states" in result.reason
    assert "nothing is left open" in str(report)


# A check's numbers hang on the seed, its name and its rows, and on nothing beside them.


@cache
def runs_of_leaky():
    return simulate("leaky", n_contexts=20, n_reps=2, iterated=False, rng=2)


@cache
def results_of(rng):
    """Return what all checks give, run once a seed."""
    return analyze(runs_of_leaky(), rng=rng).results


runs = pytest.fixture(lambda: runs_of_leaky())


@pytest.mark.parametrize(
    ("test", "check", "state"),
    [
        (sufficiency_test, "sufficiency", {"exact": "p_true"}),
        (cmi_test, "cmi", {"truth": "theta"}),
    ],
)
@pytest.mark.parametrize("rng", [1, np.int64(7)])
def test_a_check_by_itself_has_the_numbers_that_it_has_in_a_report(runs, test, check, state, rng):
    rows = runs.dropna(subset="action")
    alone = test(data=rows, belief="p", action="action", context="context", **state, rng=rng)
    for results in (analyze(runs, checks=[check], rng=rng).results, results_of(rng)):
        results = results.set_index("check")
        assert results.loc[check, "pvalue"] == alone.pvalue
        assert results.loc[check, "estimate"] == alone.statistic
        assert alone.interval is None or results.loc[check, "low"] == alone.interval.low


@pytest.mark.lengthy
def test_a_generator_gives_one_seed_to_all_checks(runs):
    first, again = (analyze(runs, rng=np.random.default_rng(3)).results for _ in range(2))
    pd.testing.assert_frame_equal(first, again)
    assert not first["pvalue"].equals(results_of(1)["pvalue"])


def test_other_models_and_new_names_move_no_number(runs):
    numbers = ["check", "estimate", "low", "high", "pvalue"]
    checks = ["sufficiency", "cmi"]
    alone = analyze(runs, checks=checks, rng=1).results[numbers]
    other = simulate("rational", n_contexts=40, n_reps=2, iterated=False, rng=5)
    together = pd.concat([other.assign(model="another"), runs.assign(model="renamed")])
    results = analyze(together, checks=checks, rng=1).results
    of_model = results.loc[results["model"] == "renamed", numbers].reset_index(drop=True)
    pd.testing.assert_frame_equal(of_model, alone)
