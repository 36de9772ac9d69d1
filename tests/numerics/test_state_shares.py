"""Shares at equal belief. Breaks if a line stands at another belief, side or case than the test."""

import numpy as np
import pandas as pd
import pytest

from coherence import simulate, sufficiency_test
from coherence.statistics.figure_tables import CONTEXTS_PER_SIDE, shares_by_side, sides_of
from coherence.statistics.permutation import Contexts
from coherence.statistics.sequences import beyond_belief, kept_of_products


def shares_of(rows, **changes):
    options = {"exact": "p_true", "context": "context", "n_draws": 99, "rng": 1}
    return sufficiency_test("p", "action", data=rows, **options | changes).fitted


def rows_of(agent, seed, n_contexts=100, n_reps=3, **changes):
    runs = simulate(agent, n_contexts=n_contexts, n_reps=n_reps, iterated=False, rng=seed)
    return runs[runs["action"].notna()].assign(**changes)


def gap(table, action="yes"):
    """Mean gap over bins, weighed by their contexts."""
    rows = table[table["action"] == action].pivot_table(
        index="bin", columns="state", values=["share", "n_contexts"]
    )
    return np.average(rows["share"][1] - rows["share"][0], weights=rows["n_contexts"].sum(axis=1))


def test_shares_are_those_of_the_rows_brought_to_the_mean_belief_of_the_bin():
    rng = np.random.default_rng(3)
    belief, share = np.sort(rng.uniform(size=60)), rng.uniform(size=(60, 2))
    left, side = rng.normal(scale=0.1, size=(60, 2)), rng.integers(-1, 2, 60)
    table = shares_by_side(belief, share, left, side, np.arange(60), ["b", "a"])
    assert list(dict.fromkeys(table["action"])) == ["b", "a"]
    assert table["n_contexts"].min() >= CONTEXTS_PER_SIDE
    assert table[table["action"] == "a"]["n_contexts"].sum() == (side >= 0).sum()
    for row in table[table["bin"] == 0].itertuples():
        at = ["b", "a"].index(row.action)
        first = np.flatnonzero(np.isclose(belief.cumsum() / np.arange(1, 61), row.belief))[-1]
        inside = np.arange(60) <= first
        fit = (share - left)[inside, at].mean()
        assert row.share == pytest.approx(fit + left[inside & (side == row.state), at].mean())


def test_few_contexts_on_a_side_leave_no_table():
    side = np.r_[np.zeros(26, dtype=int), np.ones(4, dtype=int)]
    zeros = np.zeros((30, 1))
    assert shares_by_side(np.linspace(0, 1, 30), zeros, zeros, side, side, ["a"]).empty
    exact = sides_of(np.array([0.1, -0.1, 0.0]), np.array([0.6, 0.2, 0.3]), exact=True)
    assert exact.tolist() == [1, 0, -1]


@pytest.mark.lengthy
@pytest.mark.parametrize("agent", ["miscalibrated", "rational", "prospect"])
def test_the_lines_of_a_coherent_agent_are_one_whatever_its_calibration(agent):
    tables = [rows_of(agent, seed) for seed in range(15)]
    assert abs(np.mean([gap(shares_of(rows)) for rows in tables])) < 0.02
    gaps = [gap(shares_of(rows, exact=None, truth="theta")) for rows in tables]
    assert abs(np.mean(gaps)) < 0.03


def test_the_belief_in_the_other_state_turns_the_sides():
    rows = rows_of("leaky", 2)
    table = shares_of(rows)
    assert gap(table) > 0.2
    other = shares_of(rows.assign(p=1 - rows["p"], p_true=1 - rows["p_true"]))
    assert gap(other) == pytest.approx(-gap(table), abs=0.05)  # bins are joined from below


def test_tastes_of_groups_and_persons_are_taken_out():
    rng = np.random.default_rng(5)
    group, person = np.arange(200) % 10, np.tile(np.arange(10), 40)
    belief = rng.uniform(0.1, 0.9, 200)
    base = rng.normal(scale=0.15, size=10)[group]
    truth = (rng.uniform(size=200) < np.clip(belief + base, 0, 1)).astype(int)
    share = 0.2 + 0.6 * belief + base  # what shifts the state shifts choice
    settled = pd.DataFrame({"no": 1 - share.clip(0, 1), "yes": share.clip(0, 1)})
    share = np.clip(share + 0.05 * rng.normal(size=200), 0, 1)
    policy = pd.DataFrame({"no": 1 - share, "yes": share})
    of = {"n_draws": 99, "rng": 1}
    assert gap(sufficiency_test(belief, policy, truth, **of).fitted) > 0.05
    assert abs(gap(sufficiency_test(belief, policy, truth, group=group, **of).fitted)) < 0.02
    settled = sufficiency_test(belief, settled, truth, group=group, **of)  # by curves of groups
    assert (settled.statistic, settled.pvalue, settled.settings["settled"]) == (0, 1, True)
    case = np.repeat(np.arange(40), 10)
    own = np.clip(rng.uniform(size=40)[case] + rng.normal(scale=0.1, size=400), 0, 1)
    happened = (rng.uniform(size=40) < 0.5).astype(int)[case]
    taste = rng.normal(scale=0.2, size=10)[person]
    acts = np.clip(0.5 * own + 0.3 + taste, 0, 1)
    policy = pd.DataFrame({"no": 1 - acts, "yes": acts})
    found = sufficiency_test(own, policy, happened, context=case, person=person, rng=1).fitted
    assert abs(gap(found)) < 0.02


def test_what_fits_keep_of_products_is_the_trace_of_what_they_leave():
    """Breaks if estimates in small groups end too low, as fits of two columns take of both."""
    rng = np.random.default_rng(4)
    group, belief = np.repeat(np.arange(6), [12, 9, 8, 5, 3, 12]), rng.random(49)
    columns = belief[:, None] * [3, 1] + rng.normal(size=(49, 2)) + group[:, None]
    line = Contexts(belief, columns, group, group, np.arange(49), group)
    averages = [beyond_belief(line, column)[1] for column in columns.T]
    matrices = []
    for of in averages:
        matrix = np.eye(49)
        for weight, block in of:
            same = block[:, None] == block
            matrix -= weight * same / same.sum(axis=1)
        matrices.append(matrix)
    expected = np.trace(matrices[0].T @ matrices[1]) / 49
    assert 0.1 < expected < 0.9
    assert kept_of_products(*averages) == pytest.approx(expected)
