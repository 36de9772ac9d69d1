import json
import re
import subprocess
import sys

import numpy as np
import pytest

from bayesnets import Network, Node, from_pgmpy, load_network, to_pgmpy
from coherence import InputError

COIN = Node("coin", ("head", "tail"), (), np.array([0.5, 0.5]))


def network(*nodes):
    return Network("small", "small", "test", True, nodes)


@pytest.mark.parametrize("seed", range(10))
def test_json_and_pgmpy_round_trips_lose_nothing(seed, random_network):
    original = random_network(seed)
    assert Network.from_json(original.to_json()) == original
    back = from_pgmpy(to_pgmpy(original), name=original.name, title="random", source="seeded")
    assert sorted(back.nodes, key=lambda node: node.name) == sorted(
        original.nodes, key=lambda node: node.name
    )


def test_names_with_spaces_commas_and_accents_survive(tmp_path):
    nodes = (
        Node("fièvre, haute", ("oui, très", "non"), (), np.array([0.25, 0.75])),
        Node(
            "white cells",
            ("low", "high, or very high"),
            ("fièvre, haute",),
            np.array([[0.125, 0.5], [0.875, 0.5]]),
        ),
    )
    original = network(*nodes)
    path = tmp_path / "own.json"
    path.write_text(original.to_json(), encoding="utf-8")
    assert load_network(path) == load_network(str(path)) == original
    assert from_pgmpy(to_pgmpy(original)).node("white cells") == original.node("white cells")


def test_innermost_lists_of_the_file_are_distributions():
    entries = json.loads(load_network("asia").to_json())["nodes"]
    assert next(entry["table"] for entry in entries if entry["name"] == "dysp") == [
        [[0.9, 0.1], [0.8, 0.2]],
        [[0.7, 0.3], [0.1, 0.9]],
    ]


def test_nodes_are_put_in_topological_order_and_tables_are_frozen():
    child = Node("child", ("a", "b"), ("coin",), np.full((2, 2), 0.5))
    ordered = network(child, COIN)
    assert ordered.names == ("coin", "child")
    with pytest.raises(ValueError, match="read-only"):
        ordered.nodes[0].table[0] = 1


@pytest.mark.parametrize(
    ("nodes", "message"),
    [
        ((), "nodes must hold at least one node"),
        ((COIN, COIN), "'coin' is the name of nodes 0 and 1"),
        (
            (Node("a", ("x", "y"), ("con",), np.full((2, 2), 0.5)), COIN),
            "'con' is not. Did you mean 'coin'",
        ),
        ((Node("a", ("x", "y"), ("coin",), np.array([0.5, 0.5])), COIN), "must have shape (2, 2)"),
        (
            (Node("a", ("x", "x"), (), np.array([0.5, 0.5])),),
            "states of node 'a' must be non-empty texts without repetition",
        ),
        ((Node("a", (), (), np.array([])),), "states of node 'a' must not be empty"),
        ((Node("a", ("x", "y"), (), np.array([1.5, -0.5])),), "at the only column"),
        ((Node("a", ("x", "y"), (), np.array([np.nan, 0.5])),), "at the only column"),
        ((Node("a", ("x", "y"), (), np.array([0.5, 0.5 + 3e-8])),), "at the only column"),
        (
            (
                Node("a", ("x", "y"), ("b",), np.full((2, 2), 0.5)),
                Node("b", ("x", "y"), ("a",), np.full((2, 2), 0.5)),
            ),
            "arrows must not form a cycle; one runs through a, b",
        ),
    ],
)
def test_broken_networks_are_refused(nodes, message):
    with pytest.raises(InputError, match=re.escape(message)):
        network(*nodes)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "must hold JSON"),
        ("[]", "list 'nodes'"),
        ('{"nodes": [3]}', "node 0 in text must be an object"),
        ('{"nodes": [{"name": "a"}]}', "must have states, table"),
        (
            '{"nodes": [{"name": "a", "states": "xy", "table": [0.5, 0.5]}]}',
            "must be a sequence of names",
        ),
        (
            '{"nodes": [{"name": "a", "states": ["x", "y"], "table": [[0.5], [0.5, 0.1]]}]}',
            "full array of numbers",
        ),
        ('{"illustrative": "no", "nodes": []}', "must be true or false"),
    ],
)
def test_broken_files_are_refused(text, message):
    with pytest.raises(InputError, match=re.escape(message)):
        Network.from_json(text)


def test_unknown_names_get_the_closest():
    with pytest.raises(InputError, match="not 'asai'. Did you mean 'asia'"):
        load_network("asai")
    with pytest.raises(InputError, match="is not: .*No such file"):
        load_network("nowhere.json")
    with pytest.raises(InputError, match="Did you mean 'smoke'"):
        load_network("asia").node("smoek")


@pytest.mark.lengthy
def test_the_core_does_not_import_networks_and_networks_do_not_import_pgmpy():
    code = (
        "import sys, coherence; assert not any(m.split('.')[0] in ('bayesnets', 'pgmpy') for m in "
        "sys.modules);"
        "import bayesnets; [getattr(bayesnets, n) for n in bayesnets.__all__];"
        "assert not any(m.split('.')[0] in ('pgmpy', 'torch', 'elicitation') for m in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
