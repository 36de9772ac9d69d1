"""Results as figures take them: the table of a report, or the records that checks returned."""

from collections.abc import Sequence

import pandas as pd

from coherence.errors import InputError
from coherence.inputs import require
from coherence.result import CheckResult


def results_table(results: pd.DataFrame | CheckResult | Sequence[CheckResult]) -> pd.DataFrame:
    """Return results as a table with the columns of `CheckResult.to_row`.

    Parameters
    ----------
    results : DataFrame, CheckResult or sequence of CheckResult
        ``Report.results``, or what checks returned.

    Returns
    -------
    DataFrame
        A row per result.

    Raises
    ------
    InputError
        Something else, or a table without these columns.
    """
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
