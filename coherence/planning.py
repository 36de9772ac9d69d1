"""What can be checked in one (task, model), and what has to be left out and why.

A `Planner` looks at the columns of a unit, plans one job per check, and assembles the finished unit. Together with `analysis`, `schema` and
`storage` it is the only place that knows column names.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from coherence.audit import count_statuses, worst_case_bounds
from coherence.baseline import random_forest_baseline
from coherence.calibration import calibration_estimates
from coherence.cmi import cmi_test
from coherence.consistency import prompt_consistency
from coherence.covariance import residual_covariance_test
from coherence.direction import MAX_ACTIONS, monotone_direction_test
from coherence.inputs import as_codes
from coherence.iterated import iterated_expectation_test
from coherence.monotone import monotone_choice_test
from coherence.predictive import predictive_gain_test
from coherence.report.record import Unit
from coherence.result import CheckResult, Interval
from coherence.schema import READABLE, feature_columns, state_columns
from coherence.verdict import verdict

ORDERED_PAIRS = (("yes", "no"), ("yes", "defer"), ("defer", "no"))
REFERENCE = "standard"
N_UNREADABLE_SHOWN = 8


@dataclass(frozen=True)
class Job:
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


def _belief(rows: pd.DataFrame, states: list[str]) -> np.ndarray:
    """One belief per row, or one column per state where there are several."""
    if "p" in rows.columns:
        return rows["p"].to_numpy(dtype=np.float64)
    beliefs = rows[sorted(states)].to_numpy(dtype=np.float64)
    # Stated with two digits, the states may sum to .99 or 1.01; the schema bounds how far off they are.
    shares = np.asarray(beliefs / beliefs.sum(axis=1, keepdims=True))
    return shares[:, 1] if shares.shape[1] == 2 else shares


def _unreadable(unit: pd.DataFrame) -> pd.DataFrame:
    columns = [name for name in ("context", "prompt", "z_state", "status", "raw_belief", "raw_z", "raw_action") if name in unit.columns]
    if "status" not in unit.columns:
        return pd.DataFrame(columns=columns)
    shown = unit.loc[~unit["status"].isin(READABLE), columns].head(N_UNREADABLE_SHOWN)
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


class Planner:
    """Plans the jobs of one unit and collects its notes."""

    def __init__(self, position: int, rows: pd.DataFrame, checks: Sequence[str], published: bool, generators: dict[str, np.random.Generator]) -> None:
        self.position, self.rows, self.checks, self.published, self.generators = position, rows, checks, published, generators
        self.notes: list[str] = []
        self.jobs: list[Job] = []
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

    def add(
        self, check: str, function: Callable[..., Any], *arguments: Any, n_dropped: int | None = None, draws: bool = True, **options: Any
    ) -> None:
        """Plan one job, with a generator of its own if it draws anything."""
        if draws:
            (options["rng"],) = self.generators[check].spawn(1)
        self.jobs.append(Job(self.position, check, function, arguments, options, n_dropped))

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
            if len(action.unique()) > 2 and not self.published:
                self._plan_direction(belief, action, context, dropped)
            if not pairs:
                self.notes.append(f"only the action {action.iloc[0]!r} was seen: monotone choice was not tested.")
        if "calibration" in self.checks and single and state is not None:
            exact = rows["p_true"] if "p_true" in rows.columns and rows["p_true"].notna().all() else None
            if exact is None:
                self.notes.append("no complete p_true column: beliefs were compared with what happened, not with the exact posterior.")
            self.add("calibration", calibration_estimates, belief, state, p_true=exact, context=context, n_dropped=dropped, draws=False)

    def _plan_direction(self, belief: np.ndarray, action: pd.Series, context: pd.Series, dropped: int) -> None:
        n_actions = action.nunique()
        if n_actions <= MAX_ACTIONS:
            self.add("monotone_choice", monotone_direction_test, belief, action, context=context, n_dropped=dropped)
        else:
            self.notes.append(f"{n_actions} actions are more than {MAX_ACTIONS}: monotone choice was tested by pairs only.")

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
        features = [name for name in feature_columns(self.rows) if self.rows[name].notna().any()]
        if "p_true" in self.rows.columns and features:
            exact = [name for name in ("p_true", "p_z_true") if name in self.rows.columns]
            self.add("iterated_expectation", random_forest_baseline, self.rows[[*runs.columns, *exact, *features]])
        else:
            self.notes.append("no p_true or no x_ columns: the gap of a fitted predictor was not computed beside that of the model.")

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
            statuses=count_statuses(self.rows, self.reference),
            bounds=worst_case_bounds(self.rows, self.reference),
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
