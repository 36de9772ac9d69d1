"""Studies of a fitted agent look like the data that it was fitted to, and the signal is planted."""

import numpy as np
import pytest

import coherence
from coherence import AGENTS, Groups, simulate
from coherence.analysis.populations import PILOT, SCATTER, AgentPopulation, population_like

ONE = {"prompts": ["standard"], "iterated": False}


def fitted(agent, *, n_reps=5, policies=False, n_contexts=400):
    runs = simulate(agent, n_contexts=n_contexts, n_reps=n_reps, policies=policies, rng=1, **ONE)
    names = {f"action_{label}": label for label in ("no", "yes", "defer")}
    action = runs[list(names)].rename(columns=names) if policies else runs["action"]
    found = coherence.fit_rational_agent(runs["p"], action, runs["theta"], context=runs["context"])
    return found, runs


def drawn(population, signal=0.0, n_contexts=4000, n_reps=5, seed=2):
    rng = np.random.default_rng(seed)
    return population.draw(signal, n_contexts, n_reps, rng, wordings=False, iterated=False)


def share_of(study, label):
    return study.share[:, study.actions.index(label)]


@pytest.fixture(scope="module")
def noisy():
    return fitted("noisy")


def test_studies_have_the_beliefs_states_and_noise_of_the_data(noisy):
    agent, runs = noisy
    study = drawn(population_like(agent))
    assert study.belief.mean() == pytest.approx(runs["p"].mean(), abs=0.03)
    assert study.belief.std() == pytest.approx(runs["p"].std(), abs=0.02)
    within = study.belief.reshape(-1, 5).std(axis=1, ddof=1)
    observed = runs["p"].to_numpy().reshape(-1, 5).std(axis=1, ddof=1)
    assert np.sqrt((within**2).mean()) == pytest.approx(np.sqrt((observed**2).mean()), rel=0.06)
    assert study.truth.mean() == pytest.approx(runs["theta"].mean(), abs=0.05)
    assert np.isin(np.round(study.belief * 20, 6) % 1, 0).all()  # the grid of the reports
    for label in ("no", "yes", "defer"):
        share = (runs["action"] == label).mean()
        assert share_of(study, label).mean() == pytest.approx(share, abs=0.03)
    n = agent.data.n_contexts
    assert population_like(agent).cautions == (PILOT.format(n=n), SCATTER)


@pytest.mark.parametrize("policies", [False, True])
def test_choices_of_a_context_are_as_alike_as_in_the_data(policies):
    """Without it repetitions would seem to bring what only more contexts can."""
    agent, runs = fitted("rational", n_reps=1 if policies else 5, policies=policies)
    population = population_like(agent)
    assert 0.15 < population.alike < 0.3
    study = drawn(population, n_reps=1 if policies else 5)
    if policies:
        of_study = study.share
        of_data = runs[["action_defer", "action_no", "action_yes"]].to_numpy()
        assert (of_study**2).sum(axis=1).mean() == pytest.approx(
            (of_data**2).sum(axis=1).mean(), abs=0.02
        )
        assert population.policies
        return
    same = [
        (codes[:, :1] == codes[:, 1:]).mean()
        for codes in (study.action.reshape(-1, 5), runs["action"].to_numpy().reshape(-1, 5))
    ]
    assert same[0] == pytest.approx(same[1], abs=0.03)


def test_without_taste_choices_of_a_context_are_hardly_alike():
    agent, _ = fitted(AGENTS["rational"].with_parameters(taste=0.0))
    assert population_like(agent).alike < 0.06


def test_a_signal_moves_choices_by_its_half_up_and_down(noisy):
    """At belief b and state 1 the shares are those of belief b + signal / 2, and at 0 of b - it."""
    population = population_like(noisy[0])
    points = population.chooser.points
    none, some = population.shares(0.0), population.shares(0.2)
    np.testing.assert_array_equal(none[0], none[1])
    shifted = np.flatnonzero((points > 0.2) & (points < 0.8))
    np.testing.assert_allclose(some[1][shifted], none[0][shifted + 10], atol=1e-9)
    np.testing.assert_allclose(some[0][shifted], none[0][shifted - 10], atol=1e-9)
    study = drawn(population, signal=0.4)
    middle = np.abs(study.belief - 0.5) < 0.1
    yes, true = share_of(study, "yes") == 1, study.truth == 1
    assert yes[middle & true].mean() - yes[middle & ~true].mean() > 0.15


def test_noise_that_reports_of_a_context_share_is_drawn_once():
    runs = simulate("noisy", n_contexts=100, n_reps=3, rng=1, **ONE)
    arrays = runs["p"], runs["action"], runs["theta"]
    agent = coherence.fit_rational_agent(
        *arrays, context=runs["context"], noise=0.01, shared_noise=0.2
    )
    study = drawn(population_like(agent), n_contexts=300, n_reps=3)
    spread = study.belief.reshape(-1, 3).std(axis=1)
    assert spread.mean() < 0.1


@pytest.mark.parametrize("fit", [False, True])
def test_contexts_of_a_group_share_a_taste_and_a_missed_base_rate(noisy, fit):
    population = population_like(noisy[0]) if fit else AgentPopulation(AGENTS["rational"])
    alone, together = (
        population.draw(
            0.0, 4000, 1, np.random.default_rng(1), wordings=False, iterated=False, groups=groups
        )
        for groups in (None, Groups(size=40, taste=2.0, missed=2.0))
    )
    assert alone.group is None
    assert together.group.tolist() == np.repeat(np.arange(100), 40).tolist()
    for of in (lambda study: study.state, lambda study: share_of(study, "yes")):
        spread = [
            (of(study) - study.belief).reshape(100, 40).mean(axis=1).std()
            for study in (alone, together)
        ]
        assert spread[1] > 2 * spread[0]


def test_one_choice_of_each_context_tells_nothing_of_how_alike_they_are():
    agent, _ = fitted("rational", n_reps=1, n_contexts=100)
    population = population_like(agent)
    assert population.alike == 0.0
    assert any("no context has two choices" in caution for caution in population.cautions)
