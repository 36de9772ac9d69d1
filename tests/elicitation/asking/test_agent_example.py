"""The agent of the example: the leak that was planted is found, and a Bayesian passes."""

import gc
import importlib.util
import sys
import warnings
from pathlib import Path

import pytest

import coherence
from coherence.cli.main import main

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def example():
    spec = importlib.util.spec_from_file_location(
        "agent_on_asia", ROOT / "examples/agent_on_asia.py"
    )
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.lengthy
@pytest.mark.parametrize(("policy", "n", "leaks"), [("bayesian", 30, False), ("leaky", 200, True)])
def test_what_was_planted_is_found(example, tmp_path, policy, n, leaks):
    from inspect_ai import eval

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = example.scripted(policy)
        task = example.agent_on_asia(n, 1)
        (log,) = eval(task, model=model, log_dir=str(tmp_path), display="none")
        gc.collect()
    assert log.status == "success", log.error
    out = str(tmp_path / "runs.parquet")
    assert main(["import", log.location, "--action-from", "treat,home", "--out", out]) == 0
    runs = coherence.read_runs(out)
    assert set(runs["action"].dropna()) == {"treat", "home"}
    assert set(runs["belief_context"]) == {"own"}
    assert runs["context"].nunique() == n
    if not leaks:  # states the posterior, in steps of .05
        assert abs(runs["p"] - runs["p_true"]).max() <= 0.025 + 1e-9
    (evaluation,) = coherence.analyze(runs, checks=["sufficiency"], rng=1).evaluations
    result = next(each for each in evaluation.results if each.check == "sufficiency")
    assert (result.pvalue is not None and result.pvalue <= 0.05) is leaks
