"""What became of the answers, and how much the unreadable ones could matter.

Answers that cannot be read are left out of every rate, which is right only if they would have been
like the others. The bounds here assume nothing: they are the rates if all unreadable answers had
gone one way, or the other (worst-case bounds, Manski 1989, "Anatomy of the selection problem").
"""

import numpy as np
import pandas as pd

from coherence.table.schema import (
    ACTION_PREFIX,
    FAILURES,
    LOW_MASS,
    READABLE,
    REPAIRS,
    action_columns,
    has_action,
    state_columns,
)

GIVEN_Z = "given z"
MISSING = "missing"
"""Status of an unreadable answer in a table that has no status column."""


def asked_for_action(unit: pd.DataFrame, reference: str) -> pd.Series:
    """Tell which rows of one (task, model) asked for an action, answered readably or not.

    A row with a readable status, a belief and no action asked for none, because an unreadable
    action would have changed its status; a row with a failure counts as asked, because the failure
    may be that of the action. Without a status column all rows of the reference prompt were asked,
    or none if no action is there at all.
    """
    eligible = unit["z_state"].isna() & (unit["prompt"] == reference)
    if "action" not in unit.columns and not action_columns(unit):
        return eligible & False
    acted = has_action(unit)
    answered = acted | (unit["raw_action"].notna() if "raw_action" in unit.columns else False)
    spared = (
        ~acted
        & _has_belief(unit)
        & (unit["status"].isin(READABLE) if "status" in unit.columns else False)
    )
    # Where nothing looks like an answer, one row that was not asked speaks for all: the failures
    # are those of beliefs.
    none = not (eligible & answered).any() and (
        "status" not in unit.columns or bool((eligible & spared).any())
    )
    return eligible & ~spared & (not none)


def label_rows(unit: pd.DataFrame, reference: str) -> pd.DataFrame:
    """Say of each row of one (task, model) what it asked and what became of the answer."""
    asked = asked_for_action(unit, reference)
    status = row_statuses(unit, reference)
    question = np.where(
        unit["z_state"].notna(),
        GIVEN_Z,
        np.where(asked, f"{reference}, with action", unit["prompt"]),
    )
    return pd.DataFrame({"question": question, "status": status}, index=unit.index)


def count_statuses(unit: pd.DataFrame, reference: str) -> pd.DataFrame:
    """Count the rows of one (task, model) by question and status."""
    counted = label_rows(unit, reference).value_counts().rename("rows").reset_index()
    return counted.sort_values(["question", "status"], ignore_index=True)


def row_statuses(unit: pd.DataFrame, reference: str) -> np.ndarray:
    """Return the status of every row; "ok" or "missing" in a table without a status column."""
    if "status" in unit.columns:
        return unit["status"].astype(str).to_numpy()
    asked = asked_for_action(unit, reference)
    return np.where(_has_belief(unit) & (has_action(unit) | ~asked), "ok", MISSING)


def audit_table(statuses: pd.DataFrame) -> pd.DataFrame:
    """Lay counts of statuses out as one row per question."""
    rows = []
    groups = statuses.groupby("question", sort=False, observed=True) if len(statuses) else ()
    for question, counts in groups:
        by_status = counts.groupby("status", observed=True)["rows"].sum()
        number = {name: int(by_status.get(name, 0)) for name in (*READABLE, *FAILURES)}
        asked = int(by_status.sum())
        readable = sum(number[name] for name in READABLE)
        # A hand-made record may bear a status of its own; it is not readable, and what it was is
        # not known.
        missing = asked - sum(number.values())
        repaired = sum(number[name] for name in REPAIRS)
        rows.append(
            {
                "question": question,
                "asked": asked,
                "ok": number["ok"],
                "repaired": repaired,
                LOW_MASS: number[LOW_MASS],
                **{name: number[name] for name in FAILURES},
            }
            | {MISSING: missing, "share_unreadable": (asked - readable) / asked}
        )
    return pd.DataFrame(
        rows,
        columns=[
            *("question", "asked", "ok", "repaired", LOW_MASS),
            *(*FAILURES, MISSING, "share_unreadable"),
        ],
    )


def worst_case_bounds(unit: pd.DataFrame, reference: str) -> pd.DataFrame:
    """Bound mean beliefs and choice rates over what the unreadable answers could have been."""
    plain = unit[unit["z_state"].isna()]
    rows = []
    states = state_columns(unit)
    for prompt in [reference, *sorted(set(plain["prompt"]) - {reference})]:
        of_prompt = plain[plain["prompt"] == prompt]
        for name in ["p"] if "p" in unit.columns else states:
            label = prompt if name == "p" else f"{prompt}, {name.removeprefix('p_')}"
            rows.append(
                _bounds(
                    "mean belief",
                    label,
                    pd.to_numeric(of_prompt[name]).to_numpy(dtype=np.float64, na_value=np.nan),
                )
            )
    if "action" in unit.columns and unit["action"].notna().any():
        action = unit.loc[asked_for_action(unit, reference), "action"].astype(object)
        for label in sorted(action.dropna().unique(), key=str):
            rows.append(
                _bounds(
                    "choice rate",
                    str(label),
                    (action == label)
                    .where(action.notna())
                    .to_numpy(dtype=np.float64, na_value=np.nan),
                )
            )
    policies = action_columns(unit)
    for name in sorted(policies):
        # A column without any value belongs to the actions of another task.
        values = unit.loc[asked_for_action(unit, reference), name]
        if values.notna().any():
            label = name.removeprefix(ACTION_PREFIX)
            rows.append(_bounds("choice rate", label, values.to_numpy(dtype=np.float64)))
    columns = ["quantity", "label", "asked", "unreadable", "estimate", "low", "high"]
    return pd.DataFrame([row for row in rows if row["asked"]], columns=columns)


def _has_belief(unit: pd.DataFrame) -> pd.Series:
    return (
        unit["p"].notna() if "p" in unit.columns else unit[state_columns(unit)].notna().all(axis=1)
    )


def _bounds(quantity: str, label: str, values: np.ndarray) -> dict[str, object]:
    readable = values[~np.isnan(values)]
    n, missing, total = len(values), len(values) - len(readable), float(readable.sum())
    # Manski (1989): whatever could not be read counts as 0 for the lower bound, 1 for the upper.
    return {
        "quantity": quantity,
        "label": label,
        "asked": n,
        "unreadable": missing,
        "estimate": total / len(readable) if len(readable) else np.nan,
        "low": total / n if n else np.nan,
        "high": (total + missing) / n if n else np.nan,
    }
