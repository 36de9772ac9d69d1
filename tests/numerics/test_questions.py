"""Questions: the noise that was planted is fitted, and drawn reports have it."""

import numpy as np
import pytest

from coherence.rational.belief import Grid, grid_of
from coherence.rational.questions import fit_question


def asked(seed, sd, *, n=300, reps=5, grid=0.05):
    rng = np.random.default_rng(seed)
    belief = rng.random(n)
    group = np.arange(n).repeat(reps)
    reports = np.clip(belief[group] + sd * rng.normal(size=group.size), 0, 1)
    if sd == 0:
        reports = belief[group]
    return np.round(np.round(reports / grid) * grid, 10), group, belief


def test_reports_of_the_same_beliefs_scatter_alike_and_stay_on_the_grid():
    reports, group, belief = asked(1, 0.15)
    question = fit_question(reports, group, 300)
    drawn = question.reports(belief[group], np.random.default_rng(2))
    assert grid_of(drawn) == Grid(0.05, rounded=True)
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
    reports, group, _ = asked(2, 0.0)
    question = fit_question(reports, group, 300)
    assert not question.held.noisy
    rng = np.random.default_rng(1)
    held = question.beliefs(rng)
    assert question.reports(held, rng) == pytest.approx(reports[::5])
    assert (held - reports[::5]).std() == pytest.approx(0.05 / np.sqrt(12), rel=0.1)
    assert ((held >= 0) & (held <= 1)).all()


def test_a_question_asked_once_scatters_as_it_is_told():
    reports, group, _ = asked(4, 0.1, reps=1, n=400)
    question = fit_question(reports, group, 400, otherwise=0.1)
    middle = np.full(4000, 0.5)
    drawn = question.reports(middle, np.random.default_rng(1))
    assert drawn.std() == pytest.approx(0.1, rel=0.1)
    assert not fit_question(reports, group, 400).held.noisy
