"""Networks as objects: breaks if a broken one passes, or a round trip loses anything."""

import re
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


HALF = np.full((2, 2), 0.5)


@pytest.mark.parametrize(
    ("nodes", "message"),
    [
        ((), "nodes must hold at least one node"),
        ((COIN, COIN), "'coin' is the name of nodes 0 and 1"),
        ((node("a", HALF, ("con",)), COIN), "'con' is not. Did you mean 'coin'"),
        ((node("a", [0.5, 0.5], ("coin",)), COIN), "must have shape (2, 2)"),
        ((node("a", [0.5, 0.5], states=("x", "x")),), "must be non-empty texts without repetition"),
        ((node("a", [], states=()),), "states of node 'a' must not be empty"),
        ((node("a", [1.5, -0.5]),), "at the only column"),
        ((node("a", [0.5, 0.5 + 3e-8]),), "at the only column"),
        ((node("a", HALF, ("b",)), node("b", HALF, ("a",))), "a cycle; one runs through a, b"),
        (
            (COIN, node("child", [[0.5, 0.6], [0.5, 0.405]], ("coin",))),
            "1 of 2 columns do not, the first is [0.6, 0.405] with sum 1.005 at coin=tail. Correct",
        ),
    ],
)
def test_broken_networks_are_refused(nodes, message):
    with pytest.raises(InputError, match=re.escape(message)):
        network(*nodes)


ONE = '{"nodes": [{"name": "a", "states": %s, "table": %s}]}'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "must hold JSON"),
        ("[]", "list 'nodes'"),
        ('{"nodes": [3]}', "node 0 in text must be an object"),
        ('{"nodes": [{"name": "a"}]}', "must have states, table"),
        (ONE % ('"xy"', "[0.5, 0.5]"), "must be a sequence of names"),
        (ONE % ('["x", "y"]', "[[0.5], [0.5, 0.1]]"), "full array of numbers"),
        ('{"illustrative": "no", "nodes": []}', "must be true or false"),
        ('{"tables": ["fitted"], "nodes": []}', "fitted, not ['fitted']"),
        ('{"tables": "illustrative", "illustrative": false, "nodes": []}', "illustrative, since"),
    ],
)
def test_broken_files_are_refused(text, message):
    with pytest.raises(InputError, match=re.escape(message)):
        Network.from_json(text)


def test_rounding_within_the_tolerance_is_accepted():
    assert network(node("a", [0.5, 0.5 + 9e-9])).names == ("a",)


@pytest.mark.parametrize(
    ("table", "entry"),
    [
        ([[0.9, "0.1"], [0.1, 0.9]], "'0.1'"),
        ([[True, 0.5], [False, 0.5]], "True"),
        (np.array([0.5 + 0j, 0.5]), "complex"),
    ],
)
def test_texts_truth_values_and_complex_numbers_are_no_probabilities(table, entry):
    with pytest.raises(InputError, match=f"table of node 'a' must .*numbers.*{entry}"):
        Node("a", ("x", "y"), ("coin",), table)


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
