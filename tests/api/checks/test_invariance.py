"""What says nothing about coherence moves no number of a check."""

import numpy as np
import pytest

import coherence

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
