"""From a runs table to a report: every check that the columns allow, for each (task, model).

What cannot be run is not passed over: each unit's notes say what was left out and why (see
`coherence.analysis.planning`).
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from joblib import Parallel, delayed

from coherence.analysis.conclusion import say
from coherence.analysis.planning import Job, plan_unit
from coherence.analysis.states import positive_labels, states_of_tasks
from coherence.analysis.twin_runs import Beside, beside_twins
from coherence.analysis.unit import UnitRows, unreadable
from coherence.checks import CHECKS
from coherence.checks.catalogue import declaration
from coherence.errors import InputError, closest, listing
from coherence.inputs import number_of_jobs, require, whole_number
from coherence.report.provenance import package_version, versions
from coherence.report.report import Report
from coherence.report.unit import Unit
from coherence.result import CheckResult
from coherence.statistics.multiplicity import benjamini_hochberg, holm
from coherence.statistics.resample import Seed, as_generator
from coherence.table.answering import answering
from coherence.table.audit import count_statuses, label_rows, worst_case_bounds
from coherence.table.column_names import unknown_columns
from coherence.table.faults import validate_runs
from coherence.table.fingerprint import fingerprint
from coherence.table.frames import require_frame
from coherence.table.labels import labels_alike, merge_alike
from coherence.table.prompts import REFERENCE, reference_prompt
from coherence.table.rounding_errors import within_bounds
from coherence.table.schema import (
    ACTION_PREFIX,
    REPAIRS,
    action_columns,
    policy_rows,
    state_columns,
)

UNIT = ("task", "model")
FEWEST_TWINS = 40  # with fewer no statistic that may have either sign could be extreme
Progress = Callable[[int, int, str], None]


def _one_writing(runs: pd.DataFrame, merge_labels: bool | None) -> tuple[pd.DataFrame, list[str]]:
    """Merge labels that differ only in how they are written, or say that they are kept apart."""
    if merge_labels:
        return merge_alike(runs)
    apart = [] if merge_labels is None else labels_alike(runs)
    return runs, [f"labels of {group.column!r} were kept apart: {group}." for group in apart[:5]]


def complete_columns(runs: pd.DataFrame) -> tuple[pd.DataFrame, list[str]]:
    """Fill the columns that may be absent, and say what was assumed."""
    table, assumed = runs.reset_index(drop=True), []
    unread = unknown_columns(runs)
    if unread:
        assumed.append(f"columns that nothing reads: {listing(unread, 12)}.")
    # Notes on actions: in a unit without any, they would be taken for probabilities.
    notes = [name for name in table if str(name).startswith(ACTION_PREFIX)]
    if action_columns(table):
        of_policies = policy_rows(table)
        table = table.assign(**{str(name): table[name].where(of_policies) for name in notes})
    else:
        table = table.drop(columns=notes)
    table, rounded = within_bounds(table)
    assumed += rounded
    for name in ("task", "model"):
        if name not in table.columns:
            table = table.assign(**{name: ""})
        table[name] = table[name].astype(object).where(table[name].notna(), "").astype(str)
    if "z_state" not in table.columns:
        table = table.assign(z_state=None)
    if "prompt" not in table.columns:
        table = table.assign(prompt=REFERENCE)
    # A belief given z whose prompt is not named belongs to the reference prompt of its unit, which
    # need not be the usual one.
    unnamed = table["prompt"].isna()
    table["prompt"] = (
        table["prompt"]
        .astype(str)
        .astype(object)
        .mask(unnamed, REFERENCE)
        .mask(unnamed & table["z_state"].notna(), None)
    )
    if "context" not in table.columns:
        table = table.assign(context=np.arange(len(table)))
        assumed.append(
            "no context column: every row was taken as its own context. If rows repeat a context, "
            "p-values and intervals are too optimistic; name the column (--context NAME)."
        )
    if "rep" not in table.columns:
        asked = ["task", "model", "context", "prompt", "z_state"]
        # Two auxiliary variables may share the names of their states.
        variable = [table["z"].where(table["z_state"].notna())] if "z" in table.columns else []
        table = table.assign(
            rep=table.groupby([*asked, *variable], dropna=False, observed=True).cumcount()
        )
    return table, assumed


def _without_repairs(table: pd.DataFrame) -> tuple[pd.DataFrame, int]:
    """Empty what was read of repaired answers; the rows stay and are counted."""
    if "status" not in table.columns:
        return table, 0
    repaired = table["status"].isin(REPAIRS)
    names = ("p", *state_columns(table), "action", *action_columns(table), "p_z")
    read = [name for name in names if name in table.columns]
    return table.assign(**{name: table[name].mask(repaired) for name in read}), int(repaired.sum())


def _adjust(outcomes: list[list[CheckResult]]) -> list[list[CheckResult]]:
    """Add the p-values adjusted over every test of the report."""
    pvalues = [
        math.nan if result.pvalue is None else result.pvalue
        for results in outcomes
        for result in results
    ]
    n_tests = sum(not math.isnan(pvalue) for pvalue in pvalues)
    adjusted = iter(zip(holm(pvalues), benjamini_hochberg(pvalues), strict=True))

    def with_adjusted(result: CheckResult) -> CheckResult:
        by_holm, by_bh = next(adjusted)
        return (
            result
            if result.pvalue is None
            else replace(
                result, pvalue_holm=float(by_holm), pvalue_bh=float(by_bh), n_tests=n_tests
            )
        )

    return [[with_adjusted(result) for result in results] for results in outcomes]


def _checked_names(checks: Sequence[str] | None) -> tuple[str, ...]:
    if checks is None:
        return tuple(CHECKS)
    if isinstance(checks, str):
        raise InputError(
            f"checks must be a list of names; received the text {checks!r}. Write [{checks!r}]."
        )
    if not isinstance(checks, Iterable):
        raise InputError(f"checks must be a list of names; received {checks!r}.")
    checks = list(checks)
    for name in checks:
        if name not in CHECKS:
            raise InputError(
                f"checks must be among {', '.join(CHECKS)}; received {name!r}. "
                f"{closest(name, CHECKS)}"
            )
    if not checks:
        raise InputError(
            "checks must name at least one check; received none. Leave the argument out to run all."
        )
    return tuple(name for name in CHECKS if name in checks)


def _require_twins(twins: int | None, published: bool) -> None:
    if twins is not None:
        whole_number(twins, "twins", FEWEST_TWINS)
        require(
            not published,
            f"twins must be left out with published=True; received {twins}. "
            "The papers' own procedures have no rational agent.",
        )


def _units_of(
    table: pd.DataFrame, states: Mapping[str, tuple[Sequence[Any], Any]], reference: str | None
) -> list[tuple[tuple[Any, ...], UnitRows]]:
    """Part a table by task and model, each with its states and its reference prompt."""
    units = []
    for key, rows in table.groupby(list(UNIT), sort=True):
        labels, named = states[str(key[0])]
        named_by = zip(UNIT, key, strict=True)
        where = " and ".join(f"{what} {name!r}" for what, name in named_by if name)
        prompt = reference_prompt(rows, reference, where=where or "the table")
        units.append((key, UnitRows(rows, positive=named, labels=labels, reference=prompt)))
    return units


def read_units(
    runs: pd.DataFrame,
    checks: Sequence[str],
    *,
    strict: bool = False,
    positive: Any = None,
    reference: str | None = None,
    merge_labels: bool | None = None,
) -> tuple[list[tuple[tuple[Any, ...], UnitRows]], list[str]]:
    """Validate a table and part it by task and model.

    Parameters
    ----------
    runs : DataFrame
        A runs table.
    checks : sequence of str
        Checks that will be run, out of `coherence.checks.CHECKS`.
    strict, positive, reference, merge_labels
        As in `analyze`.

    Returns
    -------
    units : list of (task and model, UnitRows)
        Sorted by task and model.
    assumed : list of str
        What was assumed of all of them.
    """
    require_frame(runs)
    runs, written = _one_writing(runs, merge_labels)
    validate_runs(runs, labels_apart=merge_labels is False)
    table, assumed = complete_columns(runs)
    assumed = written + assumed
    if strict:
        table, repaired = _without_repairs(table)
        assumed.append(f"strict: {repaired} repaired rows were treated as unreadable.")
    states = states_of_tasks(table, positive, [declaration(name) for name in checks])
    return _units_of(table, states, reference), assumed


def _finished(key: tuple[Any, ...], unit: UnitRows, beside: Beside, notes: tuple[str, ...]) -> Unit:
    """Put all that is known of a unit together."""
    way = answering(unit.rows)
    said = say(beside.results, unit, way)
    return Unit(
        task=str(key[0]),
        model=str(key[1]),
        results=beside.results,
        verdicts=said.verdicts,
        notes=(*notes, *beside.notes),
        statuses=count_statuses(unit.rows, unit.reference),
        bounds=worst_case_bounds(unit.rows, unit.reference),
        beliefs=unit.shown(),
        unreadable=unreadable(unit.rows),
        answering=way,
        conclusion=said.conclusion,
        cautions=said.cautions,
        scatter=said.scatter,
        rows=unit.rows,
        labels=label_rows(unit.rows, unit.reference),
        sensitivity=beside.sensitivity,
    )


def _run(jobs: list[Job], n_jobs: int, progress: Progress | None) -> list[list[CheckResult]]:
    outcomes = []
    running = Parallel(n_jobs=n_jobs, return_as="generator")(delayed(Job.run)(job) for job in jobs)
    for job, results in zip(jobs, running, strict=True):
        outcomes.append(results)
        if progress is not None:
            progress(len(outcomes), len(jobs), job.check)
    return outcomes


def analyze(
    runs: pd.DataFrame,
    *,
    checks: Sequence[str] | None = None,
    published: bool = False,
    strict: bool = False,
    positive: Any = None,
    reference: str | None = None,
    merge_labels: bool | None = None,
    twins: int | None = None,
    n_jobs: int = 1,
    rng: Seed = None,
    progress: Progress | None = None,
) -> Report:
    """Run every check that the columns allow, for each (task, model).

    Parameters
    ----------
    runs : DataFrame
        A runs table; see `coherence.table.schema.COLUMNS`. Beliefs ``p`` and something to check
        them against suffice, such as ``action`` or ``theta``.
    checks : sequence of str, optional
        Names out of `coherence.checks.CHECKS`; None runs all.
    published : bool
        Run the papers' own procedures instead of those that respect contexts.
    strict : bool
        Treat repaired answers as unreadable, so that only answers in the exact form enter the
        checks.
    positive : label or list of labels, optional
        The state whose probability `p` is, as theta names it; for tasks with different states a
        label of each. May be left out where the states are 0 and 1, no and yes, or false and true,
        or have columns p_<state> of their own.
    reference : str, optional
        The prompt whose beliefs are held against actions, states and other prompts, in every task
        and model; None takes "standard", else the one with the most actions, then the most rows,
        then the first by name.
    merge_labels : bool, optional
        What becomes of labels that differ only by blanks, case, Unicode form or type: True takes
        them for one, False keeps them apart; None refuses the table and shows them.
    twins : int, optional
        How many rational twins of each unit to draw: data that the nearest rational agent would
        give, with its noise. Every statistic then stands beside its distribution over them; None
        draws none. `predictive_gain` takes long and is run on them only where `checks` names it.
        Where the test of the rational agent rejects, it is also computed how much noise that no
        repetition shows would explain that.
    n_jobs : int
        Processes for joblib; -1 for all cores. Results do not depend on it.
    rng : Generator, int or None
        Source of randomness; every check of every unit gets a generator of its own, made before any
        is run.
    progress : callable, optional
        Called with (done, total, label) after each check.

    Returns
    -------
    Report
        All results, what they say, and what was left out.

    Raises
    ------
    SchemaError
        The table breaks the schema.
    InputError
        Unknown check, twins of published procedures, nothing says which of two states `p` is the
        probability of, or `reference` was not asked.

    Examples
    --------
    >>> from coherence import simulate
    >>> runs = simulate("leaky", n_contexts=100, n_reps=3, rng=1)
    >>> report = analyze(runs, checks=["cmi"], rng=1)
    >>> report.results[["model", "check", "pvalue"]]
       model check  pvalue
    0  leaky   cmi  0.0001
    """
    require_frame(runs)
    names = _checked_names(checks)
    _require_twins(twins, published)
    n_jobs = number_of_jobs(n_jobs)
    units, assumed = read_units(
        runs,
        names,
        strict=strict,
        positive=positive,
        reference=reference,
        merge_labels=merge_labels,
    )
    data = {"rows": len(runs), "columns": runs.shape[1], "fingerprint": fingerprint(runs)}
    plans = []
    rngs = as_generator(rng).spawn(len(units))
    for (_, unit), unit_rng in zip(units, rngs, strict=True):
        # One stream per check, whether it is run or not: asking for fewer checks does not change
        # the numbers of the others.
        streams = dict(zip(CHECKS, unit_rng.spawn(len(CHECKS)), strict=True))
        plans.append(plan_unit(unit, names, published=published, streams=streams))
    outcomes = iter(_adjust(_run([job for jobs, _ in plans for job in jobs], n_jobs, progress)))
    found = [[result for _ in jobs for result in next(outcomes)] for jobs, _ in plans]
    beside = [Beside(tuple(results)) for results in found]
    if twins is not None:
        beside = beside_twins(
            [unit for _, unit in units],
            found,
            names,
            n_twins=twins,
            on_demand=checks or (),
            rngs=rngs,
            n_jobs=n_jobs,
            progress=progress,
        )
    finished = [
        _finished(key, unit, of_twins, (*assumed, *notes))
        for (key, unit), (_, notes), of_twins in zip(units, plans, beside, strict=True)
    ]
    seed = int(rng) if isinstance(rng, int | np.integer) else None
    settings = {
        "version": package_version("belief-coherence"),
        "versions": versions(),
        "data": data,
        "checks": list(names),
        "published": published,
        "strict": strict,
        "seed": seed,
        "positive": list(map(str, positive_labels(positive))),
        "reference": reference,
        "merge_labels": merge_labels,
        **({} if twins is None else {"twins": twins}),
    }
    return Report(tuple(finished), settings)
