"""Networks as objects: breaks if a broken one passes, or a round trip loses anything."""

import warnings

import numpy as np
import pytest

from bayesnets import Network, Node, from_pgmpy, load_network, to_pgmpy, write_network
from coherence import InputError

COIN = Node("coin", ("head", "tail"), (), np.array([0.5, 0.5]))


def network(*nodes):
    return Network("small", "small", "test", True, nodes)


def node(name, table, parents=(), states=("x", "y")):
    return Node(name, states, parents, np.array(table))


def test_rounding_within_the_tolerance_is_accepted():
    assert network(node("a", [0.5, 0.5 + 9e-9])).names == ("a",)


def test_a_pgmpy_model_without_discrete_tables_is_refused(tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from pgmpy.factors.continuous import LinearGaussianCPD
        from pgmpy.models import LinearGaussianBayesianNetwork

        model = LinearGaussianBayesianNetwork([("height", "weight")])
        height = LinearGaussianCPD("height", [170], 10)
        model.add_cpds(height, LinearGaussianCPD("weight", [-30, 0.6], 8, ["height"]))
        with pytest.raises(InputError, match="must have discrete tables; height, weight have none"):
            write_network(model, tmp_path / "people.bif")
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
    states = {"b": ["u", "v"], "a": ["y", "x"]}
    child = TabularCPD("b", 2, [[0.1, 0.2], [0.9, 0.8]], ["a"], [2], state_names=states)
    model.add_cpds(TabularCPD("a", 2, [[0.3], [0.7]], state_names={"a": ["x", "y"]}), child)
    assert from_pgmpy(model).node("b").table[0].tolist() == [0.2, 0.1]


def test_a_table_cannot_be_written_to():
    """Breaks if a posterior may follow another table than the one that was validated."""
    with pytest.raises(ValueError, match="read-only"):
        COIN.table[0] = 1.0
