"""cmi_test: reproducible, invariant, honest about degenerate input, and able to see a leak."""

import math

import numpy as np
import pytest

from coherence import InputError, cmi_test, simulate


def arrays(name="rational", seed=1, n_contexts=60, n_reps=3, **changes):
    from coherence import AGENTS

    agent = AGENTS[name].with_parameters(**changes)
    runs = simulate(agent, n_contexts=n_contexts, n_reps=n_reps, prompts=["standard"], iterated=False, rng=seed)
    return runs["p"].to_numpy(), runs["action"].to_numpy(), runs["theta"].to_numpy(), runs["context"].to_numpy()


def test_flags_the_leaky_agent_and_not_the_rational_one():
    belief, action, truth, context = arrays("leaky", n_contexts=200, n_reps=5)
    assert cmi_test(belief, action, truth, context=context, rng=1).pvalue == 0.001
    belief, action, truth, context = arrays("rational", n_contexts=200, n_reps=5)
    assert cmi_test(belief, action, truth, context=context, rng=1).pvalue > 0.05


def test_details_relate_as_they_say():
    result = cmi_test(*arrays()[:3], context=arrays()[3], n_permutations=99, rng=0)
    nats = result.details.set_index("quantity")["nats"]
    assert nats["excess information"] == pytest.approx(nats["nearest-neighbour estimate"] - nats["mean of permuted estimates"], abs=1e-15)
    assert result.statistic == nats["information, jackknifed in belief bins"]
    assert result.interval.low < result.statistic < result.interval.high


def test_same_seed_same_result_and_labels_do_not_matter():
    belief, action, truth, context = arrays()
    first = cmi_test(belief, action, truth, context=context, n_permutations=99, rng=7)
    renamed = cmi_test(belief, [f"do {a}" for a in action], np.where(truth == 1, "b", "a"), context=context, n_permutations=99, rng=7)
    assert (first.statistic, first.pvalue, first.interval) == (renamed.statistic, renamed.pvalue, renamed.interval)


def test_contexts_matter():
    """True null, taste shared within contexts: ignoring contexts rejects far too often, naming them does not (4 of 20 has chance .003)."""
    rejected = {"named": 0, "ignored": 0}
    for seed in range(20):
        belief, action, truth, context = arrays(seed=seed, n_contexts=80, n_reps=8, taste=2.0)
        rejected["named"] += cmi_test(belief, action, truth, context=context, n_permutations=99, rng=0).pvalue <= 0.05
        rejected["ignored"] += cmi_test(belief, action, truth, n_permutations=99, rng=0).pvalue <= 0.05
    assert rejected["named"] <= 4
    assert rejected["ignored"] >= 8


def test_published_procedure_reports_raw_estimate_and_row_interval():
    belief, action, truth, context = arrays()
    result = cmi_test(belief, action, truth, context=context, published=True, n_bootstraps=50, rng=0)
    ours = cmi_test(belief, action, truth, context=context, n_permutations=9, rng=0)
    assert result.pvalue is None
    assert result.statistic == ours.details.set_index("quantity")["nats"]["nearest-neighbour estimate"]
    assert "rows" in result.interval.method


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"action": "yes"}, "only one action was seen ('yes')"),
        ({"truth": 1}, "truth is constant (1)"),
        ({"belief": 0.3}, "belief is constant"),
    ],
)
def test_degenerate_input_is_undefined_with_a_reason(change, reason):
    belief, action, truth, context = arrays()
    columns = {"belief": belief, "action": action, "truth": truth}
    for name, value in change.items():
        columns[name] = np.full(len(belief), value)
    result = cmi_test(**columns, context=context, rng=0)
    assert math.isnan(result.statistic)
    assert math.isnan(result.pvalue)
    assert result.reason == reason


def test_too_few_contexts_are_undefined():
    belief, action, truth, context = arrays(n_contexts=9)
    assert cmi_test(belief, action, truth, context=context).reason == "9 contexts are fewer than 10"


def test_contexts_without_neighbours_are_undefined():
    """Ten contexts .1 apart: there is nothing to exchange, so no p-value may appear."""
    belief = np.repeat(np.arange(10) / 9, 4)
    rng = np.random.default_rng(0)
    truth = np.repeat(rng.permutation([0, 1] * 5), 4)
    result = cmi_test(belief, rng.integers(0, 2, 40), truth, context=np.repeat(np.arange(10), 4), rng=0)
    assert math.isnan(result.pvalue)
    assert "similar belief" in result.reason


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([0.1, 85.0], ["a", "b"], [0, 1]), r"belief must hold probabilities in \[0, 1\]; 1 of 2 values do not, the first is 85 at position 1"),
        (([0.1, np.nan], ["a", "b"], [0, 1]), "the first is nan at position 1. Drop missing answers first"),
        (([0.1, 0.2], ["a", None], [0, 1]), "action must not be missing; 1 of 2 values are, the first at position 1"),
        (([0.1, 0.2], ["a"], [0, 1]), "action must have one value per row of belief; received 1 values for 2 rows"),
        (([[0.1, 0.2, 0.7]] * 4, ["a", "b"] * 2, [0, 1] * 2), "beliefs over 3 states"),
        (([0.1, 0.2], ["a", "b"], [0, 1]), "k must be below the number of rows"),
    ],
)
def test_wrong_input_is_refused(arguments, message):
    with pytest.raises(InputError, match=message):
        cmi_test(*arguments)


def test_truth_must_not_vary_within_a_context():
    with pytest.raises(InputError, match="truth must be constant within a context; in context 'x' it is 0 and, at position 1, 1"):
        cmi_test([0.1, 0.2, 0.3], ["a", "b", "a"], [0, 1, 1], context=["x", "x", "y"], k=1)
