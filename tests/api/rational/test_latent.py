"""latent: gradients are exact, and beliefs, noise and calibration behind reports are found."""

import numpy as np
import pytest

from coherence.rational.latent import LatentModel, Reports, calibration_terms
from coherence.rational.reports import scale_of, spread_at


def reports_of(data):
    n = data.context.max() + 1
    scale = scale_of(data.report)
    counts = np.zeros((n, scale.levels.size))
    np.add.at(counts, (data.context, scale.codes(data.report)), 1)
    truth = np.zeros(n)
    truth[data.context] = data.truth
    return Reports(scale, counts, truth)


@pytest.mark.parametrize("options", [{}, {"shared": 0.08}, {"sd": 0.1}])
def test_scores_add_up_to_the_gradient(drawn, options):
    reports = reports_of(drawn(1, n=60))
    model = LatentModel(reports.scale, **options)
    at = model.start(0.12) + np.random.default_rng(1).normal(0, 0.05, model.n_parameters)
    found = model.posterior(at, reports)
    assert found.given_truth.sum(axis=1) == pytest.approx(np.ones(60))

    def value(parameters):
        return model.posterior(parameters, reports).log_likelihood

    numeric = [(value(at + h) - value(at - h)) / 2e-5 for h in np.eye(at.size) * 1e-5]
    assert found.scores.sum(axis=0) == pytest.approx(numeric, abs=1e-4)


def test_what_lies_behind_reports_is_found(drawn):
    data = drawn(3, n=2000, sd=0.15)
    reports = reports_of(data)
    model = LatentModel(reports.scale)
    end = model.fit(reports, reports.scatter)
    assert end.converged
    # .15 everywhere, although reports near 0 and 1 scatter by much less.
    assert spread_at(model.noise(end.parameters), np.array([0.1, 0.5, 0.9])) == pytest.approx(
        [0.15] * 3, rel=0.05
    )
    prior = model.prior(end.parameters)
    assert prior @ model.points == pytest.approx(0.5, abs=0.02)
    assert prior @ model.points**2 == pytest.approx(1 / 3, abs=0.02)
    calibrated = model.calibration(end.parameters)[[10, 30, 50, 70, 90]]
    assert calibrated == pytest.approx([0.1, 0.3, 0.5, 0.7, 0.9], abs=0.06)
    weight = model.posterior(end.parameters, reports).given_truth
    error = weight @ model.points - data.belief
    # Five reports with SD .15 know the belief to about .067, the state and the ends add a little.
    assert np.sqrt((error**2).mean()) < 0.067


@pytest.mark.lengthy
def test_masses_at_the_ends_are_found():
    rng = np.random.default_rng(4)
    belief = np.repeat(rng.choice([0.0, 1.0, 0.5], 1000, p=[0.3, 0.2, 0.5]), 5)
    report = np.clip(belief + 0.1 * rng.normal(size=belief.size), 0, 1).round(2)
    scale = scale_of(report)
    counts = np.zeros((1000, 101))
    np.add.at(counts, (np.arange(5_000) // 5, scale.codes(report)), 1)
    reports = Reports(scale, counts, (rng.random(1000) < belief[::5]).astype(float))
    model = LatentModel(scale)
    end = model.fit(reports, 0.1)
    prior = model.prior(end.parameters)
    assert prior[:3].sum() == pytest.approx(0.3, abs=0.045)
    assert prior[-3:].sum() == pytest.approx(0.2, abs=0.045)


def test_known_noise_stays_and_noise_that_is_shared_widens_what_is_left_open(drawn):
    reports = reports_of(drawn(5, n=100))
    fits = {}
    for name, options in {"free": {}, "known": {"sd": 0.3}, "shared": {"shared": 0.1}}.items():
        model = LatentModel(reports.scale, **options)
        end = model.fit(reports, reports.scatter)
        found = model.posterior(end.parameters, reports).given_reports
        variance = found @ model.points**2 - (found @ model.points) ** 2
        fits[name] = spread_at(model.noise(end.parameters), model.points), variance.mean()
    assert fits["known"][0] == pytest.approx(np.full(101, 0.3), rel=1e-3)
    assert fits["shared"][1] > 1.5 * fits["free"][1]


def test_an_isotonic_calibration_never_falls():
    scale = scale_of(np.array([0.05]))
    bent = np.zeros(LatentModel(scale).n_parameters)
    bent[-4:] = [0.0, 0.0, 1.0, -4.0]
    assert (np.diff(LatentModel(scale).calibration(bent)) < -1e-6).any()
    assert (np.diff(LatentModel(scale, isotonic=True).calibration(bent)) > -1e-12).all()


def test_calibrated_beliefs_are_inside_the_model():
    points = np.linspace(0.01, 0.99, 99)
    assert 1 / (1 + np.exp(-calibration_terms(points) @ [0, 1, 0, 0])) == pytest.approx(points)


def test_scatter_is_that_within_contexts(drawn):
    reports = reports_of(drawn(1, sd=0.0))
    assert reports.scatter == 0
    assert np.isnan(reports_of(drawn(1, reps=1)).scatter)
    assert reports.some(np.array([3, 5])).n_contexts == 2
