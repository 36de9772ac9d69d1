"""Full records drawn from a network, parents first (logic sampling; Henrion 1988)."""

from typing import Any

import numpy as np
import pandas as pd

from bayesnets.codes import Codes
from bayesnets.conversion import as_network
from bayesnets.network import Network
from coherence.errors import InputError
from coherence.statistics.resample import as_generator

Seed = np.random.Generator | int | None


_MOST = 10**8  # records, which have memory for a few variables


def sample(network: Any, n: int, *, rng: Seed = None) -> pd.DataFrame:
    """Draw full records.

    Parameters
    ----------
    network : Network or pgmpy.models.DiscreteBayesianNetwork
        The model.
    n : int
        Number of records, zero or more.
    rng : Generator, int or None
        Source of the draws; None draws fresh entropy.

    Returns
    -------
    DataFrame, shape (n, n_variables)
        State labels; columns in topological order.

    Raises
    ------
    InputError
        A negative number of records.

    Examples
    --------
    >>> from bayesnets import load_network
    >>> sample(load_network("asia"), 1000, rng=1)["smoke"].eq("yes").mean().round(1).item()
    0.5
    """
    model = as_network(network)
    if isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 0:
        raise InputError(
            f"n must be a number of records, zero or more, not {n!r}. Pass a whole number."
        )
    if n > _MOST:
        raise InputError(f"n must be at most {_MOST:,}; received {n}. Draw in parts.")
    codes = sample_codes(model, int(n), as_generator(rng))
    return pd.DataFrame(
        {
            node.name: np.array(node.states, dtype=object)[codes[:, column]]
            for column, node in enumerate(model.nodes)
        }
    )


def sample_codes(network: Network, n: int, generator: np.random.Generator) -> Codes:
    """Draw full records as positions of states."""
    codes = np.empty((n, len(network.nodes)), dtype=np.int64)
    for position, node in enumerate(network.nodes):
        cumulative = node.table.cumsum(axis=0)
        # Divided by its own last entry, so that a state of probability zero at the end is never
        # reached through rounding.
        cumulative = (cumulative / cumulative[-1])[:-1]
        bounds = cumulative[
            (slice(None), *(codes[:, network.index(parent)] for parent in node.parents))
        ]
        codes[:, position] = (generator.random(n) >= bounds.reshape(len(bounds), -1)).sum(axis=0)
    return codes
