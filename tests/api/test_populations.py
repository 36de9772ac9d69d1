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


def drawn(population, signal=0.0, n_contexts=4000, n_reps=5, **options):
    rng, options = np.random.default_rng(2), {"wordings": False, "iterated": False, **options}
    return population.draw(signal, n_contexts, n_reps, rng, **options)


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
    drawn_, seen = (p.reshape(-1, 5).var(axis=1) for p in (study.belief, runs["p"].to_numpy()))
    assert np.sqrt(drawn_.mean()) == pytest.approx(np.sqrt(seen.mean()), rel=0.06)
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
        of_data = runs[["action_defer", "action_no", "action_yes"]].to_numpy()
        found, wanted = ((share**2).sum(axis=1).mean() for share in (study.share, of_data))
        assert found == pytest.approx(wanted, abs=0.02)
        assert population.policies
        return
    of_both = (codes.reshape(-1, 5) for codes in (study.action, runs["action"].to_numpy()))
    found, wanted = ((codes[:, :1] == codes[:, 1:]).mean() for codes in of_both)
    assert found == pytest.approx(wanted, abs=0.03)


def test_choices_are_hardly_alike_without_taste_and_of_one_choice_nothing_is_known():
    agent, _ = fitted(AGENTS["rational"].with_parameters(taste=0.0))
    assert population_like(agent).alike < 0.06
    once = population_like(fitted("rational", n_reps=1, n_contexts=100)[0])
    assert once.alike == 0.0
    assert any("no context has two choices" in caution for caution in once.cautions)


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


@pytest.mark.parametrize("fit", [False, True])
def test_contexts_of_a_group_share_a_taste_and_a_missed_base_rate(noisy, fit):
    population = population_like(noisy[0]) if fit else AgentPopulation(AGENTS["rational"])
    groups = Groups(size=40, taste=2.0, missed=2.0)
    alone, together = (drawn(population, n_reps=1, groups=each) for each in (None, groups))
    assert alone.group is None
    assert together.group.tolist() == np.repeat(np.arange(100), 40).tolist()
    for of in (lambda study: study.state, lambda study: share_of(study, "yes")):
        gaps = ((of(study) - study.belief).reshape(100, 40) for study in (alone, together))
        few, many = (gap.mean(axis=1).std() for gap in gaps)
        assert many > 2 * few
