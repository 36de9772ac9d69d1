"""What a study costs, by hand."""

import numpy as np
import pytest

from coherence import Costs, power


def test_a_bill_by_hand():
    """200 x 5 x 2 prompts of 400 tokens at 1 a million; answers of 50 at 4, 60 a minute."""
    costs = Costs(tokens_in=400, tokens_out=50, price_in=1.0, price_out=4.0, per_minute=60)
    (bill,) = costs.of([200], [5], prompts_per_rep=2).to_dict("records")
    counts = {"n_prompts": 2000, "tokens_in": 800_000, "tokens_out": 100_000}
    rates = {"price": pytest.approx(0.8 + 0.4), "hours": pytest.approx(2000 / 60 / 60)}
    assert bill == counts | rates
    # What was not said is left out.
    assert list(Costs().of([10, 20], [1, 1], prompts_per_rep=3)) == ["n_prompts"]
    only_in = Costs(tokens_in=10, price_in=2.0).of([10], [1], prompts_per_rep=1)
    assert only_in["price"].tolist() == [10 * 10 * 2 / 1e6]
    bill = Costs(prompts_per_rep=7).of([10, np.nan], [2, 2], prompts_per_rep=2)
    assert bill["n_prompts"].tolist()[0] == 140
    assert np.isnan(bill["n_prompts"][1])


@pytest.mark.lengthy
@pytest.mark.parametrize(
    ("checks", "n"),
    [
        (["sufficiency", "monotone_choice"], 2),
        (["calibration"], 1),
        (["cmi", "prompt_consistency", "iterated_expectation"], 8),
    ],
)
def test_prompts_are_counted_from_what_the_checks_need(checks, n):
    few = {"n_contexts": 10, "n_reps": 2, "signal": [], "n_simulations": 10, "n_draws": 99}
    assert power("rational", check=checks, **few, rng=1).settings["prompts_per_rep"] == n
