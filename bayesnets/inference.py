"""Exact posterior probabilities for many rows of evidence at once."""

from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pandas as pd

from bayesnets.contraction import MAX_BYTES, Codes, joint
from bayesnets.names import listing, suggestion
from bayesnets.network import Network, as_network
from coherence.errors import InputError

Errors = Literal["raise", "nan"]


def posterior(network: Any, evidence: pd.DataFrame, target: str, *, errors: Errors = "raise", max_bytes: int = MAX_BYTES) -> pd.DataFrame:
    """Return P(target | evidence) for every row.

    Parameters
    ----------
    network : Network or pgmpy.models.DiscreteBayesianNetwork
        The model.
    evidence : DataFrame, shape (n_rows, any number of variables)
        Columns are variables, cells are states; missing cells are unobserved, in any mixture. Whole numbers stand for states of that spelling.
        Where the target itself is observed, its posterior is a point mass.
    target : str
        The variable asked about.
    errors : {"raise", "nan"}
        What to do with rows of probability zero: an error that names them, or NaN.
    max_bytes : int
        The largest intermediate array; fewer bytes mean more chunks and the same result.

    Returns
    -------
    DataFrame, shape (n_rows, n_states)
        Columns are the states of the target; rows sum to one; the index is that of `evidence`.

    Raises
    ------
    InputError
        Unknown variables or states, repeated columns, or impossible evidence.

    Notes
    -----
    Evidence whose probability is below the smallest floating-point number (about 1e-308) counts as impossible.

    Examples
    --------
    >>> from bayesnets import load_network
    >>> evidence = pd.DataFrame({"smoke": ["yes", "no"], "xray": ["yes", None]})
    >>> posterior(load_network("asia"), evidence, "lung").round(4)
         yes     no
    0  0.646  0.354
    1  0.010  0.990
    """
    model = as_network(network)
    if errors not in ("raise", "nan"):
        raise InputError(f"errors must be 'raise' or 'nan', not {errors!r}. Choose one.")
    position = model.index(target)
    codes = encode(model, evidence)
    stated = codes[:, position].copy()
    codes[:, position] = -1
    numerators = joint(model, codes, position, max_bytes=_positive(max_bytes))
    states = model.states(target)
    observed = stated >= 0
    numerators[observed] *= stated[observed, None] == np.arange(len(states))
    total = numerators.sum(axis=1, keepdims=True)
    impossible = ~(total[:, 0] > 0)
    if errors == "raise" and impossible.any():
        rows = evidence.index[impossible]
        raise InputError(
            f"evidence must be possible in network {model.name!r}; {len(rows)} of {len(evidence)} rows have probability zero, "
            f"at {listing(rows)}. Correct them, or pass errors='nan'."
        )
    total[impossible] = np.nan
    return pd.DataFrame(numerators / total, index=evidence.index, columns=list(states))


def evidence_probability(network: Any, evidence: pd.DataFrame, *, max_bytes: int = MAX_BYTES) -> pd.Series:
    """Return the probability of the observed states of every row.

    Parameters
    ----------
    network : Network or pgmpy.models.DiscreteBayesianNetwork
        The model.
    evidence : DataFrame
        As in `posterior`.
    max_bytes : int
        The largest intermediate array.

    Returns
    -------
    Series
        Named "probability", with the index of `evidence`; 1 for a row without observations, 0 for an impossible one.

    Raises
    ------
    InputError
        Unknown variables or states, or repeated columns.

    Examples
    --------
    >>> from bayesnets import load_network
    >>> evidence = pd.DataFrame({"asia": ["yes", None], "smoke": ["no", None]})
    >>> evidence_probability(load_network("asia"), evidence).round(6).tolist()
    [0.005, 1.0]
    """
    model = as_network(network)
    values = joint(model, encode(model, evidence), None, max_bytes=_positive(max_bytes))
    return pd.Series(values, index=evidence.index, name="probability")


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
        raise InputError(f"evidence must be a DataFrame with one column per variable, not {type(evidence).__name__}. Try pandas.DataFrame([...]).")
    if not evidence.columns.is_unique:
        raise InputError(
            f"columns of evidence must be unique; {listing(evidence.columns[evidence.columns.duplicated()].unique())} are repeated. Drop one of them."
        )
    unknown = [column for column in evidence.columns if column not in network.names]
    if unknown:
        raise InputError(
            f"columns of evidence must be variables of network {network.name!r}; {listing(map(repr, unknown))} are not. "
            f"{suggestion(unknown[0], network.names)}"
        )
    codes = np.full((len(evidence), len(network.nodes)), -1, dtype=np.int64)
    for variable in evidence.columns:
        codes[:, network.index(variable)] = _state_codes(network, variable, evidence[variable])
    return codes


def _state_codes(network: Network, variable: str, column: pd.Series) -> npt.NDArray[np.int64]:
    states = network.states(variable)
    labels, values = pd.factorize(column)
    spelt = [_spelling(value) for value in values]
    unknown = [position for position, text in enumerate(spelt) if text not in states]
    if unknown:
        wrong = np.isin(labels, unknown)
        first = values[labels[wrong][0]]
        first = first.item() if isinstance(first, np.generic) else first
        raise InputError(
            f"column {variable!r} of evidence must hold states of network {network.name!r} or missing values; {int(wrong.sum())} of {len(column)} "
            f"values do not, the first is {first!r} at {column.index[wrong][0]}. {suggestion(first, states)}"
        )
    # The last entry is where label -1, a missing value, points.
    return np.array([*(states.index(text) for text in spelt), -1], dtype=np.int64)[labels]


def _spelling(value: object) -> str:
    # A column of whole numbers becomes float as soon as one cell is missing.
    if isinstance(value, float | np.floating) and float(value).is_integer() and not isinstance(value, bool):
        return str(int(value))
    return str(value)


def _positive(max_bytes: int) -> int:
    if not max_bytes > 0:
        raise InputError(f"max_bytes must be positive, not {max_bytes!r}. Leave it out for the default.")
    return max_bytes
