"""A leaderboard: models in rows, what each check that speaks for a model says in columns.

Nothing is computed here: verdicts and hidden shares are those of an analysis, ranks those of a
comparison, mixing scores those of the battery. A model that lacks one has a dash and the reason.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pandas as pd

from coherence.analysis.analyze import analyze
from coherence.analysis.comparison.cases import Sources, by_task_and_model
from coherence.analysis.comparison.result import Comparison
from coherence.analysis.decision import LEAK, PRIMARY, SCORES
from coherence.report.document import MISSING, Cell, Column, Kind, Row, Table, build_table, count
from coherence.report.evaluation import EvaluationReport
from coherence.report.pages import environment, script
from coherence.report.report import Report
from coherence.report.screen import mark
from coherence.report.verdicts import Verdict
from coherence.report.view import unparsed_share
from coherence.report.wording import with_interval
from coherence.result import Family, Interval
from coherence.table.exact import KIND
from coherence.table.printable import counted, span
from coherence.table.reading import AS_IT_IS, Reading
from coherence.table.schema import DRAWN
from coherence.table.validation import validate_runs

RANKED = "sufficiency"
"""The effect that models are ranked by: that of the primary test."""
WORDS = {
    Verdict.KNOWS_TRUTH: "knows the truth",
    Verdict.TOO_FEW_CASES: "cannot tell: too few cases",
    Verdict.TOO_FEW_REPORTS: "cannot tell: too few reports",
    Verdict.HARDLY_MOVES: "cannot tell: hardly moves",
    Verdict.NOTHING_OPEN: "cannot tell: nothing left open",
    Verdict.ACTS_ON_MORE: "acts on more than it says",
    Verdict.ACTS_ON_MORE_TURNING: "acts on more than it says, turning",
    Verdict.ACTS_OR_NOISY: "acts on more, or is noisy",
    Verdict.NOISE_EXPLAINS: "report noise can explain it",
    Verdict.WITHIN_MARGIN: "within the margin",
    Verdict.DOES_NOT_FOLLOW: "choices are not seen to follow",
    Verdict.NO_EVIDENCE: "no evidence of more",
    Verdict.FORECASTS: "forecasts alone",
    Verdict.NOT_TESTED: "not tested",
}
NO_RUNS = "no answers about cases"
NOT_ASKED = "the battery was not asked"
NOT_COMPARED = "not compared with another model on these cases"
LEGEND = (
    "Verdict: that of the primary test at .05 (✗ rejects, ? cannot tell, · does not reject). "
    "Difference: in choice between the states at equal stated belief; rank: from the "
    "difference closest to 0, all ranks of a task together in 95%. Hidden share: of what "
    "choices know of the truth, what stated beliefs lack. Mixing: corrected points of those there "
    "were for drawing at the rates asked for, (exp. 2) those of one experiment. "
    "Intervals are 95%. Models on different tasks were not asked the same."
)


def _verdict(row: Row) -> Cell:
    return Cell(row["verdict"], {"": row["verdict"]}, row["verdict_why"])


def _difference(row: Row) -> Cell:
    if math.isnan(row["difference"]):
        return Cell(MISSING, note=row["difference_why"])
    ends = Interval(row["low"], row["high"])
    return Cell(with_interval(row["difference"], ends), {"": row["difference"]})


def _rank(row: Row) -> Cell:
    if pd.isna(row["rank_low"]):
        return Cell(MISSING, note=row["rank_why"])
    low, high = int(row["rank_low"]), int(row["rank_high"])
    return Cell(span(low, high), {"": low + high / 1e6})  # sorted by the lower end first


TASK = Column("task", kind=Kind.LABEL)
COLUMNS = (
    Column("model", kind=Kind.LABEL),
    Column("verdict", kind=Kind.LABEL, make=_verdict),
    Column("difference", "difference, points", make=_difference),
    Column("rank", make=_rank),
    Column(
        "hidden_share",
        "hidden share",
        Kind.SHARE,
        digits=0,
        ends=("hidden_share_low", "hidden_share_high"),
        reason="hidden_why",
    ),
    Column(
        "mixing",
        kind=Kind.SHARE,
        digits=0,
        ends=("mixing_low", "mixing_high"),
        reason="mixing_why",
        behind="mixing_of",
    ),
    count("cases"),
    count("answers"),
    count("unparsed"),
)


def mixing_row(experiments: pd.DataFrame) -> dict[str, Any]:
    """Return the corrected points of one model as a share of those there were, with their ends.

    `experiments` has the rows of a model in a table of scores. Without a total, that of the first
    experiment that was scored stands for it, and is named.
    """
    known = experiments[experiments["corrected"].notna()].sort_values("experiment")
    if known.empty:
        return {"mixing_why": "no experiment has a parsed answer to every question"}
    first = known.iloc[0]  # of all, 0, before those of one
    numbers = [float(first[name]) / float(first["points"]) for name in ("corrected", "low", "high")]
    alone = "" if first["experiment"] == 0 else f" (exp. {first['experiment']:.0f})"
    return {
        **dict(zip(("mixing", "mixing_low", "mixing_high"), numbers, strict=True)),
        "mixing_why": "",
        "mixing_of": alone,
    }


def _row(evaluation: EvaluationReport, ranks: Mapping[tuple[str, str], Row]) -> dict[str, Any]:
    """Return what an analysis and a comparison say of one model on a task."""
    primary = next((r for r in evaluation.results if r.family is Family.PRIMARY), None)
    verdict, statuses = evaluation.verdict, evaluation.statuses
    words = f"{mark(verdict)} {WORDS[verdict]}".strip()
    why = evaluation.absent("sufficiency") if primary is None else primary.reason
    open_ = why or (evaluation.conclusion[0] if verdict.open and evaluation.conclusion else "")
    row: dict[str, Any] = {
        "task": evaluation.task,
        "model": evaluation.model,
        "verdict": words,
        "verdict_why": open_ if verdict.open or verdict is Verdict.NOT_TESTED else "",
        "difference_why": why,
        "hidden_why": why or ("the verdict is open" if verdict.open else "not identified"),
    }
    answers = 0 if statuses.empty else int(statuses["rows"].sum())
    row |= {"answers": answers, "unparsed": round(unparsed_share(evaluation) * answers)}
    if primary is not None:
        ends = primary.interval
        row |= {"cases": primary.n_contexts, "difference": primary.statistic}
        row |= {} if ends is None else {"low": ends.low, "high": ends.high}
        share = primary.also.get("hidden_share")
        if share is not None and not math.isnan(share.value) and not verdict.open:
            numbers = [min(max(x, 0.0), 1.0) for x in (share.value, share.low, share.high)]
            names = ("hidden_share", "hidden_share_low", "hidden_share_high")
            row |= dict(zip(names, numbers, strict=True))
    ranked = ranks.get((evaluation.task, evaluation.model))
    row["rank_why"] = NOT_COMPARED if ranked is None else ranked["reason"]
    return (
        row if ranked is None else row | {name: ranked[name] for name in ("rank_low", "rank_high")}
    )


_EMPTY = dict.fromkeys(
    (
        *("difference", "low", "high", "rank_low", "rank_high"),
        *("hidden_share", "hidden_share_low", "hidden_share_high"),
        *("mixing", "mixing_low", "mixing_high", "cases", "answers", "unparsed"),
    ),
    math.nan,
) | {"task": "", "mixing_of": ""}


def leaderboard(
    evaluations: Sequence[EvaluationReport],
    comparison: Comparison | None = None,
    *,
    mixing: Mapping[str, pd.DataFrame] | None = None,
    missing: Iterable[tuple[str, str]] = (),
) -> Table:
    """Lay out a leaderboard, the lowest possible rank first.

    `mixing` has the scores of models by name; `missing` the tasks and models not finished.
    """
    ranks: dict[tuple[str, str], Row] = {}
    if comparison is not None:
        of_effect = comparison.estimates[comparison.estimates["effect"] == RANKED]
        ranks = {(row["task"], row["model"]): row for row in of_effect.to_dict("records")}
    scores = {name: mixing_row(of_model) for name, of_model in (mixing or {}).items()}
    rows = [_row(evaluation, ranks) for evaluation in evaluations]
    rows += [_without(task, model, "not finished") for task, model in missing]
    asked = {row["model"] for row in rows}
    rows += [_without("", model, NO_RUNS) for model in scores if model not in asked]
    for row in rows:
        row |= scores.get(row["model"], {"mixing_why": NOT_ASKED})
    rows = [_EMPTY | row for row in rows]
    rows.sort(key=_order)
    columns = COLUMNS if scores else tuple(each for each in COLUMNS if each.name != "mixing")
    if len({row["task"] for row in rows}) > 1:
        columns = (columns[0], TASK, *columns[1:])
    n_models = len({row["model"] for row in rows})
    return build_table(rows, columns, title=f"Leaderboard of {counted(n_models, 'model')}")


def _without(task: str, model: str, why: str) -> dict[str, Any]:
    reasons = dict.fromkeys(("difference_why", "rank_why", "hidden_why"), why)
    return {"task": task, "model": model, "verdict": why, "verdict_why": "", **reasons}


def _order(row: Row) -> tuple[Any, ...]:
    ranked = not pd.isna(row["rank_low"])
    ends = (row["rank_low"], row["rank_high"]) if ranked else (0, 0)
    return math.isnan(row["answers"]), row["task"], not ranked, *ends, row["model"]


def render_leaderboard(table: Table, *, links: Mapping[str, str] | None = None) -> str:
    """Return a leaderboard as one page, which a browser sorts and filters without a network.

    `links` are further pages by their names, relative to the folder of this one.
    """
    template = environment("coherence", "analysis").get_template("leaderboard.html.j2")
    return template.render(
        title=table.title,
        table=table,
        legend=LEGEND,
        links=dict(links or {}),
        filters=[],
        script=script("answers.js"),
    )


def analyze_sources(
    runs: Sources, *, columns: Mapping[str, str] | None = None, **options: Any
) -> Report:
    """Analyse every model of several tables under the names that `coherence.compare` gives them.

    Only checks that verdicts rest on are run; their numbers are those of a whole analysis.
    """
    tasks, _ = by_task_and_model(runs, Reading.of(columns) if columns else AS_IT_IS)
    tables = [
        of_model.table.assign(task=task, model=model)
        for task, of_task in tasks.items()
        for model, of_model in of_task.items()
    ]
    everything = validate_runs(pd.concat(tables, ignore_index=True))
    checks = [PRIMARY, SCORES]
    if KIND in everything.table and (everything.table[KIND] == DRAWN).any():
        checks.append(LEAK)
    return analyze(everything, checks=checks, **options)
