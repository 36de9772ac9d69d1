"""What became of the answers, in words and cells that the terminal and the page share.

The counts and bounds are those of `coherence.table.audit`; here they are put into words.
"""

import pandas as pd

from coherence.report.unit import Unit
from coherence.report.wording import NOT_GIVEN
from coherence.table.audit import MISSING, audit_table
from coherence.table.schema import FAILURES, LOW_MASS, READABLE

_HEADINGS = {
    "sum_not_one": "sum not 1",
    "out_of_range": "out of range",
    LOW_MASS: "low mass",
    "share_unreadable": "unreadable",
}


def audit_columns(unit: Unit) -> list[str]:
    """Return the columns of `coherence.table.audit.audit_table` that a report shows."""
    table = audit_table(unit.statuses)
    # All failures are a dozen columns; those that occurred are two or three.
    shown = [name for name in ("repaired", LOW_MASS, *FAILURES, MISSING) if table[name].any()]
    return ["question", "asked", "ok", *shown, "share_unreadable"]


def audit_cells(unit: Unit) -> tuple[list[str], list[list[str]]]:
    """Return headings and rows of the statuses; failures that did not occur have no column."""
    if unit.statuses.empty:
        return [], []
    columns = audit_columns(unit)
    rows = [
        [f"{row[name]:.1%}" if name == "share_unreadable" else str(row[name]) for name in columns]
        for row in audit_table(unit.statuses)[columns].to_dict("records")
    ]
    return [_HEADINGS.get(name, name) for name in columns], rows


def status_groups(unit: Unit) -> dict[tuple[str, str], list[str]]:
    """Return the contexts behind each count of `audit_cells` but "asked" and "ok"."""
    if unit.statuses.empty or unit.labels.empty:
        return {}
    names = set(audit_columns(unit)) - {"question", "asked", "ok", "share_unreadable"}
    status = unit.labels["status"].astype(str)
    column = status.where(~status.str.startswith("repaired:"), "repaired")
    told = column.isin(names)
    contexts = unit.rows.table.loc[told, "context"].astype(str)
    groups = contexts.groupby([unit.labels["question"][told].astype(str), column[told]], sort=False)
    return {(str(q), str(c)): list(dict.fromkeys(inside)) for (q, c), inside in groups}


def repair_sentence(unit: Unit) -> str:
    """Say which repairs there were; empty if none."""
    if unit.statuses.empty:
        return ""
    # The names may be a categorical, whose accessor has no text functions.
    status = unit.statuses["status"].astype(str)
    repairs = (
        unit.statuses[status.str.startswith("repaired:")]
        .groupby("status", observed=True)["rows"]
        .sum()
        .sort_values(ascending=False)
    )
    if repairs.empty:
        return ""
    return "repaired answers by what was repaired: " + ", ".join(
        f"{int(rows)} {str(name).partition(':')[2]}" for name, rows in repairs.items()
    )


def unreadable_share(unit: Unit) -> float:
    """Return the share of a unit's answers that could not be read."""
    if unit.statuses.empty:
        return 0.0
    rows = unit.statuses["rows"]
    unread = ~unit.statuses["status"].astype(str).isin(READABLE)
    return float(rows[unread].sum() / rows.sum())


def bound_cells(unit: Unit) -> tuple[list[str], list[list[str]]]:
    """Return headings and rows of the worst-case bounds, of rates with unreadable answers only."""
    if unit.bounds.empty:
        return [], []
    # Where every answer was read, both bounds are the rate itself.
    bounded = unit.bounds[unit.bounds["unreadable"] > 0]
    rows = [
        [
            f"{row['quantity']}: {row['label']}",
            str(row["unreadable"]),
            NOT_GIVEN if pd.isna(row["estimate"]) else f"{row['estimate']:.3f}",
            f"[{row['low']:.3f}, {row['high']:.3f}]",
        ]
        for row in bounded.to_dict("records")
    ]
    headings = ["rate", "unreadable", "of the readable", "whatever the others were"]
    return (headings if rows else []), rows
