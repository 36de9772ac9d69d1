"""prompt_consistency: closed forms for the raw, corrected and floor figures."""

import math

import numpy as np
import pandas as pd
import pytest

from coherence import prompt_consistency


def noisy_runs(shift, sd=0.1, n_contexts=400, n_reps=5, seed=0):
    rng = np.random.default_rng(seed)
    base = rng.uniform(0.4, 0.6, n_contexts)
    pieces = []
    for prompt, moved in (("standard", 0.0), ("mse", shift)):
        p = np.clip(base[:, None] + moved + rng.normal(0, sd, (n_contexts, n_reps)), 0, 1)
        index = pd.MultiIndex.from_product(
            [range(n_contexts), range(n_reps)], names=["context", "rep"]
        )
        pieces.append(pd.DataFrame({"prompt": prompt, "p": p.ravel()}, index=index).reset_index())
    return pd.concat(pieces, ignore_index=True)


def test_published_keeps_the_noise_and_the_bootstrap():
    runs = noisy_runs(0.05, n_contexts=40)
    published, ours = (prompt_consistency(runs, published=each, rng=0) for each in (True, False))
    assert published.statistic == ours.details["rmse_means"][0]
    assert "bootstrap" in published.interval.method
    assert ours.interval == prompt_consistency(runs, rng=1).interval


def test_prompts_are_pooled_over_those_that_a_context_was_asked():
    """A context without one of the prompts stays, with the mean over its others.

    Thirty contexts, two prompts that lie .1 and .3 off, the second asked in half of them: the
    answers do not scatter, so that squares are .01 and (.01 + .09) / 2.
    """
    pieces = [
        pd.DataFrame({"context": range(n), "rep": rep, "prompt": prompt, "p": 0.4 + shift})
        for prompt, shift, n in (("standard", 0.0, 30), ("mse", 0.1, 30), ("bayes", 0.3, 15))
        for rep in range(2)
    ]
    result = prompt_consistency(pd.concat(pieces, ignore_index=True), rng=0)
    assert result.n_contexts == 30
    assert result.statistic == pytest.approx(math.sqrt((0.01 * 15 + 0.05 * 15) / 30))


def test_figures_by_hand():
    """Ten contexts with answers .5 and .7, under the other prompt .6 and .9: means .15 apart.

    Variances .02 and .045 of two answers each: noise .0325, more than the .0225 between the means;
    in ten more contexts the means are .35 apart, so that .1225 - .0325 is left.
    """
    pieces = [
        pd.DataFrame({"context": contexts, "rep": rep, "prompt": prompt, "p": p})
        for contexts, prompt, answers in (
            (range(20), "standard", (0.5, 0.7)),
            (range(10), "mse", (0.6, 0.9)),
            (range(10, 20), "mse", (0.1, 0.4)),
        )
        for rep, p in enumerate(answers)
    ]
    row = prompt_consistency(pd.concat(pieces, ignore_index=True)).details.iloc[0]
    assert row.rmse_means == pytest.approx(math.sqrt((0.0225 + 0.1225) / 2))
    assert row.rmse_corrected == pytest.approx(math.sqrt((0.0225 + 0.1225) / 2 - 0.0325))
    assert row.noise_floor == pytest.approx(math.sqrt(0.0325))
    # A single answer lies .15 from the mean of its two.
    assert row.rmse_single == pytest.approx(math.sqrt((0.0225 + 0.1225) / 2 + 0.0225))
    assert (row.sd_reference, row.sd_prompt) == pytest.approx((math.sqrt(0.02), math.sqrt(0.045)))


def test_ten_contexts_are_enough_and_nine_are_not():
    enough, few = (prompt_consistency(noisy_runs(0.08, n_contexts=n)) for n in (10, 9))
    row = enough.details.iloc[0]
    assert (row.rmse_corrected, row.high) == (enough.statistic, enough.interval.high)
    assert few.reason == "9 contexts with both prompts are fewer than 10"
    assert math.isnan(few.statistic)
    assert few.details[["rmse_corrected", "low", "high", "noise_floor"]].isna().all(axis=None)
    assert few.details["rmse_means"].notna().all()
