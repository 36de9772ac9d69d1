"""Cases of a network: breaks if one is not exact, or its weight or rule is not kept."""

import logging
import re

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binomtest

from bayesnets import (
    Network,
    coverage,
    evidence_probability,
    fit,
    load_network,
    posterior,
    sample,
    sample_cases,
    with_records,
)
from bayesnets.cases import inclusion_probabilities, systematic_sample
from coherence import InputError

ASIA = load_network("asia")
COVARIATES = [name for name in ASIA.names if name != "lung"]


@pytest.fixture(scope="module")
def cases():
    return sample_cases(ASIA, "lung", 200, rng=11)


@pytest.fixture(scope="module")
def records():
    return sample(ASIA, 20_000, rng=1)


@pytest.fixture(scope="module")
def fitted(records):
    return fit(ASIA, records, empty="marginal").network


@pytest.mark.parametrize("seed", range(2))
def test_frequencies_of_records_match_the_exact_probabilities(seed, random_network):
    network = random_network(seed, n_nodes=6)
    records = sample(network, 20_000, rng=seed)
    assert tuple(records.columns) == network.names

    def fits(seen, probability):
        return binomtest(int(seen.sum()), len(seen), min(probability, 1)).pvalue > 1e-5

    for variable in network.names:
        exact = posterior(network, pd.DataFrame(index=[0]), variable).loc[0]
        assert all(fits(records[variable] == state, p) for state, p in exact.items())
    # A conditional frequency breaks if the parents' axes are mixed up.
    child = next(node for node in network.nodes if node.parents)
    common = records[list(child.parents)].value_counts().index[0]
    rows = records[(records[list(child.parents)] == list(common)).all(axis=1)]
    codes = [network.states(name).index(s) for name, s in zip(child.parents, common, strict=True)]
    assert fits(rows[child.name] == child.states[0], child.table[(0, *codes)])


def test_states_of_probability_zero_are_never_drawn(random_network):
    network = random_network(3, zeros=True)
    records = sample(network, 2000, rng=1)
    assert (evidence_probability(network, records.head(200)) > 0).all()


def test_inclusion_frequencies_are_the_stated_probabilities():
    rng = np.random.default_rng(5)
    size = np.array([40.0, 9.0, 7.0, 3.0, 2.0, 1.0, 0.5, 1e-6])
    probabilities = inclusion_probabilities(size, 4)
    assert probabilities.sum() == pytest.approx(4)
    assert probabilities[0] == 1
    ratio = (probabilities / size)[probabilities < 1]
    assert np.ptp(ratio) == pytest.approx(0, abs=1e-12)
    draws = [systematic_sample(probabilities, rng) for _ in range(4_000)]
    assert all(len(drawn) == len(set(drawn)) == 4 for drawn in draws)
    counts = np.bincount(np.concatenate(draws), minlength=len(size))
    for count, p in zip(counts, probabilities, strict=True):
        assert binomtest(int(count), 4_000, min(p, 1)).pvalue > 1e-4


def natural_posteriors(n, largest, seed):
    """p_true under the natural design, simulated; evidence that settles it is left out."""
    rng = np.random.default_rng(seed)
    records = sample(ASIA, n, rng=rng)[COVARIATES].astype(object)
    size = rng.integers(1, largest, size=n, endpoint=True)
    shown = rng.random((n, len(COVARIATES))).argsort(axis=1).argsort(axis=1) < size[:, None]
    p = posterior(ASIA, records.where(shown, None), "lung")["yes"]
    return p[(p > 0) & (p < 1)]


@pytest.fixture(scope="module")
def natural():
    return natural_posteriors(100_000, 6, 1)


@pytest.mark.parametrize("even", [True, False])
@pytest.mark.parametrize("enumerable", [50_000, 0])
def test_weights_lead_back_to_the_natural_distribution(natural, even, enumerable, monkeypatch):
    # With `enumerable` at zero the sets are drawn from the mixture and carry importance weights.
    monkeypatch.setattr("bayesnets.cases.ENUMERABLE", enumerable)
    expected, error = natural.mean(), natural.std() / np.sqrt(len(natural))
    estimates = []
    for seed in range(12):
        table = sample_cases(ASIA, "lung", 200, even=even, rng=seed)
        assert table.attrs["coverage"]["enumerated"] is bool(enumerable)
        assert table["weight"].mean() == pytest.approx(1)
        estimates.append(np.average(table["p_true"], weights=table["weight"]))
    standard_error = np.hypot(np.std(estimates, ddof=1) / np.sqrt(len(estimates)), error)
    assert abs(np.mean(estimates) - expected) < min(4 * standard_error + 0.001, 0.01)
    if even:  # far from the natural design, so that weights of one would be noticed
        assert abs(table["p_true"].mean() - expected) > 0.1


def test_bins_are_even_where_the_network_can_fill_them_and_the_others_are_named(cases, caplog):
    table = coverage(cases)
    assert table["n"].sum() == 200
    assert (table["n"] <= table["capacity"]).all()
    counts = cases["probability_bin"].value_counts().reindex(range(20), fill_value=0)
    assert table["n"].tolist() == counts.tolist()
    below = table.loc[table["n"] < table["capacity"], "n"]
    assert below.max() - below.min() <= 1
    assert table.loc[table["capacity"] < 10, "capacity"].tolist() == [5, 5, 6, 7, 3, 0]
    # Every undetermined evidence set of one to six covariates.
    assert table["capacity"].sum() == 1182
    assert table["natural_share"].sum() == pytest.approx(1)
    with caplog.at_level(logging.WARNING, logger="bayesnets.cases"):
        note = sample_cases(ASIA, "lung", 200, rng=11).attrs["coverage"]["note"]
        assert caplog.messages == [note]
        assert "fewer than 10 sets of evidence have a posterior in 0.25 to 0.3 (5)" in note
        assert "0.95 to 1 (0)" in note
        assert "all 1182 found lie between 7.09e-05 and 0.938" in note
        caplog.clear()
        # One bin of twenty that no evidence reaches, as in README's own command.
        assert sample_cases(ASIA, "lung", 40, rng=1).attrs["coverage"]["note"] == ""
        assert sample_cases(ASIA, "lung", 20, n_bins=4, rng=1).attrs["coverage"]["note"] == ""
        assert sample_cases(ASIA, "lung", 20, even=False, rng=1).attrs["coverage"]["note"] == ""
        # Twelve cases leave most of 20 bins empty whatever the network has.
        assert sample_cases(ASIA, "lung", 12, rng=1).attrs["coverage"]["note"] == ""
    assert caplog.messages == []


def test_p_true_is_the_exact_posterior(cases, evidence_of):
    exact = posterior(ASIA, evidence_of(cases), "lung")["yes"]
    np.testing.assert_allclose(cases["p_true"], exact, atol=1e-12)
    assert cases["p_true"].between(0, 1, inclusive="neither").all()
    assert (cases["probability_bin"] == np.floor(cases["p_true"] * 20 + 1e-9)).all()


def test_z_is_an_unobserved_covariate_with_every_state_possible(cases, evidence_of):
    evidence = evidence_of(cases)
    for row, name in cases["z"].items():
        case = evidence.loc[[row]]
        if name is None:  # nothing is left whose states the evidence does not settle
            unseen = case.columns[case.isna().iloc[0]]
            assert all((posterior(ASIA, case, other) == 0).any(axis=None) for other in unseen)
            continue
        assert name != "lung"
        assert evidence.loc[row, name] is None
        assert (posterior(ASIA, case, name) > 0).all(axis=None)
    assert cases["z"].notna().mean() > 0.9


def test_what_is_observed_can_be_chosen(evidence_of):
    table = sample_cases(ASIA, "lung", 100, auxiliary="smoke", rng=2)
    assert table["x_smoke"].isna().all()
    assert set(table["z"]) == {"smoke"}
    # Nothing is left to ask about when all is observed.
    assert sample_cases(ASIA, "lung", 10, n_observed=7, rng=2)["z"].tolist() == [None] * 10
    table = sample_cases(ASIA, "lung", 50, min_probability=0.05, rng=0)
    assert evidence_probability(ASIA, evidence_of(table)).min() >= 0.05


def test_the_id_of_a_context_depends_on_its_evidence_alone(cases, evidence_of):
    others = sample_cases(ASIA, "lung", 300, even=False, rng=5)
    shared = cases.merge(others, on="context", suffixes=("", "_other"))
    assert len(shared) > 20
    for name in evidence_of(cases):
        assert shared[f"x_{name}"].fillna("?").equals(shared[f"x_{name}_other"].fillna("?"))
    assert re.fullmatch(r"asia-lung-[0-9a-f]{12}", cases.loc[0, "context"])


def test_all_sets_can_be_had_but_not_one_more():
    table = sample_cases(ASIA, "lung", 1182, rng=0)
    assert table["weight"].sum() == pytest.approx(1182)
    with pytest.raises(InputError, match="1183 cases .* 1182 sets with 1 to 6 observed"):
        sample_cases(ASIA, "lung", 1183, rng=0)
    assert sample_cases(ASIA, "lung", 1183, determined=True, rng=0)["p_true"].isin([0, 1]).any()


def agreeing(records, case):
    """Count, record by record, how many show the evidence of a case."""
    seen = [name for name in case.index if name.startswith("x_") and pd.notna(case[name])]
    agree = np.ones(len(records), dtype=bool)
    for name in seen:
        agree &= (records[name.removeprefix("x_")] == case[name]).to_numpy()
    return agree


@pytest.mark.parametrize(("least", "given"), [(100, {}), (1000, {"min_records": 1000})])
def test_evidence_of_a_fitted_network_is_shown_by_enough_records(records, fitted, least, given):
    cases = sample_cases(fitted, "lung", 120, rng=2, **given)
    for _, case in cases.iterrows():
        agree = agreeing(records, case)
        assert agree.sum() >= least
        if case["z"] is not None:
            by_state = records.loc[agree, case["z"]].value_counts()
            # What is said about every state of z is supported as well.
            assert (by_state.reindex(fitted.states(case["z"]), fill_value=0) >= least).all()
    # The rule bites: without it many cases have fewer behind them.
    free = sample_cases(fitted, "lung", 120, rng=2, min_records=0)
    few = [agreeing(records, case).sum() < least for _, case in free.iterrows()]
    assert 0.1 < np.mean(few) < 0.9


@pytest.mark.lengthy
def test_no_supported_evidence_is_left_out(records, fitted):
    """All that there are, one by one: neither fewer nor others."""
    kept = sample_cases(fitted, "lung", 437, rng=2)["context"]
    with pytest.raises(InputError, match=r"437 sets .* that at least 100 records show exist"):
        sample_cases(fitted, "lung", 438, rng=2)
    everything = sample_cases(fitted, "lung", 1182, rng=2, min_records=0)
    enough = [agreeing(records, case).sum() >= 100 for _, case in everything.iterrows()]
    assert set(everything.loc[enough, "context"]) == set(kept)


def test_records_that_are_not_there_are_asked_for(fitted, records):
    read_back = Network.from_json(fitted.to_json())
    assert read_back.support is None
    with pytest.raises(InputError, match=r"was fitted to records, and these do not come with it"):
        sample_cases(read_back, "lung", 20, rng=1)
    assert len(sample_cases(read_back, "lung", 20, min_records=0, rng=1)) == 20
    whole = sample_cases(with_records(read_back, records), "lung", 20, rng=1)
    pd.testing.assert_frame_equal(whole, sample_cases(fitted, "lung", 20, rng=1))
