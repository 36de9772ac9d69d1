"""From a runs table to a report: every check that the columns allow, for each (task, model).

This is the only module besides `schema` and `storage` that knows column names and calls the checks. What cannot be run is not passed over:
each unit's notes say what was left out and why.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import PackageNotFoundError, version
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from joblib import Parallel, delayed

from coherence.calibration import calibration_estimates
from coherence.cmi import cmi_test
from coherence.consistency import prompt_consistency
from coherence.covariance import residual_covariance_test
from coherence.errors import InputError
from coherence.inputs import as_codes, whole_number
from coherence.iterated import iterated_expectation_test
from coherence.monotone import monotone_choice_test
from coherence.multiplicity import benjamini_hochberg, holm
from coherence.predictive import predictive_gain_test
from coherence.report.record import Report, Unit
from coherence.resample import Seed, as_generator
from coherence.result import CheckResult, Interval
from coherence.schema import closest, feature_columns, state_columns, validate_runs
from coherence.verdict import verdict

CHECKS = ("residual_covariance", "cmi", "predictive_gain", "monotone_choice", "prompt_consistency", "iterated_expectation", "calibration")
ORDERED_PAIRS = (("yes", "no"), ("yes", "defer"), ("defer", "no"))
REFERENCE = "standard"
N_UNREADABLE_SHOWN = 8

Progress = Callable[[int, int, str], None]


@dataclass(frozen=True)
class _Job:
    """One check of one unit, with everything that it needs to run in another process."""

    unit: int
    check: str
    function: Callable[..., CheckResult | list[CheckResult]]
    arguments: tuple[Any, ...]
    options: dict[str, Any]
    n_dropped: int | None

    def run(self) -> list[CheckResult]:
        """Run the check and return its results."""
        outcome = self.function(*self.arguments, **self.options)
        results = outcome if isinstance(outcome, list) else [outcome]
        return results if self.n_dropped is None else [replace(result, n_dropped=self.n_dropped) for result in results]


def _run_job(job: _Job) -> list[CheckResult]:
    return job.run()


def _complete_columns(runs: pd.DataFrame) -> tuple[pd.DataFrame, list[str]]:
    """Fill the columns that may be absent, and say what was assumed."""
    table, assumed = runs.reset_index(drop=True), []
    for name in ("task", "model"):
        if name not in table.columns:
            table = table.assign(**{name: ""})
        table[name] = table[name].astype(object).where(table[name].notna(), "").astype(str)
    if "prompt" not in table.columns:
        table = table.assign(prompt=REFERENCE)
    table["prompt"] = table["prompt"].astype(object).where(table["prompt"].notna(), REFERENCE).astype(str)
    if "context" not in table.columns:
        table = table.assign(context=np.arange(len(table)))
        assumed.append(
            "no context column: every row was taken as its own context. If rows repeat a context, p-values and intervals are too optimistic; "
            "name the column (--context NAME)."
        )
    if "z_state" not in table.columns:
        table = table.assign(z_state=None)
    if "rep" not in table.columns:
        table = table.assign(rep=table.groupby(["task", "model", "context", "prompt", "z_state"], dropna=False, observed=True).cumcount())
    return table, assumed


def _belief(rows: pd.DataFrame, states: list[str]) -> np.ndarray:
    """One belief per row, or one column per state where there are several."""
    if "p" in rows.columns:
        return rows["p"].to_numpy(dtype=np.float64)
    beliefs = rows[sorted(states)].to_numpy(dtype=np.float64)
    # Stated with two digits, the states may sum to .99 or 1.01; the schema bounds how far off they are.
    shares = np.asarray(beliefs / beliefs.sum(axis=1, keepdims=True))
    return shares[:, 1] if shares.shape[1] == 2 else shares


def _statuses(unit: pd.DataFrame, reference: str) -> pd.DataFrame:
    question = np.where(unit["z_state"].notna(), "given z", np.where(unit["prompt"] == reference, f"{reference}, with action", unit["prompt"]))
    if "status" in unit.columns:
        status = unit["status"].astype(str).to_numpy()
    else:
        has_belief = unit["p"].notna() if "p" in unit.columns else unit[state_columns(unit)].notna().all(axis=1)
        asked = unit["action"].notna() | (question != f"{reference}, with action") if "action" in unit.columns else pd.Series(True, index=unit.index)
        status = np.where(has_belief & asked, "ok", "missing")
    counted = pd.DataFrame({"question": question, "status": status}).value_counts().rename("rows").reset_index()
    return counted.sort_values(["question", "status"], ignore_index=True)


def _unreadable(unit: pd.DataFrame) -> pd.DataFrame:
    columns = [name for name in ("context", "prompt", "z_state", "status", "raw_belief", "raw_z", "raw_action") if name in unit.columns]
    if "status" not in unit.columns:
        return pd.DataFrame(columns=columns)
    shown = unit.loc[unit["status"] != "ok", columns].head(N_UNREADABLE_SHOWN)
    return shown.dropna(axis="columns", how="all").reset_index(drop=True)


def _action_pairs(actions: Sequence[Any]) -> tuple[list[tuple[Any, Any]], str]:
    """Pairs of actions and the direction in which the first one's share must move with belief."""
    by_name = {str(action).lower(): action for action in actions}
    if len(by_name) == len(actions) and set(by_name) <= {"yes", "no", "defer"}:
        return [(by_name[a], by_name[b]) for a, b in ORDERED_PAIRS if a in by_name and b in by_name], "increasing"
    return list(combinations(actions, 2)), "either"


def _positive_state(theta: pd.Series) -> tuple[np.ndarray | None, str]:
    """The realised state as 0 or 1, and a note where the order had to be assumed."""
    codes, states = as_codes(theta, "theta")
    if len(states) == 1 and states[0] in (0, 1, "0", "1"):
        return np.full(len(theta), float(states[0])), ""
    if len(states) != 2:
        return None, f"theta has {len(states)} states: calibration and monotone choice need two."
    usual = {str(state).lower() for state in states} in ({"0", "1"}, {"false", "true"}, {"no", "yes"}, {"0.0", "1.0"})
    note = "" if usual else f"theta: p was taken as the probability of {states[1]!r}, the second of the two labels in sorted order."
    return codes.astype(np.float64), note


class _Planner:
    """Plans the jobs of one unit and collects its notes."""

    def __init__(self, position: int, rows: pd.DataFrame, checks: Sequence[str], published: bool, generators: dict[str, np.random.Generator]) -> None:
        self.position, self.rows, self.checks, self.published, self.generators = position, rows, checks, published, generators
        self.notes: list[str] = []
        self.jobs: list[_Job] = []
        plain = rows[rows["z_state"].isna()]
        prompts = list(plain["prompt"].unique())
        self.prompts = sorted(prompts)
        self.reference = REFERENCE if REFERENCE in prompts or not prompts else prompts[0]
        self.states = state_columns(rows) if "p" not in rows.columns else []
        self.asked = plain[plain["prompt"] == self.reference]
        self.choices = self._usable_choices()

    def _usable_choices(self) -> pd.DataFrame:
        needed = [*(["p"] if not self.states else self.states), "action", "theta"]
        absent = [name for name in needed if name not in self.rows.columns]
        if absent:
            self.notes.append(f"no {' or '.join(absent)} column: the checks of belief against action were not run.")
            return self.asked.iloc[:0]
        used = self.asked.dropna(subset=needed)
        if len(used) < len(self.asked):
            self.notes.append(f"{len(self.asked) - len(used)} of {len(self.asked)} rows lack a readable belief, action or state and were left out.")
        return used

    def add(self, check: str, function: Callable[..., Any], *arguments: Any, n_dropped: int | None = None, **options: Any) -> None:
        """Plan one job with a generator of its own."""
        (generator,) = self.generators[check].spawn(1)
        self.jobs.append(_Job(self.position, check, function, arguments, {**options, "rng": generator}, n_dropped))

    def plan(self) -> None:
        """Plan every check that was asked for and that the columns allow."""
        if len(self.choices):
            self._plan_choice_checks()
        elif {"action", "theta"} <= set(self.rows.columns) and set(self.checks) & {
            "residual_covariance",
            "cmi",
            "predictive_gain",
            "monotone_choice",
            "calibration",
        }:
            self.notes.append("no row has a readable belief, action and state: the checks of belief against action were not run.")
        if "prompt_consistency" in self.checks:
            self._plan_consistency()
        if "iterated_expectation" in self.checks:
            self._plan_iterated()

    def _plan_choice_checks(self) -> None:
        rows, dropped = self.choices, len(self.asked) - len(self.choices)
        belief, action, theta, context = _belief(rows, self.states), rows["action"].astype(str), rows["theta"], rows["context"]
        common: dict[str, Any] = {"context": context, "published": self.published, "n_dropped": dropped}
        state, note = _positive_state(theta)
        if note:
            self.notes.append(note)
        single = belief.ndim == 1
        if "residual_covariance" in self.checks and not self.published:
            self.add("residual_covariance", residual_covariance_test, belief, action, theta, context=context, n_dropped=dropped)
        if "cmi" in self.checks:
            self.add("cmi", cmi_test, belief, action, theta, **common)
        if "predictive_gain" in self.checks:
            self.add("predictive_gain", predictive_gain_test, belief, action, theta, **common)
            features = [name for name in feature_columns(rows) if rows[name].notna().any()]
            if features:
                self.add("predictive_gain", predictive_gain_test, belief, action, theta, features=rows[features], **common)
            else:
                self.notes.append("no x_ columns: the context-adjusted gain was not run.")
        if "monotone_choice" in self.checks and single and state is not None:
            pairs, direction = _action_pairs(sorted(action.unique()))
            if direction == "either" and pairs:
                self.notes.append("actions are not yes, no and defer: monotone choice was tested in either direction.")
            for pair in pairs:
                self.add("monotone_choice", monotone_choice_test, belief, action, pair=pair, direction=direction, **common)
            if not pairs:
                self.notes.append(f"only the action {action.iloc[0]!r} was seen: monotone choice was not tested.")
        if "calibration" in self.checks and single and state is not None:
            exact = rows["p_true"] if "p_true" in rows.columns and rows["p_true"].notna().all() else None
            if exact is None:
                self.notes.append("no complete p_true column: beliefs were compared with what happened, not with the exact posterior.")
            self.add("calibration", calibration_estimates, belief, state, p_true=exact, context=context, n_dropped=dropped)

    def _plan_consistency(self) -> None:
        if "p" not in self.rows.columns:
            self.notes.append("no p column: prompt consistency was not checked.")
        elif len(self.prompts) < 2:
            self.notes.append("only one prompt: prompt consistency was not checked.")
        else:
            runs = self.rows[["context", "rep", "prompt", "p", "z_state"]]
            plain = runs[runs["z_state"].isna() & runs["p"].notna()]
            readable = set(plain["prompt"])
            for prompt in self.prompts:
                unread = [name for name in (self.reference, prompt) if name not in readable]
                if prompt != self.reference and unread:
                    self.notes.append(f"no readable belief under {unread[0]!r}: prompt consistency was not estimated for {prompt!r}.")
                elif prompt != self.reference:
                    self.add("prompt_consistency", prompt_consistency, runs, reference=self.reference, prompts=[prompt], published=self.published)

    def _plan_iterated(self) -> None:
        if not {"p", "z", "p_z"} <= set(self.rows.columns) or not self.rows["z_state"].notna().any():
            self.notes.append("no z, z_state and p_z columns: the law of iterated expectation was not checked.")
            return
        runs = self.rows[["context", "rep", "prompt", "p", "z", "z_state", "p_z"]]
        self.add("iterated_expectation", _iterated_results, runs, reference=self.reference, published=self.published)

    def unit(self, task: str, model: str, assumed: Iterable[str], results: Sequence[CheckResult]) -> Unit:
        """Assemble the finished unit."""
        rows = self.choices
        columns: dict[str, Any] = {"context": rows["context"].astype(str)}
        if len(rows) and _belief(rows, self.states).ndim == 1:
            columns["belief"] = _belief(rows, self.states)
            state, _ = _positive_state(rows["theta"])
            columns["action"] = rows["action"].astype(str)
            columns["truth"] = np.full(len(rows), np.nan) if state is None else state
            if "p_true" in rows.columns and rows["p_true"].notna().all():
                columns["p_true"] = rows["p_true"]
        return Unit(
            task=task,
            model=model,
            results=tuple(results),
            verdicts=tuple(verdict(result) for result in results),
            notes=(*assumed, *self.notes),
            statuses=_statuses(self.rows, self.reference),
            choices=pd.DataFrame(columns).reset_index(drop=True),
            unreadable=_unreadable(self.rows),
        )


def _iterated_results(runs: pd.DataFrame, **options: Any) -> list[CheckResult]:
    """Run the test, and lift the two effect sizes that people quote out of its details."""
    result = iterated_expectation_test(runs, **options)
    if options.get("published") or math.isnan(result.statistic):
        return [result]
    results = [result]
    for variant, measure, unit in (
        ("relative", "median of |gap| / belief", "of belief"),
        ("noise_removed", "root-mean-square gap, noise removed", "probability"),
    ):
        numbers = result.details.loc[result.details["measure"] == measure, ["value", "low", "high"]].to_numpy(dtype=np.float64)[0]
        value, low, high = (float(number) for number in numbers)
        reason = "noise can be removed only with two repetitions per context" if math.isnan(value) else ""
        interval = None if reason else Interval(low, high, 0.95, result.interval.method if result.interval else "")
        estimate = replace(
            result, check=f"iterated_expectation:{variant}", null=measure, statistic=value, unit=unit, interval=interval,
            pvalue=None, details=pd.DataFrame(), reason=reason, assumptions=result.assumptions[:2],
        )  # fmt: skip
        results.append(estimate)
    return results


def _adjust(outcomes: list[list[CheckResult]]) -> list[list[CheckResult]]:
    """Add the p-values adjusted over every test of the report."""
    pvalues = [math.nan if result.pvalue is None else result.pvalue for results in outcomes for result in results]
    adjusted = iter(zip(holm(pvalues), benjamini_hochberg(pvalues), strict=True))

    def with_adjusted(result: CheckResult) -> CheckResult:
        by_holm, by_bh = next(adjusted)
        return result if result.pvalue is None else replace(result, pvalue_holm=float(by_holm), pvalue_bh=float(by_bh))

    return [[with_adjusted(result) for result in results] for results in outcomes]


def _checked_names(checks: Sequence[str] | None) -> tuple[str, ...]:
    if checks is None:
        return CHECKS
    for name in checks:
        if name not in CHECKS:
            raise InputError(f"checks must be among {', '.join(CHECKS)}; received {name!r}. {closest(name, CHECKS)}")
    if not checks:
        raise InputError("checks must name at least one check; received none. Leave the argument out to run all.")
    return tuple(name for name in CHECKS if name in checks)


def _version() -> str:
    try:
        return version("belief-coherence")
    except PackageNotFoundError:  # run from a source tree that was not installed
        return "unknown"


def analyze(
    runs: pd.DataFrame,
    *,
    checks: Sequence[str] | None = None,
    published: bool = False,
    n_jobs: int = 1,
    rng: Seed = None,
    progress: Progress | None = None,
) -> Report:
    """Run every check that the columns allow, for each (task, model).

    Parameters
    ----------
    runs : DataFrame
        A runs table; see `coherence.schema.COLUMNS`. Plain columns ``p``, ``action``, ``theta`` suffice.
    checks : sequence of str, optional
        Names out of `CHECKS`; None runs all.
    published : bool
        Run the papers' own procedures instead of those that respect contexts.
    n_jobs : int
        Processes for joblib; -1 for all cores. Results do not depend on it.
    rng : Generator, int or None
        Source of randomness; every check of every unit gets a generator of its own, made before any is run.
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
        Unknown check.

    Examples
    --------
    >>> from coherence import simulate
    >>> runs = simulate("leaky", n_contexts=100, n_reps=3, rng=1)
    >>> report = analyze(runs, checks=["cmi"], rng=1)
    >>> report.results[["model", "check", "pvalue"]]
       model check  pvalue
    0  leaky   cmi   0.001
    """
    names = _checked_names(checks)
    n_jobs = n_jobs if n_jobs == -1 else whole_number(n_jobs, "n_jobs", 1)
    validate_runs(runs)
    table, assumed = _complete_columns(runs)
    groups = [(key, rows) for key, rows in table.groupby(["task", "model"], sort=True)]
    generator = as_generator(rng)
    planners = []
    for position, (_, rows) in enumerate(groups):
        (own,) = generator.spawn(1)
        # One stream per check, whether it is run or not: asking for fewer checks does not change the numbers of the others.
        planner = _Planner(position, rows, names, published, dict(zip(CHECKS, own.spawn(len(CHECKS)), strict=True)))
        planner.plan()
        planners.append(planner)
    jobs = [job for planner in planners for job in planner.jobs]
    outcomes: list[list[CheckResult]] = []
    for done, results in enumerate(Parallel(n_jobs=n_jobs, return_as="generator")(delayed(_run_job)(job) for job in jobs), start=1):
        outcomes.append(results)
        if progress is not None:
            progress(done, len(jobs), jobs[done - 1].check)
    outcomes = _adjust(outcomes)
    units = []
    for position, ((key, _), planner) in enumerate(zip(groups, planners, strict=True)):
        task, model = key
        own_results = [result for job, results in zip(jobs, outcomes, strict=True) if job.unit == position for result in results]
        units.append(planner.unit(str(task), str(model), assumed, own_results))
    seed = int(rng) if isinstance(rng, int | np.integer) else None
    settings = {"version": _version(), "checks": list(names), "published": published, "seed": seed}
    return Report(tuple(units), settings)
