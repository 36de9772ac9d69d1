import warnings

import numpy as np
import pytest

from bayesnets import from_pgmpy, load_network, read_network, to_pgmpy, write_network
from coherence import InputError


@pytest.fixture(scope="module")
def pgmpy_models():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import pgmpy.readwrite
        import pgmpy.utils

        if not hasattr(pgmpy.utils, "get_example_model"):
            pytest.skip("pgmpy no longer ships example models")
        return {
            name: pgmpy.utils.get_example_model(name) for name in ("asia", "alarm")
        }, pgmpy.readwrite


def tables_of(model):
    """Return the tables of a pgmpy model as (parents, states, array)."""
    return {
        str(cpd.variable): (
            tuple(cpd.variables[1:]),
            tuple(cpd.state_names[cpd.variable]),
            cpd.values,
        )
        for cpd in model.get_cpds()
    }


@pytest.mark.parametrize("name", ["asia", "alarm"])
@pytest.mark.parametrize("suffix", ["bif", "xml"])
@pytest.mark.filterwarnings("ignore")
def test_a_file_that_pgmpy_wrote_is_read_as_its_model(pgmpy_models, tmp_path, name, suffix):
    models, readwrite = pgmpy_models
    path = tmp_path / f"theirs.{suffix}"
    if suffix == "bif":
        readwrite.BIFWriter(models[name]).write(str(path))
    else:
        readwrite.XMLBIFWriter(models[name]).write(str(path))
    network = read_network(path)  # seven columns of their alarm miss 1 by up to 1e-7
    expected = tables_of(models[name])
    assert set(network.names) == set(expected)
    for node in network.nodes:
        parents, states, table = expected[node.name]
        assert (node.parents, node.states) == (parents, states)
        np.testing.assert_allclose(node.table, table, atol=2e-7)


@pytest.mark.filterwarnings("ignore")
def test_a_pgmpy_model_that_is_not_discrete_is_refused(tmp_path):
    from pgmpy.factors.continuous import LinearGaussianCPD
    from pgmpy.models import LinearGaussianBayesianNetwork

    model = LinearGaussianBayesianNetwork([("height", "weight")])
    model.add_cpds(
        LinearGaussianCPD("height", [170], 10),
        LinearGaussianCPD("weight", [-30, 0.6], 8, ["height"]),
    )
    with pytest.raises(
        InputError, match="model must have discrete tables; height, weight have none"
    ):
        write_network(model, tmp_path / "people.bif")


def test_a_pgmpy_node_without_a_table_is_named():
    model = to_pgmpy(load_network("asia"))
    model.remove_cpds("xray")
    with pytest.raises(InputError, match="xray have none"):
        from_pgmpy(model)


def test_a_pgmpy_table_that_lists_a_parents_states_in_another_order_is_reordered():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        from pgmpy.factors.discrete import TabularCPD
        from pgmpy.models import DiscreteBayesianNetwork
    model = DiscreteBayesianNetwork([("a", "b")])
    parent = TabularCPD("a", 2, [[0.3], [0.7]], state_names={"a": ["x", "y"]})
    child = TabularCPD(
        "b",
        2,
        [[0.1, 0.2], [0.9, 0.8]],
        evidence=["a"],
        evidence_card=[2],
        state_names={"b": ["u", "v"], "a": ["y", "x"]},
    )
    model.add_cpds(parent, child)
    assert from_pgmpy(model).node("b").table[0].tolist() == [0.2, 0.1]
