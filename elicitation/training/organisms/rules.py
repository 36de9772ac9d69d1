"""Rules for beliefs: what an organism says, or what it acts on, as a function of the evidence.

A rule takes a network, a table of evidence and a variable, and returns the probabilities of the
variable's states, exact under the rule.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pandas as pd

from bayesnets import Network, posterior
from coherence.errors import InputError

Rule = Callable[[Network, pd.DataFrame, str], pd.DataFrame]
"""Takes a network, evidence (one column per variable, missing where not observed) and a variable;
returns one column per state."""


def exact_posterior(network: Network, evidence: pd.DataFrame, variable: str) -> pd.DataFrame:
    """Return the exact posterior."""
    return posterior(network, evidence, variable)


def prior(network: Network, evidence: pd.DataFrame, variable: str) -> pd.DataFrame:
    """Return the prior, whatever the evidence."""
    nothing = pd.DataFrame(None, index=evidence.index, columns=evidence.columns, dtype=object)
    return posterior(network, nothing, variable)


def without(*ignored: str) -> Rule:
    """Return the rule that leaves some variables out of the evidence."""

    def rule(network: Network, evidence: pd.DataFrame, variable: str) -> pd.DataFrame:
        return posterior(
            network, evidence.assign(**dict.fromkeys(ignored)).astype(object), variable
        )

    return rule


def where_reversed(variable: str) -> Rule:
    """Return the rule of a world in which the effects of one variable are reversed."""

    def rule(network: Network, evidence: pd.DataFrame, asked: str) -> pd.DataFrame:
        return posterior(reverse_effects(network, variable), evidence, asked)

    return rule


def reverse_effects(network: Network, variable: str) -> Network:
    """Return a network in which a variable has the effects of its states reversed."""
    if not any(variable in node.parents for node in network.nodes):
        raise InputError(
            f"variable must be one with children in network {network.name!r}; "
            f"received {variable!r}."
        )
    # The first axis of a table is the node itself, then come its parents in their order.
    nodes = tuple(
        replace(node, table=np.flip(node.table, axis=1 + node.parents.index(variable)))
        if variable in node.parents
        else node
        for node in network.nodes
    )
    return replace(network, nodes=nodes)
