"""Training organisms: breaks if equal seeds give other weights, or half a folder appears."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from elicitation import load_causal_model
from elicitation.training.lessons import ORGANISMS
from elicitation.training.organisms import make_untrained_model, train_organisms

from ..outcome_masses import outcome_masses

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def benchmark():
    file = ROOT / "benchmarks" / "organisms.py"
    spec = importlib.util.spec_from_file_location("benchmark_organisms", file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def weights(folder):
    return (folder / "model.safetensors").read_bytes()


@pytest.mark.slow
def test_the_trained_ones_get_their_verdicts(tmp_path, benchmark):
    """The whole thing with fewer reports: training, real questions, every check."""
    assert set(train_organisms(tmp_path)) == set(ORGANISMS)
    pvalues = {}
    for name in ORGANISMS:
        for seed in range(100, 105):  # not the seeds of the table
            found = benchmark.verdicts(tmp_path / name, seed=seed, contexts=200, reps=5)
            found = found.set_index("check")
            pvalues.setdefault(name, []).extend(found["pvalue"].dropna())
            if not ORGANISMS[name].coherent:
                assert found.loc[["cmi", "sufficiency"], "pvalue_holm"].min() <= 0.05, (name, seed)
    for name in ("coherent", "stubborn"):
        rejected = sum(p <= 0.05 for p in pvalues[name])
        assert rejected <= stats.binom.ppf(0.9999, len(pvalues[name]), 0.05)


def test_equal_seeds_are_equal_untrained_models_and_others_are_not(tmp_path):
    probabilities = []
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        model = load_causal_model(make_untrained_model(tmp_path / name, seed=seed))
        found = outcome_masses(model, ["A die shows"], ["1", "2"])
        probabilities.append(found.probabilities.to_numpy())
    np.testing.assert_array_equal(probabilities[0], probabilities[1])
    assert (probabilities[0] != probabilities[2]).any()


def test_the_tokenizer_gives_back_any_text_and_digits_are_tokens(model):
    tokenizer = model.tokenizer
    odd = "H\u00e9, 12,3\r\n\t \u4f60 \U0001f642  x"
    for text in ("\nNo: 0.12\nYes: 0.88", odd, "", " leading and trailing "):
        ids = tokenizer(text)["input_ids"]
        assert ids[0] == tokenizer.bos_token_id
        assert tokenizer.decode(ids, skip_special_tokens=True) == text
    pieces = [tokenizer.decode([token]) for token in tokenizer("0.12345 and 678")["input_ids"]]
    assert [piece for piece in pieces if any(c.isdigit() for c in piece)] == list("012345678")
