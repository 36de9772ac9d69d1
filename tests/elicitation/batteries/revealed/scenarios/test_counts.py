import numpy as np
import pytest
from scipy import stats

from coherence import InputError
from elicitation.batteries.revealed.scenarios import counts


def test_poisson_counts_are_those_of_scipy_below_the_bound():
    for rate, at_most in ((1, 9), (6, 20)):
        exact = np.array(
            [float(probability) for probability in counts.poisson_counts(rate, at_most).values()]
        )
        assert exact == pytest.approx(
            stats.poisson.pmf(np.arange(at_most + 1), rate) / stats.poisson.cdf(at_most, rate),
            rel=1e-12,
        )
    assert (
        stats.poisson.sf(int(counts.single(6).parameters["at_most"]), 6) < 1e-4
    )  # the default bound hardly matters


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (lambda: counts.poisson_counts(0, 3), "at least 1"),
    ],
)
def test_impossible_settings_are_refused(make, match):
    with pytest.raises(InputError, match=match):
        make()
