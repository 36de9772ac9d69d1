"""Exact posterior probabilities for many rows of evidence at once.

A posterior is P(target, evidence) divided by P(evidence), its sum over the target (Koller and
Friedman 2009, chapter 9). Rows that the network holds for impossible have none.
"""

import math
import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

import numpy as np
import pandas as pd

from bayesnets.codes import Codes, Floats, label_codes
from bayesnets.conversion import as_network, own_states
from bayesnets.elimination import MAX_BYTES, joint
from bayesnets.network import Network
from coherence.errors import InputError, listing, shown, suggestion
from coherence.runs.states import label_text

Errors = Literal["raise", "nan"]
Evidence = pd.DataFrame | Mapping[str, Any] | Sequence[Mapping[str, Any]]


def posterior(
    network: Any,
    evidence: Evidence,
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
    evidence : DataFrame, shape (n_rows, any number of variables), or dict or list of dicts
        Columns are variables, cells are states; missing cells are unobserved, in any mixture. A
        dict is one row, as in pgmpy. Numbers and truth values stand for states of that spelling.
        Where the target itself is observed, its posterior is a point mass.
    target : str or sequence of str
        The variable asked about; several ask for their joint posterior.
    errors : {"raise", "nan"}
        What to do with rows of probability zero: an error that names them, or NaN.
    max_bytes : int
        The largest intermediate array; fewer bytes mean more chunks and the same result.

    Returns
    -------
    DataFrame, shape (n_rows, n_states)
        Columns are the states of the target (of a pgmpy model its own, which may be numbers), or
        the combinations of states of several targets, with a level for each; rows sum to one; the
        index is that of `evidence`, of dicts 0, 1, ...

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
    model, evidence = as_network(network), _rows_of(evidence)
    if errors not in ("raise", "nan"):
        raise InputError(f"errors must be 'raise' or 'nan', not {errors!r}. Choose one.")
    single = isinstance(target, str | int)
    names = (label_text(target),) if single else _several(target)
    result = joint(
        model,
        encode(model, evidence),
        [model.index(name) for name in names],
        max_bytes=_positive(max_bytes),
    )
    values = result.values.reshape(len(evidence), math.prod(result.values.shape[1:]))
    total = _possible(result.total, model, evidence, errors)
    states = [own_states(network, model.node(name)) for name in names]
    columns = pd.Index(states[0]) if single else pd.MultiIndex.from_product(states, names=names)
    return pd.DataFrame(values / total[:, None], index=evidence.index, columns=columns)


def evidence_probability(
    network: Any, evidence: Evidence, *, log: bool = False, max_bytes: int = MAX_BYTES
) -> pd.Series:
    """Return the probability of the observed states of every row.

    Parameters
    ----------
    network : Network or pgmpy.models.DiscreteBayesianNetwork
        The model.
    evidence : DataFrame, dict or list of dicts
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
    model, evidence = as_network(network), _rows_of(evidence)
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


def _rows_of(evidence: Evidence) -> pd.DataFrame:
    """Return evidence as a table; a dict is a row."""
    if isinstance(evidence, pd.DataFrame):
        return evidence
    rows = [evidence] if isinstance(evidence, Mapping) else evidence
    if not isinstance(rows, Sequence) or not all(isinstance(row, Mapping) for row in rows):
        raise InputError(
            "evidence must be a DataFrame with one column per variable, a dict of states by "
            f"variable, or a list of such dicts, not {type(evidence).__name__}. "
            "Try pandas.DataFrame([...])."
        )
    for name, state in (pair for row in rows for pair in row.items()):
        if not pd.api.types.is_scalar(state):
            raise InputError(
                f"evidence in a dict must be one state for each variable; that of {name!r} is "
                f"{shown(state):.80}. Pass pandas.DataFrame(...) for a column of states."
            )
    # As objects, so that True stays apart from 1.
    return pd.DataFrame(list(rows), index=range(len(rows)), dtype=object)


def encode(network: Network, evidence: pd.DataFrame) -> Codes:
    """Return the positions of the observed states."""
    names = [label_text(column) for column in evidence.columns]
    if repeated := {name for name in names if names.count(name) > 1}:
        raise InputError(
            f"columns of evidence must be unique; {listing(sorted(repeated))} are repeated. "
            "Drop one of them."
        )
    if unknown := [name for name in names if name not in network.names]:
        raise InputError(
            f"columns of evidence must be variables of network {network.name!r}; "
            f"{listing(map(repr, unknown))} are not. {suggestion(unknown[0], network.names)}"
        )
    codes = np.full((len(evidence), len(network.nodes)), -1, dtype=np.int64)
    for name, column in zip(names, evidence.columns, strict=True):
        codes[:, network.index(name)] = _state_codes(network, name, evidence[column])
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
    spelt = [label_text(value) for value in values]
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
    return label_codes(labels, spelt, states)


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


def _several(targets: Sequence[str]) -> tuple[str, ...]:
    names = tuple(targets) if isinstance(targets, Iterable) else ()
    texts = {name for name in names if isinstance(name, str)}
    if not names or len(texts) < len(names):
        raise InputError(
            f"target must be one or more different variables, not {targets!r}. List each once."
        )
    return names


def _positive(max_bytes: int) -> int:
    if not max_bytes > 0:
        raise InputError(
            f"max_bytes must be positive, not {max_bytes!r}. Leave it out for the default."
        )
    return max_bytes
