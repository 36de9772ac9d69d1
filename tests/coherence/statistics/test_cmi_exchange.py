"""The combined test: which statistics count, by how much, and how often what is dear is made."""

import numpy as np
import pytest

from coherence.statistics.choices import as_choices
from coherence.statistics.cmi_exchange import WEIGHTS, exchange_test
from coherence.statistics.cmi_problem import Problem, pose
from coherence.statistics.resample import combined_pvalue, exchanged_states

NEAREST = "nearest-neighbour statistic"


def problem(seed=0, n_contexts=60, n_reps=2, policy=False):
    """Beliefs in steps of .1 and choices by chance."""
    rng = np.random.default_rng(seed)
    belief = rng.integers(0, 11, n_contexts) / 10
    truth = (rng.random(n_contexts) < belief).astype(int)
    context = np.repeat(np.arange(n_contexts), n_reps)
    action = rng.integers(0, 3, context.size)
    choices = rng.dirichlet(np.ones(3), context.size) if policy else action
    return pose(as_choices(belief[context], choices, truth[context], context), None, False), truth


@pytest.mark.parametrize("policy", [False, True])
@pytest.mark.parametrize("many_rows", [False, True])
def test_statistics_are_combined_by_their_weights(policy, many_rows, monkeypatch):
    """Without neighbours where there are many rows; of policies they weigh as the first does."""
    if many_rows:
        monkeypatch.setattr("coherence.statistics.cmi_problem.TABLE_ROWS", 100)
    posed, state = problem(policy=policy)
    result = exchange_test(posed, 3, state, 99, np.random.default_rng(1), exact=False)
    exchanged = np.concatenate(
        list(exchanged_states(posed.blocks, state, 99, np.random.default_rng(1)))
    )
    nearest, k_test = posed.statistic(3)
    assert (k_test is None) is many_rows
    assert result.k_test == k_test

    def columns(states):
        bins, halves = posed.counts.divergences(states), posed.halves.divergences(states)
        near = [nearest(each[posed.data.context], False)[1] for each in states]
        return np.stack([bins.along, bins.in_bins, halves.in_bins, bins.throughout, near], axis=1)

    weights = np.array([3.0, 1.0, 2.0, 1.0, 3.0 if policy else 1.0])
    used = slice(0, 4 if many_rows else 5)
    observed, drawn = columns(state[None])[0], columns(exchanged)
    expected = combined_pvalue(observed[used], drawn[:, used], weights[used])
    assert result.pvalue == expected
    nats = result.parts.set_index("quantity")["nats"]
    for number, name in enumerate(list(WEIGHTS)[used]):
        assert nats[name] == pytest.approx(observed[number])
        assert nats[f"{name}, mean of permuted"] == pytest.approx(drawn[:, number].mean())
    assert (NEAREST in nats) is not many_rows
    assert result.in_bins == pytest.approx(drawn[:, 1])
    evenly = np.unique(np.linspace(0, 98, 50).astype(int))
    assert result.some.tolist() == exchanged[evenly].tolist()


def test_portions_change_nothing(monkeypatch):
    """Seven exchanges at a time: the same number of exchanges, evenly chosen, of whole contexts."""
    posed, state = problem()
    monkeypatch.setattr("coherence.statistics.resample.EXCHANGED_STATES", 7 * 60)
    result = exchange_test(posed, 3, state, 100, np.random.default_rng(1), exact=False)
    portions = list(exchanged_states(posed.blocks, state, 100, np.random.default_rng(1)))
    assert [len(portion) for portion in portions] == [7] * 14 + [2]
    assert result.in_bins == pytest.approx(
        posed.counts.divergences(np.concatenate(portions)).in_bins
    )
    evenly = np.unique(np.linspace(0, 99, 50).astype(int))
    assert result.some.tolist() == np.concatenate(portions)[evenly].tolist()


@pytest.mark.parametrize(
    ("n_rows", "n_made"), [(2_000, 60), (2_002, 20), (10_500, 19), (40_000, 5), (200_000, 2)]
)
def test_dear_estimates_are_made_for_few_exchanges_where_there_are_many_rows(
    n_rows, n_made, monkeypatch
):
    """Two hundred thousand rows in all, over two exchanges at least and twenty at most.

    With few rows, the statistic is made for all exchanges and the estimate for the first 199.
    """
    posed, state = problem(n_reps=1)
    calls = []
    has_statistic = n_rows <= 2_000

    def statistic(self, k):
        def nearest(truth, with_estimate):
            calls.append(with_estimate)
            return 0.0, 0.0

        return nearest, 5 if has_statistic else None

    monkeypatch.setattr(Problem, "statistic", statistic)
    monkeypatch.setattr("coherence.statistics.choices.ChoiceData.n_rows", n_rows)
    exchange_test(posed, 3, state, 60, np.random.default_rng(0), exact=False)
    assert calls == [True] * (1 + n_made)


def test_many_contexts_take_time_in_proportion():
    """Twice the contexts of the large table move twice the states, not four times.

    Counted in states that pass through a portion at once, so that no clock decides.
    """
    for n in (20_000, 400_000):
        state = np.tile([0, 1], n // 2)
        first = next(exchanged_states(np.arange(n) // 8, state, 999, np.random.default_rng(0)))
        assert first.size <= max(200_000, n)
