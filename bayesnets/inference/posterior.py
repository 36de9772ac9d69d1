"""Exact posterior probabilities for many rows of evidence at once.

A posterior is P(target, evidence) divided by P(evidence), its sum over the target (Koller and
Friedman 2009, chapter 9). Rows that the network holds for impossible have none.
"""

import math
from collections.abc import Iterable, Sequence
from typing import Any, Literal

import numpy as np
import pandas as pd

from bayesnets.codes import Codes, Floats
from bayesnets.formats.conversion import as_network
from bayesnets.inference.evidence import encode
from bayesnets.inference.joint_probability import MAX_BYTES, joint
from bayesnets.network import Network
from coherence.errors import InputError, listing

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
    Evidence whose probability is below the smallest floating-point number (about 1e-308) counts as
    impossible.

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
    values = _joint_with_stated(
        model, encode(model, evidence), [model.index(name) for name in names], max_bytes
    )
    values = values.reshape(len(evidence), math.prod(values.shape[1:]))
    total = _possible(values.sum(axis=1), model, evidence, errors)
    states = [model.states(name) for name in names]
    columns = (
        pd.Index(states[0])
        if isinstance(target, str)
        else pd.MultiIndex.from_product(states, names=names)
    )
    return pd.DataFrame(values / total[:, None], index=evidence.index, columns=columns)


def posterior_by_state(
    network: Any,
    evidence: pd.DataFrame,
    target: str,
    auxiliary: str | Sequence[str | None],
    *,
    errors: Errors = "raise",
    max_bytes: int = MAX_BYTES,
) -> pd.DataFrame:
    """Return P(z | x) and P(target | x, z) for every row x and state of its auxiliary variable z.

    The law of iterated expectation says that the second, averaged over the first, is P(target | x).

    Parameters
    ----------
    network : Network or pgmpy.models.DiscreteBayesianNetwork
        The model.
    evidence : DataFrame, shape (n_rows, any number of variables)
        As in `posterior`.
    target : str
        The variable asked about.
    auxiliary : str or sequence of str
        The auxiliary variable, one for all rows or one per row, such as the column `z` of
        `sample_cases`; rows where it is missing are left out.
    errors : {"raise", "nan"}
        As in `posterior`; it concerns x alone.
    max_bytes : int
        As in `posterior`.

    Returns
    -------
    DataFrame, one row per row of `evidence` and state of its auxiliary variable
        The index repeats that of `evidence`. `z` and `z_state`; `p_z`, the probability of that
        state given x; then one column per state of the target with P(state | x, z = z_state), NaN
        where x rules that state of z out.

    Raises
    ------
    InputError
        As in `posterior`; or an auxiliary variable that is the target, or not one per row.

    Examples
    --------
    >>> from bayesnets import load_network
    >>> evidence = pd.DataFrame({"xray": ["yes"]})
    >>> posterior_by_state(load_network("asia"), evidence, "lung", "smoke").round(3)
           z z_state    p_z    yes     no
    0  smoke     yes  0.688  0.646  0.354
    0  smoke      no  0.312  0.142  0.858
    """
    model = as_network(network)
    _check_errors(errors)
    codes, position = encode(model, evidence), model.index(target)
    asked = pd.Series(
        [auxiliary] * len(evidence) if isinstance(auxiliary, str) else list(auxiliary), dtype=object
    )
    if len(asked) != len(evidence):
        raise InputError(
            "auxiliary must be one variable, or one per row of evidence; "
            f"{len(asked)} were given for {len(evidence)} rows. Pass one each."
        )
    if (asked == target).any():
        row = evidence.index[int((asked == target).argmax())]
        raise InputError(
            f"auxiliary must not be the target {target!r}, as it is at row {row}. "
            "Choose another variable."
        )
    # Rows with the same auxiliary variable are answered together: one joint posterior holds both.
    blocks, positions = [], []
    for name in asked.dropna().unique():
        members = np.flatnonzero(asked == name)
        values = _joint_with_stated(model, codes[members], [model.index(name), position], max_bytes)
        weights = values.sum(axis=2)
        total = _possible(weights.sum(axis=1), model, evidence.iloc[members], errors)
        shares = weights / total[:, None]
        with np.errstate(invalid="ignore"):  # a state of z that x rules out has no posterior
            beliefs = (values / weights[:, :, None]).reshape(-1, values.shape[2])
        states = model.states(name)
        block = pd.DataFrame(
            {
                "z": name,
                "z_state": np.tile(np.array(states, dtype=object), len(members)),
                "p_z": shares.ravel(),
            }
        )
        blocks.append(
            pd.concat([block, pd.DataFrame(beliefs, columns=list(model.states(target)))], axis=1)
        )
        positions.append(np.repeat(members, len(states)))
    if not blocks:
        return pd.DataFrame(
            columns=["z", "z_state", "p_z", *model.states(target)], index=evidence.index[:0]
        )
    order = np.concatenate(positions)
    table = pd.concat(blocks, ignore_index=True).set_axis(evidence.index[order])
    return table.iloc[np.argsort(order, kind="stable")]


def evidence_probability(
    network: Any, evidence: pd.DataFrame, *, max_bytes: int = MAX_BYTES
) -> pd.Series:
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
        Named "probability", with the index of `evidence`; 1 for a row without observations, 0 for
        an impossible one.

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
    values = joint(model, encode(model, evidence), max_bytes=_positive(max_bytes))
    return pd.Series(values, index=evidence.index, name="probability")


def _joint_with_stated(
    network: Network, codes: Codes, positions: list[int], max_bytes: int
) -> Floats:
    """Return P(targets, evidence), overwriting `codes`; an observed target keeps its state only."""
    stated = codes[:, positions]  # a copy
    codes[:, positions] = -1
    values = joint(network, codes, positions, max_bytes=_positive(max_bytes))
    for axis, column in enumerate(stated.T, start=1):
        # A target that its row observes is a point mass: the other states get probability zero.
        agrees = (column[:, None] < 0) | (column[:, None] == np.arange(values.shape[axis]))
        values *= agrees.reshape(
            *(size if other in (0, axis) else 1 for other, size in enumerate(values.shape))
        )
    return values


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
