"""Questions: the noise that was planted is fitted, and drawn reports have it."""

import numpy as np
import pytest

from coherence.rational.questions import fit_question, lies_on, within_step
from coherence.rational.reports import ReportScale


def asked(seed, sd, *, n=300, reps=5, grid=0.05):
    rng = np.random.default_rng(seed)
    belief = rng.random(n)
    truth = (rng.random(n) < belief).astype(float)
    group = np.arange(n).repeat(reps)
    reports = np.clip(belief[group] + sd * rng.normal(size=group.size), 0, 1)
    if sd == 0:
        reports = belief[group]
    return np.round(np.round(reports / grid) * grid, 10), group, truth, belief


def test_reports_of_the_same_beliefs_scatter_alike_and_stay_on_the_grid():
    reports, group, truth, belief = asked(1, 0.15)
    question = fit_question(reports, group, truth)
    drawn = question.reports(belief[group], np.random.default_rng(2))
    assert lies_on(drawn, ReportScale(0.05, ()))
    spread, wanted = (
        np.sqrt(np.mean([values[group == g].var(ddof=1) for g in range(300)]))
        for values in (drawn, reports)
    )
    assert spread == pytest.approx(wanted, rel=0.06)
    assert drawn.mean() == pytest.approx(reports.mean(), abs=0.02)
    held = question.beliefs(np.random.default_rng(3))
    # Drawn from what five reports tell: near the belief, and as wide as the beliefs themselves.
    assert np.sqrt(np.mean((held - belief) ** 2)) == pytest.approx(
        np.sqrt(2 * np.mean(question.spread**2)), rel=0.15
    )
    assert held.std() == pytest.approx(belief.std(), rel=0.06)


def test_reports_that_never_differ_have_no_noise_but_rounding():
    reports, group, truth, _ = asked(2, 0.0)
    question = fit_question(reports, group, truth)
    assert question.noise is None
    rng = np.random.default_rng(1)
    held = question.beliefs(rng)
    assert question.reports(held, rng) == pytest.approx(reports[::5])
    assert (held - reports[::5]).std() == pytest.approx(0.05 / np.sqrt(12), rel=0.1)
    assert ((held >= 0) & (held <= 1)).all()


def test_computed_reports_are_the_belief_though_they_differ():
    reports, group, truth, _ = asked(3, 0.1, grid=1e-6)
    question = fit_question(reports, group, truth, computed=True)
    assert question.noise is None
    assert not question.rounded
    values = np.array([0.123456, 0.7])
    assert question.reports(values, np.random.default_rng(1)).tolist() == values.tolist()


def test_a_question_asked_once_scatters_as_it_is_told():
    reports, group, truth, _ = asked(4, 0.1, reps=1, n=400)
    question = fit_question(reports, group, truth, otherwise=0.1)
    middle = np.full(4000, 0.5)
    drawn = question.reports(middle, np.random.default_rng(1))
    assert drawn.std() == pytest.approx(0.1, rel=0.1)
    assert fit_question(reports, group, truth).noise is None


def test_unknown_states_are_no_obstacle():
    reports, group, truth, _ = asked(5, 0.15, n=100)
    truth[::2] = np.nan
    question = fit_question(reports, group, truth)
    assert question.noise is not None
    assert question.weight.shape[0] == 100
    assert question.weight.sum(axis=1) == pytest.approx(np.ones(100))


def test_what_rounds_to_the_ends_stays_inside():
    moved = within_step(np.array([0.0, 1.0] * 50), 0.1, np.random.default_rng(1))
    assert moved[::2].max() < 0.05
    assert moved[1::2].min() > 0.95
