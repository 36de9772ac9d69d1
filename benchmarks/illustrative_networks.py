"""Illustrative tables for a known structure, from a few documented numbers per arrow.

A rules file (TOML, under `benchmarks/rules`) gives every node its prevalence and every arrow an
effect, with the reason in a comment beside it. This module turns such a file into the plain JSON
document of the catalogue:

- A node without parents has its prevalence as its table.
- `effects` make a cumulative logit (McCullagh 1980): logit P(state at or above k | parents) =
  a_k + s(n) * (sum of the effects of the parents' states). For the states yes and no this is
  logistic regression without interactions. Effects are log odds ratios for one parent at a time, as
  clinical tables print them. Parents that go together would then count twice; n predictors with the
  common correlation r share 1 + (n - 1) r of a marginal effect, hence s(n) = 1 / (1 + (n - 1) r),
  with r = 0.1.
- `noisy_or` makes P(yes | parents) = ceiling * (1 - (1 - leak) * product over the present parents
  of (1 - strength)), Pearl's model (1988, section 4.3.2) with a ceiling below one, because no
  number of reasons makes a judgement certain.

The intercepts a_k and the leak are not chosen: they are solved so that the node's prevalence in the
whole network is the stated one, with the exact joint distribution of its parents. Nothing is drawn
at random. Probabilities are rounded to five decimals.

After a change of a rules file, `python -m benchmarks.illustrative_networks bayesnets/networks`
writes the networks again.
"""

import json
import sys
import tomllib
from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.optimize import brentq
from scipy.special import expit

from bayesnets.elimination import evidence_probability
from bayesnets.network import Network
from bayesnets.support import Floats
from coherence.errors import InputError, listing, suggestion
from coherence.runs.files import replace_text

OVERLAP = 0.1  # r in the docstring of the module: how much one parent's effect is also another's
DECIMALS = 5
RULES = Path(__file__).parent / "rules"
_HEAD = ("name", "title", "description", "source")


def rule_names() -> tuple[str, ...]:
    """Return the names of the networks that are made from rules, in alphabetical order."""
    return tuple(
        sorted(
            entry.name.removesuffix(".toml")
            for entry in RULES.iterdir()
            if entry.name.endswith(".toml")
        )
    )


def load_rules(name: str) -> dict[str, Any]:
    """Read the rules of a network of the catalogue, one of `rule_names`, for `tabulate`."""
    if name not in rule_names():
        raise InputError(
            f"rules must be of a network that is made from rules, not {name!r}. "
            f"{suggestion(name, rule_names())}"
        )
    return tomllib.loads((RULES / f"{name}.toml").read_text(encoding="utf-8"))


def tabulate(rules: Mapping[str, Any]) -> dict[str, Any]:
    """Return the network document that rules describe.

    Parameters
    ----------
    rules : Mapping
        `name`, `title`, `description` and `source` (texts), and `nodes`: name to node, parents
        before children. A node has `states` (left out: yes and no; several states of a node with
        effects are in ascending order); `prevalence`: one probability per state, or that of yes;
        `effects` (optional): parent to log odds ratio; a number belongs to the parent's state yes,
        otherwise state to number, 0 where left out. A positive effect raises yes, or the later
        states; `noisy_or` (instead of `effects`; all states yes and no): parent to strength, the
        probability that this parent alone brings about yes; `ceiling` (with `noisy_or`; 1 if left
        out): the largest probability of yes.

    Returns
    -------
    dict
        For JSON, in the layout that `Network.from_json` reads, with `tables` "illustrative".

    Raises
    ------
    InputError
        A missing key, an unknown parent or state, a prevalence that is no distribution or that no
        leak reaches, or a probability that rounds to 0 or 1.

    Examples
    --------
    >>> nodes = {"rain": {"prevalence": 0.2}, "wet": {"prevalence": 0.3, "effects": {"rain": 4.0}}}
    >>> head = {"name": "lawn", "title": "Lawn", "description": "Made up", "source": "none"}
    >>> tabulate({**head, "nodes": nodes})["nodes"][1]["table"]
    [[0.90511, 0.09489], [0.14872, 0.85128]]
    """
    absent = [key for key in (*_HEAD, "nodes") if key not in rules]
    if absent:
        raise InputError(
            f"rules must hold {listing((*_HEAD, 'nodes'))}; {listing(absent)} is missing. Add it."
        )
    nodes: dict[str, dict[str, Any]] = {}
    for name, entry in rules["nodes"].items():
        nodes[name] = _node(name, entry, nodes)
    return {
        **{key: rules[key] for key in _HEAD},
        "illustrative": True,
        "tables": "illustrative",
        "nodes": list(nodes.values()),
    }


def document_text(document: Mapping[str, Any]) -> str:
    """Return a document of `tabulate` as the text of its file, with one line per node."""
    head = json.dumps(
        {key: value for key, value in document.items() if key != "nodes"},
        ensure_ascii=False,
        indent=1,
    )
    # Without blanks, because the tables of nodes with many parents make up nearly all of the file.
    lines = ",\n".join(
        "  " + json.dumps(node, ensure_ascii=False, separators=(",", ":"))
        for node in document["nodes"]
    )
    return head.removesuffix("\n}") + ',\n "nodes": [\n' + lines + "\n ]\n}\n"


def _node(
    name: str, entry: Mapping[str, Any], nodes: Mapping[str, dict[str, Any]]
) -> dict[str, Any]:
    states = list(entry.get("states", ("yes", "no")))
    prevalence = _prevalence(name, entry.get("prevalence"), states)
    numbers = entry.get("noisy_or") or entry.get("effects") or {}
    unknown = [parent for parent in numbers if parent not in nodes]
    if unknown:
        raise InputError(
            f"parents of node {name!r} must stand before it; {listing(unknown)} do not. "
            f"{suggestion(unknown[0], nodes)}"
        )
    parents = list(numbers)
    if not parents:
        table = prevalence
    else:
        effects = [
            _state_effects(name, parent, numbers[parent], nodes[parent]["states"])
            for parent in parents
        ]
        weights = _joint_of_parents(parents, nodes)
        if "noisy_or" in entry:
            table = _noisy_or(
                name, effects, float(entry.get("ceiling", 1.0)), float(prevalence[0]), weights
            )
        else:
            table = _cumulative_logit(effects, prevalence, weights, states)
    return {
        "name": name,
        "states": states,
        "parents": parents,
        "table": _rounded(name, table).tolist(),
    }


def _prevalence(name: str, stated: Any, states: Sequence[str]) -> Floats:
    values = np.array([stated, 1 - stated] if isinstance(stated, float) else stated, dtype=float)
    if values.shape != (len(states),) or not (values > 0).all() or abs(values.sum() - 1) > 1e-9:
        raise InputError(
            f"prevalence of node {name!r} must be a probability of yes, or one positive number per "
            f"state with sum 1, not {stated!r}. Correct it."
        )
    return values


def _state_effects(name: str, parent: str, stated: Any, states: Sequence[str]) -> Floats:
    """Return the effect of every state of one parent."""
    by_state = stated if isinstance(stated, Mapping) else {"yes": stated}
    unknown = [state for state in by_state if state not in states]
    if unknown:
        raise InputError(
            f"effects of {parent!r} on {name!r} must belong to states of {parent!r}; "
            f"{unknown[0]!r} does not. Known: {listing(states)}."
        )
    return np.array([float(by_state.get(state, 0.0)) for state in states])


def _joint_of_parents(parents: Sequence[str], nodes: Mapping[str, dict[str, Any]]) -> Floats:
    """Return the exact joint distribution of some nodes, with one axis for each."""
    network = Network.from_json(json.dumps({"name": "so far", "nodes": list(nodes.values())}))
    states = [network.states(parent) for parent in parents]
    configurations = pd.DataFrame(list(product(*states)), columns=list(parents))
    return (
        evidence_probability(network, configurations)
        .to_numpy()
        .reshape([len(labels) for labels in states])
    )


def _cumulative_logit(
    effects: Sequence[Floats], prevalence: Floats, weights: Floats, states: Sequence[str]
) -> Floats:
    # s(n) in the docstring of the module.
    shift = reduce(np.add.outer, effects) / (1 + (len(effects) - 1) * OVERLAP)
    # Of yes and no, yes is the upper state although it comes first.
    ascending = prevalence[::-1] if list(states) == ["yes", "no"] else prevalence
    upper = [np.ones_like(shift)]
    for wanted in 1 - np.cumsum(ascending)[:-1]:
        intercept = _solved(
            lambda value: np.sum(weights * expit(value + shift)), wanted, -50.0, 50.0
        )
        upper.append(expit(intercept + shift))
    table = -np.diff(np.stack([*upper, np.zeros_like(shift)], axis=-1), axis=-1)
    return table[..., ::-1] if list(states) == ["yes", "no"] else table


def _noisy_or(
    name: str, strengths: Sequence[Floats], ceiling: float, prevalence: float, weights: Floats
) -> Floats:
    without_leak = reduce(np.multiply.outer, [1 - strength for strength in strengths])
    average = float(np.sum(weights * without_leak))
    least = ceiling * (1 - average)
    if not least < prevalence < ceiling:
        raise InputError(
            f"prevalence of node {name!r} must lie between {least:.5f}, what its noisy-or gives "
            f"without a leak, and its ceiling {ceiling}, "
            f"and is {prevalence}. Lower the strengths."
        )
    # Solves prevalence = ceiling * (1 - (1 - leak) * average) for the leak.
    leak = 1 - (1 - prevalence / ceiling) / average
    present = ceiling * (1 - (1 - leak) * without_leak)
    return np.stack([present, 1 - present], axis=-1)


def _solved(function: Callable[[float], float], wanted: float, low: float, high: float) -> float:
    return float(brentq(lambda value: function(value) - wanted, low, high, xtol=1e-13))


def _rounded(name: str, table: Floats) -> Floats:
    """Round, and let the most probable state take up what rounding leaves over."""
    rounded = np.round(table, DECIMALS)
    largest = rounded.argmax(axis=-1)[..., None]
    np.put_along_axis(rounded, largest, 0.0, axis=-1)
    np.put_along_axis(
        rounded, largest, np.round(1 - rounded.sum(axis=-1, keepdims=True), DECIMALS), axis=-1
    )
    if not ((rounded > 0) & (rounded < 1)).all():
        raise InputError(
            f"probabilities of node {name!r} must not round to 0 or 1 at {DECIMALS} decimals. "
            "Use smaller effects."
        )
    return rounded


def write_networks(folder: str | Path) -> list[Path]:
    """Write every network that is made from rules into a folder, over existing ones."""
    paths = []
    for name in rule_names():
        path = Path(folder) / f"{name}.json"
        replace_text(path, document_text(tabulate(load_rules(name))))
        paths.append(path)
    return paths


if __name__ == "__main__":
    write_networks(sys.argv[1])
