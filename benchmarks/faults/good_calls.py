"""A good call of every public function and constructor, with answers in little time."""

from collections.abc import Callable
from functools import cache
from typing import Any

import pandas as pd

import bayesnets as bn
import coherence as co
import elicitation as el
from elicitation.batteries.bets.items import default_items


@cache
def material() -> dict[str, Any]:
    """Return what good calls are made of; small, since there are thousands of them."""
    runs = co.simulate("leaky", n_contexts=24, n_reps=2, rng=1)
    rows = runs[runs["action"].notna()].reset_index(drop=True)
    belief, action, truth, context = (
        rows[name].to_numpy() for name in ("p", "action", "theta", "context")
    )
    network = bn.load_network("asia")
    task = el.load_task("asia")
    cases = task.cases(4, seed=0)

    records = bn.sample(network, 400, rng=1)
    questions = pd.DataFrame(
        {
            "context": ["a", "b"],
            "belief_question": ["How probable?", "And this?"],
            "action_question": ["What now?", "And now?"],
            "options": [("x", "y")] * 2,
        }
    )
    mixing = co.simulate_mixing("ideal", n_draws=20, rng=1)
    return locals()


def good_calls() -> dict[Callable[..., Any], dict[str, Any]]:
    """Return a call of every function that has an answer in little time, by parameter."""
    m = material()
    b, a, t, c = (m[name] for name in ("belief", "action", "truth", "context"))
    data = {"belief": b, "action": a, "truth": t, "context": c}
    runs, network, evidence = m["runs"], m["network"], pd.DataFrame({"smoke": ["yes", "no"]})
    one = {"n_permutations": 19, "k": 3, "positive": 1, "rng": 1, "condition_on": None}
    report = ["sufficiency"]
    return {
        co.analyze: {
            **{"runs": runs, "checks": report, "published": False, "strict": False},
            **{"positive": None, "reference": None, "merge_labels": None},
            **{"n_jobs": 1, "rng": 1},
        },
        co.belief_distance: {"truth": [0.5, 0.5], "belief": [0.4, 0.6]},
        co.benjamini_hochberg: {"pvalues": [0.1, 0.2]},
        co.holm: {"pvalues": [0.1, 0.2]},
        co.calibration_estimates: {
            **drop(data, "action"),
            "p_true": b,
            "n_bins": 5,
            "positive": 1,
        },
        co.calibration_test: {**drop(data, "action"), "positive": 1, "n_draws": 19, "rng": 1},
        co.cmi_test: {
            **data,
            **one,
            "isotonic": False,
            "published": False,
            "n_bootstraps": 20,
        },
        co.compare: {
            "runs": pd.concat([runs.assign(model=name) for name in "ab"]),
            **{"effects": ["unreadable"], "common": False, "positive": None, "reference": None},
            **{"n_jobs": 1, "rng": 1},
        },
        co.crossed_interval: {
            **{"right": [1, 0, 1, 1], "first": [0, 0, 1, 1], "second": [0, 1, 0, 1], "level": 0.9}
        },
        co.decode_belief: {
            "text": "No: 0.2\nYes: 0.8",
            "form": "lines",
            "finish_reason": "stop",
        },
        co.decode_choice: {
            "text": "x",
            "options": ("x", "y"),
            "words": (),
            "finish_reason": None,
        },
        co.decode_decision: {"text": "Decision: Yes", "finish_reason": None},
        co.decode_distribution: {
            "text": "a: 1, b: 0",
            "labels": ("a", "b"),
            "finish_reason": None,
        },
        co.exact_test: {"n_right": 3, "chances": [0.3, 0.5, 0.2, 0.4]},
        co.expected_answers: {"agent": "ideal"},
        co.expected_gains: {
            **{"prize": [10.0], "loss": [5.0], "stake": [2.0], "chance": 0.5, "payout": 0.0},
            "rule": "side",
        },
        co.fit_ladder: {
            **{"stated": [0.2, 0.4, 0.6, 0.8] * 3, "break_even": [0.3, 0.5, 0.5, 0.7] * 3},
            **{"bets": [0, 0, 1, 1] * 3, "first": None, "second": None, "level": 0.95},
        },
        co.iterated_expectation_test: {
            **{"runs": runs, "reference": None, "n_bootstraps": 20},
            **{"published": False, "rng": 1},
        },
        co.mixed_equilibrium: {"row": [[1, -1], [-1, 1]], "column": [[-1, 1], [1, -1]]},
        co.monotone_choice_test: {
            **drop(data, "truth"),
            **{"pair": ("no", "yes"), "direction": "increasing", "n_bins": 4, "n_draws": 99},
            **{"published": False, "rng": 1},
        },
        co.power: {
            **{"agent": "clairvoyant", "n_cases": [20], "n_reps": 2, "signal": 0.1},
            **{"check": "sufficiency", "state": "auto", "n_simulations": 10},
            **{"n_jobs": 1, "rng": 1},
        },
        co.predictive_gain_test: {
            **data,
            **{"features": None, "positive": 1, "learner": "logistic", "n_folds": 3},
            **{"n_seeds": 1, "n_bootstraps": 20, "published": False, "rng": 1},
        },
        co.prompt_consistency: {
            **{"runs": runs, "reference": None, "prompts": None, "n_bootstraps": 20},
            **{"published": False, "rng": 1},
        },
        co.random_forest_baseline: {"runs": runs, "n_trees": 5},
        co.read_mixing_answers: {"path": "mixing.parquet"},
        co.read_runs: {
            **{"path": "runs.csv", "columns": {"p": "p"}, "sep": ",", "decimal": "."},
            **{"encoding": "utf-8", "percent": False, "ignore": (), "merge_labels": None},
        },
        co.reliability_table: {"belief": b, "target": b, "n_bins": 5},
        co.sufficiency_test: {**data, "positive": 1, "n_draws": 99, "rng": 1},
        co.scan_runs: {
            **{"path": "runs.parquet", "columns": {"p": "p"}, "percent": False, "ignore": ()}
        },
        co.score_beliefs: {"beliefs": pd.DataFrame()},
        co.summarise_scores: {"scores": pd.DataFrame()},
        co.score_bets: {
            **{"questions": pd.DataFrame(), "answers": pd.DataFrame(), "split": "test"},
            **{"rule": "side", "belief_template": "choice-valuable"},
        },
        co.score_mixing: {"answers": m["mixing"], "n_resamples": 20, "rng": 1},
        co.simulate: {
            **{"agent": "leaky", "n_contexts": 5, "n_reps": 2, "prompts": ("standard",)},
            **{"iterated": True, "policies": False, "rng": 1},
        },
        co.simulate_mixing: {"agent": "ideal", "n_draws": 3, "rng": 1},
        co.validate_runs: {"runs": runs, "source": "x", "labels_apart": False},
        co.write_runs: {"runs": runs, "path": "out.csv"},
        bn.coverage: {"cases": m["cases"]},
        bn.describe: {"name": "asia"},
        bn.draw: {"network": network, "path": None, "highlight": None},
        bn.evidence_probability: {
            "network": network,
            "evidence": evidence,
            "max_bytes": 1 << 20,
        },
        bn.fit: {
            **{"structure": network, "records": m["records"], "states": None, "prior": 1.0},
            **{"min_support": 1, "missing": "error", "empty": "uniform", "name": None},
        },
        bn.from_pgmpy: {
            **{"model": bn.to_pgmpy(network), "name": "n", "title": None, "source": "x"}
        },
        bn.load_dataset: {"name": bn.dataset_names()[0], "min_records": 100},
        bn.load_network: {"name_or_path": "asia"},
        bn.load_phrases: {"name_or_path": "asia", "network": network},
        bn.plain_phrases: {
            **{"network": network, "target": "lung", "target_state": "yes", "subject": "x"}
        },
        bn.posterior: {
            **{"network": network, "evidence": evidence, "target": "lung", "errors": "raise"},
            "max_bytes": 1 << 20,
        },
        bn.read_network: {"path": "asia.json", "normalize": False},
        bn.sample: {"network": network, "n": 5, "rng": 1},
        bn.sample_cases: {
            **{"network": network, "target": "lung", "n": 3, "target_state": "yes", "even": True},
            **{"n_bins": 5, "n_observed": None, "auxiliary": None, "min_probability": 0.0},
            **{"min_records": None, "determined": False, "rng": 1},
        },
        bn.sample_record_cases: {
            **{
                "task": bn.load_dataset(bn.dataset_names()[0]),
                "n": 3,
                "even": True,
                "n_bins": 5,
            },
            **{"n_observed": None, "auxiliary": None, "rng": 1},
        },
        bn.strata: {
            **{"records": m["records"], "covariates": ["smoke"], "target": "lung"},
            **{"positive": "yes", "min_records": 10, "n_observed": None, "missing": "error"},
        },
        bn.to_pgmpy: {"network": network},
        bn.with_records: {"network": network, "records": m["records"], "missing": "error"},
        bn.write_network: {"network": network, "path": "out.json"},
        bn.Node: {"name": "a", "states": ("x", "y"), "parents": (), "table": [0.5, 0.5]},
        bn.Network: {
            **{"name": "n", "title": "t", "source": "s", "illustrative": True},
            **{"nodes": network.nodes, "description": "d", "tables": None, "support": None},
        },
        el.AnswerStore: {"path": "store.sqlite"},
        el.Design: {
            **{"reps": 1, "prompts": ("standard",), "iterated": True, "belief": "verbalised"},
            **{"draws": 2, "temperature": 1.0, "max_new_tokens": 5, "seed": 0, "templates": None},
            "answers": "drawn",
        },
        el.Template: {"name": "x", "text": "{evidence} {question}", "form": "lines"},
        el.bet_questions: {
            **{"items": default_items(), "splits": ("test",), "modalities": ("coin",)},
            **{"chances": (0.5,), "stake": 20.0, "payout": 0.0, "amounts": False},
        },
        el.ladder_questions: {
            **{"items": default_items(), "split": "test", "modalities": ("coin",)},
            **{"chances": (0.5,), "break_evens": (0.3, 0.6), "payout": 0.0},
        },
        el.value_questions: {
            **{"items": default_items(), "splits": ("test",), "both_orders": False},
            "templates": ("choice-expensive",),
        },
        el.connect: {
            **{"model": "m", "server": "http://127.0.0.1:9", "base_url": None, "chat": None},
            **{"system": None, "identity": None, "concurrency": 1, "max_retries": 0},
            **{"timeout": 5, "key_variable": None, "reasoning_effort": None},
            **{"chat_template_kwargs": None, "extra_body": None},
        },
        el.fine_tune: {
            "folder": "none",
            "out": "tuned",
            "train": None,
            "dev": None,
            "seed": 0,
        },
        el.load_causal_model: {
            **{"model": "none", "revision": None, "batch_size": 1, "chat": None, "system": None},
            **{"prefill": "", "dtype": "float32", "device": "cpu", "threads": None},
        },
        el.load_multiple_choice_model: {
            "model": "none",
            "revision": None,
            "batch_size": 1,
        },
        el.load_prompts: {"path": "none.toml", "base": el.NETWORK_PROMPTS},
        el.load_questions: {"path": "questions.csv"},
        el.load_task: {
            **{"name_or_network": "asia.json", "target": "lung", "phrases": None},
            **{"positive": None, "records": None, "min_records": None},
        },
        el.plan_own_questions: {
            **{
                "table": m["questions"],
                "design": el.Design(reps=1, prompts=("standard",)),
            },
            "task": "q",
        },
        el.plan_task: {
            "task": m["task"],
            "cases": m["cases"],
            "design": el.Design(reps=1),
        },
        el.standard_grid: {
            **{"n_dice": (1,), "faces": (4,), "n_coins": (2,), "coin_biases": (1,)},
            **{"n_options": (2,), "labels": (("Heads", "Tails"),), "label_biases": (1,)},
        },
        el.summarise_store: {"path": "made.sqlite"},
    }


def drop(data: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: value for name, value in data.items() if name not in names}


@cache
def good_calls_once() -> dict[Callable[..., Any], dict[str, Any]]:
    """Return the good calls, made once."""
    return good_calls()


def write_files() -> None:
    """Make the files that good calls read, in the present folder."""
    m = material()
    co.write_runs(m["runs"], "runs.csv")
    co.write_runs(m["runs"], "runs.parquet")
    co.write_runs(m["mixing"], "mixing.parquet")
    bn.write_network(m["network"], "asia.json")
    m["questions"].assign(options="x|y").to_csv("questions.csv", index=False)
    el.AnswerStore("made.sqlite").close()
