"""Several models on the same cases: the verdict and effects of each, and paired differences.

Every model is analysed on the cases that all have (`coherence.analysis.same_cases`). Two models
differ in an effect by the mean over cases, or over the groups that they are of, of what a case adds
to the one estimate less what it adds to the other. Names of tasks and models are untrusted: every
value is cleaned, and escaped in HTML.
"""

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

import numpy as np
import pandas as pd

from coherence.analysis.analyze import analyze
from coherence.analysis.evaluation import require_kind_of_state
from coherence.analysis.finishing import adjusted, with_results
from coherence.analysis.reading import positive_labels
from coherence.analysis.same_cases import Sources, Task, shared_tasks, where_of
from coherence.checks import CHECKS
from coherence.checks.check import (
    Form,
    Question,
    check_of,
    declaration,
    declarations,
    declared_name,
    interpretation_of,
)
from coherence.checks.scores import NAME as SCORES
from coherence.checks.stakes import StakesResult
from coherence.checks.sufficiency import NAME as PRIMARY
from coherence.checks.sufficiency_result import Sufficiency
from coherence.errors import InputError, closest, listing
from coherence.inputs import MIN_CONTEXTS, as_codes, number_of_jobs, require
from coherence.printable import counted
from coherence.public_names import rng_for_seed
from coherence.report import document, page
from coherence.report.effects import hidden_share, threshold
from coherence.report.evaluation import EvaluationReport, Verdict
from coherence.report.json import to_plain
from coherence.report.report import Report
from coherence.report.screen import render_parts, spaced
from coherence.report.verdicts import family_of
from coherence.report.wording import clean
from coherence.result import Family, ForecastScores, Interval, rejects
from coherence.runs.columns import Reading
from coherence.runs.runs import Runs, answering
from coherence.runs.states import meant_by
from coherence.statistics.mean_interval import difference_interval, difference_pvalue
from coherence.statistics.pvalues import holm
from coherence.statistics.resample import Progress, Seed, as_seed, clusters_of, run_calls

EFFECTS = {
    "task": "task",
    "effect": "name of the result of `coherence.analyze`; of `scores` it is the Brier score",
    "model": "model",
    "estimate": "on the cases that are compared; NaN where there is none or it is withheld",
    "low": "low end of its 95% interval",
    "high": "high end",
    "n_contexts": "cases behind it",
    "reason": "why there is no estimate, no interval or no difference",
}
"""Column of `Comparison.effects` -> what it holds."""
DIFFERENCES = {
    "task": "task",
    "effect": "as in `EFFECTS`",
    "model_a": "first model",
    "model_b": "second model",
    "difference": "first less second, on the scale of the column `scale`",
    "low": "low end of its own 95% interval",
    "high": "high end",
    "pvalue": "of no difference, alone",
    "pvalue_holm": "adjusted over all pairs, effects and tasks",
    "n_contexts": "cases",
    "scale": "estimate, or mean square where the estimate is the root of one",
    "reason": "why there is no difference, no p-value or no interval",
}
"""Column of `Comparison.differences` -> what it holds."""
TITLE = "Models on the same cases"
LEGEND = (
    "Differences are paired by case, first less second, with 95% intervals; p by Holm over all."
)
SCHEMA_VERSION = 2
WIDTH = 100
_ESTIMATE = document.Column("estimate", ends=("low", "high"), reason="reason")
_CASES = document.count("n_contexts", "cases")
_OF_CHOICES = (
    document.Column("", "hidden share", make=lambda of: document.Cell(hidden_share(of["report"]))),
    document.Column(
        "", "choices change at", make=lambda of: document.Cell(threshold(of["report"]))
    ),
)
_FURTHER = (document.label("effect"), document.label("model"), _ESTIMATE, _CASES)
_PAIRS = (
    document.label("effect"),
    document.label("model_a", "first"),
    document.label("model_b", "second"),
    document.Column("difference", ends=("low", "high"), reason="reason"),
    document.pvalue("pvalue", "p (Holm)", adjusted="pvalue_holm"),
)


@dataclass(frozen=True)
class Comparison:
    """Models on the same cases.

    Parameters
    ----------
    report : Report
        What `analyze` finds of each model with the checks that are compared.
    effects : DataFrame
        A row for each task, effect and model; see `EFFECTS`.
    differences : DataFrame
        A row for each task, effect and pair of models; see `DIFFERENCES`.
    notes : tuple of str
        What was assumed or left out.
    settings : mapping
        What shaped the numbers.
    """

    report: Report
    effects: pd.DataFrame
    differences: pd.DataFrame
    notes: tuple[str, ...]
    settings: Mapping[str, Any]

    @property
    def verdicts(self) -> pd.DataFrame:
        """A row for each task and model, as `Report.verdicts`."""
        return self.report.verdicts.drop(columns="pvalue_bh")  # each was analysed by itself

    def __repr__(self) -> str:
        """Return a line."""
        return f"<Comparison: {self.summary}>"

    @property
    def summary(self) -> str:
        """How many differences there are, in a sentence."""
        tested = self.differences.dropna(subset="pvalue")
        if tested.empty:
            return "No difference could be tested."
        n = sum(map(rejects, tested["pvalue_holm"]))
        pairs = counted(len(tested), "difference was", "differences were")
        lacking = len(self.differences) - len(tested)
        without = f" ({lacking} more cannot be tested)" if lacking else ""
        return f"{pairs} tested{without}: {n or 'none'} at .05 after Holm's correction."

    def parts(self) -> Iterator[document.Part]:
        """Yield models, effects, differences and verdicts of each task, then notes.

        Models whose data cannot tell come last.
        """
        for task, of_task in groupby(self.report.evaluations, key=lambda each: each.task):
            n = counted(self.settings["n_contexts"][task], "case")
            models = sorted(of_task, key=lambda each: each.headline.open)
            effects = _rows(self.effects[self.effects["task"] == task])
            primary = {row["model"]: row for row in effects[: len(models)]}
            estimate = replace(_ESTIMATE, heading=effects[0]["effect"])
            rows = [
                {
                    **primary[each.model],
                    "verdict": "; ".join(verdict.brief for verdict in each.told),
                    "report": each,
                }
                for each in models
            ]
            missing = document.MISSING
            known = [of for of in _OF_CHOICES if any(of.cell(row).text != missing for row in rows)]
            columns = [document.label("model"), document.label("verdict"), estimate, *known, _CASES]
            yield document.Heading(f"{clean(task, limit=60)}, {n}" if task else n)
            yield document.build_table(rows, columns)
            if further := effects[len(models) :]:
                yield document.build_table(further, _FURTHER)
            if len(pairs := self.differences[self.differences["task"] == task]):
                yield document.build_table(_rows(pairs), _PAIRS)
            for each in models:
                for verdict, words in zip(each.told, each.conclusion, strict=False):
                    yield document.Paragraph(f"{each.model}: {words}", mark=verdict.mark)
        yield document.Paragraph(self.summary, document.Look.STRONG)
        yield document.Paragraph(LEGEND, document.Look.SOFT)
        if self.notes:
            yield document.Notes(self.notes)

    def __str__(self) -> str:
        """Return models, effects, differences and verdicts as text."""
        return render_parts(spaced(list(self.parts())), width=WIDTH)

    def _repr_html_(self) -> str:
        """Return what a notebook shows."""
        return page.render_parts(list(self.parts()))

    def to_json(self) -> str:
        """Return everything as JSON text, equal bytes for equal runs."""
        record = vars(self) | {"schema_version": SCHEMA_VERSION, "summary": self.summary}
        record["verdicts"] = self.verdicts
        del record["report"]  # of which that is the part that was asked for
        return json.dumps(to_plain(record), sort_keys=True, indent=2, allow_nan=False) + "\n"

    def to_html(self) -> str:
        """Return one self-contained page without scripts."""
        return page.render_page(TITLE, list(self.parts()))


def _rows(table: pd.DataFrame) -> list[document.Row]:
    """Return the rows of a table with effects by the names, and in the units, that readers see."""
    rows: list[document.Row] = []
    for row in table.to_dict("records"):
        said, check = interpretation_of(row["effect"]), check_of(row["effect"])
        name, primary = said.heading or row["effect"], check and check.family is Family.PRIMARY
        if row.get("scale") == "mean square":  # a difference of two roots is that of their squares
            name = f"{(said.row or name).removesuffix(', points')}, squared"
        elif said.form is Form.POINTS and (said.row or primary):
            name = said.row or f"{name}, points"
            numbers = {"estimate", "difference", "low", "high"} & set(row)
            row |= {number: 100 * row[number] for number in numbers}
        rows.append({str(key): value for key, value in row.items()} | {"effect": name})
    return rows


FEWEST_SHARE = 0.5
"""Share of a task's cases that a model must show an effect in: else it would decide alone which few
cases are left for all others."""


@dataclass(frozen=True)
class _Effect:
    """An effect of one model."""

    estimate: float = math.nan
    interval: Interval | None = None
    # by case: values whose mean is compared; None where there is no difference, and `reason` why
    values: "pd.Series[float] | None" = None
    scale: str = "estimate"
    of: str = ""  # what it takes for the state; only effects of the same one are compared
    reason: str = ""
    allowed: float = 0.0  # between 0 and this the effect may be belief that is not said
    n_contexts: int = 0  # where there are no values


@dataclass(frozen=True)
class _Model:
    """One model on one task, and how it is analysed."""

    rows: Runs
    options: Mapping[str, Any]

    def report(self) -> EvaluationReport:
        """Return the analysis of its answers."""
        (report,) = analyze(self.rows, **self.options).evaluations
        return report

    def about(self, contexts: Sequence[str]) -> EvaluationReport:
        """Return the analysis of its answers about some cases."""
        table = self.rows.table
        kept = self.rows.subset(table[table["context"].isin(contexts)])
        return replace(self, rows=kept).report()


def _effect(report: EvaluationReport, name: str, verdict: Verdict) -> _Effect:
    """Return an effect, and what cases add to it unless the verdict withholds it."""
    result = next((result for result in report.results if result.check == name), None)
    if result is None:
        return _Effect(reason=report.absent(name) or f"its answers do not give {name}")
    declared = declaration(declared_name(name))
    if declared.question is Question.STAKES:
        verdict = report.headline  # which rests on no truth
    # A constant forecast earns its distance to the truth.
    if verdict.open and not declared.of_truth:
        return _Effect(reason=verdict.reason, n_contexts=result.n_contexts)
    if isinstance(scores := result.fitted, ForecastScores):
        kind = f"{scores.n_states} states"
        return _Effect(scores.brier, scores.brier_interval, scores.losses, of=kind)
    estimate = result.statistic, result.interval
    if isinstance(result, Sufficiency) and result.turns:
        return _Effect(*estimate, reason="its direction turns with the belief")
    added = result.contributions
    if added is None:
        why = result.reason or "cases do not add up to it"
        return _Effect(*estimate, reason=why, n_contexts=result.n_contexts)
    square = result.mean_square
    scale = "estimate" if square is None else "mean square"
    values = len(added) * added + (result.statistic if square is None else square)
    effect = _Effect(*estimate, values, scale, reason=result.reason)
    if not isinstance(result, Sufficiency):
        return effect
    of = result.state or ""
    if result.component and "component" in result.details:
        parts = result.details.set_index("component")["estimate"]
        several = parts.abs().round(9).nunique() > 1  # of two actions, either is both
        of += f" {result.component}" * several
    return replace(effect, of=of, allowed=result.allowed or 0.0)


@rng_for_seed
def compare(
    runs: Sources,
    *,
    columns: Mapping[str, str | Sequence[str]] | None = None,
    effects: Sequence[str] = (),
    common: bool = False,
    positive: Any = None,
    reference: str | None = None,
    state: str = "auto",
    n_jobs: int = 1,
    rng: Seed = None,
    progress: Progress | None = None,
) -> Comparison:
    """Compare models that were asked about the same cases.

    Null of each p-value: the two models have the same effect.

    Parameters
    ----------
    runs : DataFrame, Runs or mapping of str to either
        A runs table with several models, or several tables by name; a table without a column
        ``model`` is the model of that name. Rows need a ``context``, by which cases are matched:
        what tables say of a case (truth, exact posterior, group, evidence) must agree.
    columns : mapping of str to str or list of str, optional
        What your columns are called in all tables, as for `coherence.analyze`.
    effects : sequence of str
        Results of `coherence.analyze` that are compared besides the primary effect, such as
        ``calibration:rmse``. Without choices the Brier score takes the place of the primary effect.
    common : bool
        Whether to keep what models have in common where some lack tasks or cases of others; else
        that is refused.
    positive, reference
        As for `coherence.analyze`; the reference prompt is the same for all models of a task.
    state : {"auto", "exact", "realised"}
        What choices are compared with at equal belief, as for `coherence.analyze`; one for all
        models of a task.
    n_jobs : int
        Processes for joblib; -1 for all cores. Results do not depend on it.
    rng : Generator, int or None
        Source of randomness of the analyses; differences draw nothing.
    progress : callable, optional
        Called with (done, total, label) before the first model of a task and after each.

    Returns
    -------
    Comparison
        The verdict and the effects of each model, in the units of `coherence.analyze`, and the
        differences of all pairs, in these units; of effects that are roots, of their squares. An
        effect is compared on the cases in which all models show it. It has no difference where the
        verdict on one of the two models withholds it ("?"), distances to the truth excepted.

    Raises
    ------
    SchemaError
        A table breaks the schema.
    InputError
        Fewer than two models, no task with ten common cases and a common prompt, cases that differ
        between models, an unknown effect, or nothing says which of two states beliefs are in.

    Notes
    -----
    Assumes independent cases, or groups where they are named. Each difference is tested by the more
    conservative of Student's t and a skewness-adjusted t, and never below the sign test;
    ``pvalue_holm`` is adjusted over all pairs, effects and tasks.

    References
    ----------
    Hall (1992), JRSS B 54(1), for the skewness; Holm (1979), Scandinavian Journal of Statistics 6.

    Examples
    --------
    >>> from coherence import simulate
    >>> size = {"n_contexts": 80, "n_reps": 3, "rng": 1}
    >>> asked = {name: simulate(name, **size) for name in ("rational", "leaky")}
    >>> found = compare(asked, effects=["calibration:rmse"], rng=1)
    >>> found.differences[["effect", "model_a", "model_b", "difference"]].round(2)
                 effect   model_a model_b  difference
    0       sufficiency  rational   leaky       -0.29
    1  calibration:rmse  rational   leaky       -0.04
    """
    require_kind_of_state(state)
    named = _checked_effects(effects)
    n_jobs, seed = number_of_jobs(n_jobs), as_seed(rng)
    tasks, notes = shared_tasks(
        runs, Reading({} if columns is None else columns), common=common, reference=reference
    )
    labels = _positive_by_task(tasks, positive)
    names = {
        task.name: list(dict.fromkeys([PRIMARY if acted else SCORES, *named]))
        for task in tasks
        for acted in [any(bool(of.acted.any()) for of in task.rows.values())]
    }
    models = {
        (task.name, model): _Model(
            rows,
            {
                "checks": _checks(names[task.name], rows),
                "reference": task.reference,
                "positive": labels[task.name],
                "state": _one_state(task, state),
                "rng": seed,
            },
        )
        for task in tasks
        for model, rows in task.rows.items()
    }
    calls, called = [(each,) for each in models.values()], [model for _, model in models]
    reports = run_calls(_Model.report, calls, n_jobs, progress=progress, labels=called)
    analysed = dict(zip(models, reports, strict=True))
    forecasts = [
        key for key, report in analysed.items() if family_of(report.verdict) is Family.SCORES
    ]
    of_forecasts = [analysed[key].results for key in forecasts]
    corrected = adjusted(of_forecasts)  # over all models
    for key, results, filled in zip(forecasts, of_forecasts, corrected, strict=True):
        analysed[key] = with_results(analysed[key], results, filled)
    _require_found(named, analysed.values())
    rows, pairs = list[dict[str, Any]](), list[dict[str, Any]]()
    for task in tasks:
        reported = [analysed[task.name, model].results for model in task.rows]
        staked = [r for of in reported for r in of if isinstance(r, StakesResult)]
        at_stake = [r.check for r in staked if r.never is not None]  # what choices at stakes lose
        for name in dict.fromkeys([*names[task.name], *at_stake]):
            asked = {model: models[task.name, model] for model in task.rows}
            said = {model: analysed[task.name, model] for model in task.rows}
            of_effect, of_pairs = _compared(task, asked, said, name)
            rows += of_effect
            pairs += of_pairs
        notes += _ways(task)
    differences = pd.DataFrame(pairs, columns=list(DIFFERENCES))
    return Comparison(
        Report(tuple(replace(of, model=model) for (_, model), of in analysed.items()), {}),
        pd.DataFrame(rows, columns=list(EFFECTS)),
        differences.assign(pvalue_holm=holm(differences["pvalue"])),
        tuple(notes),
        {
            "effects": list(named),
            "common": common,
            "positive": list(map(str, positive_labels(positive))),
            "reference": reference,
            "state": state,
            "seed": int(rng) if isinstance(rng, int | np.integer) else None,
            "n_contexts": {task.name: len(task.contexts) for task in tasks},
        },
    )


def _checked_effects(effects: Sequence[str]) -> list[str]:
    require(
        not isinstance(effects, str),
        f"effects must be a list of names; received the text {effects!r}. Write [{effects!r}].",
    )
    for name in effects:
        if name.partition(":")[0] not in CHECKS:
            raise InputError(
                f"effects must be results of checks, such as calibration:brier; received {name!r}. "
                f"{closest(name, CHECKS)}"
            )
    return list(effects)


def _require_found(named: Sequence[str], reports: Iterable[EvaluationReport]) -> None:
    """Refuse an effect that no result has, where its check has others."""
    found = {result.check for report in reports for result in report.results}
    checks = {name.partition(":")[0] for name in found}
    for name in named:
        if name not in found and name.partition(":")[0] in checks:
            raise InputError(
                f"effects must be results of the tables; received {name!r}. {closest(name, found)}"
            )


def _checks(names: Sequence[str], rows: Runs) -> list[str]:
    """Return the checks that have these effects, and those that a model's verdict stands with."""
    named = dict.fromkeys(name.partition(":")[0] for name in names)
    if any(declaration(name).family is Family.PRIMARY for name in named):
        beside = (check for check in declarations() if check.beside_primary)
        named |= dict.fromkeys(check.name for check in beside if check.by_itself(rows))
    return [*named]


def _positive_by_task(tasks: Sequence[Task], positive: Any) -> dict[str, list[Any] | None]:
    """Return the labels that are states of each task; refuse those that are states of none."""
    wanted, by_task, known = positive_labels(positive), dict[str, list[Any] | None](), list[Any]()
    for task in tasks:
        rows = next(iter(task.rows.values()))
        names = rows.state_names or list(as_codes(rows.theta, "theta")[1])
        by_task[task.name] = [word for word in wanted if meant_by(word, names)] or None
        known += names
    unknown = [word for word in wanted if not meant_by(word, known)]
    require(
        not unknown,
        f"positive must be a label of theta; received {listing(map(repr, unknown))}. "
        f"{closest(str(unknown[0]) if unknown else '', dict.fromkeys(map(str, known)))}",
    )
    return by_task


def _one_state(task: Task, state: str) -> str:
    """Let all models of a task be compared by one state: exact only where it is of all cases."""
    known = [of.known("p_true")[~of.given_z] for of in task.rows.values()]
    some = any(each.any() for each in known) and not all(each.all() for each in known)
    return "realised" if state == "auto" and some else state


def _compared(
    task: Task, models: Mapping[str, _Model], reports: Mapping[str, EvaluationReport], name: str
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Compare the models of a task in one effect, on the cases in which all show it."""
    found = {model: _effect(report, name, report.verdict) for model, report in reports.items()}
    values, n = dict[str, "pd.Series[float]"](), len(task.contexts)
    reasons = {model: effect.reason for model, effect in found.items()}
    for model, effect in found.items():
        if effect.values is not None and len(effect.values) >= max(MIN_CONTEXTS, FEWEST_SHARE * n):
            values[model] = effect.values
        elif effect.values is not None:
            reasons[model] = f"it can be had in {len(effect.values)} of {n} cases only"
    shared = sorted(set.intersection(*(set(of.index) for of in values.values()))) if values else []
    if len(values) > 1 and len(shared) < MIN_CONTEXTS:
        few = f"{len(shared)} cases that all models show it in are fewer than {MIN_CONTEXTS}"
        reasons, values = reasons | dict.fromkeys(values, few), {}
    for model in [model for model, of in values.items() if len(of) > len(shared)]:
        found[model] = again = _effect(models[model].about(shared), name, reports[model].verdict)
        if again.values is None or set(again.values.index) != set(shared):
            reasons[model] = again.reason or "its cases differ from those of the others"
            del values[model]
        else:
            values[model] = again.values
    clusters = clusters_of(models[next(iter(models))].rows.table, pd.Index(shared))
    base, names, pairs = {"task": task.name, "effect": name}, list(models), list[dict[str, Any]]()
    for at, first in enumerate(names):
        for second in names[at + 1 :]:
            pair = base | {"model_a": first, "model_b": second, "n_contexts": len(shared)}
            lacks = [f"{m!r}: {reasons[m]}" for m in (first, second) if m not in values]
            if not lacks and found[first].of != found[second].of:
                lacks.append(
                    f"they are of different differences: {found[first].of.strip()}, and "
                    f"{found[second].of.strip()}"
                )
            lacks += [clusters.too_few] if clusters.too_few else []
            scale = max(found[first].scale, found[second].scale)  # one may have no effect
            pair |= {"scale": scale, "reason": "; ".join(lacks)}
            if not lacks:
                first_less = values[first].loc[shared] - values[second].loc[shared]
                one, other = found[first].allowed, found[second].allowed
                room = min(one, 0.0) - max(other, 0.0), max(one, 0.0) - min(other, 0.0)
                pair |= _difference(clusters.values(np.asarray(first_less, dtype=np.float64)), room)
            pairs.append(pair)
    return [
        base
        | {"model": model, "estimate": effect.estimate, "reason": reasons[model]}
        | ({} if (ends := effect.interval) is None else {"low": ends.low, "high": ends.high})
        | {"n_contexts": effect.n_contexts if effect.values is None else len(effect.values)}
        for model, effect in found.items()
    ], pairs


def _difference(
    values: np.ndarray[Any, np.dtype[np.float64]], room: tuple[float, float]
) -> dict[str, Any]:
    """Return the mean of paired differences with its interval and p-value, as far as they have.

    As much of it as lies in the `room` may be belief that is not said.
    """
    mean = float(values.mean())
    of_difference = difference_pvalue(values, min(max(mean, room[0]), room[1]))
    interval = difference_interval(values)
    if math.isnan(of_difference):
        return {"difference": 0.0, "reason": "no case differs"}
    ends = {}
    if interval is not None:
        ends = {"low": interval.low - room[1], "high": interval.high - room[0]}
    reason = "all cases differ alike" if interval is None else ""
    return {"difference": mean, "pvalue": of_difference, "reason": reason} | ends


def _ways(task: Task) -> list[str]:
    """Say where models answered in different ways."""
    ways = {}
    for model, rows in task.rows.items():
        way = answering(rows)
        ways[model] = listing(way.kinds) or "not said"
        ways[model] += ", actions as probabilities" if way.policies else ""
    if len(set(ways.values())) < 2:
        return []
    each = "; ".join(f"{model!r} {way}" for model, way in ways.items())
    return [
        f"{where_of(task.name)}beliefs were elicited in different ways ({each}): differences may "
        "be theirs."
    ]
