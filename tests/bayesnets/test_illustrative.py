"""The four medical networks: structure, tables from rules, effects, reach of the posterior."""

import json
from importlib.resources import files

import networkx
import numpy as np
import pandas as pd
import pytest
from illustrative_networks import DECIMALS, document_text, load_rules, rule_names, tabulate

from bayesnets import load_network, load_phrases, posterior

TARGETS = {"heart": "SHD", "diabetes": "Diabetes_binary", "fever": "fever", "crying": "colic"}
ROUNDING = 0.5 * 10.0**-DECIMALS


def stored_text(name):
    return (files("bayesnets") / "networks" / f"{name}.json").read_text(encoding="utf-8")


def edges(network):
    return {(parent, node.name) for node in network.nodes for parent in node.parents}


def small(**nodes):
    """The last table of a network made from rules, with its variable's states last."""
    words = dict.fromkeys(("title", "description", "source"), "made up")
    return np.array(tabulate({"name": "small", **words, "nodes": nodes})["nodes"][-1]["table"])


@pytest.mark.parametrize(
    ("name", "n_nodes", "n_edges"),
    [("heart", 20, 121), ("diabetes", 22, 77), ("fever", 14, 28), ("crying", 14, 27)],
)
def test_numbers_of_nodes_and_edges_target_and_label(name, n_nodes, n_edges):
    network, words = load_network(name), load_phrases(name)
    graph = networkx.DiGraph(list(edges(network)))
    assert (len(network.nodes), len(edges(network))) == (n_nodes, n_edges)
    assert networkx.is_directed_acyclic_graph(graph)
    assert set(graph) == set(network.names)  # nobody is left out
    assert words.default_target == TARGETS[name]
    assert words.positive(TARGETS[name]) == "yes"
    document = json.loads(stored_text(name))
    assert (document["illustrative"], document["tables"]) == (True, "illustrative")
    assert "illustrative" in document["source"]
    assert "bayesnets.fit" in document["description"]


@pytest.mark.lengthy
@pytest.mark.parametrize("name", TARGETS)
def test_the_files_are_what_the_rules_give(name):
    assert set(rule_names()) == set(TARGETS)
    stored = json.loads(stored_text(name))
    made = json.loads(document_text(tabulate(load_rules(name))))
    for before, after in zip(stored["nodes"], made["nodes"], strict=True):
        # A sum that differs in the last bit on another machine may tip a rounding.
        tables = before.pop("table"), after.pop("table")
        np.testing.assert_allclose(*tables, rtol=0, atol=5 * ROUNDING)
    assert stored == made


@pytest.mark.parametrize("name", TARGETS)
def test_prevalences_hold_in_the_whole_network(name):
    network, rules = load_network(name), load_rules(name)["nodes"]
    nothing = pd.DataFrame({"Sex" if "Sex" in network.names else "age": [None]}, dtype=object)
    for node in network.nodes:
        stated = rules[node.name]["prevalence"]
        stated = [stated, 1 - stated] if isinstance(stated, float) else stated
        np.testing.assert_allclose(
            posterior(network, nothing, node.name).loc[0], stated, rtol=0, atol=5e-5
        )


def test_effects_that_are_stated_are_log_odds_ratios_at_every_cut():
    table = small(rain={"prevalence": 0.2}, wet={"prevalence": 0.3, "effects": {"rain": 2.0}})
    wet = table[:, 0]
    assert np.log(wet / (1 - wet)) @ [1, -1] == pytest.approx(2.0, abs=1e-3)
    assert wet @ [0.2, 0.8] == pytest.approx(0.3, abs=ROUNDING)
    ordered = {"states": ["none", "some", "much"], "prevalence": [0.6, 0.3, 0.1]}
    table = small(cause={"prevalence": 0.3}, severity=ordered | {"effects": {"cause": 1.5}})
    for cut in (1, 2):
        upper = table[:, cut:].sum(axis=1)
        assert np.log(upper / (1 - upper)) @ [1, -1] == pytest.approx(1.5, abs=2e-3)
    assert np.array([0.3, 0.7]) @ table == pytest.approx([0.6, 0.3, 0.1], abs=2e-5)


def test_noisy_or_by_hand():
    # With two independent causes at one half, P(no | causes)/(1 - leak) is 1, .5, .2, .1: on
    # average .45, and .99 (1 - (1 - leak) .45) = .6.
    judgement = {"prevalence": 0.6, "ceiling": 0.99, "noisy_or": {"a": 0.5, "b": 0.8}}
    table = small(a={"prevalence": 0.5}, b={"prevalence": 0.5}, judgement=judgement)
    kept = (1 - 0.6 / 0.99) / 0.45
    expected = 0.99 * (1 - kept * np.array([[0.1, 0.5], [0.2, 1.0]]))
    assert table[..., 0] == pytest.approx(expected, abs=ROUNDING)
