"""Calls of the public API that cannot mean anything.

Breaks if one ends in a traceback of numpy or pandas instead of an error that says what to pass:
`CALLS` get an error of our own, `NAMED` one that holds the words beside them, which name the
argument and the remedy.
"""

import math
from fractions import Fraction

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import bayesnets
import coherence
import elicitation

RUNS = coherence.simulate("leaky", n_contexts=40, n_reps=3, rng=1)
ROWS = RUNS[RUNS["action"].notna()]
DATED = RUNS.assign(p=pd.Series([Fraction(1, 2), "a"] * len(RUNS), dtype=object)[: len(RUNS)])
INDEXED = RUNS.set_index("context", drop=False)
B, A, T, C = (ROWS[name].to_numpy() for name in ("p", "action", "theta", "context"))
PAIR = {"pair": ("no", "yes"), "context": C}
ONE = ["monotone_choice"]
AGENT = coherence.fit_rational_agent(B, A, T, context=C)

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
    "beliefs of a battery as a dict": lambda: coherence.score_beliefs({}),
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


def policies():
    return pd.DataFrame({"yes": 0.3, "no": 0.7}, index=range(len(B)))


def labelled(*labels):
    theta = ROWS["theta"].map(dict(enumerate(labels)))
    return ROWS.assign(theta=theta).drop(columns=["z", "z_state", "p_z"])


TWO = {
    name: coherence.simulate(name, n_contexts=20, n_reps=2, rng=1) for name in ("rational", "noisy")
}
GAIN = coherence.predictive_gain_test
LEVELS = (0, 1, 2, -0.5, math.nan, "0.95", None, True)
ANY_RNG = "rng must be None, a whole number of at least 0 or a"
FOUR = np.arange(4)
FOUR_THINGS = (FOUR // 2, FOUR % 2)


def masked(values):
    array = np.ma.array(values)
    array[:3] = np.ma.masked
    return array


NULLABLE = {
    "a": pd.array([0.2, None], dtype="Float64"),
    "b": pd.array([0.8, None], dtype="Float64"),
}
LISTS = pd.array([["a"], ["b"]], dtype=pd.ArrowDtype(pa.list_(pa.string())))
BETS = {"prize": 100, "loss": 1, "stake": 20}

NAMED = {
    "one column of policies": (
        lambda: coherence.cmi_test(B, B / 2, T, context=C),
        "one column with ",
    ),
    "one column of policies in a table": (
        lambda: coherence.validate_runs(ROWS.assign(action=B / 2)),
        "a column action_NAME of its own",
    ),
    # Arguments of another kind.
    "answers of score_mixing": (lambda: coherence.score_mixing(None), "answers must be"),
    "table of own questions": (
        lambda: elicitation.plan_own_questions(None, elicitation.Design()),
        "questions must be",
    ),
    "cases of plan_task": (
        lambda: elicitation.plan_task(elicitation.load_task("asia"), None, elicitation.Design()),
        "cases must be",
    ),
    "cases of coverage": (lambda: bayesnets.coverage(None), "cases must"),
    "network of to_pgmpy": (lambda: bayesnets.to_pgmpy(None), "network must be"),
    "items of value_questions": (lambda: elicitation.value_questions(None), "items must be"),
    "items of bet_questions": (lambda: elicitation.bet_questions("x"), "items must be"),
    "items of ladder_questions": (lambda: elicitation.ladder_questions(3), "items must be"),
    "options of decode_choice": (lambda: coherence.decode_choice("A", [1, 2]), "options must be"),
    "labels of decode_distribution": (
        lambda: coherence.decode_distribution("a: 0.5", b"ab"),
        "labels must be",
    ),
    "a number beyond all floats": (
        lambda: coherence.residual_covariance_test([10**400], ["a"], [1]),
        "belief must hold numbers",
    ),
    # Beliefs, actions and states as arrays.
    **{
        f"belief {name}": (
            lambda belief=belief: coherence.cmi_test(belief, ["a", "b", "a"], [0, 1, 1]),
            *words,
        )
        for name, (belief, *words) in {
            "of words": (["a", "b", "c"], "belief must hold numbers in [0, 1]"),
            "of no row": ([], "belief must have shape (n,) or (n, n_states)"),
            "in percent": (
                [0.1, 85, 90],
                "2 of 3 values do not, the first is 85 at position 1",
                "Divide percentages by 100",
            ),
            "below 0": ([-0.1, 0.5, 0.2], "the first is -0.1 at position 0", "Check how the"),
            "that is missing": ([0.5, math.nan, 0.1], "nan at position 1", "Drop missing answers"),
            "of true and false": ([True, False, True], "received true and false"),
            "in one column": ([[0.2], [0.8], [0.1]], "Pass it as one dimension"),
            "over states beyond one": (
                [[0.5, 0.5], [0.5, 0.4], [0.2, 0.2]],
                "rows of belief must sum to 1 within 1e-6; 2 do not, the first at position 1",
            ),
        }.items()
    },
    **{
        f"action {name}": (
            lambda action=action: coherence.cmi_test([0.1, 0.9], action, [0, 1]),
            *words,
        )
        for name, (action, *words) in {
            "of one row more": (["a", "b", "a"], "action must have one value per row of belief"),
            "that is missing": (["a", None], "action must not be missing", "position 1"),
            "of half a pair": (["a", "\ud800"], "action must hold text in Unicode"),
            "that misses one": ([[0.5, 0.4], [0.5, 0.5]], "rows of action must sum to 1"),
            "beyond one": ([[1.1, -0.1], [0.5, 0.5]], "action must hold probabilities in [0, 1]"),
            "with a gap": ([[math.nan, 1.0], [0.5, 0.5]], "the first is nan at position 0"),
            "of words in columns": ([["a", "b"], ["c", "d"]], "action must hold numbers"),
            "of one policy": ([[0.5, 0.5]], "action must have one row per row of belief"),
            "of one name twice": (
                pd.DataFrame([[0.5, 0.5]] * 2, columns=["a", "a"]),
                "columns of action must have different names; received 'a', 'a'",
            ),
        }.items()
    },
    # What lies under a mask of numpy is no value, whatever kind of array it is.
    **{
        f"masked {name}": (call, said)
        for name, call, said in (
            ("beliefs", lambda: coherence.residual_covariance_test(masked(B), A, T), "is nan at"),
            (
                "labels",
                lambda: coherence.residual_covariance_test(B, masked(A), T),
                "action must not be missing",
            ),
            (
                "states",
                lambda: coherence.residual_covariance_test(B, A, masked(T)),
                "truth must not be missing",
            ),
            (
                "contexts",
                lambda: coherence.cmi_test(B, A, T, context=masked(C)),
                "context must not be missing",
            ),
            (
                "policies",
                lambda: coherence.cmi_test(B, masked(np.column_stack([B, 1 - B])), T),
                "action must hold probabilities",
            ),
            (
                "features",
                lambda: coherence.cmi_test(B, A, T, condition_on=masked(B)),
                "condition_on must hold finite numbers",
            ),
            (
                "cells of a list",
                lambda: coherence.cmi_test(B[:2], ["a", np.ma.masked], T[:2]),
                "action must not be missing; 1 of 2",
            ),
            (
                "posteriors",
                lambda: coherence.calibration_estimates(B, p_true=masked(B)),
                "p_true must hold probabilities",
            ),
        )
    },
    "policies of a nullable type": (
        lambda: coherence.cmi_test([0.1, 0.9], pd.DataFrame(NULLABLE), [0, 1]),
        "action must hold probabilities in [0, 1]; 2 of 4 values do not, the first is nan",
    ),
    "lists as actions": (
        lambda: coherence.cmi_test([0.1, 0.9], [["a"], ["a", "b"]], [0, 1]),
        "action must hold one label per row; 2 of 2 values are none, the first is a list",
    ),
    "dicts as actions": (
        lambda: coherence.cmi_test([0.1, 0.9], ["a", {"b": 1}], [0, 1]),
        "the first is a dict at position 1",
    ),
    "lists as actions of an Arrow table": (
        lambda: coherence.validate_runs(pd.DataFrame({"p": 0.5, "action": LISTS, "theta": 1})),
        "column 'action' must hold single values; 2 of 2",
    ),
    **{
        f"{answer} as right or wrong": (
            lambda answer=answer: coherence.crossed_interval([1, answer, 0, 1], *FOUR_THINGS),
            f"right must hold 0 or 1, or false and true; 1 of 4 values do not, the first is {said}",
        )
        for answer, said in ((2, "2 at position 1"), (math.nan, "nan at position 1"))
    },
    "a bet that is neither": (
        lambda: coherence.fit_ladder([0.5] * 2, [0.4, 0.6], [math.nan, 0]),
        "bets must hold 0 or 1",
    ),
    "rows in another order": (
        lambda: coherence.cmi_test(pd.Series(B), pd.Series(A)[::-1], T),
        "belief and action must have the same index",
        "action.loc[belief.index]",
    ),
    "states within a context": (
        lambda: coherence.cmi_test([0.1, 0.2, 0.3], ["a", "b", "a"], [0, 1, 1], context=[1, 1, 2]),
        "truth must be constant within a context",
    ),
    "more neighbours than rows": (
        lambda: coherence.cmi_test(B, A, T, context=C, k=len(B)),
        "k must be below the number of rows",
    ),
    "no permutation": (
        lambda: coherence.cmi_test(B, A, T, n_permutations=0),
        "n_permutations must be a whole number",
    ),
    "groups of other rows": (
        lambda: coherence.residual_covariance_test(B, A, T, group=[1, 2, 3]),
        "group must have one value per row",
    ),
    "states without a name": (
        lambda: coherence.residual_covariance_test(B, A, np.where(T == 1, "hit", "miss")),
        "positive='hit' or positive='miss'",
    ),
    # Calibration.
    "bins of calibration_estimates": (
        lambda: coherence.calibration_estimates([0.1] * 30, [0, 1] * 15, n_bins=1.5),
        "n_bins must be a whole number",
    ),
    "neither target": (
        lambda: coherence.calibration_estimates([0.1, 0.9]),
        "truth or p_true must be given",
    ),
    "one exact posterior for two": (
        lambda: coherence.calibration_estimates([0.1, 0.9], [0, 1], p_true=[0.1]),
        "p_true must have one value per belief",
    ),
    "states that are numbers between": (
        lambda: coherence.calibration_estimates([0.1, 0.9], [0.2, 1.0]),
        "truth is 0.2 or 1.0, and nothing says",
    ),
    "three labels": (
        lambda: coherence.calibration_estimates([0.1, 0.9, 0.5], ["a", "b", "c"]),
        "truth has the labels 'a', 'b', 'c'",
    ),
    # Prompts and beliefs given z.
    "a reference that was not asked": (
        lambda: coherence.prompt_consistency(RUNS, reference="standart"),
        "reference must be a prompt of the table",
        "Closest name found: 'standard'",
    ),
    "no prompts": (
        lambda: coherence.prompt_consistency(RUNS.drop(columns="prompt")),
        "runs must have a column 'prompt'",
    ),
    "one prompt": (
        lambda: coherence.prompt_consistency(RUNS[RUNS["prompt"] == "standard"]),
        "besides 'standard'",
    ),
    "no distribution of z": (
        lambda: coherence.iterated_expectation_test(RUNS.drop(columns="p_z")),
        "runs must have a column 'p_z'",
    ),
    "iterated beliefs in several states": (
        lambda: coherence.iterated_expectation_test(
            RUNS.rename(columns={"p": "p_sun"}).assign(p_rain=0.1)
        ),
        "p_sun, p_rain",
        "one state at a time",
    ),
    "forests without z": (
        lambda: coherence.random_forest_baseline(RUNS.drop(columns="z_state")),
        "runs must have a column 'z_state'",
    ),
    "no tree": (lambda: coherence.random_forest_baseline(RUNS, n_trees=0), "n_trees must be"),
    # Order of choices.
    "an unknown direction": (
        lambda: coherence.monotone_choice_test(B, A, direction="up", **PAIR),
        "direction must be one of increasing, decreasing, either",
    ),
    "a pair of one action": (
        lambda: coherence.monotone_choice_test(B, A, pair=("yes", "yes")),
        "pair must hold two different actions",
    ),
    "a misspelt action": (
        lambda: coherence.monotone_choice_test(B, A, pair=("yse", "no")),
        "Closest name found: 'yes'",
    ),
    "too few draws": (
        lambda: coherence.monotone_direction_test(B, A, n_draws=98),
        "n_draws must be a whole number of at least 99",
    ),
    "too many actions": (
        lambda: coherence.monotone_direction_test(B, np.arange(len(B))),
        "at most 6 different labels",
    ),
    "an order for several states": (
        lambda: coherence.monotone_direction_test(np.stack([B, 1 - B], axis=1), A),
        "one-dimensional beliefs",
    ),
    # Information and gain.
    "features of other rows": (
        lambda: GAIN(B, A, T, features=np.zeros((3, 2))),
        "features must have one row per belief; received 3",
    ),
    "one fold": (lambda: GAIN(B, A, T, n_folds=1), "n_folds must be a whole number of at least 2"),
    "an unknown learner": (
        lambda: GAIN(B, A, T, learner="logit"),
        "learner must be one of",
        "Closest name found: 'logistic'",
    ),
    "a learner that was not published": (
        lambda: GAIN(B, A, T, learner="logistic", published=True),
        "published=True is a setting of 'boosted_trees'",
    ),
    "an infinite feature": (
        lambda: GAIN(B, A, T, features=pd.DataFrame({"x_a": np.where(B[3] == B, np.inf, B)})),
        "column 'x_a' are not, the first is inf at position",
    ),
    "a feature beyond single precision": (
        lambda: GAIN(B, A, T, features=pd.DataFrame({"x_a": np.where(B[3] == B, -1e300, B)})),
        "column 'x_a' are not, the first is -1e+300 at position 3. Mark them as missing",
    ),
    "calibrated policies": (
        lambda: coherence.cmi_test(B, policies(), T, isotonic=True),
        "isotonic=True takes chosen actions",
    ),
    "conditions in three dimensions": (
        lambda: coherence.cmi_test(B, A, T, condition_on=np.zeros((len(B), 1, 1))),
        "condition_on must have shape (n,) or (n, n_features)",
    ),
    "conditions without a value": (
        lambda: coherence.cmi_test(B, A, T, condition_on=np.zeros(0)),
        "condition_on must",
        "Leave it out",
    ),
    "conditions without a column": (
        lambda: coherence.cmi_test(B, A, T, condition_on=pd.DataFrame(index=range(len(B)))),
        "condition_on must",
        "Leave it out",
    ),
    "conditions with gaps": (
        lambda: coherence.cmi_test(B, A, T, condition_on=np.where(B[1] == B, np.nan, B)),
        "condition_on must",
        "Fill or drop",
    ),
    # Analyses.
    "an unknown check": (
        lambda: coherence.analyze(RUNS, checks=["cmy"]),
        "checks must be among",
        "Closest name found: 'cmi'",
    ),
    "checks as text": (lambda: coherence.analyze(RUNS, checks="cmi"), "Write ['cmi']"),
    "a column that is missing": (lambda: coherence.analyze(RUNS.drop(columns="p")), "column"),
    "states without a word": (
        lambda: coherence.analyze(labelled("nein", "ja")),
        "positive='ja' or positive='nein'",
        "--positive ja",
    ),
    "a misspelt state": (
        lambda: coherence.analyze(labelled("nein", "ja"), positive="jaa"),
        "positive must be a label of theta",
        "Closest name found: 'ja'",
    ),
    "both states": (
        lambda: coherence.analyze(labelled("nein", "ja"), positive=["ja", "nein"]),
        "positive must name one state of a task",
    ),
    "few twins": (
        lambda: coherence.analyze(RUNS, twins=39),
        "twins must be a whole number of at least 40",
    ),
    "twins of the published procedure": (
        lambda: coherence.analyze(RUNS, twins=40, published=True),
        "twins must be left out with published=True",
    ),
    **{
        f"{seed!r} as seed": (lambda seed=seed: coherence.analyze(RUNS, rng=seed), ANY_RNG)
        for seed in (-1, 0.5, "seven", True)
    },
    # Files.
    **{
        f"a file with {name}": (
            lambda said=said: coherence.read_runs("x.csv", **said),
            words,
        )
        for name, said, words in (
            ("two separators", {"sep": ";;"}, "sep must be one character"),
            ("one mark for both", {"sep": ",", "decimal": ","}, "neither the decimal mark"),
            ("another decimal mark", {"decimal": ";"}, "decimal must be '.' or ','; received ';'"),
            ("no encoding", {"encoding": "latin-99"}, "encoding must be a name that Python"),
        )
    },
    "an unknown column to map": (
        lambda: coherence.read_runs("x.csv", columns={"beleif": "p"}),
        "'beleif'",
        "'belief'",
    ),
    # Simulated agents.
    "a misspelt agent": (
        lambda: coherence.simulate("leeky", n_contexts=1, n_reps=1),
        "agent must be",
        "'leaky'",
    ),
    "no context": (
        lambda: coherence.simulate("leaky", n_contexts=0, n_reps=1),
        "n_contexts must be a whole number of at least 1; received 0",
    ),
    "a negative taste": (
        lambda: coherence.AGENTS["leaky"].with_parameters(taste=-1),
        "taste must be at least 0; received -1",
    ),
    # Comparisons, plans and their bills.
    "a misspelt effect": (
        lambda: coherence.compare(TWO, effects=["calibration:brierr"]),
        "Closest name found: 'calibration:brier'",
    ),
    "effects as text": (
        lambda: coherence.compare(TWO, effects="unreadable"),
        "received the text",
    ),
    "few cases in common": (
        lambda: coherence.compare({n: t[t["context"] < "c0009"] for n, t in TWO.items()}),
        "at least 10 common contexts; received 9",
    ),
    **{
        f"{margin!r} as margin": (
            lambda margin=margin: coherence.analyze(RUNS, margin=margin),
            "margin must be a number between 0 and 1",
        )
        for margin in (0, 1, -0.1, math.nan, "0.05", True)
    },
    "a margin for another check": (
        lambda: coherence.power("rational", margin=0.1, check=["cmi"]),
        "received cmi as well",
    ),
    "a margin with a target": (
        lambda: coherence.power("rational", margin=0.1, target=0.8),
        "target must be left out with margin",
    ),
    "negative tokens": (
        lambda: coherence.Costs(tokens_in=-1),
        "tokens_in must be at least 0 and finite; received -1",
    ),
    "no rate": (lambda: coherence.Costs(per_minute=0), "per_minute must be above 0; received 0"),
    "a price of nothing": (
        lambda: coherence.Costs(price_out=3.0),
        "price_out needs tokens_out; received none",
    ),
    "a spread of groups below 0": (
        lambda: coherence.Groups(20, taste=-1),
        "of groups must be a standard deviation of at least 0",
    ),
    "an agent's unknown parameter": (
        lambda: coherence.AGENTS["leaky"].with_parameters(hidden=0.1),
        "no parameter 'hidden'",
        "Closest name found: 'hidden_signal'",
    ),
    # The rational agent.
    "a misspelt weighting": (
        lambda: coherence.fit_rational_agent(B, A, T, context=C, weighting="prelek"),
        "weighting must be one of",
        "Closest name found: 'prelec'",
    ),
    "negative noise": (
        lambda: coherence.fit_rational_agent(B, A, T, context=C, noise=-0.1),
        "noise must be a standard deviation from 0 to 1; received -0.1",
    ),
    "noise that all reports share": (
        lambda: coherence.fit_rational_agent(B, A, T, context=C, shared_noise=2),
        "shared_noise must be a standard deviation from 0 to 1",
    ),
    # Batteries.
    **{
        f"{level!r} as level": (
            lambda level=level: coherence.crossed_interval(FOUR > 1, FOUR, FOUR, level=level),
            "level must be a number between 0 and 1",
        )
        for level in LEVELS
    },
    "chances beyond 1": (lambda: coherence.exact_test(3, [np.inf] * 4), "chances must be in"),
    "more right than questions": (
        lambda: coherence.exact_test(3, [0.5, 0.5]),
        "n_right must be at most 2; received 3",
    ),
    "a negative stake": (
        lambda: coherence.expected_gains(**BETS | {"stake": -1}),
        "stake must hold finite numbers of at least 0",
    ),
    "a chance in percent": (
        lambda: coherence.expected_gains(**BETS, chance=50),
        "chance must hold probabilities",
        "Divide percentages by 100",
    ),
    "amounts of several lengths": (
        lambda: coherence.expected_gains(100, 1, [1, 2], chance=[0.1, 0.2, 0.3]),
        "one length",
    ),
    "an unknown rule": (
        lambda: coherence.expected_gains(**BETS, rule="both"),
        "rule must be 'side' or 'outcome'",
    ),
    "a certain rung": (
        lambda: coherence.fit_ladder([0.5, 0.5], [0.0, 0.5], [True, False]),
        "break_even must lie strictly between 0 and 1",
    ),
    "an unknown agent": (lambda: coherence.simulate_mixing("argmin"), "found: 'argmax'"),
    "no draw": (lambda: coherence.simulate_mixing("ideal", n_draws=0), "n_draws"),
    "a file that there is not": (
        lambda: coherence.read_mixing_answers("nowhere.csv"),
        "no such file",
    ),
    "a game without a mixed equilibrium": (
        lambda: coherence.mixed_equilibrium([[3, 0], [5, 1]], [[3, 5], [0, 1]]),
        "no equilibrium has both players mix",
    ),
    "a state written otherwise": (
        lambda: coherence.calibration_estimates([0.1, 0.9] * 10, ["a", "A"] * 10, positive=" a "),
        "positive must be a label of truth",
        "write it as it stands there",
    ),
    "a wide noise": (
        lambda: coherence.noise_sensitivity(AGENT, shared_noise=[0.1, 0.5]),
        "shared_noise must hold standard deviations from 0 to 0.4; received 0.5",
    ),
    "a word as test": (
        lambda: coherence.twin_results(AGENT, "cmi"),
        "test must be a check of belief, action and truth",
    ),
    "three states of one belief": (
        lambda: coherence.fit_rational_agent(B, A, np.arange(len(B)) % 3),
        "beliefs in one of two states; received 3 states",
    ),
    "a belief beyond one": (
        lambda: coherence.belief_distance([0.5, 0.5], [0.5, 0.6]),
        "belief must sum to 1; it sums to 1.1",
    ),
    "a negative belief": (
        lambda: coherence.belief_distance([0.5, 0.5], [1.5, -0.5]),
        "position 0 is 1.5",
    ),
}


@pytest.mark.parametrize("name", [*CALLS, *NAMED])
def test_an_error_of_our_own_says_what_was_received(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    call, *words = (CALLS[name],) if name in CALLS else NAMED[name]
    with pytest.raises(coherence.CoherenceError) as error:
        call()
    message = str(error.value)
    assert [word for word in words if word not in message] == []
    assert message.endswith((".", "?"))
    assert len(message.splitlines()) == 1
    assert list(tmp_path.iterdir()) == []
