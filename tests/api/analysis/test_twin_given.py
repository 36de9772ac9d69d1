"""Beliefs given a variable in twins: on average the identity holds, and noise is what it was."""

import numpy as np
import pytest

from coherence import iterated_expectation_test, simulate
from tests.api.analysis.test_twin_table import table_of


def gap_of(runs):
    return iterated_expectation_test(runs, reference="standard", rng=1)


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
