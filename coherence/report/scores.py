"""The table of forecasts of a report: a row a forecaster, the best first.

Everything is computed by then (`coherence.checks.scores`); here numbers are put in order and
written.
"""

import math
from collections.abc import Sequence
from typing import Any

import pandas as pd

from coherence.checks.scores import NAME, ScoresResult
from coherence.printable import counted, evaluation_name
from coherence.report.document import Cell, Column, Kind, Row, Table, build_table, count, pvalue
from coherence.report.evaluation import EvaluationReport
from coherence.report.wording import clean, evaluation_heading
from coherence.result import LEVEL, Interval
from coherence.runs.notes import Code

KEY = ("task", "model", "prompt")
PARTS = ("miscalibration", "discrimination", "uncertainty")
COLUMNS = (
    *KEY,
    *("n_contexts", "n_rows", "n_states", "brier", "brier_low", "brier_high", *PARTS),
    *("pvalue", "pvalue_holm", "rmse", "rmse_low", "rmse_high", "reason"),
)
CAPTION = (
    "Lower is better; each case counts once. 95% intervals over cases, or over their groups where "
    "those were named. Brier score = miscalibration (MCB) - discrimination (DSC) + uncertainty "
    "(UNC), forecasts recalibrated by isotonic regression; with three states and more it is the "
    "sum over the states, from 0 to 2. MCB is above 0 by chance alone and has no interval; p is "
    "that of calibrated forecasts: the level and slope of their log-odds (Cox), against redrawn "
    "outcomes (by Holm over all tests). Forecasts of different cases are compared by paired "
    "differences (coherence compare), not by these scores."
)
AVERAGED = (
    " Where a case has several forecasts, the Brier score is the mean of single ones; "
    "MCB, DSC, UNC and p are those of their mean."
)
RMSE = " RMSE: distance to the exact posterior (root mean square)."
_RMSE = "calibration:rmse"


def forecasts_alone(evaluations: Sequence[EvaluationReport]) -> bool:
    """Tell whether nothing but the calibration of forecasts was tested."""
    tests = [r for each in evaluations for r in each.results if r.pvalue is not None]
    return bool(tests) and all(isinstance(result, ScoresResult) for result in tests)


def score_table(evaluations: Sequence[EvaluationReport]) -> pd.DataFrame:
    """Return the scores of every model and prompt, within a task the best Brier score first."""
    rows = []
    for evaluation in evaluations:
        rmse = {result.check: result for result in evaluation.results}.get(_RMSE)
        for result in evaluation.scored:
            scores: Any = result.fitted
            record = {
                "task": evaluation.task,
                "model": evaluation.model,
                "prompt": result.prompt or "",
                "n_contexts": result.n_contexts,
                "n_rows": result.n_rows,
                "n_states": scores.n_states,
                "brier": scores.brier,
                **_ends("brier", scores.brier_interval),
                **{part: getattr(scores, part) for part in PARTS},
                "pvalue": math.nan if result.pvalue is None else result.pvalue,
                "pvalue_holm": math.nan if result.pvalue_holm is None else result.pvalue_holm,
                "reason": result.reason,
            }
            if rmse is not None and not result.variant:  # it is that of the reference prompt
                record |= {"rmse": rmse.statistic, **_ends("rmse", rmse.interval)}
            rows.append(record)
    table = pd.DataFrame(rows, columns=list(COLUMNS))
    return table.sort_values(["task", "brier", *KEY[1:]], kind="stable", ignore_index=True)


def _ends(name: str, interval: Interval | None) -> dict[str, float]:
    low, high = (math.nan, math.nan) if interval is None else (interval.low, interval.high)
    return {f"{name}_low": low, f"{name}_high": high}


def scores_sentence(evaluations: Sequence[EvaluationReport]) -> str:
    """Return how many forecasters were scored, and for how many calibration is rejected."""
    table, each, all_ = score_table(evaluations), "forecaster", "forecasters"
    if any(note.code is Code.PERSONS for of in evaluations for note in of.remarks):
        each, all_ = "group of persons", "groups of persons"
    elif table["prompt"].nunique() > 1:
        each, all_ = "forecaster (model and prompt)", "forecasters (models and prompts)"
    who = counted(len(table), each, all_)
    cases = sorted({int(n) for n in table["n_contexts"]})
    of = f"{cases[0]} to {cases[-1]} cases" if len(cases) > 1 else counted(cases[0], "case")
    tested = table["pvalue"].notna()
    said = "calibration was not tested"
    if n := int(tested.sum()):
        n_rejected = int((table["pvalue_holm"] <= LEVEL).sum())
        said = (
            f"calibration is rejected in {n_rejected or 'none'} of {n} tests (Holm's correction)"
            if n > 1
            else f"calibration is {'' if n_rejected else 'not '}rejected"
        )
    return f"{who}, {of}{' each' if len(table) > 1 else ''}; {said}."


def not_scored(evaluations: Sequence[EvaluationReport]) -> list[str]:
    """Return which evaluations the table lacks, and why."""
    return [
        f"{evaluation_heading(evaluation)} is not in the table: "
        f"{evaluation.absent(NAME) or 'no forecasts.'}"
        for evaluation in evaluations
        if not evaluation.scored
    ]


def _name(row: Row) -> Cell:
    """Name a forecaster; the file has its task, model and prompt apart."""
    return Cell(row["name"], {key: row[key] for key in KEY})


def _number(name: str, heading: str, *, ends: bool = False) -> Column:
    of = (f"{name}_low", f"{name}_high") if ends else None
    return Column(name, heading, ends=of, together=True, reason="reason")


_COLUMNS = (
    Column("", "", Kind.LABEL, make=_name),
    count("n_contexts", "cases"),
    _number("brier", "Brier score", ends=True),
    *(_number(name, short) for name, short in zip(PARTS, ("MCB", "DSC", "UNC"), strict=True)),
    pvalue("pvalue", "p (Holm)", adjusted="pvalue_holm", reason="reason"),
)


def forecast_table(evaluations: Sequence[EvaluationReport]) -> Table | None:
    """Lay out the table of scores; None where nothing was scored."""
    table = score_table(evaluations)
    if table.empty:
        return None
    several = table["prompt"].nunique() > 1
    rows: list[dict[str, Any]] = [
        {str(key): value for key, value in row.items()}
        | {"name": _name_of(*(row[key] for key in KEY), several=several)}
        for row in table.to_dict("records")
    ]
    exact = table["rmse"].notna().any()
    columns = [*_COLUMNS, _number("rmse", "RMSE", ends=True)] if exact else _COLUMNS
    averaged = bool((table["n_rows"] > table["n_contexts"]).any())
    caption = f"{CAPTION}{AVERAGED * averaged}{RMSE * bool(exact)}"
    title = "Forecasts, the best first"
    return build_table(
        rows, columns, name="scores-1", label="Scores 1", title=title, caption=caption
    )


def _name_of(task: str, model: str, prompt: str, *, several: bool) -> str:
    if not several:
        return evaluation_name(task, model)
    return " · ".join([*([evaluation_name(task, model)] if task or model else []), clean(prompt)])
