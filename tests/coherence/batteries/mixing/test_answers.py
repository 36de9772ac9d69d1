"""Counting answers: one by one, by count, and in any order."""

import pandas as pd

from coherence.batteries.mixing.scoring import score_mixing
from coherence.batteries.mixing.simulated import simulate_mixing


def test_counts_single_answers_and_orders_of_rows_agree():
    answers = simulate_mixing("steep", n_draws=10, rng=0)
    keys = ["model", "experiment", "p", "item", "order", "answer"]
    counted = answers.groupby(keys, as_index=False).size().rename(columns={"size": "count"})
    single, by_count, mixed = (
        score_mixing(table, n_resamples=100, rng=0).experiments
        for table in (answers, counted, answers.sample(frac=1, random_state=0))
    )
    pd.testing.assert_frame_equal(single, by_count)
    pd.testing.assert_frame_equal(single, mixed)
