"""exact: reports that are beliefs keep their values, and the calibration is a logit."""

import numpy as np
import pytest
import statsmodels.api as sm

from coherence.rational.exact import exact_beliefs
from coherence.rational.latent import Reports, calibration_terms
from coherence.rational.reports import scale_of


def test_beliefs_stay_what_was_reported():
    belief = np.array([0.123456, 0.9, 0.9, 0.2])
    beliefs = exact_beliefs(belief, np.array([0, 1, 1, 1]), 2)
    assert beliefs.points.tolist() == [0.123456, 0.2, 0.9]
    assert beliefs.weight.toarray() == pytest.approx(np.array([[1, 0, 0], [0, 1 / 3, 2 / 3]]))
    assert beliefs.prior(np.zeros(4)) == pytest.approx([0.5, 1 / 6, 1 / 3])


def test_the_calibration_is_a_logit(drawn):
    data = drawn(7, n=3000, reps=1, sd=0.0, grid=0)
    beliefs = exact_beliefs(data.report, data.context, 3000)
    reports = Reports(scale_of(data.report), np.ones((3000, 1)), data.truth.astype(float))
    end = beliefs.fit(reports)
    theirs = sm.Logit(data.truth, calibration_terms(data.report)).fit(disp=0)
    assert end.converged
    found = beliefs.calibration(end.parameters)[np.searchsorted(beliefs.points, data.report)]
    assert found == pytest.approx(theirs.predict(), abs=0.01)
    assert beliefs.posterior(end.parameters, reports).scores.shape == (3000, 4)
