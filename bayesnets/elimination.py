"""Exact posterior probabilities for many rows of evidence at once.

A posterior is P(target, evidence) divided by P(evidence), its sum over the target. Rows that the
network holds for impossible have none. Variables are summed out of the product of the tables one
after the other (Koller and Friedman 2009, section 9.3), the cheapest first (section 9.4.3), with
the rows as the last axis of every array: what a row observes selects among the states, and what no
evidence touches is computed once for all rows. Where the joint table is small but its variables
hang together closely, it is made once instead, and the entries that agree with a row are added up.

Rows of which a product is smaller than a number can be are computed again in logarithms, entry by
entry: scaling each row by its maximum would lose a state that hundreds of findings speak against
before as many speak for it.
"""

import math
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, reduce
from itertools import combinations
from typing import Any, Literal

import numpy as np
import pandas as pd

from bayesnets.network import Network, as_network, own_states
from bayesnets.support import Codes, Flags, Floats, distinct_rows, label_codes
from coherence.errors import InputError, listing, shown, suggestion
from coherence.runs.states import label_text

MAX_BYTES = 128 * 2**20  # the largest intermediate array
_BLOCK = 2**20  # numbers of an array computed at a time: eight megabytes stay in most caches
_SPLIT = 1e8  # products above which rows that observe different variables are answered apart
_ROW = 1e4  # what it costs to answer a row by itself, in products
_PICKED = 4  # what it costs to add up an entry that a row needs by itself, in products
_GROUP = 1e5  # what it costs to go on with a group of rows, in products


_Step = tuple[int, tuple[int, ...]]
"""The variable that is summed out, and what its message depends on."""


@dataclass(frozen=True, eq=False)
class _Factor:
    """Numbers over the states of some variables, with an axis of rows, or of length one, last."""

    scope: tuple[int, ...]  # ascending
    values: Floats

    @property
    def shared(self) -> bool:
        return bool(self.values.shape[-1] == 1)


@dataclass(frozen=True, eq=False)
class Joint:
    """P(targets, evidence) of rows of evidence, as `values` times the exponential of `log_scale`.

    The scale keeps a probability of 1e-2000 apart from an impossible row, whose values are zero.
    """

    values: Floats  # shape (n_rows, *states of each target)
    log_scale: Floats  # shape (n_rows,); zero unless the values had to be scaled

    @cached_property
    def total(self) -> Floats:
        """P(evidence), in the same scale."""
        states = math.prod(self.values.shape[1:])
        total: Floats = self.values.reshape(len(self.values), states).sum(axis=1)
        return total

    @property
    def probability(self) -> Floats:
        """P(evidence); zero too where a number can't be as small."""
        with np.errstate(under="ignore"):
            probability: Floats = self.total * np.exp(self.log_scale)
        return probability

    @property
    def log_probability(self) -> Floats:
        """The logarithm of P(evidence); minus infinity for an impossible row."""
        with np.errstate(divide="ignore"):
            logs: Floats = np.log(self.total) + self.log_scale
        return logs


@dataclass(frozen=True)
class _Plan:
    """Variables in the order in which they are summed out, and what that costs."""

    steps: list[_Step]
    cost: float
    widest: tuple[int, ...]  # of the costliest step
    largest: int  # numbers of the largest message, per row


def joint(
    network: Network, codes: Codes, targets: Sequence[int] = (), *, max_bytes: int = MAX_BYTES
) -> Joint:
    """Return P(targets, evidence) for every row; a target that a row observes keeps its state."""
    numbers = [len(node.states) for node in network.nodes]
    rows, position = distinct_rows(codes)
    agrees = _agreement(rows, targets, numbers)
    rows[:, list(targets)] = -1
    result = np.empty((len(rows), *(numbers[target] for target in targets)))
    log_scale = np.zeros(len(rows))
    waiting = [np.arange(len(rows))] if len(rows) else []
    while waiting:
        members = waiting.pop()
        part = rows[members]
        seen = np.flatnonzero((part >= 0).any(axis=0)).tolist()
        tables = list(_tables(network, {*targets, *seen}))
        factors = _factors(network, tables, part)
        plan = _plan(factors, targets, numbers, len(part))
        scope = sorted({member for of, _ in tables for member in of})
        states = math.prod(numbers[member] for member in scope)
        if 8 * states <= max_bytes and 3 * states + _ROW * len(part) < plan.cost:
            free = _entries(part[:, scope], [numbers[member] for member in scope])
            if 3 * states + _ROW * len(part) + free < plan.cost:
                with suppress(FloatingPointError), np.errstate(under="raise"):
                    values = _added_up(tables, scope, part, targets, numbers)
                    result[members] = values * agrees[members]
                    continue
        if 8 * plan.largest > max_bytes or plan.cost > _SPLIT:
            # What all rows of a part observe needs no axis.
            share = {member: float((part[:, member] >= 0).mean()) for member in plan.widest}
            mixed = [member for member in plan.widest if 0 < share[member] < 1]
            if mixed:
                observed = part[:, max(mixed, key=share.__getitem__)] >= 0
                waiting += [members[observed], members[~observed]]
                continue
        if 8 * plan.largest > max_bytes:
            raise InputError(
                "max_bytes must hold the largest table that a row of evidence needs in network "
                f"{network.name!r}; it is {max_bytes}, and a row needs {8 * plan.largest} bytes. "
                "Observe more variables, ask for fewer targets or raise max_bytes."
            )
        n_block = max(1, min(max_bytes // 8, max(_BLOCK, 64 * plan.largest)) // plan.largest)
        for start in range(0, len(part), n_block):
            block = slice(start, start + n_block)
            chosen = members[block]
            rows_of = [
                factor if factor.shared else _Factor(factor.scope, factor.values[..., block])
                for factor in factors
            ]
            try:
                with np.errstate(under="raise"):
                    values = _eliminated(plan, rows_of, targets, numbers, len(chosen))
                    result[chosen] = values * agrees[chosen]
            except FloatingPointError:
                logs = _eliminated(plan, rows_of, targets, numbers, len(chosen), logs=True)
                result[chosen], log_scale[chosen] = _scaled(logs, agrees[chosen])
    return Joint(result[position], log_scale[position])


def _agreement(codes: Codes, targets: Sequence[int], numbers: Sequence[int]) -> Flags:
    """Return which states of the targets agree with what a row observes of these themselves."""
    agrees = np.ones((len(codes), *[1] * len(targets)), dtype=bool)
    for axis, target in enumerate(targets, start=1):
        column = codes[:, target, None]
        if (column >= 0).any():
            allowed = (column < 0) | (column == np.arange(numbers[target]))
            shape = [1] * agrees.ndim
            shape[0], shape[axis] = allowed.shape
            agrees = agrees & allowed.reshape(shape)
    return agrees


def _scaled(logs: Floats, agrees: Flags) -> tuple[Floats, Floats]:
    """Return the values that logarithms stand for, in units of the largest of their row."""
    logs = np.where(agrees, logs, -np.inf)
    largest = logs.reshape(len(logs), -1).max(axis=1)
    scale = np.where(np.isfinite(largest), largest, 0.0)
    with np.errstate(under="ignore"):
        return np.exp(logs - scale.reshape(-1, *[1] * (logs.ndim - 1))), scale


def _factors(
    network: Network, tables: Sequence[tuple[tuple[int, ...], Floats]], codes: Codes
) -> list[_Factor]:
    """Return factors whose product, summed over all but the targets, is P(targets, evidence)."""
    observed = codes >= 0
    everywhere, somewhere = np.all(observed, axis=0), np.any(observed, axis=0)
    alike = np.all(codes == codes[0], axis=0)
    factors = [
        # Where some rows observe a variable and others do not, each row says which states agree:
        # the one that it observes, or, in the last column, all.
        _Factor((int(member),), np.c_[np.eye(number), np.ones(number)].take(codes[:, member], 1))
        for member in np.flatnonzero(somewhere & ~everywhere)
        for number in [len(network.nodes[member].states)]
    ]
    for scope, values in tables:
        fixed = [axis for axis, member in enumerate(scope) if everywhere[member]]
        constant = all(alike[scope[axis]] for axis in fixed)
        rows = codes[:1] if constant else codes
        # The axes that rows observe go to the end, where one index for each row replaces them.
        moved = np.moveaxis(values, fixed, range(values.ndim - len(fixed), values.ndim))
        index: tuple[Any, ...] = (..., *(rows[:, scope[axis]] for axis in fixed))
        picked = moved[index] if fixed else values[..., None]
        free = tuple(member for member in scope if not everywhere[member])
        factors.append(_Factor(free, np.ascontiguousarray(picked)))
    return factors


def _tables(network: Network, wanted: Iterable[int]) -> Iterator[tuple[tuple[int, ...], Floats]]:
    """Yield scope and table of the wanted variables and their ancestors.

    All other tables sum to one: nothing observed depends on them ("barren" nodes, Shachter 1986).
    """
    needed = set(wanted)
    # Children before parents, so that who needs a node is known when its turn comes.
    for position in reversed(range(len(network.nodes))):
        if position in needed:
            node = network.nodes[position]
            family = [position, *(network.index(parent) for parent in node.parents)]
            needed.update(family)
            axes = sorted(range(len(family)), key=family.__getitem__)
            yield tuple(family[axis] for axis in axes), node.table.transpose(axes)


def _plan(
    factors: Sequence[_Factor], targets: Sequence[int], numbers: Sequence[int], n_rows: int
) -> _Plan:
    """Choose the order greedily: always the variable that is summed out with the fewest products.

    Ties go to the first node, so that plans do not depend on the order of a set.
    """
    messages = [(frozenset(factor.scope), factor.shared) for factor in factors]
    waiting = {member for scope, _ in messages for member in scope}.difference(targets)
    steps, total, costliest = [], 0.0, -1.0
    widest: tuple[int, ...] = ()
    largest = 1

    def price(variable: int) -> tuple[float, int]:
        used = [message for message in messages if variable in message[0]]
        scope = frozenset().union(*(scope for scope, _ in used))
        # As a float: more than 1e308 states are as hopeless as infinitely many.
        cells = math.prod(float(numbers[member]) for member in scope)
        shared = all(shared for _, shared in used)
        return cells * len(used) * (1 if shared else n_rows), variable

    prices = {variable: price(variable) for variable in waiting}
    while prices:
        cost, variable = min(prices.values())
        del prices[variable]
        used = [message for message in messages if variable in message[0]]
        messages = [message for message in messages if variable not in message[0]]
        scope = frozenset().union(*(scope for scope, _ in used)) - {variable}
        messages.append((scope, all(shared for _, shared in used)))
        steps.append((variable, tuple(sorted(scope))))
        largest = max(largest, math.prod(numbers[member] for member in scope))
        total += cost
        if cost > costliest:
            costliest, widest = cost, (variable, *sorted(scope))
        prices.update({other: price(other) for other in scope if other in prices})
    return _Plan(steps, total, widest, largest)


def _eliminated(
    plan: _Plan,
    factors: list[_Factor],
    targets: Sequence[int],
    numbers: Sequence[int],
    n_rows: int,
    *,
    logs: bool = False,
) -> Floats:
    """Sum out the variables, in probabilities or in logarithms, and multiply what is left."""
    multiply, add = (np.add, np.logaddexp) if logs else (np.multiply, np.add)
    if logs:
        with np.errstate(divide="ignore"):
            factors = [_Factor(factor.scope, np.log(factor.values)) for factor in factors]
    for variable, scope in plan.steps:
        used = [factor for factor in factors if variable in factor.scope]
        factors = [factor for factor in factors if variable not in factor.scope]
        used.sort(key=lambda factor: factor.values.size)  # small ones first: small products

        def term(state: int, used: list[_Factor] = used, step: _Step = (variable, scope)) -> Floats:
            return reduce(multiply, (_at(factor, *step, state) for factor in used))

        total = reduce(add, map(term, range(numbers[variable])))
        shape = (*(numbers[member] for member in scope), total.shape[-1])
        factors.append(_Factor(scope, np.broadcast_to(total, shape)))
    scope = tuple(sorted(targets))
    product = np.full((*(numbers[target] for target in scope), n_rows), 0.0 if logs else 1.0)
    for factor in factors:
        multiply(product, _aligned(factor.scope, factor.values, scope), out=product)
    return product.transpose(-1, *(scope.index(target) for target in targets))


def _at(factor: _Factor, variable: int, scope: tuple[int, ...], state: int) -> Floats:
    axis = factor.scope.index(variable)
    rest = (*factor.scope[:axis], *factor.scope[axis + 1 :])
    return _aligned(rest, factor.values[(slice(None),) * axis + (state,)], scope)


def _aligned(scope: tuple[int, ...], values: Floats, target: Sequence[int]) -> Floats:
    """Give the values an axis of length one per variable of the target scope that they lack."""
    length = iter(values.shape[:-1])
    return values.reshape(
        *(next(length) if member in scope else 1 for member in target), values.shape[-1]
    )


def _entries(codes: Codes, numbers: Sequence[int]) -> float:
    """How many entries of the joint table agree with the rows, all together."""
    return float(np.where(codes >= 0, 1.0, np.array(numbers, dtype=float)).prod(axis=1).sum())


def _added_up(
    tables: Sequence[tuple[tuple[int, ...], Floats]],
    scope: Sequence[int],
    codes: Codes,
    targets: Sequence[int],
    numbers: Sequence[int],
) -> Floats:
    """Make the joint table, and add up for every row the entries that agree with it."""

    def growth(member: int) -> float:
        seen = codes[:, member] >= 0
        return ((not seen.all()) + numbers[member] * bool(seen.any())) / numbers[member]

    # The axes along which the table shrinks the most come first, behind the targets.
    others = sorted(set(scope).difference(targets), key=growth)
    table = _product(tables, (*targets, *others))
    shape = table.shape[: len(targets)]
    sums = _sums(table.reshape(-1, *table.shape[len(targets) :]), codes[:, others])
    return sums.T.reshape(-1, *shape)


def _product(tables: Sequence[tuple[tuple[int, ...], Floats]], axes: Sequence[int]) -> Floats:
    """Multiply the tables, always the two with the smallest product, so that few are large."""
    factors = []
    for scope, values in tables:
        order = sorted(range(len(scope)), key=lambda axis: axes.index(scope[axis]))
        states = dict(zip(scope, values.shape, strict=True))
        # Contiguous, because a product takes over the order in memory of its factors.
        ordered = np.ascontiguousarray(values.transpose(order))
        factors.append(ordered.reshape([states.get(member, 1) for member in axes]))
    while len(factors) > 1:
        _, i, j = min(
            (math.prod(map(max, factors[i].shape, factors[j].shape)), i, j)
            for i, j in combinations(range(len(factors)), 2)
        )
        later, earlier = factors.pop(j), factors.pop(i)
        factors.append(earlier * later)
    return np.ascontiguousarray(factors[0])


def _sums(table: Floats, codes: Codes) -> Floats:
    """Add up the entries along all axes but the first that agree with rows of states or -1.

    Rows that agree about the next axis go on together, in the slice of their state or in the sum
    over the axis, until it is cheaper to add up the entries of each.
    """
    result = np.empty((len(table), len(codes)))
    entries = np.where(codes < 0, table.shape[1:], 1.0).prod(axis=1).sum()
    if table.ndim == 1 or _PICKED * entries <= table[0].size + _GROUP:
        for row, index in enumerate(np.where(codes < 0, np.array(slice(None)), codes).tolist()):
            result[:, row] = table[:, *index].reshape(len(table), -1).sum(axis=1)
        return result
    for state in set(codes[:, 0].tolist()):
        members = np.flatnonzero(codes[:, 0] == state)
        rest = table.sum(axis=1) if state < 0 else table[:, state]
        result[:, members] = _sums(rest, codes[members, 1:])
    return result


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
