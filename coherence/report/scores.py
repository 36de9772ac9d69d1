"""The tables of scores of a report: a row a model, and its differences from the first.

Everything is computed by then (`coherence.checks.scores`, `coherence.analysis.forecasts`); here
numbers are put in order and written.
"""

import math
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import pandas as pd

from coherence.report.evaluation import EvaluationReport
from coherence.report.tables import Cell, Column, PaperTable, number_cell, text_cell
from coherence.report.view import Counts
from coherence.report.wording import (
    NOT_GIVEN,
    clean,
    evaluation_heading,
    format_numbers,
    format_pvalue,
)
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
    "that of calibrated forecasts, by redrawn outcomes (by Holm over all tests)."
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
AVERAGED = "Where a case has several forecasts, as updates of one, their scores are averaged."
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


def score_views(
    table: pd.DataFrame,
    differences: pd.DataFrame | None = None,
    states: pd.DataFrame | None = None,
) -> list[tuple[str, Counts]]:
    """Return titles and cells of the tables of scores, parts, differences and single states."""
    if differences is None or differences.empty:
        differences = pd.DataFrame(columns=list(DIFFERENCES))
    names = _names(table)
    n = [str(count) for count in table["n_contexts"]]
    log = _with_ends(table, "log_score", "log")
    log = [
        f"{text} ({counted(count, 'forecast')})" if count else text
        for text, count in zip(log, table["n_infinite"], strict=True)
    ]
    brier, error = (
        _with_ends(table, name, ends)
        for name, ends in (("brier", "brier"), ("calibration_error", "calibration"))
    )
    parts = [_numbers(table[name]) for name in PARTS]
    infinite = (
        " A log score is infinite where forecasts gave what happened a probability of 0; how many "
        "stands beside it."
        if table["n_infinite"].any()
        else ""
    )
    different = _different_cases(table, differences)
    averaged = AVERAGED if (table["n_rows"] > table["n_contexts"]).any() else ""
    remarks = [SCORES_NOTE + infinite, averaged, _several(table), different]
    views = [
        (
            "Scores, the best first",
            Counts(
                ("", "cases", "Brier score", "log score", "calibration error"),
                tuple(zip(names, n, brier, log, error, strict=True)),
                " ".join(filter(None, remarks)),
            ),
        ),
        (
            "Are they calibrated?",
            Counts(
                ("", "Brier score", "MCB", "DSC", "UNC", "p (Holm)"),
                tuple(
                    zip(names, _numbers(table["brier"]), *parts, _tested(table), strict=True),
                ),
                " ".join([PARTS_NOTE, *_reasons(table, names)]),
            ),
        ),
    ]
    if shown := _from_first(table, differences, names):
        views.append(("Differences from the first, on common cases", shown))
    if states is not None and len(states):
        views.append(("State by state", _state_view(table, states)))
    return views


def prompt_view(evaluations: Sequence[EvaluationReport]) -> tuple[str, Counts] | None:
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
            raw = float(of_prompt["rmse_means"])
            rows.append(
                {
                    "name": " · ".join([*of_evaluation, clean(prompt)]),
                    "n_contexts": int(of_prompt["n_contexts"]),
                    "raw": raw,
                    "difference": result.statistic,
                    "d_low": low,
                    "d_high": high,
                }
            )
    if not rows:
        return None
    table = pd.DataFrame(rows)
    columns = [
        table["name"].tolist(),
        [str(count) for count in table["n_contexts"]],
        _numbers(table["raw"]),
        _with_ends(table, "difference", "d"),
    ]
    headings = ("", "cases", "difference", "without noise")
    counts = Counts(headings, tuple(zip(*columns, strict=True)), PROMPTS_NOTE)
    return "Forecasts under other prompts", counts


def _several(table: pd.DataFrame) -> str:
    return SEVERAL_STATES_NOTE if (table["n_states"] > 2).any() else ""


def _state_view(table: pd.DataFrame, states: pd.DataFrame) -> Counts:
    """Lay out the scores of single states, in the order of the table of scores."""
    keys = table[list(KEY)].itertuples(index=False, name=None)
    place = {
        key: (at, name) for at, (key, name) in enumerate(zip(keys, _names(table), strict=True))
    }
    of_row = [place[key] for key in states[list(KEY)].itertuples(index=False, name=None)]
    order = sorted(range(len(states)), key=lambda row: of_row[row][0])
    states = states.iloc[order]
    columns = [
        [
            f"{of_row[row][1]} · {clean(state)}"
            for row, state in zip(order, states["state"], strict=True)
        ],
        *(_numbers(states[name]) for name in ("forecast", "happened", "brier")),
        _with_ends(states, "calibration_error", "calibration"),
        *(_numbers(states[name]) for name in PARTS),
    ]
    headings = ("", "forecast", "happened", "Brier score", "calibration error", "MCB", "DSC", "UNC")
    return Counts(headings, tuple(zip(*columns, strict=True)), BY_STATE_NOTE)


_SCORES = (
    *(Column(name, name, number=False) for name in KEY),
    Column("n_contexts", "cases"),
    Column("brier", "Brier score"),
    Column("log_score", "log score"),
    Column("calibration_error", "calibration error"),
    *(Column(n, a) for n, a in zip(PARTS, ("MCB", "DSC", "UNC"), strict=True)),
    *(Column("pvalue", "p of calibration"), Column("pvalue_holm", "p by Holm")),
)
_STATES = (
    *(Column(name, name, number=False) for name in (*KEY, "state")),
    *(Column("forecast", "mean forecast"), Column("happened", "share that happened")),
    *(Column("brier", "Brier score"), Column("calibration_error", "calibration error")),
    *(Column(n, a) for n, a in zip(PARTS, ("MCB", "DSC", "UNC"), strict=True)),
)
_PAIRS = (
    *(Column(name, name.replace("_", " "), number=False) for name in DIFFERENCES[:5]),
    Column("n_contexts", "common cases"),
    *(Column("brier_difference", "Brier score"), Column("log_difference", "log score")),
    *(Column("pvalue", "p"), Column("pvalue_holm", "p by Holm")),
)


def score_tables(
    table: pd.DataFrame, differences: pd.DataFrame | None, states: pd.DataFrame | None = None
) -> list[PaperTable]:
    """Return the same as tables for documents, with the differences of all pairs."""
    if table.empty:
        return []
    caption = " ".join(filter(None, [SCORES_NOTE, PARTS_NOTE, _several(table)]))
    rows = tuple(
        (
            *(text_cell(str(row[name])) for name in KEY),
            _count_cell(row["n_contexts"]),
            _number(row, "brier", "brier"),
            _number(row, "log_score", "log", n_infinite=row["n_infinite"]),
            _number(row, "calibration_error", "calibration"),
            *(_number(row, name) for name in PARTS),
            *(_pvalue_cell(row[name], row["reason"]) for name in ("pvalue", "pvalue_holm")),
        )
        for row in table.to_dict("records")
    )
    tables = [PaperTable("scores-1", "Scores 1", "Scores of forecasts", caption, _SCORES, rows)]
    if states is not None and len(states):
        tables.append(_of_states(states))
    if differences is None or differences.empty:
        return tables
    pairs = tuple(
        (
            *(text_cell(str(row[name])) for name in DIFFERENCES[:5]),
            _count_cell(row["n_contexts"]),
            _number(row, "brier_difference"),
            _number(row, "log_difference", "log"),
            *(_pvalue_cell(row[name], "") for name in ("pvalue", "pvalue_holm")),
        )
        for row in differences.to_dict("records")
    )
    caption = (
        "Score of the row less that of the other, on common cases. Intervals (95%) are of one pair "
        "alone; p is that of the Brier score, by Holm over all pairs."
    )
    title, number = "Differences in the scores of forecasts", len(tables) + 1
    of_pairs = f"scores-{number}", f"Scores {number}", title, caption, _PAIRS, pairs
    return [*tables, PaperTable(*of_pairs)]


def _of_states(states: pd.DataFrame) -> PaperTable:
    rows = tuple(
        (
            *(text_cell(str(row[name])) for name in (*KEY, "state")),
            *(_number(row, name) for name in ("forecast", "happened")),
            _number(row, "brier", "brier"),
            _number(row, "calibration_error", "calibration"),
            *(_number(row, name) for name in PARTS),
        )
        for row in states.to_dict("records")
    )
    title = "Scores of forecasts, state by state"
    return PaperTable("scores-2", "Scores 2", title, BY_STATE_NOTE, _STATES, rows)


def _count_cell(count: int) -> Cell:
    return Cell(str(count), {"": count})


def _pvalue_cell(pvalue: float, why: str) -> Cell:
    return Cell(format_pvalue(pvalue), {"": pvalue}, clean(why) if math.isnan(pvalue) else "")


def _number(row: Mapping[Hashable, Any], name: str, ends: str = "", **exact: Any) -> Cell:
    """Return a number with its interval, which of a difference in the Brier score has no name."""
    names = [f"{ends}_{end}" if ends else end for end in ("low", "high")]
    low, high = (float(row.get(end, math.nan)) for end in names)
    if not math.isnan(low):
        exact |= {"low": low, "high": high}
    return number_cell(float(row[name]), exact, ends=(low, high), why=clean(row.get("reason", "")))


def _names(table: pd.DataFrame) -> list[str]:
    """Name each row, by its prompt too where there are several."""
    keys = table[list(KEY)].itertuples(index=False)
    if table["prompt"].nunique() < 2:
        return [evaluation_name(task, model) for task, model, _ in keys]
    return [
        " · ".join([*([evaluation_name(task, model)] if task or model else []), clean(prompt)])
        for task, model, prompt in keys
    ]


def _numbers(values: "pd.Series[float]") -> list[str]:
    return [NOT_GIVEN if text == "undefined" else text for text in format_numbers(values.tolist())]


def _with_ends(table: pd.DataFrame, name: str, ends: str) -> list[str]:
    """Write a column with its intervals, all with as many decimals."""
    names = [name, f"{ends}_low", f"{ends}_high"]
    texts = iter(format_numbers(table[names].to_numpy(dtype=float).ravel().tolist()))
    cells = []
    for value, low, high in zip(texts, texts, texts, strict=True):
        interval = "" if low == "undefined" else f" [{low}, {high}]"
        cells.append(NOT_GIVEN if value == "undefined" else f"{value}{interval}")
    return cells


def _tested(table: pd.DataFrame) -> list[str]:
    """Write p-values, in brackets those by Holm."""
    return [
        NOT_GIVEN if math.isnan(p) else f"{format_pvalue(p)} ({format_pvalue(holm)})"
        for p, holm in table[["pvalue", "pvalue_holm"]].itertuples(index=False)
    ]


def _reasons(table: pd.DataFrame, names: Sequence[str]) -> list[str]:
    """Say why numbers or p-values are missing, once for all rows with the same reason."""
    about: dict[str, list[str]] = {}
    for name, reason in zip(names, table["reason"], strict=True):
        if reason:
            about.setdefault(clean(reason), []).append(name)
    return [
        f"{'All' if len(of) == len(names) else ', '.join(of[:8])}: {reason}."
        for reason, of in about.items()
    ]


def _different_cases(table: pd.DataFrame, differences: pd.DataFrame) -> str:
    """Warn where scores are of different cases."""
    for task, rows in table.groupby("task"):
        common = differences.loc[differences["task"] == task, "n_contexts"]
        if len(rows) > 1 and (common.empty or common.min() < rows["n_contexts"].max()):
            return DIFFERENT_CASES
    return ""


def _from_first(
    table: pd.DataFrame, differences: pd.DataFrame, names: Sequence[str]
) -> Counts | None:
    """Lay out the differences of each row from the first of its task."""
    name_of = dict(zip(table[list(KEY)].itertuples(index=False, name=None), names, strict=True))
    first = set(table.drop_duplicates("task")[list(KEY)].itertuples(index=False, name=None))
    others = differences[["task", "other_model", "other_prompt"]]
    shown = differences[[key in first for key in others.itertuples(index=False, name=None)]]
    if shown.empty:
        return None
    # Of thousands most share no case with the first; where all do so, the table says it.
    compared = shown["brier_difference"].notna()
    shown = shown[compared] if compared.any() else shown
    cells = tuple(
        zip(
            [name_of[key] for key in shown[list(KEY)].itertuples(index=False, name=None)],
            [str(count) for count in shown["n_contexts"]],
            _with_ends(
                shown.rename(columns={"low": "b_low", "high": "b_high"}), "brier_difference", "b"
            ),
            _tested(shown),
            _with_ends(shown, "log_difference", "log"),
            strict=True,
        )
    )
    n_pairs = int(differences["pvalue"].notna().sum())
    note = (
        "Above 0 the first is better. Each interval is of one pair alone (95%); p of the Brier "
        f"score, by Holm over all {counted(n_pairs, 'pair')} of the table, which allows for the "
        "first being chosen by its score."
        if n_pairs > 1
        else "Above 0 the first is better; p is that of the Brier score."
    )
    if n_left := len(compared) - len(shown):
        note += f" Left out, as too few cases are common: {n_left} of {len(compared)}."
    return Counts(("", "cases", "Brier score", "p (Holm)", "log score"), cells, note)
