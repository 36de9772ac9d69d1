"""The tables of scores of a report: a row a model, and its differences from the first.

Everything is computed by then (`coherence.checks.scores`, `coherence.analysis.forecasts`); here
numbers are put in order and written.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pandas as pd

from coherence.report.document import Cell, Column, Kind, Row, Table, build_table, count, pvalue
from coherence.report.evaluation import EvaluationReport
from coherence.report.wording import clean, evaluation_heading
from coherence.result import LEVEL, CheckResult, ForecastScores
from coherence.table.printable import counted, evaluation_name

NAME = "scores"
KEY = ("task", "model", "prompt")
COLUMNS = (
    *KEY,
    *("n_contexts", "n_rows", "brier", "brier_low", "brier_high"),
    *("log_score", "log_low", "log_high", "n_infinite"),
    *("calibration_error", "calibration_low", "calibration_high"),
    *("miscalibration", "discrimination", "uncertainty", "pvalue", "pvalue_holm", "reason"),
    "n_states",
)
PARTS = ("miscalibration", "discrimination", "uncertainty")
BY_STATE = (
    *(*KEY, "state", "forecast", "happened", "brier", "brier_low", "brier_high"),
    *("calibration_error", "calibration_low", "calibration_high", *PARTS),
)
DIFFERENCES = (
    *(*KEY, "other_model", "other_prompt", "n_contexts"),
    *("brier_difference", "low", "high", "pvalue", "pvalue_holm"),
    *("log_difference", "log_low", "log_high"),
)
SCORES_NOTE = (
    "Lower is better; each case counts once. Log score in nats. Calibration error: root mean "
    "square over ten bins, without the share of chance. 95% intervals over cases, or over their "
    "groups where those were named."
)
PARTS_NOTE = (
    "Brier score = miscalibration (MCB) - discrimination (DSC) + uncertainty (UNC), forecasts "
    "recalibrated by isotonic regression. MCB is above 0 by chance alone and has no interval; p is "
    "that of calibrated forecasts: the level and slope of their log-odds (Cox), against redrawn "
    "outcomes (by Holm over all tests)."
)
SEVERAL_STATES_NOTE = (
    "With three states and more the Brier score is the sum over the states, from 0 to 2; "
    "calibration error and parts are those of each state by itself, averaged and summed."
)
BY_STATE_NOTE = (
    "Each state against all others. Forecast: the mean; happened: the share of cases. Brier scores "
    "and their parts sum to those above."
)
PROMPTS_NOTE = (
    "Root mean square of the differences from the reference prompt, case by case, in probability: "
    "of mean forecasts as stated, and without the noise of repetitions, which takes two of each "
    "case and prompt (prompt_consistency)."
)
_CONSISTENCY = "prompt_consistency"
AVERAGED = (
    "Where a case has several forecasts, as updates of one, their scores are averaged: these are "
    "scores of single forecasts."
)
OF_MEANS = "Of the mean forecast of each case. "
DIFFERENT_CASES = (
    "These forecasts are of different cases: compare the differences on common cases below, not "
    "the scores."
)


def of_scores(result: CheckResult) -> bool:
    """Tell whether a result is that of a row of the table of scores."""
    return isinstance(result.fitted, ForecastScores)


def forecasts_alone(evaluations: Sequence[EvaluationReport]) -> bool:
    """Tell whether nothing but the calibration of forecasts was tested."""
    tests = [
        result
        for evaluation in evaluations
        for result in evaluation.results
        if result.pvalue is not None
    ]
    return bool(tests) and all(map(of_scores, tests))


def score_table(evaluations: Sequence[EvaluationReport]) -> pd.DataFrame:
    """Return the scores of every model and prompt, within a task the best Brier score first."""
    rows = []
    for evaluation in evaluations:
        for result in evaluation.results:
            scores = result.fitted
            if not isinstance(scores, ForecastScores):
                continue
            record = {
                "task": evaluation.task,
                "model": evaluation.model,
                "prompt": result.settings.get("prompt", ""),
                "n_contexts": result.n_contexts,
                "n_rows": result.n_rows,
                "brier": scores.brier,
                "log_score": scores.log_score,
                "n_infinite": scores.n_infinite,
                "calibration_error": scores.calibration_error,
                "miscalibration": scores.miscalibration,
                "discrimination": scores.discrimination,
                "uncertainty": scores.uncertainty,
                "pvalue": math.nan if result.pvalue is None else result.pvalue,
                "pvalue_holm": math.nan if result.pvalue_holm is None else result.pvalue_holm,
                "reason": result.reason,
                "n_states": scores.n_states,
            }
            for name, interval in (
                ("brier", scores.brier_interval),
                ("log", scores.log_interval),
                ("calibration", scores.calibration_interval),
            ):
                record[f"{name}_low"] = math.nan if interval is None else interval.low
                record[f"{name}_high"] = math.nan if interval is None else interval.high
            rows.append(record)
    table = pd.DataFrame(rows, columns=list(COLUMNS))
    return table.sort_values(["task", "brier", *KEY[1:]], kind="stable", ignore_index=True)


def state_table(evaluations: Sequence[EvaluationReport]) -> pd.DataFrame:
    """Return the scores of each state, of forecasts over three states and more."""
    tables = [
        result.fitted.by_state.assign(
            task=evaluation.task, model=evaluation.model, prompt=result.settings.get("prompt", "")
        )
        for evaluation in evaluations
        for result in evaluation.results
        if isinstance(result.fitted, ForecastScores) and len(result.fitted.by_state)
    ]
    if not tables:
        return pd.DataFrame(columns=list(BY_STATE))
    return pd.concat(tables, ignore_index=True)[list(BY_STATE)]


def scores_sentence(table: pd.DataFrame) -> str:
    """Say how many forecasters were scored, and for how many the test of calibration rejects."""
    several = table["prompt"].nunique() > 1
    who = counted(
        len(table),
        "forecaster (model and prompt)" if several else "forecaster",
        "forecasters (models and prompts)" if several else "forecasters",
    )
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


def unscored(evaluations: Sequence[EvaluationReport]) -> list[str]:
    """Name the evaluations that the table of scores lacks, and say why."""
    return [
        f"{evaluation_heading(evaluation)} is not in the table: "
        f"{evaluation.absent(NAME) or 'no forecasts.'}"
        for evaluation in evaluations
        if not any(map(of_scores, evaluation.results))
    ]


def _name(row: Row) -> Cell:
    """Name a forecaster; the file has its task, model and prompt apart."""
    return Cell(row["name"], {key: row[key] for key in (*KEY, "state") if key in row})


def _number(name: str, heading: str, ends: str = "", **about: Any) -> Column:
    of = (f"{ends}_low", f"{ends}_high") if ends else None
    return Column(name, heading, ends=of, together=True, reason="reason", **about)


_NAME = Column("", "", Kind.LABEL, make=_name)
_CASES = count("n_contexts", "cases")
_BRIER = _number("brier", "Brier score", "brier")
_ERROR = _number("calibration_error", "calibration error", "calibration")
_PARTS = tuple(_number(n, a) for n, a in zip(PARTS, ("MCB", "DSC", "UNC"), strict=True))
_P = pvalue("pvalue", "p (Holm)", adjusted="pvalue_holm", reason="reason")
_EXACT = {"low": "log_low", "high": "log_high", "n_infinite": "n_infinite"}
_LOG = _number("log_score", "log score", "log", exact=_EXACT, behind="infinite")
_SCORES = (_NAME, _CASES, _BRIER, _LOG, _ERROR)
_CALIBRATED = (_NAME, _number("brier_of_means", "Brier score"), *_PARTS, _P)
_DIFFERENCES = (
    _NAME,
    Column("", "less", Kind.LABEL, make=lambda row: Cell(row["other"], row["others"])),
    _CASES,
    Column("brier_difference", "Brier score", ends=("low", "high"), together=True),
    pvalue("pvalue", "p (Holm)", adjusted="pvalue_holm"),
    Column("log_difference", "log score", ends=("log_low", "log_high"), together=True),
)
_STATES = (
    _NAME,
    *(_number(name, name) for name in ("forecast", "happened")),
    *(_BRIER, _ERROR, *_PARTS),
)
_PROMPTS = (
    Column("name", "", Kind.LABEL),
    _CASES,
    Column("raw", "difference", together=True),
    Column("difference", "without noise", ends=("low", "high"), together=True),
)


def score_tables(
    table: pd.DataFrame,
    differences: pd.DataFrame | None = None,
    states: pd.DataFrame | None = None,
    *,
    every: bool = False,
) -> list[Table]:
    """Return the tables of scores, parts, differences and single states; `every` of all pairs."""
    if table.empty:
        return []
    if differences is None or differences.empty:
        differences = pd.DataFrame(columns=list(DIFFERENCES))
    rows = _named(table, table)
    infinite = (
        " A log score is infinite where forecasts gave what happened a probability of 0; how many "
        "stands beside it."
        if table["n_infinite"].any()
        else ""
    )
    for row in rows:
        n = row["n_infinite"]
        row["infinite"] = f" ({counted(n, 'forecast')})" if n else ""
        miscalibration, discrimination, uncertainty = (row[part] for part in PARTS)
        row["brier_of_means"] = miscalibration - discrimination + uncertainty
    several = SEVERAL_STATES_NOTE if (table["n_states"] > 2).any() else ""
    averaged = bool((table["n_rows"] > table["n_contexts"]).any())
    of_means = OF_MEANS if averaged else ""
    remarks = [
        SCORES_NOTE + infinite,
        AVERAGED * averaged,
        several,
        _different_cases(table, differences),
    ]
    tables = [
        build_table(
            rows, _SCORES, title="Scores, the best first", caption=" ".join(filter(None, remarks))
        ),
        build_table(rows, _CALIBRATED, title="Are they calibrated?", caption=of_means + PARTS_NOTE),
    ]
    if shown := _of_pairs(table, differences, every):
        tables.append(shown)
    if states is not None and len(states):
        rows = _named(states, table)
        # In the order of the table of scores.
        order = [row["name"] for row in _named(table, table)]
        rows.sort(key=lambda row: order.index(row["name"]))
        for row in rows:
            row |= {"name": f"{row['name']} · {clean(row['state'])}", "reason": ""}
        tables.append(
            build_table(rows, _STATES, title="State by state", caption=of_means + BY_STATE_NOTE)
        )
    return [
        replace(each, name=f"scores-{number}", label=f"Scores {number}")
        for number, each in enumerate(tables, start=1)
    ]


def prompt_table(evaluations: Sequence[EvaluationReport]) -> Table | None:
    """Lay out how far forecasts under other prompts lie from those under the reference prompt."""
    rows = []
    for evaluation in evaluations:
        for result in evaluation.results:
            name, _, prompt = result.check.partition(":")
            if name != _CONSISTENCY or not prompt or result.details.empty:
                continue
            of_prompt = result.details.iloc[0]
            of_evaluation = (
                [evaluation_name(evaluation.task, evaluation.model)]
                if evaluation.task or evaluation.model
                else []
            )
            interval = result.interval
            low, high = (math.nan, math.nan) if interval is None else (interval.low, interval.high)
            rows.append(
                {
                    "name": " · ".join([*of_evaluation, clean(prompt)]),
                    "n_contexts": int(of_prompt["n_contexts"]),
                    "raw": float(of_prompt["rmse_means"]),
                    "difference": result.statistic,
                    "low": low,
                    "high": high,
                }
            )
    title = "Forecasts under other prompts"
    return build_table(rows, _PROMPTS, title=title, caption=PROMPTS_NOTE) if rows else None


def _named(
    rows: pd.DataFrame, table: pd.DataFrame, of: Sequence[str] = KEY
) -> list[dict[str, Any]]:
    """Return rows with a name each, by its prompt too where the table of scores has several."""
    several = table["prompt"].nunique() > 1
    return [
        {
            **{str(k): v for k, v in row.items()},
            "name": _name_of(*(row[key] for key in of), several=several),
        }
        for row in rows.to_dict("records")
    ]


def _name_of(task: str, model: str, prompt: str, *, several: bool) -> str:
    if not several:
        return evaluation_name(task, model)
    return " · ".join([*([evaluation_name(task, model)] if task or model else []), clean(prompt)])


def _different_cases(table: pd.DataFrame, differences: pd.DataFrame) -> str:
    """Warn where scores are of different cases."""
    for task, rows in table.groupby("task"):
        common = differences.loc[differences["task"] == task, "n_contexts"]
        if len(rows) > 1 and (common.empty or common.min() < rows["n_contexts"].max()):
            return DIFFERENT_CASES
    return ""


def _of_pairs(table: pd.DataFrame, differences: pd.DataFrame, every: bool) -> Table | None:
    """Lay out the differences of each row from the first of its task, or those of every pair."""
    others = ("task", "other_model", "other_prompt")
    first = set(table.drop_duplicates("task")[list(KEY)].itertuples(index=False, name=None))
    keys = differences[list(others)].itertuples(index=False, name=None)
    shown = differences if every else differences[[key in first for key in keys]]
    if shown.empty:
        return None
    # Of thousands most share no case with the first; where all do so, the table says it.
    compared = shown["brier_difference"].notna()
    shown = shown[compared] if compared.any() and not every else shown
    rows = _named(shown, table)
    for row, named in zip(rows, _named(shown, table, others), strict=True):
        row |= {"other": named["name"], "others": {key: row[key] for key in others[1:]}}
    n_pairs = int(differences["pvalue"].notna().sum())
    what = "Above 0 the other is better" if every else "Above 0 the first is better"
    note = f"{what}; p is that of the Brier score."
    if n_pairs > 1:
        chosen = "" if every else ", which allows for the first being chosen by its score"
        note = (
            f"{what}. Each interval is of one pair alone (95%); p of the Brier score, by Holm "
            f"over all {counted(n_pairs, 'pair')} of the table{chosen}."
        )
    if n_left := len(compared) - len(shown):
        note += f" Left out, as too few cases are common: {n_left} of {len(compared)}."
    columns = [column for column in _DIFFERENCES if every or column.heading != "less"]
    of = "" if every else " from the first"
    return build_table(rows, columns, title=f"Differences{of}, on common cases", caption=note)
