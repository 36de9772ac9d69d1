"""The table of effects: a column for each of a few evaluations, a row for each of many.

Differences of probabilities are in points, hundredths. The mark is that of the primary test: no
other row has one.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from itertools import repeat
from typing import Any

import pandas as pd

from coherence.checks.check import Form, Question, check_of, declarations, interpretation_of
from coherence.checks.matching import MatchingResult
from coherence.checks.stakes import StakesResult
from coherence.checks.threshold import ThresholdResult
from coherence.report.document import Cell, Table, table_of_texts
from coherence.report.evaluation import EvaluationReport
from coherence.report.verdicts import REJECTS, family_of
from coherence.report.wording import (
    NOT_GIVEN,
    clean,
    evaluation_heading,
    numbers,
    percent,
    share_with_interval,
    with_interval,
)
from coherence.result import CheckResult, Estimate, Family, Interval, by_variant
from coherence.runs.states import NO, folded

NOT_IDENTIFIED = "not identified"


def _effect(result: CheckResult | None) -> str:
    """Return a difference of probabilities in points, with its interval."""
    if result is None or math.isnan(result.statistic):
        return NOT_GIVEN
    return with_interval(result.statistic, result.interval)


def _at_equal_belief(evaluation: EvaluationReport, persons: bool = False) -> str:
    if evaluation.rows.crossed is not persons:
        return NOT_GIVEN
    primary = evaluation.primary
    if primary is not None and evaluation.verdict.marked and primary.turns:
        return f"turns {REJECTS}"  # one number would average its two directions away
    found = evaluation.verdict.marked and family_of(evaluation.verdict) is Family.PRIMARY
    return f"{_effect(primary)}{f' {REJECTS}' * found}"


def _also(evaluation: EvaluationReport, name: str) -> Estimate | None:
    primary = evaluation.primary
    found = primary.also.get(name) if primary is not None else None
    return None if found is None or math.isnan(found.value) else found


def hidden_share(evaluation: EvaluationReport) -> str:
    """Return the hidden share in percent with its interval; a dash where it has none."""
    share = _also(evaluation, "hidden_share")
    return NOT_GIVEN if share is None else share_with_interval(share)


def _follows(evaluation: EvaluationReport) -> str:
    slope = _also(evaluation, "slope")
    # Whoever ignores stakes may well go by the belief at each: their verdict says which it is.
    if slope is None or math.isnan(slope.low) or evaluation.stakes:
        return NOT_GIVEN
    if slope.low <= 0:
        return "not seen"
    primary = evaluation.primary
    rises = folded((primary and primary.action) or "")
    return f"yes: more {rises}" if rises in NO else "yes"


def threshold(evaluation: EvaluationReport) -> str:
    """Return the stated belief at which choices change, or its bound; a dash for neither."""
    return threshold_place(_threshold_of(evaluation)) or NOT_GIVEN


def _threshold_of(evaluation: EvaluationReport) -> ThresholdResult | None:
    found = by_variant(evaluation.results, ThresholdResult)
    return found.get("lowest") or found.get("")


def _changes(evaluations: Sequence[EvaluationReport]) -> str:
    """Name the actions between which choices change, where they are those of all evaluations."""
    found = [result for each in evaluations if (result := _threshold_of(each)) is not None]
    moves = {(result.variant, result.start, result.to) for result in found}
    if len(moves) != 1:
        return "choices change at"
    variant, start, to = moves.pop()
    label = clean(to if variant else f"from {start} to {to}", limit=40)
    return f"does {label} from" if variant else f"changes {label} at"


def _acted_on(evaluation: EvaluationReport) -> str:
    found = by_variant(evaluation.results, MatchingResult)
    return NOT_IDENTIFIED if {*found} == {"swing"} else _effect(found.get("difference"))


def _estimate(evaluation: EvaluationReport, row: str) -> str:
    """Return the largest estimate of those that declare a row."""
    rows = [(r, check_of(r.check) and interpretation_of(r.check).row) for r in evaluation.results]
    known = [result for result, of in rows if of == row and not math.isnan(result.statistic)]
    if (most := max(known, key=lambda result: result.statistic, default=None)) is None:
        return NOT_GIVEN
    shown = interpretation_of(most.check)
    if shown.unless and any(
        (check_of(each.check), each.variant) == (check_of(most.check), shown.unless)
        for each in evaluation.results
    ):
        return NOT_GIVEN
    return {Form.POINTS: _effect, Form.PERCENT: percent, Form.NUMBER: numbers}[shown.form](most)


CHANGES = ""
"""Stands for the name of a row that holds labels of actions."""
ROWS: tuple[tuple[str, Callable[[EvaluationReport], str]], ...] = (
    ("choice at equal belief, points", _at_equal_belief),
    ("choice at equal own belief, points", partial(_at_equal_belief, persons=True)),
    ("hidden share", hidden_share),
    ("choices follow belief", _follows),
    (CHANGES, threshold),
    ("acted on less stated belief, points", _acted_on),
)
"""Rows of the primary test, and of what has no number by itself, before those of checks."""


def _rows_shown(evaluations: Sequence[EvaluationReport]) -> list[list[str]]:
    """Return the rows that any evaluation has: a name, and a cell for each."""
    # Those that checks declare follow in the order of the questions that they answer.
    checks = sorted(declarations(), key=lambda check: [*Question].index(check.question))
    names = [each.row for check in checks for each in check.sentences.values() if each.row]
    declared = tuple((name, partial(_estimate, row=name)) for name in dict.fromkeys(names))
    rows = [
        [_changes(evaluations) if name == CHANGES else name, *map(cell_of, evaluations)]
        for name, cell_of in ROWS + declared
    ]
    return [row for row in rows if any(cell != NOT_GIVEN for cell in row[1:])]


def _names(evaluations: Sequence[EvaluationReport]) -> list[str]:
    """Return what parts evaluations: the model, and where there are several tasks these."""
    one_task = len({evaluation.task for evaluation in evaluations}) == 1 and len(evaluations) > 1
    return [
        clean(evaluation.model, limit=80) if one_task else evaluation_heading(evaluation)
        for evaluation in evaluations
    ]


def short_table(evaluations: Sequence[EvaluationReport], *, verdicts: bool = False) -> Table:
    """Return the rows that any evaluation has, a column for each; `verdicts` stand in the first."""
    headings, rows = ["95% intervals", *_names(evaluations)], _rows_shown(evaluations)
    told = ["verdict", *map(_told, evaluations)]
    return table_of_texts(headings, [*[told] * verdicts, *rows], indent=2)


def _told(evaluation: EvaluationReport) -> str:
    return "; ".join(verdict.brief for verdict in evaluation.told)


def long_table(evaluations: Sequence[EvaluationReport], links: Sequence[str] = ()) -> Table:
    """Return the same of many, a row for each: which tests mark first, which cannot tell last."""
    cells = _rows_shown(evaluations)
    columns = [row[0] for row in cells]
    rows = [
        [
            Cell(name, link=link),
            Cell(_told(each)),
            *(Cell(row[at + 1]) for row in cells),
        ]
        for at, (each, name, link) in enumerate(
            zip(evaluations, _names(evaluations), links or repeat(""), strict=False)
        )
    ]
    table = table_of_texts(["95% intervals", "verdict", *columns], (), n_labels=2)
    return replace(table, rows=tuple(tuple(rows[at]) for at in in_order(evaluations)))


def in_order(evaluations: Sequence[EvaluationReport]) -> list[int]:
    """Return the places of evaluations by their verdicts, and then by the size of the effect."""

    def place(at: int) -> tuple[bool, bool, float]:
        primary, first = evaluations[at].primary, evaluations[at].headline
        effect = math.nan if primary is None else abs(primary.statistic)
        return not first.marked, first.open, math.inf if math.isnan(effect) else -effect

    return sorted(range(len(evaluations)), key=place)


VERDICT = (
    *(
        "task",
        "model",
        "verdict",
        "primary_verdict",
        "estimate",
        "low",
        "high",
        "component",
        "pvalue",
        "pvalue_bh",
    ),
    *("hidden_share", "hidden_share_low", "hidden_share_high"),
    *("plain_average", "plain_average_low", "plain_average_high", "sentence"),
)


def _verdict_row(evaluation: EvaluationReport) -> dict[str, Any]:
    row: dict[str, Any] = {
        "task": evaluation.task,
        "model": evaluation.model,
        "verdict": str(evaluation.headline),
        "primary_verdict": str(evaluation.verdict),
        "sentence": evaluation.conclusion[0] if evaluation.conclusion else "",
    }
    if result := evaluation.primary:
        numbers = result.to_row()
        row |= {name: numbers[name] for name in ("low", "high", "pvalue", "pvalue_bh", "estimate")}
        row["component"] = result.component or ""
        for name in {"hidden_share", "plain_average"} & set(result.also):
            found = result.also[name]
            row |= {name: found.value, f"{name}_low": found.low, f"{name}_high": found.high}
    return row


def verdict_table(evaluations: Sequence[EvaluationReport]) -> pd.DataFrame:
    """Return the verdict of each evaluation with its numbers, unrounded."""
    return pd.DataFrame(map(_verdict_row, evaluations), columns=list(VERDICT))


def question_sentences(results: Sequence[CheckResult]) -> tuple[str, ...]:
    """Return what matching and stakes found, beside the numbers of the table."""
    return tuple(filter(None, (acted_on_sentence(results), _loss_sentence(results))))


def threshold_place(result: CheckResult | None) -> str:
    """Return a threshold in percent, or its bound; empty where there is neither."""
    if not isinstance(result, ThresholdResult):
        return ""
    if not math.isnan(result.statistic):
        return percent(result)
    bounds = {"above": result.above, "below": result.below}
    return next((f"{side} {100 * at:.0f}%" for side, at in bounds.items() if at is not None), "")


def acted_on_sentence(results: Sequence[CheckResult]) -> str:
    """Return what the check `matching` found; empty where it was not run."""
    found = by_variant(results, MatchingResult)
    if (swing := found.get("swing")) is None:
        return ""
    if (difference := found.get("difference")) is None:
        return f"The belief acted on is not identified, since {clean(swing.reason)}."
    share = found["share"]
    weight = f"the exact posterior has {percent(share)} of the weight in it, beside what is said"
    if math.isnan(share.statistic):
        weight = f"the weight of the exact posterior in it is not identified: {clean(share.reason)}"
    return (
        "Choices between the event and stated chances are those of a belief "
        f"{above(difference)} the stated one, on average over such cases; {weight}."
    )


def _loss_sentence(results: Sequence[CheckResult]) -> str:
    """Return what choices at stakes lose, beside what never and always acting would."""
    found = by_variant(results, StakesResult)
    if (loss := found.get("loss")) is None or (against := found.get("against")) is None:
        return ""
    if loss.never is None or loss.always is None:
        of_100 = f"What it loses is not known: {clean(loss.reason)}."
    else:
        shares = (loss.never, loss.always, loss.statistic, loss.low, loss.high)
        never, always, value, low, high = (f"{abs(round(100 * share, 1)):.1f}" for share in shares)
        lost = f"it loses {value} [{low}, {high}]" if loss.interval else f"it loses {value}"
        if math.isnan(loss.statistic):
            lost = "it is not known what it loses"
            if loss.at_most is not None:
                why = clean(loss.reason.partition(", which is at most")[0])
                lost = f"it loses at most {100 * loss.at_most:.1f} ({why})"
        would = f"never acting would lose {never}, always acting {always}"
        of_100 = f"Of 100 at stake in a choice {lost}; {would}."
    if math.isnan(against.statistic):
        return of_100
    return f"{of_100} It chooses against its stated belief in {percent(against)} of choices."


def above(result: CheckResult) -> str:
    """Return by how many points a probability lies above another, or below it."""
    value, interval = result.statistic, result.interval
    if value >= 0:
        return f"{with_interval(value, interval, ' points')} above"
    interval = interval and Interval(-interval.high, -interval.low)
    return f"{with_interval(-value, interval, ' points')} below"
