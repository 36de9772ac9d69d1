import numpy as np
import pytest
from scipy.stats import binomtest

from bayesnets import coverage, load_network, posterior, sample, sample_cases

ASIA = load_network("asia")


def natural_mean(n, covariates, largest, seed):
    """Mean p_true under the natural design, simulated; evidence that settles it is left out."""
    rng = np.random.default_rng(seed)
    records = sample(ASIA, n, rng=rng)[covariates]
    size = rng.integers(1, largest, size=n, endpoint=True)
    shown = rng.random((n, len(covariates))).argsort(axis=1).argsort(axis=1) < size[:, None]
    p = posterior(ASIA, records.astype(object).where(shown, None), "lung")["yes"]
    p = p[(p > 0) & (p < 1)]
    return p.mean(), p.std() / np.sqrt(len(p))


@pytest.mark.parametrize("even", [True, False])
@pytest.mark.parametrize("enumerable", [50_000, 0])
def test_weights_lead_back_to_the_natural_distribution(even, enumerable, monkeypatch):
    # With `enumerable` at zero the sets are drawn from the mixture and carry importance weights.
    monkeypatch.setattr("bayesnets.cases.evidence_sets.ENUMERABLE", enumerable)
    expected, error = natural_mean(100_000, [name for name in ASIA.names if name != "lung"], 6, 1)
    estimates = []
    for seed in range(12):
        table = sample_cases(ASIA, "lung", 200, even=even, rng=seed)
        assert table.attrs["coverage"]["enumerated"] is bool(enumerable)
        assert table["weight"].mean() == pytest.approx(1)
        estimates.append(np.average(table["p_true"], weights=table["weight"]))
    standard_error = np.hypot(np.std(estimates, ddof=1) / np.sqrt(len(estimates)), error)
    assert abs(np.mean(estimates) - expected) < 4 * standard_error + 0.001
    assert abs(np.mean(estimates) - expected) < 0.01
    if even:
        # The even design is far from the natural one, so that this test would notice weights of
        # one.
        assert abs(table["p_true"].mean() - expected) > 0.1


def test_natural_shares_are_those_of_the_simulated_design():
    table = coverage(sample_cases(ASIA, "lung", 20, rng=0))
    assert (table["natural_share"] * table["low"]).sum() < 0.1
    draws = 50_000
    rng = np.random.default_rng(8)
    covariates = [name for name in ASIA.names if name != "lung"]
    records = sample(ASIA, draws, rng=rng)[covariates].astype(object)
    shown = (
        rng.random((draws, 7)).argsort(axis=1).argsort(axis=1)
        < rng.integers(1, 6, size=draws, endpoint=True)[:, None]
    )
    p = posterior(ASIA, records.where(shown, None), "lung")["yes"]
    p = p[(p > 0) & (p < 1)]
    counts = np.bincount((p * 20 + 1e-9).astype(int), minlength=20)
    pvalues = [
        binomtest(int(count), len(p), share).pvalue
        for count, share in zip(counts, table["natural_share"], strict=True)
    ]
    assert min(pvalues) > 1e-5
