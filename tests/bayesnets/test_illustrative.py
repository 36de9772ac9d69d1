"""The four medical networks: structure, tables from rules, effects, reach of the posterior."""

import json
import os
import subprocess
import sys
from importlib.resources import files
from itertools import pairwise
from pathlib import Path

import networkx
import numpy as np
import pandas as pd
import pytest
from illustrative_networks import (
    DECIMALS,
    document_text,
    load_rules,
    rule_names,
    tabulate,
)

from bayesnets import Network, coverage, load_network, load_phrases, posterior, sample_cases

ROOT = Path(__file__).parents[2]
TARGETS = {"heart": "SHD", "diabetes": "Diabetes_binary", "fever": "fever", "crying": "colic"}
ROUNDING = 0.5 * 10.0**-DECIMALS
DEMOGRAPHICS = {"Age", "Sex", "Location", "Race"}
ECG = {"ECG_LVH", "STT_Abnormal", "QTc_Prolonged", "QRS_Prolonged"}


def stored_text(name):
    return (files("bayesnets") / "networks" / f"{name}.json").read_text(encoding="utf-8")


def edges(network):
    return {(parent, node.name) for node in network.nodes for parent in node.parents}


def ascending(node):
    """The probability of each state or a later one; of yes and no, yes counts as the later one."""
    table = node.table[::-1] if node.states == ("yes", "no") else node.table
    return table[::-1].cumsum(axis=0)[::-1][1:]


def small(**nodes):
    return {
        "name": "small",
        "title": "Small",
        "description": "made up",
        "source": "none",
        "nodes": nodes,
    }


@pytest.mark.lengthy
def test_the_networks_made_from_rules_are_these_four():
    assert set(rule_names()) == set(TARGETS)
    for name, target in TARGETS.items():
        assert load_phrases(name).default_target == target
        assert load_phrases(name).positive(target) == "yes"


@pytest.mark.parametrize(
    ("name", "n_nodes", "n_edges"),
    [("heart", 20, 121), ("diabetes", 22, 77), ("fever", 14, 28), ("crying", 14, 27)],
)
def test_numbers_of_nodes_and_edges(name, n_nodes, n_edges):
    network = load_network(name)
    graph = networkx.DiGraph(list(edges(network)))
    assert (len(network.nodes), len(edges(network))) == (n_nodes, n_edges)
    assert networkx.is_directed_acyclic_graph(graph)
    assert set(graph) == set(network.names)  # nobody is left out


def test_heart_has_the_published_layers():
    network = load_network("heart")
    findings = set(network.names) - DEMOGRAPHICS - ECG - {"SHD"}
    assert len(findings) == 11
    assert all(not network.node(name).parents for name in DEMOGRAPHICS)
    assert set(network.node("ECG_LVH").parents) == DEMOGRAPHICS
    assert set(network.node("STT_Abnormal").parents) == DEMOGRAPHICS | {"ECG_LVH"}
    assert set(network.node("QTc_Prolonged").parents) == DEMOGRAPHICS | {"ECG_LVH", "STT_Abnormal"}
    assert set(network.node("QRS_Prolonged").parents) == DEMOGRAPHICS | {
        "ECG_LVH",
        "STT_Abnormal",
        "QTc_Prolonged",
    }
    assert all(set(network.node(name).parents) == DEMOGRAPHICS | ECG for name in findings)
    assert set(network.node("SHD").parents) == findings
    assert network.states("Age") == ("<50", "50-69", ">=70")
    assert [len(network.states(name)) for name in ("Sex", "Location", "Race")] == [2, 4, 6]


def test_diabetes_has_every_published_edge():
    network = load_network("diabetes")
    found = edges(network)
    children = {
        parent: {child for origin, child in found if origin == parent} for parent in network.names
    }
    assert {
        "Diabetes_binary",
        "HighBP",
        "HighChol",
        "BMI",
        "HeartDiseaseorAttack",
        "Stroke",
        "DiffWalk",
    } <= children["GenHlth"]
    assert len(children["GenHlth"]) == 11
    neighbours = children["DiffWalk"] | set(network.node("DiffWalk").parents)
    assert {
        "Diabetes_binary",
        "HighBP",
        "Smoker",
        "Stroke",
        "Sex",
        "Age",
        "Education",
        "Income",
    } <= neighbours
    assert {
        ("HighBP", "HighChol"),
        ("HighChol", "HeartDiseaseorAttack"),
        ("HeartDiseaseorAttack", "Stroke"),
    } <= found
    assert {
        ("Fruits", "PhysActivity"),
        ("Veggies", "PhysActivity"),
        ("PhysActivity", "DiffWalk"),
    } <= found
    assert {
        ("Education", "Income"),
        ("Income", "GenHlth"),
        ("NoDocbcCost", "AnyHealthcare"),
    } <= found
    assert set(network.node("Diabetes_binary").parents) == {"GenHlth", "DiffWalk", "Sex", "Income"}
    assert children["Diabetes_binary"] == {"HighBP", "HighChol", "BMI", "Age"}
    by_name = {
        "Age": 4,
        "Education": 6,
        "Income": 4,
        "BMI": 4,
        "GenHlth": 5,
        "MentHlth": 4,
        "PhysHlth": 4,
    }
    assert {node.name: len(node.states) for node in network.nodes} == {
        name: by_name.get(name, 2) for name in network.names
    }


@pytest.mark.lengthy
@pytest.mark.parametrize("name", TARGETS)
def test_the_files_are_what_the_rules_give(name):
    stored = json.loads(stored_text(name))
    made = json.loads(document_text(tabulate(load_rules(name))))
    for before, after in zip(stored["nodes"], made["nodes"], strict=True):
        # A sum that differs in the last bit on another machine may tip a rounding.
        np.testing.assert_allclose(
            before.pop("table"), after.pop("table"), rtol=0, atol=5 * ROUNDING
        )
    assert stored == made


@pytest.mark.parametrize("name", TARGETS)
def test_the_label_illustrative_is_everywhere(name):
    document = json.loads(stored_text(name))
    assert (document["illustrative"], document["tables"]) == (True, "illustrative")
    assert "illustrative" in document["description"]
    assert "illustrative" in document["source"]
    assert "bayesnets.fit" in document["description"]


@pytest.mark.parametrize("name", TARGETS)
def test_a_raised_effect_alone_raises_the_child(name):
    network, rules = load_network(name), load_rules(name)["nodes"]
    pairs = 0
    for node in network.nodes:
        given = rules[node.name].get("effects") or rules[node.name].get("noisy_or") or {}
        upper = ascending(node)
        for axis, parent in enumerate(node.parents, start=1):
            effects = given[parent] if isinstance(given[parent], dict) else {"yes": given[parent]}
            by_state = np.array([effects.get(state, 0.0) for state in network.states(parent)])
            order = np.argsort(by_state, kind="stable")
            assert len(set(by_state)) > 1, f"{parent} has no effect on {node.name}"
            for low, high in pairwise(order):
                rise = upper.take(high, axis=axis) - upper.take(low, axis=axis)
                # Each state's share is rounded, so that a tail of many states may lose a few units;
                # equal effects give equal tables.
                assert rise.min() > -4 * ROUNDING * len(node.states)
                if by_state[high] > by_state[low]:
                    assert rise.max() > 0
                    pairs += 1
                else:
                    assert abs(rise).max() == 0
    assert pairs >= len(edges(network))


@pytest.mark.parametrize(
    ("name", "evidence", "sign"),
    [
        ("heart", {"Age": ("<50", ">=70")}, 1),
        ("heart", {"Location": ("Outpatient", "Inpatient")}, 1),
        ("heart", {"QRS_Prolonged": ("no", "yes")}, 1),
        ("heart", {"Aortic_Stenosis": ("no", "yes")}, 1),
        ("diabetes", {"GenHlth": ("excellent", "poor")}, 1),
        ("diabetes", {"BMI": ("normal", "obese")}, 1),
        ("diabetes", {"HighBP": ("no", "yes")}, 1),
        ("diabetes", {"PhysActivity": ("no", "yes")}, -1),
        ("diabetes", {"Income": ("low", "high")}, -1),
        ("fever", {"hot_skin": ("no", "yes")}, 1),
        ("fever", {"recent_vaccine": ("no", "yes")}, 1),
        ("fever", {"lethargy": ("no", "yes")}, 1),
        ("crying", {"long_crying": ("no", "yes")}, 1),
        ("crying", {"age": ("over 12 weeks", "under 6 weeks")}, 1),
        ("crying", {"feeding_difficulties": ("no", "yes")}, -1),
    ],
)
def test_evidence_moves_the_posterior_of_the_target(name, evidence, sign):
    before, after = posterior(load_network(name), pd.DataFrame(evidence), TARGETS[name])["yes"]
    assert sign * (after - before) > 0.02


def test_jaundice_points_to_an_infection_less_in_newborns():
    """A sign with a second explanation says less: jaundice is common in newborns."""
    evidence = pd.DataFrame(
        {
            "age": ["newborn", "newborn", "toddler", "toddler"],
            "jaundice": ["no", "yes", "no", "yes"],
        }
    )
    infection = posterior(load_network("fever"), evidence, "bacterial_infection")["yes"]
    assert infection[1] > infection[0]
    assert infection[1] / infection[0] < infection[3] / infection[2]


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


@pytest.mark.lengthy
@pytest.mark.parametrize(
    ("name", "n_bins"), [("heart", 20), ("diabetes", 19), ("fever", 20), ("crying", 20)]
)
def test_cases_cover_the_posterior(name, n_bins):
    cover = coverage(sample_cases(load_network(name), TARGETS[name], 200, rng=1))
    assert (cover["n"] > 0).sum() >= n_bins
    # Evenly, but for the rare bins at the top of diabetes.
    assert (cover["n"] >= 9).sum() >= n_bins - (name == "diabetes")


def test_one_parent_gives_the_log_odds_ratio_that_was_stated():
    document = tabulate(
        small(rain={"prevalence": 0.2}, wet={"prevalence": 0.3, "effects": {"rain": 2.0}})
    )
    wet = Network.from_json(json.dumps(document)).node("wet").table[0]
    assert np.log(wet / (1 - wet)) @ [1, -1] == pytest.approx(2.0, abs=1e-3)
    assert wet @ [0.2, 0.8] == pytest.approx(0.3, abs=ROUNDING)


def test_ordered_states_have_one_log_odds_ratio_at_every_cut():
    severity = {
        "states": ["none", "some", "much"],
        "prevalence": [0.6, 0.3, 0.1],
        "effects": {"cause": 1.5},
    }
    table = np.array(
        tabulate(small(cause={"prevalence": 0.3}, severity=severity))["nodes"][-1]["table"]
    )
    for cut in (1, 2):
        upper = table[:, cut:].sum(axis=1)
        assert np.log(upper / (1 - upper)) @ [1, -1] == pytest.approx(1.5, abs=2e-3)
    assert np.array([0.3, 0.7]) @ table == pytest.approx([0.6, 0.3, 0.1], abs=2e-5)


def test_noisy_or_by_hand():
    # With two independent causes at one half, P(no | causes)/(1 - leak) is 1, .5, .2, .1: on
    # average .45, and .99 (1 - (1 - leak) .45) = .6.
    judgement = {"prevalence": 0.6, "ceiling": 0.99, "noisy_or": {"a": 0.5, "b": 0.8}}
    table = np.array(
        tabulate(small(a={"prevalence": 0.5}, b={"prevalence": 0.5}, judgement=judgement))["nodes"][
            -1
        ]["table"]
    )
    kept = (1 - 0.6 / 0.99) / 0.45
    assert table[..., 0] == pytest.approx(
        0.99 * (1 - kept * np.array([[0.1, 0.5], [0.2, 1.0]])), abs=ROUNDING
    )


@pytest.mark.parametrize("seed", ["1", "2"])
@pytest.mark.lengthy
def test_the_command_writes_the_files_whatever_the_hash_seed(tmp_path, seed):
    environment = {**os.environ, "PYTHONHASHSEED": seed}
    subprocess.run(
        [sys.executable, "-m", "benchmarks.illustrative_networks", str(tmp_path)],
        check=True,
        cwd=ROOT,
        env=environment,
    )
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        f"{name}.json" for name in rule_names()
    ]
    for name in ("crying", "fever"):
        assert (tmp_path / f"{name}.json").read_text(encoding="utf-8") == document_text(
            tabulate(load_rules(name))
        )
