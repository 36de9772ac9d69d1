"""A study's numbers hang on the seed, its size and its number, and on nothing else."""

import numpy as np
import pytest

from coherence import AGENTS
from coherence.study.populations import AgentPopulation
from coherence.study.simulations import PORTION, Cell, Plan, Simulator
from coherence.table.printable import repeated

CHECKS = ("residual_covariance", "monotone_choice", "iterated_expectation")
CELL = Cell(30, 2, 0.2)


def plan(checks=CHECKS, n_draws=99):
    return Plan(AgentPopulation(AGENTS["rational"]), checks, n_draws, (1, 2))


@pytest.fixture(scope="module")
def alone():
    return plan().numbers(CELL, 0, 6)


def test_a_part_of_the_studies_is_that_part(alone):
    np.testing.assert_array_equal(plan().numbers(CELL, 2, 5), alone[2:5])


def test_other_checks_change_nothing(alone):
    only = plan(("monotone_choice",)).numbers(CELL, 0, 6)
    np.testing.assert_array_equal(only, alone[:, 1:5])


def test_studies_differ(alone):
    assert len({tuple(row) for row in alone.tolist()}) == 6
    assert (plan().numbers(Cell(30, 2, 0.3), 0, 6) != alone).any()
    other = Plan(AgentPopulation(AGENTS["rational"]), CHECKS, 99, (1, 3))
    assert (other.numbers(CELL, 0, 6) != alone).any()


def test_more_cells_more_studies_and_more_processes_keep_the_numbers(alone):
    said = []
    one = Simulator(plan(), progress=lambda *of: said.append(of))
    one.run([CELL], 4)
    one.run([CELL, Cell(20, 2, 0.0)], PORTION + 2)
    np.testing.assert_array_equal(one.kept[CELL][:6], alone)
    assert {len(numbers) for numbers in one.kept.values()} == {PORTION + 2}
    two = Simulator(plan(), n_jobs=2)
    two.run([Cell(20, 2, 0.0), CELL], PORTION + 2)
    for cell, numbers in one.kept.items():
        np.testing.assert_array_equal(two.kept[cell], numbers)
    done = [done for done, _, _ in said]
    assert done == sorted(done)
    assert said[-1][:2] == (2 * (PORTION + 2), 2 * (PORTION + 2))
    assert said[0] == (4, 4, "30 x 2, signal 0.2")


def test_one_repetition_is_one():
    assert (repeated(1), repeated(5)) == ("1 repetition", "5 repetitions")


def test_names_and_draws_come_from_the_checks():
    usual = plan(("residual_covariance", "cmi", "predictive_gain"), None)
    assert usual.results == ["residual_covariance", "cmi", "predictive_gain"]
    assert [usual.draws_of(check) for check in usual.checks] == [999, 199, 0]
    assert plan(("cmi",), 99).draws_of("cmi") == 99
    assert plan().check_of["monotone_direction"] == "monotone_choice"
