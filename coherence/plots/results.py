"""Results as figures take them: the table of a report, or the records that checks returned."""

from collections.abc import Sequence

import pandas as pd

from coherence.errors import InputError
from coherence.inputs import require
from coherence.result import CheckResult


def results_table(results: pd.DataFrame | CheckResult | Sequence[CheckResult]) -> pd.DataFrame:
    """Return results as a table with the columns of `CheckResult.to_row`."""
    expected = CheckResult("", "", 0.0, "", None, None, 0, 0).to_row()
    if isinstance(results, pd.DataFrame):
        lacking = [name for name in expected if name not in results.columns]
        require(
            not lacking,
            f"results must have the columns of Report.results; lacking: {', '.join(lacking)}. "
            "Pass report.results itself, or some of its rows.",
        )
        return results
    each = [results] if isinstance(results, CheckResult) else results
    if not isinstance(each, Sequence) or not all(isinstance(one, CheckResult) for one in each):
        raise InputError(
            "results must be a table such as Report.results, or results of checks; received "
            f"{type(results).__name__}."
        )
    return pd.DataFrame([one.to_row() for one in each], columns=list(expected))


def require_columns(table: object, needed: Sequence[str], rule: str) -> None:
    """Refuse what is no table with the columns that a figure draws."""
    columns = table.columns if isinstance(table, pd.DataFrame) else ()
    lacking = [name for name in needed if name not in columns]
    require(not lacking, f"{rule}, or some of its rows; lacking the columns {', '.join(lacking)}.")


def rows_of(table: pd.DataFrame, column: str, wanted: str | None, *, what: str) -> pd.DataFrame:
    """Return the rows of the one check or effect that is drawn."""
    known = list(dict.fromkeys(table[column]))
    name = known[0] if wanted is None and len(known) == 1 else wanted
    if name not in known:
        raise InputError(
            f"{column} must name one {what}; received {wanted!r}. It has: "
            f"{', '.join(map(str, known)) or 'none'}."
        )
    return table[table[column] == name].reset_index(drop=True)
