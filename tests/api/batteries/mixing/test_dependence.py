"""Independence of flips: against other tests, permutations and all orders."""

import numpy as np
import pandas as pd
import pytest

from coherence import score_mixing, simulate_mixing


@pytest.mark.lengthy
def test_rows_of_several_answers_do_not_tell_their_order():
    answers = simulate_mixing("steep", n_draws=5, rng=0)
    names = ["second flip given the first", "flip given the draw before"]

    def table(**columns):
        scores = score_mixing(answers.assign(**columns), n_resamples=100, rng=0)
        return scores.dependence

    whole = table()
    assert whole["test"].tolist() == names
    np.testing.assert_allclose(whole["excess"], whole["observed"] - whole["expected"])
    pd.testing.assert_frame_equal(table(count=1), whole)
    doubled = table(count=np.where(answers["p"] == 0.5, 2, 1))
    assert doubled["test"].tolist() == names[:1]
    assert table(draw=np.nan)["test"].tolist() == names[:1]


def test_only_what_was_read_is_a_draw_and_each_model_has_its_own():
    flips = simulate_mixing("steep", n_draws=6, rng=1).query("experiment == 'flip'")
    lost = flips["draw"] == 3
    refused = flips.assign(status=np.where(lost, "refused", "ok"))
    alone, both, twice = (
        score_mixing(table, n_resamples=100, rng=0).dependence
        for table in (
            flips[~lost],
            refused,
            pd.concat([refused.assign(model="other", answer="1"), refused]),
        )
    )
    pd.testing.assert_frame_equal(alone, both)
    assert alone["pairs"].item() == 21 * 4
    ours = twice[twice["model"] == "steep"].reset_index(drop=True)
    pd.testing.assert_frame_equal(ours, alone)
    theirs = twice[twice["model"] == "other"]
    # All draws of a condition are equal: so are all neighbours, whatever the order.
    assert theirs[["observed", "expected"]].to_numpy().tolist() == [[1, 1]]
