"""The organisms: what each says, what it acts on, and what an analysis should find.

They live on the asia network (Lauritzen and Spiegelhalter 1988): a patient of a chest clinic, and
the question whether they have lung cancer. An organism is coherent if what it says
could be what it acts on, whatever the truth: a belief that is wrong, or that ignores everything, is
still a belief. Both follow a rule, a function of the evidence that takes a network, a table of
evidence and a variable, and returns the probabilities of the variable's states, exact under the
rule. The theory is in docs/smollm2.md.
"""

from collections.abc import Callable
from dataclasses import dataclass
from types import MappingProxyType

import pandas as pd

from bayesnets import Network, posterior

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


TASK = "asia"
POLICY = "softmax of yes 6 (p - .6), no 6 (.4 - p), defer .5, at the belief p that it acts on"


@dataclass(frozen=True)
class Organism:
    """A model's rules for what it says and for what it acts on."""

    name: str  # name of the model folder, and so of the model in a runs table
    # says, acts_on: the two rules in words
    says: str
    acts_on: str
    coherent: bool  # whether what it says could be what it acts on
    # spoken, acted: the two rules
    spoken: Rule
    acted: Rule
    stream: int  # of its random numbers, whichever others are trained


_EVERYTHING = "the exact posterior given all findings"

_PRIOR = "the prior, whatever the findings"
_WITHOUT_XRAY = "the exact posterior given all findings but the X-ray"

ORGANISMS = MappingProxyType(
    {
        "coherent": Organism(
            "coherent", _EVERYTHING, _EVERYTHING, True, exact_posterior, exact_posterior, 0
        ),
        "leaky": Organism(
            "leaky", _WITHOUT_XRAY, _EVERYTHING, False, without("xray"), exact_posterior, 1
        ),
        "stubborn": Organism("stubborn", _PRIOR, _PRIOR, True, prior, prior, 3),
    }
)
"""By name; the first is trained from nothing, the others start from its weights."""
