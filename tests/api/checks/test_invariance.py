"""What says nothing about coherence moves no number of a check."""

import numpy as np
import pytest

import coherence

RUNS = coherence.simulate(
    "leaky", n_contexts=60, n_reps=3, prompts=["standard"], iterated=False, rng=1
)
TESTS = {
    "cmi": lambda b, a, t, c, turned: coherence.cmi_test(
        b, a, t, context=c, n_permutations=199, rng=2
    ),
    "residual_covariance": lambda b, a, t, c, turned: coherence.residual_covariance_test(
        b, a, t, context=c, positive="a" if turned else None, n_draws=199, rng=2
    ),
    "monotone": lambda b, a, t, c, turned: coherence.monotone_choice_test(
        b, a, pair=("do sey", "do on") if turned else ("yes", "no"), context=c, n_draws=199, rng=2
    ),
}


@pytest.mark.parametrize("test", TESTS)
def test_names_labels_the_order_of_rows_and_the_way_in_which_a_belief_is_written(test):
    belief, action, truth, context = (RUNS[name] for name in ("p", "action", "theta", "context"))
    belief, truth, context = belief.to_numpy(), truth.to_numpy(), context.to_numpy()
    first = TESTS[test](belief, action, truth, context, turned=False)
    order = np.random.default_rng(0).permutation(len(context))
    half = np.random.default_rng(1).random(len(context)) < 0.5
    other = TESTS[test](
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
    if test in ("cmi", "residual_covariance"):
        alike = TESTS[test](paired, action, truth, context, turned=False)
        assert (alike.statistic, alike.pvalue) == (first.statistic, first.pvalue)
