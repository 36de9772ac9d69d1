import logging

import numpy as np
import pandas as pd
import pytest
from scipy.stats import chi2

from bayesnets import Network, Node, fit, load_network, posterior, sample, to_pgmpy
from coherence import InputError

ASIA = load_network("asia")
STATES = {"rain": ("no", "yes"), "grass": ("wet", "dry")}
ARROWS = {"rain": (), "grass": ("rain",)}


def lawn(n_wet, n_dry_after_rain=0, n_dry=3):
    rows = [("yes", "wet")] * n_wet + [("yes", "dry")] * n_dry_after_rain + [("no", "dry")] * n_dry
    return pd.DataFrame(rows, columns=["rain", "grass"])


def columns_with_support(fitted, true, support, least):
    """Yield fitted and true column and number of records where a configuration has enough."""
    for node in true.nodes:
        records = support.loc[support["variable"] == node.name, "records"].to_numpy()
        flat = node.table.reshape(len(node.states), -1)
        found = fitted.node(node.name).table.reshape(len(node.states), -1)
        for position in np.flatnonzero(records >= least):
            yield found[:, position], flat[:, position], records[position]


@pytest.mark.parametrize("seed", range(4))
def test_tables_are_recovered_within_monte_carlo_error(seed, random_network):
    network = random_network(seed, n_nodes=7)
    result = fit(network, sample(network, 20_000, rng=seed), empty="uniform")
    statistic = degrees = 0.0
    for found, true, n in columns_with_support(result.network, network, result.support, 100):
        z = (found - true) / np.sqrt(true * (1 - true) / n)
        assert np.abs(z).max() < 5
        statistic += (n * (found - true) ** 2 / true).sum()
        degrees += len(true) - 1
    # Both tails: a table that is too close to the truth was not estimated from these records.
    assert degrees > 10
    assert 1e-4 < chi2.sf(statistic, degrees) < 1 - 1e-4


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("prior", [0.0, 0.5, 1.0])
def test_tables_equal_those_of_pgmpy(seed, prior, random_network):
    logging.getLogger("pgmpy").setLevel(logging.ERROR)
    from pgmpy.models import DiscreteBayesianNetwork
    from pgmpy.parameter_estimator import DiscreteBayesianEstimator, DiscreteMLE

    network = random_network(seed, n_nodes=6, max_states=3, max_parents=2)
    records = sample(network, 3000, rng=seed)
    peer = DiscreteBayesianNetwork(
        [(parent, node.name) for node in network.nodes for parent in node.parents]
    )
    peer.add_nodes_from(network.names)
    states = {node.name: list(node.states) for node in network.nodes}
    sizes = {node.name: (len(node.states), node.table[0].size) for node in network.nodes}
    counts = {name: np.full(size, prior) for name, size in sizes.items()}
    peer.fit(
        records,
        estimator=DiscreteBayesianEstimator(
            prior_type="dirichlet", pseudo_counts=counts, state_names=states
        )
        if prior
        else DiscreteMLE(state_names=states),
    )
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
    assert result.settings == {
        "prior": 0.0,
        "min_support": 100,
        "missing": "error",
        "empty": "error",
    }
    assert result.network.tables == "fitted"
    assert not result.network.illustrative


def test_tables_and_row_order_of_what_is_given_do_not_matter():
    records = sample(ASIA, 2000, rng=3)
    reference = fit(ASIA, records, empty="marginal")
    flat = [
        Node(node.name, node.states, node.parents, np.full(node.table.shape, 1 / len(node.states)))
        for node in ASIA.nodes
    ]
    other = Network("asia", ASIA.title, ASIA.source, True, tuple(flat))
    shuffled = records.sample(frac=1, random_state=1)[list(reversed(ASIA.names))].assign(age=41.5)
    assert fit(other, shuffled, empty="marginal").network == reference.network
    assert fit(ASIA, records.astype("category"), empty="marginal").network == reference.network
    assert fit(ASIA, records.astype("string"), empty="marginal").network == reference.network
    from_pgmpy = fit(to_pgmpy(ASIA), records, empty="marginal").network
    evidence = pd.DataFrame({"xray": ["yes", "no"], "dysp": ["no", None]})
    expected = posterior(reference.network, evidence, "lung")
    pd.testing.assert_frame_equal(
        posterior(from_pgmpy, evidence, "lung")[expected.columns], expected
    )


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
    assert empty[["variable", "configuration", "table"]].values.tolist() == [
        ["grass", "rain=no", table]
    ]
    message = (
        r"parent configuration; among 8 records these occur in none: "
        r"'grass' has 1 of 2 \(rain=no\).*empty='marginal'"
    )
    with pytest.raises(InputError, match=message):
        fit(ARROWS, records, states=STATES)


def test_records_with_missing_values_are_an_error_or_dropped_whole():
    records = lawn(6, 2, 8)
    records.loc[[0, 3], "grass"] = None
    records.loc[9, "rain"] = np.nan
    message = (
        r"3 rows of 16 have missing values, the first at index 0, 3, 9, "
        r"in 'rain' \(1 row\), 'grass' \(2 rows\)"
    )
    with pytest.raises(InputError, match=message):
        fit(ARROWS, records, states=STATES)
    result = fit(ARROWS, records, states=STATES, missing="drop")
    assert (result.n_records, result.n_dropped) == (13, 3)
    # Rain without grass does not count as rain either.
    assert result.network == fit(ARROWS, records.dropna(), states=STATES).network
    with pytest.raises(InputError, match="must hold a complete one; none of 16 is"):
        fit(ARROWS, records.assign(rain=np.nan), states=STATES, missing="drop")


@pytest.mark.parametrize(
    ("records", "options", "message"),
    [
        (lawn(3).drop(columns="grass"), {}, "these are absent: 'grass'. Known: rain"),
        (lawn(3).rename(columns={"grass": "gras"}), {}, "Did you mean 'gras'"),
        (
            lawn(3).assign(grass=[0.5, 1.5, 2.5, 3.5, 4.5, 5.5]),
            {},
            r"'grass' of records must hold labels .*6 of its 6 .* 0.5 \(float\).*pandas.cut",
        ),
        (lawn(3).assign(grass=[0, 1, 0, 1, 0, 1]), {}, r"the first is 0 \(int\)"),
        (lawn(3).assign(grass=True), {}, r"the first is True \(bool\)"),
        (
            lawn(3).assign(grass=[["wet"]] * 6),
            {},
            "'grass' of records must hold labels .* unhashable .* one label in every cell",
        ),
        (
            lawn(3).replace("dry", "Dry"),
            {},
            r"'Dry' in column 'grass' \(3 rows, the first at index 3; Did you mean 'dry'",
        ),
        (lawn(0, 0, 0), {}, "at least one row; the table is empty"),
        (lawn(3).to_dict(), {}, "must be a DataFrame .* not dict"),
        (pd.concat([lawn(3), lawn(3)["rain"]], axis=1), {}, "'rain' occur more than once"),
        (lawn(3), {"prior": -1}, "prior must be a pseudo-count per cell"),
        (lawn(3), {"prior": float("nan")}, "prior must be"),
        (
            lawn(3),
            {"min_support": 2.5},
            "min_support must be a whole number of at least 0",
        ),
        (lawn(3), {"empty": "zero"}, "empty must be 'error', 'marginal' or 'uniform'"),
        (lawn(3), {"missing": "ignore"}, "missing must be 'error' or 'drop'"),
        (lawn(3), {"states": None}, "states must be stated where structure is a mapping"),
        (lawn(3), {"states": {"rain": ("no", "yes")}}, "same variables; 'grass' are in only one"),
        (
            lawn(3),
            {"states": {"rain": "no", "grass": ("wet", "dry")}},
            "parents and states of 'rain' must be sequences",
        ),
        (
            lawn(3),
            {"states": {"rain": (), "grass": ("wet", "dry")}},
            "states of node 'rain' must not be empty",
        ),
    ],
)
def test_wrong_input_is_named(records, options, message):
    with pytest.raises(InputError, match=message):
        fit(ARROWS, records, **{"states": STATES, **options})


def test_every_column_with_an_unseen_state_is_named():
    with pytest.raises(
        InputError,
        match=r"'maybe' in column 'rain' \(1 row, .*\); 'damp' in column 'grass' \(2 rows",
    ):
        fit(
            ARROWS,
            pd.DataFrame({"rain": ["maybe", "yes", "no"], "grass": ["damp", "damp", "wet"]}),
            states=STATES,
        )


def test_wrong_structures_are_named():
    with pytest.raises(InputError, match="must not form a cycle"):
        fit({"rain": ("grass",), "grass": ("rain",)}, lawn(3), states=STATES)
    with pytest.raises(InputError, match="parents of node 'grass' must be nodes; 'sun' is not"):
        fit({"rain": (), "grass": ("sun",)}, lawn(3), states=STATES)
    with pytest.raises(InputError, match="states must be left out"):
        fit(ASIA, sample(ASIA, 10, rng=1), states=STATES)
    names = [f"v{number}" for number in range(30)]
    with pytest.raises(
        InputError,
        match=r"at most 20,000,000 entries together, not 2,147,483,646; the 29 parents of 'v29' "
        r"give its table 1,073,741,824",
    ):
        fit(
            {name: names[:position] for position, name in enumerate(names)},
            lawn(1),
            states=dict.fromkeys(names, ("a", "b")),
        )


def test_one_record_supports_what_it_is():
    one = lawn(1, 0, 0)
    result = fit(ARROWS, one, states=STATES, empty="marginal")
    assert posterior(result.network, pd.DataFrame(index=[0]), "grass")["wet"].item() == 1
    assert result.thin["records"].tolist() == [1, 0, 1]
    with pytest.raises(InputError, match="every parent configuration"):
        fit(ARROWS, one, states=STATES)
