"""Calls of the public API that cannot mean anything.

Breaks if one ends in a traceback of numpy or pandas instead of an error that says what to pass.
"""

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import coherence

RUNS = coherence.simulate("leaky", n_contexts=40, n_reps=3, rng=1)
ROWS = RUNS[RUNS["action"].notna()]
DATED = RUNS.assign(p=pd.Series([Fraction(1, 2), "a"] * len(RUNS), dtype=object)[: len(RUNS)])
INDEXED = RUNS.set_index("context", drop=False)
B, A, T, C = (ROWS[name].to_numpy() for name in ("p", "action", "theta", "context"))
PAIR = {"pair": ("no", "yes"), "context": C}
ONE = ["monotone_choice"]

CALLS = {
    "holm of a number": lambda: coherence.holm(0.3),
    "holm of words": lambda: coherence.holm(["a"]),
    "holm above 1": lambda: coherence.holm([2.0]),
    "holm of nothing": lambda: coherence.holm(None),
    "two dimensions": lambda: coherence.benjamini_hochberg([[0.1, 0.2]]),
    "half a bin": lambda: coherence.monotone_choice_test(B, A, n_bins=1.5, **PAIR),
    "bins as text": lambda: coherence.monotone_choice_test(B, A, n_bins="5", **PAIR),
    "no pair": lambda: coherence.monotone_choice_test(B, A, pair=3, context=C),
    "a pair as text": lambda: coherence.monotone_choice_test(B, A, pair="no", context=C),
    "a list as table": lambda: coherence.write_runs([1], "x.csv"),
    "no path to write": lambda: coherence.write_runs(RUNS, None),
    "no path": lambda: coherence.read_runs(None),
    "a number as path": lambda: coherence.read_runs(3),
    "columns as list": lambda: coherence.read_runs("x.csv", columns=["p"]),
    "checks as number": lambda: coherence.analyze(RUNS, checks=3),
    "a number among checks": lambda: coherence.analyze(RUNS, checks=[3]),
    "too many processes": lambda: coherence.analyze(RUNS, checks=ONE, n_jobs=99_999_999_999),
    "no process": lambda: coherence.analyze(RUNS, checks=ONE, n_jobs=0),
    "a word as seed": lambda: coherence.analyze(RUNS, checks=ONE, rng="a"),
    "a number as prompt": lambda: coherence.analyze(RUNS, checks=ONE, reference=3),
    "a set as state": lambda: coherence.analyze(RUNS, checks=ONE, positive={}),
    "no neighbour": lambda: coherence.cmi_test(B, A, T, context=C, k=0),
    "neighbours as text": lambda: coherence.cmi_test(B, A, T, context=C, k="3"),
    "no belief": lambda: coherence.cmi_test(None, A, T),
    "beliefs as dict": lambda: coherence.cmi_test({}, A, T),
    "beliefs as text": lambda: coherence.cmi_test("abc", A, T),
    "three dimensions": lambda: coherence.cmi_test(np.zeros((3, 3, 3)), A, T),
    "a number as agent": lambda: coherence.simulate(3, n_contexts=4, n_reps=2),
    "contexts as text": lambda: coherence.simulate("leaky", n_contexts="a", n_reps=2),
    "contexts beyond count": lambda: coherence.simulate("leaky", n_contexts=10**13, n_reps=2),
    "a plan of words": lambda: coherence.power("leaky", n_contexts="a", n_reps=2),
    "right answers as text": lambda: coherence.exact_test("a", [0.3]),
    "more right than asked": lambda: coherence.exact_test(5, [0.3]),
    "gains of words": lambda: coherence.expected_gains("a", 1, 2),
    "a game of numbers": lambda: coherence.mixed_equilibrium(1, 2),
    "other outcomes": lambda: coherence.belief_distance([0.5, 0.5], [0.1, 0.2, 0.7]),
    "truth as a word": lambda: coherence.reliability_table(B, "x"),
    "no truth": lambda: coherence.calibration_estimates(B, None),
    "a list as runs": lambda: coherence.prompt_consistency([1, 2]),
    "a number as runs": lambda: coherence.iterated_expectation_test(5),
    "no text": lambda: coherence.decode_belief(None),
    "no options": lambda: coherence.decode_choice("a", None),
    "a dict as runs": lambda: coherence.validate_runs({}),
    "no questions": lambda: coherence.score_bets(1, 2),
    "an empty table": lambda: coherence.score_mixing(pd.DataFrame()),
    "no beliefs": lambda: coherence.score_beliefs(pd.DataFrame()),
    "no scores": lambda: coherence.summarise_scores(3),
    "an index named like a column": lambda: coherence.prompt_consistency(INDEXED),
    "such an index, iterated": lambda: coherence.iterated_expectation_test(INDEXED),
    "such an index, forests": lambda: coherence.random_forest_baseline(INDEXED),
    "an empty array of effects": lambda: coherence.compare(RUNS, effects=np.array([])),
    "an empty name of a file": lambda: coherence.read_mixing_answers(""),
    "words among beliefs": lambda: coherence.prompt_consistency(DATED),
    "complex beliefs": lambda: coherence.cmi_test(B + 0j, A, T, context=C),
    "complex chances": lambda: coherence.exact_test(0, np.array([0.5 + 0j])),
    "complex answers": lambda: coherence.crossed_interval(np.ones(4) + 0j, C[:4], C[:4]),
    "complex payoffs": lambda: coherence.mixed_equilibrium(np.eye(2) + 0j, np.eye(2)),
    "a complex distribution": lambda: coherence.belief_distance([1, 0], np.array([1j, 0])),
    "a complex ladder": lambda: coherence.fit_ladder(B + 0j, B, B > 0.5),
    "one context for all": lambda: coherence.fit_rational_agent(B, A, T, context=3),
    "distance of a number": lambda: coherence.rational_distance(3),
    "sensitivity of a number": lambda: coherence.noise_sensitivity(3),
    "twin of a number": lambda: coherence.sample_twin(3),
    "mixing by a number": lambda: coherence.simulate_mixing(3),
    "comparing a number": lambda: coherence.compare(3),
    "comparing one model": lambda: coherence.compare(RUNS),
}


@pytest.mark.parametrize("name", CALLS)
def test_an_error_of_our_own_says_what_was_received(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(coherence.CoherenceError) as told:
        CALLS[name]()
    message = str(told.value)
    assert message.endswith((".", "?"))
    assert len(message.splitlines()) == 1
    assert list(tmp_path.iterdir()) == []
