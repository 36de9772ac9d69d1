import os
import re
import subprocess
import sys
import time
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from bayesnets import (
    Network,
    Node,
    coverage,
    fit,
    load_network,
    posterior,
    sample,
    sample_cases,
    with_records,
)
from coherence import InputError

ASIA = load_network("asia")


def test_p_true_is_the_exact_posterior(cases, evidence_of):
    np.testing.assert_allclose(
        cases["p_true"], posterior(ASIA, evidence_of(cases), "lung")["yes"], atol=1e-12
    )
    assert cases["p_true"].between(0, 1, inclusive="neither").all()
    assert (cases["probability_bin"] == np.floor(cases["p_true"] * 20 + 1e-9)).all()


def layered(seed):
    """Twenty nodes and 121 arrows in the layers of a heart disease network; random tables."""
    rng = np.random.default_rng(seed)
    numbers = dict(zip((f"background {k}" for k in range(4)), (3, 2, 4, 6), strict=True))
    parents = {name: [] for name in numbers}
    for k in range(4):
        parents[f"sign {k}"] = list(parents)
    above = list(parents)
    parents |= {f"finding {k}": above for k in range(11)}
    parents["disease"] = [f"finding {k}" for k in range(11)]
    nodes = []
    for name, others in parents.items():
        number = numbers.setdefault(name, 2)
        table = rng.dirichlet(np.full(number, 0.5), size=tuple(numbers[other] for other in others))
        states = ("no", "yes") if number == 2 else tuple(f"s{state}" for state in range(number))
        nodes.append(Node(name, states, tuple(others), np.moveaxis(table, -1, 0)))
    return Network("layered", "layered", "seeded", True, tuple(nodes))


@pytest.mark.lengthy
def test_a_large_network_fills_the_bins_evenly(evidence_of):
    network = layered(1)
    assert sum(len(node.parents) for node in network.nodes) == 121
    began = time.process_time()
    cases = sample_cases(network, "disease", 200, rng=3)
    assert (
        time.process_time() - began < 10
    )  # about 0.5 s; summing the joint anew for every set took 14 s
    table = coverage(cases)
    assert not cases.attrs["coverage"]["enumerated"]
    assert cases["context"].is_unique
    reachable = table["capacity"] >= 10
    assert reachable.sum() >= 18
    assert table.loc[reachable, "n"].between(9, 11).all()
    np.testing.assert_allclose(
        cases["p_true"], posterior(network, evidence_of(cases), "disease")["yes"], atol=1e-12
    )


def test_z_is_an_unobserved_covariate_with_every_state_possible(cases, evidence_of):
    evidence = evidence_of(cases)
    for row, name in cases["z"].items():
        if name is None:
            # Nothing is left whose states the evidence does not settle.
            for other in (
                column for column in evidence.columns if evidence.loc[row, column] is None
            ):
                assert (posterior(ASIA, evidence.loc[[row]], other) == 0).any(axis=None)
            continue
        assert name != "lung"
        assert evidence.loc[row, name] is None
        assert (posterior(ASIA, evidence.loc[[row]], name) > 0).all(axis=None)
    assert cases["z"].notna().mean() > 0.9


@pytest.mark.slow
def test_a_seed_fixes_the_cases_in_any_process(cases):
    pd.testing.assert_frame_equal(sample_cases(ASIA, "lung", 200, rng=11), cases)
    code = (
        "import hashlib; from bayesnets import from_pgmpy, load_network, sample_cases, to_pgmpy;"
        "a = load_network('asia'); m = from_pgmpy(to_pgmpy(a));"
        "print([hashlib.sha256(sample_cases(x, 'lung', 60, rng=3).to_json().encode()).hexdigest() "
        "for x in (a, m)])"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(outputs) == 1


def test_the_id_of_a_context_depends_on_its_evidence_alone(cases, evidence_of):
    others = sample_cases(ASIA, "lung", 300, even=False, rng=5)
    shared = cases.merge(others, on="context", suffixes=("", "_other"))
    assert len(shared) > 20
    for name in evidence_of(cases):
        assert shared[f"x_{name}"].fillna("?").equals(shared[f"x_{name}_other"].fillna("?"))
    assert re.fullmatch(r"asia-lung-[0-9a-f]{12}", cases.loc[0, "context"])


def test_a_chosen_auxiliary_is_never_observed():
    table = sample_cases(ASIA, "lung", 100, auxiliary="smoke", rng=2)
    assert table["x_smoke"].isna().all()
    assert set(table["z"]) == {"smoke"}


def test_nothing_is_left_to_ask_about_when_all_is_observed():
    assert sample_cases(ASIA, "lung", 10, n_observed=7, rng=2)["z"].tolist() == [None] * 10


def test_all_sets_can_be_had_but_not_one_more():
    table = sample_cases(ASIA, "lung", 1182, rng=0)
    assert table["weight"].sum() == pytest.approx(1182)
    with pytest.raises(
        InputError,
        match="1183 cases were asked for and 1182 sets with 1 to 6 observed covariates exist",
    ):
        sample_cases(ASIA, "lung", 1183, rng=0)
    assert sample_cases(ASIA, "lung", 1183, determined=True, rng=0)["p_true"].isin([0, 1]).any()


def test_improbable_evidence_can_be_left_out(evidence_of):
    from bayesnets import evidence_probability

    table = sample_cases(ASIA, "lung", 50, min_probability=0.05, rng=0)
    assert evidence_probability(ASIA, evidence_of(table)).min() >= 0.05


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n": 0}, "n must be a whole number of at least 1; received 0"),
        ({"n": 2**31}, "n must be at most 10,000,000"),
        ({"n_bins": 1.5}, "n_bins must be a whole number of at least 1"),
        ({"target": "lang"}, "Did you mean 'lung'?"),
        ({"target_state": "true"}, "target_state must be a state of 'lung', not 'true'"),
        ({"auxiliary": "lung"}, "auxiliary must not be the target"),
        ({"auxiliary": "smok"}, "Did you mean 'smoke'?"),
        ({"n_observed": 8}, "from 1 to 7, not 8"),
        ({"n_observed": (3, 2)}, "from 1 to 7, not (3, 2)"),
        ({"n_observed": (0, 2)}, "from 1 to 7, not (0, 2)"),
        ({"min_probability": 2}, "min_probability must lie in [0, 1], not 2"),
        ({"min_probability": 1}, "0 sets"),
    ],
)
def test_wrong_arguments_are_refused(arguments, message):
    with pytest.raises(InputError, match=re.escape(message)):
        sample_cases(ASIA, **{"target": "lung", "n": 10, **arguments})


def agreeing(records, case):
    """Count, record by record, how many show the evidence of a case."""
    seen = [name for name in case.index if name.startswith("x_") and pd.notna(case[name])]
    agree = np.ones(len(records), dtype=bool)
    for name in seen:
        agree &= (records[name.removeprefix("x_")] == case[name]).to_numpy()
    return agree


@pytest.fixture(scope="module")
def records():
    return sample(ASIA, 20_000, rng=1)


@pytest.fixture(scope="module")
def fitted(records):
    return fit(ASIA, records, empty="marginal").network


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


def test_other_networks_draw_the_cases_they_ever_drew(fitted, cases):
    # A published network has no records, and its rule is as before.
    again = sample_cases(ASIA, "lung", 200, rng=11, min_records=0)
    pd.testing.assert_frame_equal(again, cases)
    free = sample_cases(fitted, "lung", 50, rng=3, min_records=0)
    bare = sample_cases(replace(fitted, support=None, tables=None), "lung", 50, rng=3)
    pd.testing.assert_frame_equal(free, bare)


def test_records_that_are_not_there_are_asked_for(fitted, records):
    read_back = Network.from_json(fitted.to_json())
    assert read_back.support is None
    with pytest.raises(InputError, match=r"was fitted to records, and these do not come with it"):
        sample_cases(read_back, "lung", 20, rng=1)
    with pytest.raises(InputError, match=r"'asia' comes with no records, so that min_records"):
        sample_cases(ASIA, "lung", 20, min_records=50)
    assert len(sample_cases(read_back, "lung", 20, min_records=0, rng=1)) == 20
    whole = with_records(read_back, records)
    pd.testing.assert_frame_equal(
        sample_cases(whole, "lung", 20, rng=1), sample_cases(fitted, "lung", 20, rng=1)
    )
    for wrong in (-1, 1.5, True):
        with pytest.raises(InputError, match="min_records must be a whole number of at least 0"):
            sample_cases(fitted, "lung", 20, min_records=wrong)


@pytest.mark.lengthy
def test_many_sets_are_drawn_and_kept_by_the_same_rule():
    network = load_network("diabetes")
    records = sample(network, 3000, rng=4)
    fitted = fit(network, records, empty="marginal").network
    cases = sample_cases(fitted, "Diabetes_binary", 30, rng=5)
    assert not cases.attrs["coverage"]["enumerated"]
    assert all(agreeing(records, case).sum() >= 100 for _, case in cases.iterrows())
