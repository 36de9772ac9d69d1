"""The columns of the runs table that a session writes: their order and their types."""

from typing import Any

import pandas as pd

COLUMNS = {
    "task": "string",
    "model": "string",
    "context": None,
    "rep": "int64",
    "prompt": "string",
    "p": "float64",
    "p_sd": "float64",
    "p_q05": "float64",
    "p_q95": "float64",
    "belief_kind": "string",
    "action": "string",
    "theta": None,
    "p_true": "float64",
    "z": "string",
    "z_state": "string",
    "p_z": "float64",
    "p_z_true": "float64",
    "status": "string",
    "raw_belief": "string",
    "raw_action": "string",
    "raw_z": "string",
    "answer_mass": "float64",
    "finish_reason": "string",
    "logprob_belief": "float64",
    "logprob_action": "float64",
    "seed": "int64",
    "created": "string",
}
"""In this order, with the features before the status; None takes the type of the values."""
SPREAD = ("p_sd", "p_q05", "p_q95")
"""Spread of a belief that is a distribution."""


def typed_runs(
    rows: list[dict[str, Any]], cases: pd.DataFrame, features: list[str]
) -> pd.DataFrame:
    """Lay rows out as a table whose columns and types do not depend on what was answered."""
    # The same columns whatever was asked, so that sessions can be put below each other; but spreads
    # and the shares of actions are there only where answers are distributions.
    answered = pd.DataFrame.from_records(rows)
    known = pd.concat([answered, cases.reset_index(drop=True)], axis="columns")
    actions = [str(name) for name in known.columns if str(name).startswith("action_")]
    names = [name for name in COLUMNS if name in known.columns or name not in SPREAD]
    if actions:
        # Options may differ between rows: one that was not offered is not chosen.
        chosen = known[actions].notna().any(axis=1)
        known.loc[chosen, actions] = known.loc[chosen, actions].astype("float64").fillna(0.0)
        position = names.index("action")
        names[position : position + 1] = actions
    status = names.index("status")
    order = [*names[:status], *features, *names[status:]]
    # A column that happens to be all null would otherwise take another type than in the next
    # session.
    types = {name: COLUMNS.get(name, "float64") for name in names}
    return known.reindex(columns=order).astype(
        {name: dtype for name, dtype in types.items() if dtype is not None}
    )
