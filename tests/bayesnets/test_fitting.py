import logging

import numpy as np
import pandas as pd
import pytest

from bayesnets import Network, Node, fit, load_network, posterior, sample, to_pgmpy
from coherence import InputError

ASIA = load_network("asia")
STATES = {"rain": ("no", "yes"), "grass": ("wet", "dry")}
ARROWS = {"rain": (), "grass": ("rain",)}


def lawn(n_wet, n_dry_after_rain=0, n_dry=3):
    rows = [("yes", "wet")] * n_wet + [("yes", "dry")] * n_dry_after_rain + [("no", "dry")] * n_dry
    return pd.DataFrame(rows, columns=["rain", "grass"])


@pytest.mark.parametrize(("seed", "prior"), [(0, 0.0), (1, 0.5), (2, 1.0)])
def test_tables_equal_those_of_pgmpy(seed, prior, random_network):
    logging.getLogger("pgmpy").setLevel(logging.ERROR)
    from pgmpy.models import DiscreteBayesianNetwork
    from pgmpy.parameter_estimator import DiscreteBayesianEstimator, DiscreteMLE

    network = random_network(seed, n_nodes=6, max_states=3, max_parents=2)
    records = sample(network, 3000, rng=seed)
    arrows = [(parent, node.name) for node in network.nodes for parent in node.parents]
    peer = DiscreteBayesianNetwork(arrows)
    peer.add_nodes_from(network.names)
    states = {node.name: list(node.states) for node in network.nodes}
    sizes = {node.name: (len(node.states), node.table[0].size) for node in network.nodes}
    counts = {name: np.full(size, prior) for name, size in sizes.items()}
    smoothed = {"prior_type": "dirichlet", "pseudo_counts": counts, "state_names": states}
    mle = DiscreteMLE(state_names=states)
    peer.fit(records, estimator=DiscreteBayesianEstimator(**smoothed) if prior else mle)
    ours = fit(network, records, prior=prior, empty="uniform").network
    for node in ours.nodes:
        factor = peer.get_cpds(node.name)
        axes = [factor.variables.index(name) for name in (node.name, *node.parents)]
        np.testing.assert_allclose(node.table, factor.values.transpose(axes), atol=1e-12)


def test_counts_by_hand():
    result = fit(ARROWS, lawn(6, 2, 8), states=STATES)
    assert result.network.names == ("rain", "grass")
    np.testing.assert_array_equal(result.network.node("rain").table, [0.5, 0.5])
    np.testing.assert_array_equal(result.network.node("grass").table, [[0, 0.75], [1, 0.25]])
    # (0 + 1) / (8 + 2), not (0 + 0.5) / (8 + 1): the pseudo-count is per cell.
    smoothed = fit(ARROWS, lawn(6, 2, 8), states=STATES, prior=1).network
    np.testing.assert_allclose(smoothed.node("grass").table, [[0.1, 0.7], [0.9, 0.3]])
    assert (result.n_records, result.n_dropped) == (16, 0)
    expected = {"prior": 0.0, "min_support": 100, "missing": "error", "empty": "error"}
    assert result.settings == expected
    assert result.network.tables == "fitted"
    assert not result.network.illustrative


def test_tables_and_row_order_of_what_is_given_do_not_matter():
    records = sample(ASIA, 2000, rng=3)
    reference = fit(ASIA, records, empty="marginal")
    flat = tuple(
        Node(node.name, node.states, node.parents, np.full(node.table.shape, 1 / len(node.states)))
        for node in ASIA.nodes
    )
    other = Network("asia", ASIA.title, ASIA.source, True, flat)
    shuffled = records.sample(frac=1, random_state=1)[list(reversed(ASIA.names))].assign(age=41.5)
    assert fit(other, shuffled, empty="marginal").network == reference.network
    assert fit(ASIA, records.astype("category"), empty="marginal").network == reference.network
    from_pgmpy = fit(to_pgmpy(ASIA), records.astype("string"), empty="marginal").network
    evidence = pd.DataFrame({"xray": ["yes", "no"], "dysp": ["no", None]})
    expected = posterior(reference.network, evidence, "lung")
    found = posterior(from_pgmpy, evidence, "lung")[expected.columns]
    pd.testing.assert_frame_equal(found, expected)


def test_support_counts_the_records_of_every_configuration():
    records = sample(ASIA, 5000, rng=5)
    expected = records.groupby(["bronc", "either"]).size()
    least = int(expected.sort_values().iloc[2])  # one configuration has just enough
    result = fit(ASIA, records, min_support=least, empty="marginal")
    rows = result.support[result.support["variable"] == "dysp"]
    for (bronc, either), n in expected.items():
        row = rows[rows["configuration"] == f"bronc={bronc}, either={either}"]
        assert row["records"].item() == n
        assert row["sufficient"].item() == (n >= least)
    assert (result.support.groupby("variable")["records"].sum() == 5000).all()
    assert result.thin["records"].max() < least
    assert len(result.thin) == (~result.support["sufficient"]).sum() > 0
    assert "5000 records (0 dropped)" in str(result)


@pytest.mark.parametrize(
    ("options", "column", "table"),
    [
        ({"empty": "marginal"}, [0.25, 0.75], "marginal"),
        ({"empty": "uniform"}, [0.5, 0.5], "uniform"),
        ({"prior": 2}, [0.5, 0.5], "prior"),
    ],
)
def test_a_configuration_without_records_gets_only_what_was_chosen(options, column, table):
    records = pd.DataFrame({"rain": ["yes"] * 8, "grass": ["wet"] * 2 + ["dry"] * 6})
    result = fit(ARROWS, records, states=STATES, **options)
    np.testing.assert_allclose(result.network.node("grass").table[:, 0], column)
    empty = result.thin[result.thin["records"] == 0]
    row = empty[["variable", "configuration", "table"]].values.tolist()
    assert row == [["grass", "rain=no", table]]
    with pytest.raises(InputError, match=r"'grass' has 1 of 2 \(rain=no\).*empty='marginal'"):
        fit(ARROWS, records, states=STATES)


def test_records_with_missing_values_are_an_error_or_dropped_whole():
    records = lawn(6, 2, 8)
    records.loc[[0, 3], "grass"] = None
    records.loc[9, "rain"] = np.nan
    message = r"3 rows of 16 .* at index 0, 3, 9, in 'rain' \(1 row\), 'grass' \(2 rows\)"
    with pytest.raises(InputError, match=message):
        fit(ARROWS, records, states=STATES)
    result = fit(ARROWS, records, states=STATES, missing="drop")
    assert (result.n_records, result.n_dropped) == (13, 3)
    # Rain without grass does not count as rain either.
    assert result.network == fit(ARROWS, records.dropna(), states=STATES).network
    with pytest.raises(InputError, match="must hold a complete one; none of 16 is"):
        fit(ARROWS, records.assign(rain=np.nan), states=STATES, missing="drop")
