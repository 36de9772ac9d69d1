"""Studies of a table look like it, choices hang on the belief alone, and the signal is planted."""

import numpy as np
import pytest

from coherence import AGENTS, Groups, simulate
from coherence.analysis.pilot import read_pilot
from coherence.analysis.populations import PILOT, SCATTER, AgentPopulation, population_like
from coherence.table.runs import Runs

ONE = {"prompts": ["standard"], "iterated": False}


def asked(agent, *, n_contexts=400, exact=False, **options):
    runs = simulate(agent, n_contexts=n_contexts, rng=1, **{"n_reps": 5} | options, **ONE)
    runs = runs if exact else runs.drop(columns=["p_true", "truth_kind"])
    return read_pilot(Runs(runs))[0], runs


def drawn(population, signal=0.0, n_contexts=4000, n_reps=5, **options):
    rng, options = np.random.default_rng(2), {"wordings": False, "iterated": False, **options}
    return population.draw(signal, n_contexts, n_reps, rng, **options)


def share_of(study, label):
    return study.share[:, study.actions.index(label)]


@pytest.fixture(scope="module")
def noisy():
    return asked("noisy")


def test_studies_have_the_beliefs_states_noise_and_choices_of_the_table(noisy):
    data, runs = noisy
    study = drawn(population_like(data))
    assert study.belief.mean() == pytest.approx(runs["p"].mean(), abs=0.03)
    assert study.belief.std() == pytest.approx(runs["p"].std(), abs=0.02)
    # Drawn with repetition, reports of a case have the variance of its n over n.
    drawn_, seen = (p.reshape(-1, 5).var(axis=1) for p in (study.belief, runs["p"].to_numpy()))
    assert np.sqrt(drawn_.mean()) == pytest.approx(np.sqrt(0.8 * seen.mean()), rel=0.06)
    assert study.truth.mean() == pytest.approx(runs["theta"].mean(), abs=0.05)
    for label in ("no", "yes", "defer"):
        share = (runs["action"] == label).mean()
        assert share_of(study, label).mean() == pytest.approx(share, abs=0.03)
    assert population_like(data).cautions == (PILOT.format(n=400), SCATTER)


@pytest.mark.parametrize("policies", [False, True])
def test_choices_of_a_context_are_as_alike_as_in_the_table(policies):
    """Without it repetitions would seem to bring what only more contexts can."""
    data, runs = asked("rational", n_reps=1 if policies else 5, policies=policies)
    study = drawn(population_like(data), n_reps=1 if policies else 5)
    if policies:
        of_data = runs[["action_defer", "action_no", "action_yes"]].to_numpy()
        found, wanted = ((share**2).sum(axis=1).mean() for share in (study.share, of_data))
        assert found == pytest.approx(wanted, abs=0.02)
        return
    codes = runs["action"].to_numpy().reshape(-1, 5)
    wanted = (codes[:, :1] == codes).mean()  # a share counts a choice with itself
    codes = study.action.reshape(-1, 5)
    assert (codes[:, :1] == codes[:, 1:]).mean() == pytest.approx(wanted, abs=0.03)


def test_of_one_choice_a_context_it_is_said_that_nothing_is_known():
    once = population_like(asked("rational", n_reps=1, n_contexts=100)[0])
    assert any("no context has two choices" in caution for caution in once.cautions)


def test_a_leaky_table_has_nothing_hidden_at_signal_0_and_a_signal_moves_choices(noisy):
    """Breaks if the choices of a case stay with its own state."""
    leaky = population_like(asked("leaky")[0])
    for population, signal, low, high in ((leaky, 0.0, -0.05, 0.05), (leaky, 0.4, 0.15, 1.0)):
        study = drawn(population, signal=signal, n_reps=1)
        middle = np.abs(study.belief - 0.5) < 0.1
        yes, true = share_of(study, "yes") == 1, study.truth == 1
        assert low < yes[middle & true].mean() - yes[middle & ~true].mean() < high
    exact = population_like(asked("shaded", exact=True)[0])
    assert (exact.planted, population_like(noisy[0]).planted) == ("weight", "hidden_signal")


@pytest.mark.parametrize("like", [False, True])
def test_contexts_of_a_group_share_a_taste_and_a_missed_base_rate(noisy, like):
    population = population_like(noisy[0]) if like else AgentPopulation(AGENTS["rational"])
    groups = Groups(size=40, taste=2.0, missed=2.0)
    alone, together = (drawn(population, n_reps=1, groups=each) for each in (None, groups))
    assert alone.group is None
    assert together.group.tolist() == np.repeat(np.arange(100), 40).tolist()
    for of in (lambda study: study.state, lambda study: share_of(study, "yes")):
        gaps = ((of(study) - study.belief).reshape(100, 40) for study in (alone, together))
        few, many = (gap.mean(axis=1).std() for gap in gaps)
        assert many > 2 * few
