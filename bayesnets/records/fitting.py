"""Conditional tables from records, for a structure that is known.

Every table is a relative frequency within a configuration of the parents, or, with pseudo-counts,
the posterior mean under a symmetric Dirichlet prior (Koller and Friedman 2009, sections 17.2 and
17.4). The published procedure relies on configurations with at least 100 records; which ones have
fewer is part of the result, and a configuration without any record has no table unless the caller
says which.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt
import pandas as pd

from bayesnets.network import Network, Node, PgmpyModel, as_network, own_name
from bayesnets.records.encoding import Missing, encode_records
from bayesnets.support import Codes, Floats, Support
from coherence.errors import InputError, listing
from coherence.inputs import whole_number
from coherence.runs.states import label_text

Empty = Literal["error", "marginal", "uniform"]
MAX_ENTRIES = 20_000_000  # of all tables: 160 MB


@dataclass(frozen=True, eq=False)
class Fit:
    """A network fitted to records, and how many records stand behind every column of its tables.

    Parameters
    ----------
    network : Network
        The structure with fitted tables, and with the records behind them as its `support`.
    support : DataFrame, one row per variable and configuration of its parents
        `variable`; `configuration`, such as "smoke=yes, asia=no", empty for a variable without
        parents; `records` in that configuration; `sufficient`, whether these are at least
        `min_support`; `table`, what the column was made of: "records", "records and prior",
        "prior", "marginal" or "uniform".
    n_records : int
        Records that were used.
    n_dropped : int
        Records that were left out because of missing values.
    settings : Mapping of str to Any
        Options of the call.
    """

    network: Network
    support: pd.DataFrame
    n_records: int
    n_dropped: int
    settings: Mapping[str, Any]

    @property
    def thin(self) -> pd.DataFrame:
        """The rows of `support` with fewer records than `min_support`."""
        return self.support[~self.support["sufficient"]].reset_index(drop=True)

    def __str__(self) -> str:
        empty = int((self.support["records"] == 0).sum())
        return (
            f"{self.network.name}: {len(self.network.nodes)} variables fitted to {self.n_records} "
            f"records ({self.n_dropped} dropped)\n"
            f"  {len(self.support)} parent configurations; "
            f"{len(self.thin)} have fewer than {self.settings['min_support']} records, {empty} "
            "have none"
        )


def fit(
    structure: Any,
    records: pd.DataFrame,
    *,
    states: Mapping[str, Sequence[str]] | None = None,
    prior: float = 0.0,
    min_support: int = 100,
    missing: Missing = "error",
    empty: Empty = "error",
    name: str | None = None,
) -> Fit:
    """Estimate the conditional tables of a network from records.

    Parameters
    ----------
    structure : Network, pgmpy model, or mapping of str to sequence of str
        The arrows: a network, whose own tables are ignored and whose order of states is kept, or
        the parents of every variable, also as a pgmpy model without tables.
    records : DataFrame
        A column of labels per variable; further columns are ignored.
    states : mapping of str to sequence of str, optional
        The states of every variable, in the order of the tables; needed with a mapping, not allowed
        with a network.
    prior : float
        Pseudo-count added to every cell of every table, at least 0: a symmetric Dirichlet prior
        whose weight in a column is `prior` times the number of states. 0 is maximum likelihood, 1
        is Laplace's rule.
    min_support : int
        A parent configuration with fewer records is listed as thin, at least 0. It keeps its
        estimate.
    missing : {"error", "drop"}
        What to do with records that miss the value of any variable of the structure: an error, or
        leave the whole record out. Then all tables describe the same records; that they also
        describe those left out is an assumption.
    empty : {"error", "marginal", "uniform"}
        The column of a parent configuration without any record where `prior` is 0: an error; the
        variable's distribution over all records; or equal probabilities.
    name : str or None
        Name of the network; None keeps that of the structure, or takes "fitted".

    Returns
    -------
    Fit
        The network and its support.

    Raises
    ------
    InputError
        An invalid structure, an absent column, a column of numbers, an unseen state, missing
        values, a configuration without records, or an option outside its range.

    Examples
    --------
    >>> from bayesnets import load_network, sample
    >>> asia = load_network("asia")
    >>> result = fit(asia, sample(asia, 20_000, rng=1), empty="marginal")
    >>> result.network.node("dysp").table[0].round(2).tolist(), asia.node("dysp").table[0].tolist()
    ([[0.88, 0.79], [0.67, 0.1]], [[0.9, 0.8], [0.7, 0.1]])
    >>> result.thin[["variable", "configuration", "records", "table"]].head(1).values.tolist()
    [['either', 'tub=yes, lung=yes', 15, 'records']]
    """
    _check_options(prior, min_support, empty)
    skeleton = _skeleton(structure, states)
    codes, complete = encode_records(
        records, {node.name: node.states for node in skeleton.nodes}, missing=missing
    )
    nodes, support, errors = [], [], []
    for node in skeleton.nodes:
        family = [skeleton.index(variable) for variable in (node.name, *node.parents)]
        counts = _counts(codes[:, family], node.table.shape)
        total = counts.sum(axis=0)
        # All errors are gathered, so that one run says everything that the records lack.
        if empty == "error" and prior == 0 and (total == 0).any():
            labels = _configurations(skeleton, node)[total.ravel() == 0]
            errors.append(
                f"{node.name!r} has {len(labels)} of {total.size} "
                f"({labels[0]}{', ...' if len(labels) > 1 else ''})"
            )
            continue
        nodes.append(
            Node(node.name, node.states, node.parents, _table(counts, total, prior, empty))
        )
        support.append(_support(skeleton, node, total, prior, min_support, empty))
    if errors:
        raise InputError(
            "records must cover every parent configuration; "
            f"among {len(codes)} records these occur in none: {listing(errors)}. Pass "
            "a prior above 0, or choose what stands there with empty='marginal' or "
            "empty='uniform', or use a sparser structure."
        )
    n_dropped = int((~complete).sum())
    options: dict[str, Any] = {"prior": float(prior), "min_support": int(min_support)}
    options |= {"missing": missing, "empty": empty}
    name = name or skeleton.name
    title = skeleton.title if skeleton.title != skeleton.name else name
    source = f"structure: {skeleton.source}; tables fitted to {len(codes)} records"
    described, behind = skeleton.description, Support(codes)
    network = Network(name, title, source, False, tuple(nodes), described, "fitted", behind)
    return Fit(network, pd.concat(support, ignore_index=True), len(codes), n_dropped, options)


def _counts(codes: Codes, shape: tuple[int, ...]) -> Floats:
    """Return how many records lie in every cell of a table."""
    # One number per record names its cell, so that a single pass counts the whole table.
    cells = np.ravel_multi_index(tuple(codes.T), shape)
    return np.bincount(cells, minlength=math.prod(shape)).reshape(shape).astype(float)


def _table(counts: Floats, total: Floats, prior: float, empty: Empty) -> Floats:
    n_states = len(counts)
    # Posterior mean under a symmetric Dirichlet prior; Koller and Friedman (2009), section 17.4.
    if prior > 0:
        smoothed: Floats = (counts + prior) / (total + prior * n_states)
        return smoothed
    overall = counts.reshape(n_states, -1).sum(axis=1)
    column = overall / overall.sum() if empty == "marginal" else np.full(n_states, 1 / n_states)
    # A column without records is filled with a distribution, which must not be divided by zero.
    filled = np.where(total > 0, counts, column.reshape(n_states, *[1] * total.ndim))
    table: Floats = filled / np.where(total > 0, total, 1.0)
    return table


def _support(
    network: Network,
    node: Node,
    total: Floats,
    prior: float,
    min_support: int,
    empty: Empty,
) -> pd.DataFrame:
    records = total.ravel().astype(np.int64)
    seen, unseen = ("records and prior", "prior") if prior > 0 else ("records", empty)
    return pd.DataFrame(
        {
            "variable": node.name,
            "configuration": _configurations(network, node),
            "records": records,
            "sufficient": records >= min_support,
            "table": np.where(records > 0, seen, unseen),
        }
    )


def _configurations(network: Network, node: Node) -> npt.NDArray[np.object_]:
    """Return the parent configurations in words, in the order of the table's columns."""
    labels = ([f"{name}={state}" for state in network.states(name)] for name in node.parents)
    return np.array([", ".join(each) for each in product(*labels)], dtype=object)


def _skeleton(structure: Any, states: Mapping[str, Sequence[str]] | None) -> Network:
    """Return the structure as a network; tables of one made from parents are never used."""
    name = "fitted"
    if isinstance(structure, PgmpyModel) and not structure.get_cpds():
        # Arrows alone, as a pgmpy model has them before it is fitted.
        model: Any = structure
        structure = {
            label_text(node): sorted(map(label_text, model.predecessors(node)))
            for node in sorted(model.nodes, key=str)
        }
        name = own_name(model) or name
    if not isinstance(structure, Mapping):
        if states is not None:
            raise InputError(
                "states must be left out where structure is a network, which has its own. "
                "Leave it out."
            )
        return as_network(structure)
    if states is None:
        raise InputError(
            "states must be stated where structure is a mapping of parents, or a model without "
            "tables; received none. Pass states={variable: [state, ...], ...}."
        )
    single = {label_text(node) for node, of in states.items() if isinstance(of, str)}
    states = {label_text(node): tuple(map(label_text, of)) for node, of in states.items()}
    if set(structure) != set(states):
        differing = sorted(map(str, set(structure) ^ set(states)))
        raise InputError(
            "structure and states must name the same variables; "
            f"{listing(map(repr, differing))} are in only one. Complete the other."
        )
    for variable, parents in structure.items():
        if isinstance(parents, str) or variable in single:
            raise InputError(
                f"parents and states of {variable!r} must be sequences of names, not single texts. "
                "Put them in lists."
            )
    # A parent that does not exist is left to Network, which names it.
    shapes = {
        variable: tuple(len(states.get(name, (0,))) for name in (variable, *parents))
        for variable, parents in structure.items()
    }
    entries = {variable: math.prod(shape) for variable, shape in shapes.items()}
    if sum(entries.values()) > MAX_ENTRIES:
        widest = max(entries, key=lambda variable: entries[variable])
        raise InputError(
            f"structure must have tables of at most {MAX_ENTRIES:,} entries together, not "
            f"{sum(entries.values()):,}; the {len(structure[widest])} "
            f"parents of {widest!r} give its table {entries[widest]:,}. "
            "Drop parents or merge states."
        )
    nodes = [
        Node(
            name, tuple(states[name]), tuple(structure[name]), np.full(shape, 1 / max(1, shape[0]))
        )
        for name, shape in shapes.items()
    ]
    return Network(name, name, "structure given as parents", False, tuple(nodes))


def with_records(network: Any, records: pd.DataFrame, *, missing: Missing = "error") -> Network:
    """Return a network with the records behind it, as `fit` leaves it: files do not hold them.

    Parameters
    ----------
    network : Network or pgmpy model
        Read from a file, say.
    records : DataFrame
        The records that it was fitted to: a column of labels per variable.
    missing : {"error", "drop"}
        As of `fit`.

    Returns
    -------
    Network
        The same tables; `sample_cases` keeps to evidence that enough records show.

    Raises
    ------
    InputError
        An absent column, an unknown state, or missing values.

    Examples
    --------
    >>> from bayesnets import load_network, sample
    >>> network = load_network("asia")
    >>> with_records(network, sample(network, 500, rng=1)).name
    'asia'
    """
    model = as_network(network)
    states = {node.name: node.states for node in model.nodes}
    codes, _ = encode_records(records, states, missing=missing)
    return replace(model, support=Support(codes))


def _check_options(prior: float, min_support: int, empty: Empty) -> None:
    is_number = isinstance(prior, int | float | np.number) and not isinstance(prior, bool)
    if not is_number or not 0 <= prior < math.inf:
        raise InputError(
            f"prior must be a pseudo-count per cell, a finite number of at least 0, not {prior!r}. "
            "Pass 0 for maximum likelihood."
        )
    whole_number(min_support, "min_support", 0)
    if empty not in get_args(Empty):
        raise InputError(
            f"empty must be 'error', 'marginal' or 'uniform', not {empty!r}. Choose one."
        )
