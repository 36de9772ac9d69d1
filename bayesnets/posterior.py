"""Exact posterior probabilities for many rows of evidence at once.

A posterior is P(target, evidence) divided by P(evidence), its sum over the target (Koller and
Friedman 2009, chapter 9). Rows that the network holds for impossible have none.
"""

import math
import warnings
from collections.abc import Iterable, Sequence
from typing import Any, Literal

import numpy as np
import pandas as pd

from bayesnets.codes import Codes, Floats
from bayesnets.conversion import as_network
from bayesnets.elimination import MAX_BYTES, joint
from bayesnets.network import Network
from coherence.errors import InputError, listing, suggestion

Errors = Literal["raise", "nan"]


def posterior(
    network: Any,
    evidence: pd.DataFrame,
    target: str | Sequence[str],
    *,
    errors: Errors = "raise",
    max_bytes: int = MAX_BYTES,
) -> pd.DataFrame:
    """Return P(target | evidence) for every row.

    Parameters
    ----------
    network : Network or pgmpy.models.DiscreteBayesianNetwork
        The model.
    evidence : DataFrame, shape (n_rows, any number of variables)
        Columns are variables, cells are states; missing cells are unobserved, in any mixture. Whole
        numbers stand for states of that spelling. Where the target itself is observed, its
        posterior is a point mass.
    target : str or sequence of str
        The variable asked about; several ask for their joint posterior.
    errors : {"raise", "nan"}
        What to do with rows of probability zero: an error that names them, or NaN.
    max_bytes : int
        The largest intermediate array; fewer bytes mean more chunks and the same result.

    Returns
    -------
    DataFrame, shape (n_rows, n_states)
        Columns are the states of the target, or the combinations of states of several targets, with
        a level for each; rows sum to one; the index is that of `evidence`.

    Raises
    ------
    InputError
        Unknown variables or states, repeated columns or targets, impossible evidence, or a network
        that needs more than `max_bytes` for one row.

    Notes
    -----
    Evidence may be of any probability: 1e-2000, as of a thousand findings, is not impossible.

    Examples
    --------
    >>> from bayesnets import load_network
    >>> evidence = pd.DataFrame({"smoke": ["yes", "no"], "xray": ["yes", None]})
    >>> posterior(load_network("asia"), evidence, "lung").round(4)
         yes     no
    0  0.646  0.354
    1  0.010  0.990
    >>> posterior(load_network("asia"), evidence, ["lung", "dysp"])["yes"].round(3)
    dysp    yes     no
    0     0.530  0.116
    1     0.008  0.002
    """
    model = as_network(network)
    _check_errors(errors)
    names = (target,) if isinstance(target, str) else _several(target, "target")
    result = joint(
        model,
        encode(model, evidence),
        [model.index(name) for name in names],
        max_bytes=_positive(max_bytes),
    )
    values = result.values.reshape(len(evidence), math.prod(result.values.shape[1:]))
    total = _possible(result.total, model, evidence, errors)
    states = [model.states(name) for name in names]
    columns = (
        pd.Index(states[0])
        if isinstance(target, str)
        else pd.MultiIndex.from_product(states, names=names)
    )
    return pd.DataFrame(values / total[:, None], index=evidence.index, columns=columns)


def evidence_probability(
    network: Any, evidence: pd.DataFrame, *, log: bool = False, max_bytes: int = MAX_BYTES
) -> pd.Series:
    """Return the probability of the observed states of every row.

    Parameters
    ----------
    network : Network or pgmpy.models.DiscreteBayesianNetwork
        The model.
    evidence : DataFrame
        As in `posterior`.
    log : bool
        Whether to return the natural logarithm, which is finite however small a probability is.
    max_bytes : int
        The largest intermediate array.

    Returns
    -------
    Series
        Named "probability" or "log_probability", with the index of `evidence`; 1 for a row without
        observations, 0 for an impossible one, and their logarithms. A probability that is smaller
        than a number can be (about 1e-308) is returned as 0 with a warning.

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
    result = joint(model, encode(model, evidence), max_bytes=_positive(max_bytes))
    if log:
        return pd.Series(result.log_probability, index=evidence.index, name="log_probability")
    probability = result.probability
    n_small = int(((probability == 0) & (result.total > 0)).sum())
    if n_small:
        warnings.warn(
            f"evidence of network {model.name!r}: {n_small} of {len(evidence)} rows are possible, "
            "with a probability smaller than a number can be; 0 is returned for them. "
            "Pass log=True.",
            stacklevel=2,
        )
    return pd.Series(probability, index=evidence.index, name="probability")


def encode(network: Network, evidence: pd.DataFrame) -> Codes:
    """Return the positions of the observed states."""
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
    names = set(network.names)
    unknown = [column for column in evidence.columns if column not in names]
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


def _possible(total: Floats, network: Network, evidence: pd.DataFrame, errors: Errors) -> Floats:
    """Return probabilities of evidence, NaN for zero, unless such rows are an error."""
    impossible = ~(total > 0)  # NaN counts as impossible too
    if errors == "raise" and impossible.any():
        rows = evidence.index[impossible]
        raise InputError(
            f"evidence must be possible in network {network.name!r}; "
            f"{len(rows)} of {len(evidence)} rows have probability zero, "
            f"at {listing(rows)}. Correct them, or pass errors='nan'."
        )
    return np.where(impossible, np.nan, total)


def _check_errors(errors: object) -> None:
    if errors not in ("raise", "nan"):
        raise InputError(f"errors must be 'raise' or 'nan', not {errors!r}. Choose one.")


def _several(targets: Sequence[str], parameter: str) -> tuple[str, ...]:
    names = () if isinstance(targets, str) or not isinstance(targets, Iterable) else tuple(targets)
    if (
        not names
        or any(not isinstance(name, str) for name in names)
        or len(set(names)) < len(names)
    ):
        raise InputError(
            f"{parameter} must be one or more different variables, not {targets!r}. List each once."
        )
    return names


def _positive(max_bytes: int) -> int:
    if not max_bytes > 0:
        raise InputError(
            f"max_bytes must be positive, not {max_bytes!r}. Leave it out for the default."
        )
    return max_bytes
