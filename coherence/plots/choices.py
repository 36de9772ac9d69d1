"""What figures of beliefs draw: one table, out of a runs table or out of arrays.

The same rows as those of the checks: parsed beliefs under the reference prompt, with the action,
the state as 0 or 1 and the exact posterior where they are known.
"""

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from coherence.errors import InputError
from coherence.inputs import (
    as_actions,
    as_belief,
    as_codes,
    as_contexts,
    require,
    require_aligned,
)
from coherence.runs.columns import ACTION_PREFIX, holds_exact
from coherence.runs.read import read_runs
from coherence.runs.runs import Runs
from coherence.runs.states import unknown_pair, zero_or_one

UNIT = ("task", "model")
LABELS = "labels"
"""Attribute of a table of choices: what the table calls the states 0 and 1."""
Columns: TypeAlias = Mapping[str, str | Sequence[str]]


def choices_of(
    data: ArrayLike | pd.DataFrame,
    action: ArrayLike | pd.DataFrame | None = None,
    truth: ArrayLike | None = None,
    *,
    context: ArrayLike | None = None,
    exact: ArrayLike | None = None,
    positive: Any = None,
    columns: Columns | None = None,
) -> pd.DataFrame:
    """Gather what a figure of beliefs draws."""
    if not isinstance(data, pd.DataFrame):
        return _of_arrays(data, action, truth, context, exact, positive)
    beside = {"action": action, "truth": truth, "context": context, "exact": exact}
    twice = [name for name, values in beside.items() if values is not None]
    require(
        not twice,
        f"{' and '.join(twice)} must be left out beside a table, which has its own columns; pass "
        "the beliefs as an array instead.",
    )
    if columns is not None:
        return _of_runs(read_runs(data, columns=columns), positive)
    # A runs table may have a column of that name beside its own.
    gathered = "belief" in data.columns and "p" not in data.columns
    return data if gathered else _of_runs(data, positive)


def _of_runs(runs: pd.DataFrame, positive: Any) -> pd.DataFrame:
    require(
        "p" in runs.columns,
        "runs must have a column p with the beliefs; received the columns "
        f"{', '.join(map(str, runs.columns[:12]))}. Of beliefs in columns of several states, pass "
        "arrays: the belief in one of them, action, truth and context.",
    )
    for name in UNIT:
        seen = list(runs[name].unique()) if name in runs.columns else []  # none is a name as well
        if len(seen) > 1:
            raise InputError(
                f"runs must hold one task and one model; received {len(seen)} values of {name!r}. "
                f"Draw one at a time: runs[runs[{name!r}] == {str(seen[0])!r}]."
            )
    told = Runs(runs)
    stated = told.with_prompt(told.reference()) & told.believed
    rows = runs[stated].reset_index(drop=True)
    require(len(rows) > 0, "runs must hold at least one parsed belief; received none.")
    context = rows["context"] if "context" in rows.columns else pd.Series(rows.index)
    columns: dict[str, Any] = {"belief": as_belief(rows["p"]), "context": context.astype(str)}
    acted = told.acted[stated].reset_index(drop=True)
    policies = [name for name in told.policies if rows[name].notna().any()]
    if acted.any():
        columns |= {name: rows[name].where(acted) for name in policies or ["action"]}
    labels: list[Any] = []
    if "theta" in rows.columns and rows["theta"].notna().any():
        columns["truth"], labels = _coded(rows["theta"], positive, "theta")
    if "p_true" in rows.columns and holds_exact(rows.columns) and rows["p_true"].notna().any():
        columns["p_true"] = rows["p_true"]
    if "group" in rows.columns and rows["group"].notna().all():
        columns["group"] = rows["group"]
    if "person" in rows.columns and (rows.groupby("context")["person"].nunique() > 1).any():
        columns["person"] = rows["person"]
    table = pd.DataFrame(columns)
    table.attrs[LABELS] = labels
    return table


def _of_arrays(
    belief: ArrayLike,
    action: ArrayLike | pd.DataFrame | None,
    truth: ArrayLike | None,
    context: ArrayLike | None,
    exact: ArrayLike | None,
    positive: Any,
) -> pd.DataFrame:
    require_aligned(belief=belief, action=action, truth=truth, context=context, exact=exact)
    beliefs = as_belief(belief)
    require(
        beliefs.ndim == 1 or beliefs.shape[1] == 2,
        "belief must be in one of two states to be drawn; received beliefs over "
        f"{beliefs.shape[-1]} states. Pass the belief in one state against the rest.",
    )
    n_rows = len(beliefs)
    table = pd.DataFrame({"belief": beliefs if beliefs.ndim == 1 else beliefs[:, 1]})
    table["context"] = as_contexts(context, n_rows)[0]
    if action is not None:
        chosen = as_actions(action, n_rows)
        if chosen.probabilities is not None:
            names = [f"{ACTION_PREFIX}{label}" for label in chosen.labels]
            table[names] = chosen.probabilities
        elif isinstance(action, pd.Series):  # the order of a categorical is the user's
            table["action"] = action.array
        else:
            table["action"] = np.array(chosen.labels, dtype=object)[chosen.codes]
    if truth is not None:
        codes, labels = as_codes(truth, "truth", n_rows)
        states, named = _coded(pd.Series(list(labels), dtype=object)[codes], positive)
        table["truth"], table.attrs[LABELS] = states.to_numpy(), named
    if exact is not None:
        posterior = as_belief(exact, "exact")
        require(
            posterior.shape == (n_rows,),
            f"exact must have one value per row of belief; received shape {posterior.shape} for "
            f"{n_rows} rows.",
        )
        table["p_true"] = posterior
    return table


def _coded(
    truth: pd.Series, positive: Any, name: str = "truth"
) -> tuple["pd.Series[float]", list[Any]]:
    """Write states as 0 and 1, 1 being the one that beliefs are in; return their labels too."""
    states = truth.astype(object)
    labels = list(states.dropna().unique())
    codes = zero_or_one(labels, positive, name=name)
    if codes is None and len(labels) == 2:
        raise InputError(unknown_pair(labels, name))
    if codes is None:
        raise InputError(
            f"{name} must have two states, or positive name the one that beliefs are in; received "
            f"{len(labels)}: {', '.join(map(repr, labels[:6]))}."
        )
    of_label = dict(zip(labels, codes, strict=True))
    ordered = sorted(labels, key=lambda label: of_label[label])
    return states.map(of_label).astype(np.float64), ordered
