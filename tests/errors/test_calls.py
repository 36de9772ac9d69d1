"""Calls of the public API that cannot mean anything: breaks if one ends in a traceback of numpy or
pandas, or does not name the argument and the remedy that stand beside it."""

import math  # noqa: F401 - calls of the table use these modules
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import coherence
from coherence.runs.read import validate_runs  # noqa: F401

MINE = Path(__file__).parents[2] / "examples/mine.csv"

RUNS = coherence.simulate("leaky", n_contexts=40, n_reps=3, rng=1)
ROWS = RUNS[RUNS["action"].notna()]
INDEXED = RUNS.set_index("context", drop=False)
B, A, T, C = (ROWS[name].to_numpy() for name in ("p", "action", "theta", "context"))
PAIR = {"pair": ("no", "yes"), "context": C}
ONE = ["monotone_choice"]
TWO = {
    name: coherence.simulate(name, n_contexts=20, n_reps=2, rng=1) for name in ("rational", "noisy")
}
LABELLED = ROWS.assign(theta=ROWS["theta"].map({0: "nein", 1: "ja"})).drop(
    columns=["z", "z_state", "p_z"]
)
FOUR = np.arange(4)
THINGS = (FOUR // 2, FOUR % 2)
POLICIES = pd.DataFrame({"yes": 0.3, "no": 0.7}, index=range(len(B)))
BETS = {"prize": 100, "loss": 1, "stake": 20}
THREE = (["a", "b", "a"], [0, 1, 1])


CALLS = r"""
monotone_choice_test(B, A, pair="no", context=C)
write_runs(RUNS, None)
read_runs("x.csv", columns=["p"])
analyze(RUNS, checks=3)
analyze(RUNS, checks=ONE, n_jobs=0)
analyze(RUNS, checks=ONE, reference=3)
cmi_test(B, A, T, context=C, n_permutations=0)
belief_distance([0.5, 0.5], [0.1, 0.2, 0.7])
prompt_consistency(INDEXED)
score_mixing(pd.DataFrame())
compare(RUNS)
""".strip().splitlines()

# What must be said of each: parameter | remedy.
NAMED = r"""
cmi_test(B, B / 2, T, context=C) => one column with
validate_runs(ROWS.assign(action=B / 2)) => a column action_NAME of its own

cmi_test(["a", "b", "c"], *THREE) => belief must hold numbers in [0, 1]
cmi_test([], *THREE) => belief must have shape (n,) or (n, n_states)
cmi_test([0.1, 85, 90], *THREE) => 2 of 3 values | 85 at position 1 | Divide percentages by 100
cmi_test([-0.1, 0.5, 0.2], *THREE) => the first is -0.1 at position 0 | check how they
cmi_test([0.5, math.nan, 0.1], *THREE) => nan at position 1 | Drop missing answers
cmi_test([[0.2], [0.8], [0.1]], *THREE) => Pass it as one dimension
cmi_test([[0.5, 0.5], [0.5, 0.4], [0.2, 0.2]], *THREE) => must sum to 1 | 2 do not | position 1
cmi_test([0.1, 0.9], ["a", "b", "a"], [0, 1]) => action must have one value per row of belief
cmi_test([0.1, 0.9], ["a", None], [0, 1]) => action must not be missing | position 1
cmi_test([0.1, 0.9], [[0.5, 0.4], [0.5, 0.5]], [0, 1]) => rows of action must sum to 1
cmi_test([0.1, 0.9], [[1.1, -0.1], [0.5, 0.5]], [0, 1]) => action must hold probabilities in [0, 1]
cmi_test([0.1, 0.9], [[0.5, 0.5]], [0, 1]) => action must have one row per row of belief
cmi_test([0.1, 0.9], pd.DataFrame([[0.5] * 2] * 2, columns=["a"] * 2), [0, 1]) => different names
cmi_test([0.1, 0.9], [["a"], ["a", "b"]], [0, 1]) => action must be an array
cmi_test(pd.Series(B), pd.Series(A)[::-1], T) => must have the same index | action.loc[belief.index]
cmi_test([0.1, 0.2, 0.3], *THREE, context=[1, 1, 2]) => truth must be constant within a context
cmi_test(B, A, T, n_permutations=0) => n_permutations must be a whole number
stakes_estimates(0.3, A, B, context=C) => belief must be an array | 0.3
matching_estimates(B, A, None, context=C) => level must be an array | None
sufficiency_test(B, A, T, group=[1, 2, 3]) => group must have one value per row
sufficiency_test(B, A, np.where(T == 1, "hit", "miss")) => positive='hit' or positive='miss'

crossed_interval([1, 2, 0, 1], *THINGS) => right must hold 0 or 1 | 1 of 4 | 2 at position 1
crossed_interval(FOUR > 1, FOUR, FOUR, level=math.nan) => level must be a number between 0 and 1
exact_test(3, [0.5, 0.5]) => n_right must be at most 2; received 3
expected_gains(**BETS | {"stake": -1}) => stake must hold finite numbers of at least 0
expected_gains(**BETS, chance=50) => chance must hold probabilities | Divide percentages by 100
expected_gains(100, 1, [1, 2], chance=[0.1, 0.2, 0.3]) => one length
simulate_mixing("argmin") => found: 'argmax'
simulate_mixing("ideal", n_draws=0) => n_draws

belief_distance([0.5, 0.5], [0.5, 0.6]) => belief must sum to 1; it sums to 1.1

prompt_consistency(RUNS, reference="standart") => reference must be | name found: 'standard'
prompt_consistency(RUNS[RUNS["prompt"] == "standard"]) => besides 'standard'
iterated_expectation_test(RUNS.drop(columns="p_z")) => runs must have a column 'p_z'
random_forest_baseline(RUNS.drop(columns="z_state")) => runs must have a column 'z_state'
monotone_choice_test(B, A, direction="up", **PAIR) => direction must be one of increasing, decreas
monotone_choice_test(B, A, pair=("yes", "yes")) => pair must hold two different actions
monotone_choice_test(B, A, pair=("yse", "no")) => Closest name found: 'yes'
predictive_gain_test(B, A, T, features=np.zeros((3, 2))) => features must have one row per belief
predictive_gain_test(B, A, T, features=np.where(B[3] == B, np.inf, B)) => the first is inf
cmi_test(B, POLICIES, T, isotonic=True) => isotonic=True | takes chosen actions

analyze(RUNS, checks=["cmy"]) => checks must be among | Closest name found: 'cmi'
analyze(RUNS, checks="cmi") => Write ['cmi']
analyze(RUNS.drop(columns="p")) => column
analyze(LABELLED) => positive='ja' or positive='nein' | --positive ja
analyze(LABELLED, positive="jaa") => positive must be a label of theta | Closest name found: 'ja'
analyze(LABELLED, positive=["ja", "nein"]) => positive must name one state of a task
analyze(RUNS, margin=1) => margin must be a number between 0 and 1
analyze(RUNS, rng=-1) => rng must be None, a whole number of at least 0 or a
read_runs("x.csv", sep=";;") => sep must be one character
read_runs("x.csv", sep=",", decimal=",") => neither the decimal mark
read_runs("x.csv", decimal=";") => decimal must be '.' or ','; received ';'
read_runs(MINE, encoding="latin-99") => unknown encoding: latin-99 | --encoding cp1252
read_runs("x.csv", columns={"beleif": "p"}) => 'beleif' | 'belief'
simulate("leeky", n_contexts=1, n_reps=1) => agent must be | 'leaky'
simulate("leaky", n_contexts=0, n_reps=1) => n_contexts must be a whole number of at least 1
AGENTS["leaky"].with_parameters(hidden=0.1) => no parameter 'hidden' | found: 'hidden_signal'
power("rational", 20, 2, 0.2, "cni") => check must be one of | received 'cni' | found: 'cmi'
power("rational", 20, 2, 0.2, "calibration") => one of sufficiency, | received 'calibration'
power("rational", 5, 2, 0.2) => n_cases must be a whole number of at least 10; received 5
power("rational", [], 2, 0.2) => n_cases must be a whole number or several
power("rational", 20, 2, 20) => signal must be a number from 0 to 1; received 20
power("rational", 20, 2, 0.2, state="both") => state must be one of | received 'both'
power("clairvoyant", 20, 2, 0.2, state="exact") => state cannot be 'exact' where hidden_signal
power("leeky", 20, 2, 0.2) => agent must be the name of an agent; received 'leeky'
power(3, 20, 2, 0.2) => agent must be the name of an agent or an Agent; received int
compare(TWO, effects=["calibration:brierr"]) => Closest name found: 'calibration:brier'
compare(TWO, effects="scores") => received the text
compare({n: t[t["context"] < "c0009"] for n, t in TWO.items()}) => at least 10 common cases
"""


MODULES = (coherence, coherence.batteries)
KNOWN = {name: getattr(module, name) for module in MODULES for name in module.__all__}


@pytest.mark.parametrize("line", [*CALLS, *filter(None, NAMED.splitlines())])
def test_an_error_of_our_own_says_what_was_received(line, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    call, _, words = line.partition(" => ")
    with pytest.raises(coherence.CoherenceError) as error:
        eval(call, KNOWN | globals())  # noqa: S307
    message = str(error.value)
    assert [word for word in words.split(" | ") if word not in message] == []
    assert message.endswith((".", "?"))
    assert len(message.splitlines()) == 1
    assert list(tmp_path.iterdir()) == []
