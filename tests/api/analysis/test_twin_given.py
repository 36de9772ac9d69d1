"""Beliefs given a variable in twins: on average the identity holds, and noise is what it was."""

import numpy as np
import pandas as pd
import pytest

from coherence import iterated_expectation_test, simulate
from coherence.analysis.twin_table import GivenZ
from coherence.rational.questions import fit_question
from tests.api.analysis.test_twin_table import table_of


def gap_of(runs):
    return iterated_expectation_test(runs, reference="standard", n_flips=99, rng=1)


def measure(result, name):
    return float(result.details.set_index("measure")["value"][name])


FLOOR = "noise floor (root-mean-square gap from repetitions alone)"


@pytest.mark.lengthy
@pytest.mark.parametrize("agent", ["noisy", "wordbound"])
def test_twins_average_out_whatever_the_agent_does(agent):
    runs = simulate(agent, n_contexts=100, n_reps=4, prompts=["standard"], rng=1)
    table, rng = table_of(runs), np.random.default_rng(2)
    gaps = [gap_of(table.draw(rng)) for _ in range(12)]
    seen = gap_of(runs)
    # The mean gap of twins is nothing, up to its error over contexts.
    error = (seen.interval.high - seen.interval.low) / 4
    assert abs(np.mean([gap.statistic for gap in gaps])) < 2.5 * error / np.sqrt(12) + 0.002
    if agent == "noisy":
        # They scatter over twins as the interval of the check says that they do.
        assert np.std([gap.statistic for gap in gaps]) == pytest.approx(error, rel=0.7)
        floor = np.mean([measure(gap, FLOOR) for gap in gaps])
        assert floor == pytest.approx(measure(seen, FLOOR), rel=0.1)
    else:
        beyond = [measure(gap, "root-mean-square gap, noise and rounding removed") for gap in gaps]
        assert max(beyond) < measure(seen, "root-mean-square gap, noise and rounding removed") / 3


def three_states(n=60, reps=3):
    rng = np.random.default_rng(1)
    rows = []
    for context in range(n):
        share = rng.dirichlet([3, 3, 3])
        belief = rng.uniform(0.2, 0.8, 3)
        for rep in range(reps):
            said = np.round(share + rng.normal(0, 0.03, 3), 2).clip(0.01, 0.98)
            rows += [
                {
                    "context": context,
                    "rep": rep,
                    "z": "z",
                    "z_state": state,
                    "p": np.clip(belief[number] + rng.normal(0, 0.05), 0, 1).round(2),
                    "p_z": said[number],
                }
                for number, state in enumerate("abc")
            ]
    return pd.DataFrame(rows)


@pytest.mark.lengthy
def test_gaps_of_three_states_and_states_that_were_not_asked():
    runs = three_states()
    runs = runs[~((runs["context"] == 0) & (runs["z_state"] == "c"))].reset_index(drop=True)
    rows = np.arange(len(runs))
    belief = runs["p"].to_numpy()
    given = GivenZ(
        runs,
        rows,
        lambda rows, group, n_groups: fit_question(belief[rows], group, n_groups),
    )
    assert not given.whole[0]
    assert given.whole[1:].all()
    target = np.linspace(0.25, 0.75, 60)
    target[5] = np.nan  # a context without a belief of its own
    rng, gaps = np.random.default_rng(2), []
    for _ in range(30):
        reports, shares = given.draw(target, rng)
        drawn = runs.assign(product=reports * shares, share=shares)
        sums = drawn.groupby(["context", "rep"])[["product", "share"]].sum()
        mean = (sums["product"] / sums["share"]).groupby("context").mean().to_numpy()
        gaps.append(mean - target)
    of_context = np.mean(gaps, axis=0)
    assert np.nanmax(np.abs(of_context[1:])) < 0.03
    assert abs(np.nanmean(of_context[1:])) < 0.005
