"""Evidence as it comes, in a table of labels, made codes; what no network knows is refused."""

import numpy as np
import pandas as pd

from bayesnets.codes import Codes
from bayesnets.network import Network
from coherence.errors import InputError, listing, suggestion


def encode(network: Network, evidence: pd.DataFrame) -> Codes:
    """Return the positions of the observed states.

    Parameters
    ----------
    network : Network
        The model.
    evidence : DataFrame
        As in `posterior`.

    Returns
    -------
    ndarray of int, shape (n_rows, n_nodes)
        In the order of `network.nodes`; -1 where unobserved.

    Raises
    ------
    InputError
        Unknown variables or states, or repeated columns.
    """
    if not isinstance(evidence, pd.DataFrame):
        raise InputError(
            "evidence must be a DataFrame with one column per variable, not "
            f"{type(evidence).__name__}. Try pandas.DataFrame([...])."
        )
    if not evidence.columns.is_unique:
        raise InputError(
            "columns of evidence must be unique; "
            f"{listing(evidence.columns[evidence.columns.duplicated()].unique())} are repeated. "
            "Drop one of them."
        )
    unknown = [column for column in evidence.columns if column not in network.names]
    if unknown:
        raise InputError(
            f"columns of evidence must be variables of network {network.name!r}; "
            f"{listing(map(repr, unknown))} are not. {suggestion(unknown[0], network.names)}"
        )
    codes = np.full((len(evidence), len(network.nodes)), -1, dtype=np.int64)
    for variable in evidence.columns:
        codes[:, network.index(variable)] = _state_codes(network, variable, evidence[variable])
    return codes


def _state_codes(network: Network, variable: str, column: pd.Series) -> Codes:
    states = network.states(variable)
    # Labels are compared once per distinct value: tables have far more rows than states.
    try:
        labels, values = pd.factorize(column)
    except TypeError as error:
        raise InputError(
            f"column {variable!r} of evidence must hold states of network {network.name!r} or "
            f"missing values; it has lists or the like ({error}). Known: {', '.join(states)}."
        ) from error
    spelt = [_spelling(value) for value in values]
    unknown = [position for position, text in enumerate(spelt) if text not in states]
    if unknown:
        wrong = np.isin(labels, unknown)
        first = values[labels[wrong][0]]
        first = first.item() if isinstance(first, np.generic) else first
        raise InputError(
            f"column {variable!r} of evidence must hold states of network {network.name!r} or "
            f"missing values; {int(wrong.sum())} of {len(column)} values do not, the first is "
            f"{first!r} at {column.index[wrong][0]}. {suggestion(first, states)}"
        )
    # The last entry is where label -1, a missing value, points.
    return np.array([*(states.index(text) for text in spelt), -1], dtype=np.int64)[labels]


def _spelling(value: object) -> str:
    # A column of whole numbers becomes float as soon as one cell is missing.
    if (
        isinstance(value, float | np.floating)
        and float(value).is_integer()
        and not isinstance(value, bool)
    ):
        return str(int(value))
    return str(value)
