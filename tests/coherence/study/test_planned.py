"""A plan's p-values are those of the checks, from the same random numbers."""

import math

import numpy as np
import pandas as pd
import pytest

import coherence
from coherence import AGENTS, simulate
from coherence.checks import CHECKS
from coherence.inputs import Actions
from coherence.study.planned import PLANNED
from coherence.study.populations import LABELS, AgentPopulation
from coherence.study.samples import Sample, as_policies, chosen

N_DRAWS = 199


def study(agent="rational", *, seed=1, n_contexts=60, n_reps=3, policies=False, **asks):
    population = AgentPopulation(AGENTS[agent], policies=policies)
    wanted = {"wordings": False, "iterated": False} | asks
    return population.draw(0.3, n_contexts, n_reps, np.random.default_rng(seed), **wanted)


def planned(check, sample, seed=5):
    return PLANNED[check].run(sample, LABELS, N_DRAWS, np.random.default_rng(seed))


def test_every_check_is_planned():
    assert tuple(PLANNED) == tuple(CHECKS)


@pytest.mark.parametrize("policies", [False, True])
@pytest.mark.parametrize("agent", ["rational", "greedy", "nonmonotone", "noisy"])
def test_residual_covariance(agent, policies):
    sample = study(agent, policies=policies)
    result = coherence.residual_covariance_test(
        sample.belief,
        sample.actions,
        sample.truth[sample.context],
        context=sample.context,
        n_draws=N_DRAWS,
        rng=5,
    )
    assert planned("residual_covariance", sample) == [result.pvalue]


@pytest.mark.parametrize("policies", [False, True])
@pytest.mark.parametrize("agent", ["rational", "nonmonotone"])
def test_monotone_choice_and_direction(agent, policies):
    sample = study(agent, policies=policies)
    names = PLANNED["monotone_choice"].results(LABELS)
    rng = np.random.default_rng(5)
    expected = [
        coherence.monotone_choice_test(
            sample.belief,
            sample.actions,
            pair=tuple(name.partition(":")[2].split("/")),
            context=sample.context,
            n_draws=N_DRAWS,
            rng=stream,
        ).pvalue
        for name, stream in zip(names[:3], rng.spawn(3), strict=True)
    ]
    direction = coherence.monotone_direction_test(
        sample.belief, sample.actions, context=sample.context, n_draws=N_DRAWS, rng=rng.spawn(1)[0]
    )
    assert planned("monotone_choice", sample) == [*expected, direction.pvalue]
    assert names[3] == "monotone_direction"


def test_iterated_expectation():
    sample = study("wordbound", n_contexts=30, iterated=True)
    agent = AGENTS["wordbound"].with_parameters(hidden_signal=0.3)
    runs = simulate(agent, n_contexts=30, n_reps=3, rng=1)
    result = coherence.iterated_expectation_test(runs, n_flips=N_DRAWS, rng=5)
    assert planned("iterated_expectation", sample) == pytest.approx([result.pvalue], abs=1e-12)


def test_checks_without_a_short_cut():
    sample = study()
    arrays = sample.belief, sample.actions, sample.truth[sample.context]
    information = coherence.cmi_test(
        *arrays, context=sample.context, n_permutations=N_DRAWS, rng=np.random.default_rng(5)
    )
    assert planned("cmi", sample) == [information.pvalue]
    noisy = study("noisy")
    arrays = noisy.belief, noisy.actions, noisy.truth[noisy.context]
    agent = coherence.rational_agent_test(
        *arrays, context=noisy.context, n_draws=N_DRAWS, rng=np.random.default_rng(5)
    )
    assert planned("rational_agent", noisy) == [agent.pvalue]


def test_an_agent_whose_reports_do_not_scatter_has_no_test_of_its_own():
    assert np.isnan(planned("rational_agent", study())).all()


@pytest.mark.lengthy
def test_predictive_gain():
    sample = study(n_contexts=30, n_reps=1)
    arrays = sample.belief, sample.actions, sample.truth[sample.context]
    gain = coherence.predictive_gain_test(*arrays, context=sample.context)
    assert planned("predictive_gain", sample) == [gain.pvalue]


def test_estimates_give_half_the_width_of_their_intervals():
    sample = study("noisy", wordings=True)
    truth = sample.truth[sample.context]
    results = {
        result.check: result
        for result in coherence.calibration_estimates(sample.belief, truth, context=sample.context)
    }
    names = PLANNED["calibration"].results(LABELS)
    ends = [results[name].interval for name in names]
    assert planned("calibration", sample) == [(end.high - end.low) / 2 for end in ends]
    agent = AGENTS["noisy"].with_parameters(hidden_signal=0.3)
    runs = simulate(agent, n_contexts=60, n_reps=3, rng=1, iterated=False)
    names = PLANNED["prompt_consistency"].results(LABELS)
    ends = [
        coherence.prompt_consistency(runs, prompts=[name.partition(":")[2]]).interval
        for name in names
    ]
    expected = [(end.high - end.low) / 2 for end in ends]
    assert planned("prompt_consistency", sample) == pytest.approx(expected, abs=1e-9)


def test_results_are_called_as_in_a_report():
    runs = simulate("noisy", n_contexts=30, n_reps=2, rng=1)
    checks = [check for check in CHECKS if check != "predictive_gain"]
    reported = set(coherence.analyze(runs, checks=checks, rng=1).results["check"])
    for check in checks:
        names = PLANNED[check].results(LABELS)
        assert set(names) <= reported, check


def test_what_is_undefined_is_nan_and_never_a_rejection():
    belief, truth = np.repeat(np.linspace(0.1, 0.9, 12), 2), np.tile([0, 1], 6)
    alike = Sample(belief, chosen(np.zeros(24, dtype=int), LABELS), truth, 2)
    for check in ("residual_covariance", "monotone_choice"):
        assert np.isnan(planned(check, alike)).all(), check
    action = chosen(np.arange(24) % 2, LABELS)
    separated = Sample(belief, action, (np.arange(12) > 5).astype(int), 2)
    assert math.isnan(planned("residual_covariance", separated)[0])
    few = Sample(belief[:8], chosen(np.arange(8) % 3, LABELS), truth[:4], 2, gaps=np.ones(4))
    for check in ("residual_covariance", "monotone_choice", "iterated_expectation"):
        assert np.isnan(planned(check, few)).all(), check


def test_choices_that_the_belief_settles_leave_nothing_to_find():
    belief = np.tile(np.linspace(0.05, 0.95, 10), 4)
    share = np.stack([belief, 1 - belief], axis=1)
    settled = Sample(belief, as_policies(share, ("no", "yes")), np.repeat([0, 1], 20), 1)
    assert PLANNED["residual_covariance"].run(
        settled, ("no", "yes"), N_DRAWS, np.random.default_rng(1)
    ) == [1.0]


def test_two_actions_have_one_pair_and_no_direction():
    names = PLANNED["monotone_choice"].results(("treat", "wait"))
    assert names == ["monotone_choice:treat/wait"]
    sample = study()
    two = Actions(sample.action.codes % 2, ("treat", "wait"))
    of_two = Sample(sample.belief, two, sample.truth, sample.n_reps)
    rng = np.random.default_rng(5)
    (pvalue,) = PLANNED["monotone_choice"].run(of_two, ("treat", "wait"), N_DRAWS, rng)
    expected = coherence.monotone_choice_test(
        pd.Series(of_two.belief),
        of_two.actions,
        pair=("treat", "wait"),
        direction="either",
        context=of_two.context,
        n_draws=N_DRAWS,
        rng=np.random.default_rng(5).spawn(1)[0],
    )
    assert pvalue == expected.pvalue
