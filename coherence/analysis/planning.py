"""What can be checked in one (task, model), and what has to be left out and why.

A `Planner` looks at the columns of a unit, plans one job per check, and assembles the finished
unit. Together with `analysis`, `schema` and `storage` it is the only place that knows column names.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from coherence.analysis.unit import (
    _action_pairs,
    _belief,
    _listed,
    _ordered_states,
    _positive_state,
    _second,
    _unreadable,
)
from coherence.analysis.verdict import verdict
from coherence.checks.calibration import calibration_estimates
from coherence.checks.cmi import cmi_test
from coherence.checks.consistency import prompt_consistency
from coherence.checks.covariance import residual_covariance_test
from coherence.checks.direction import MAX_ACTIONS, monotone_direction_test
from coherence.checks.forest_baseline import random_forest_baseline
from coherence.checks.iterated import _iterated_results
from coherence.checks.monotone import monotone_choice_test
from coherence.checks.predictive import predictive_gain_test
from coherence.report.unit import Unit
from coherence.result import CheckResult
from coherence.table.audit import asked_for_action, count_statuses, worst_case_bounds
from coherence.table.schema import feature_columns, state_columns

REFERENCE = "standard"


NEED_THETA = ("residual_covariance", "cmi", "predictive_gain")
NEED_ACTION = (*NEED_THETA, "monotone_choice")
PAIR_STATES = (
    "residual_covariance",
    "monotone_choice",
    "calibration",
)  # the others do not change if the states trade places


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
        return (
            results
            if self.n_dropped is None
            else [replace(result, n_dropped=self.n_dropped) for result in results]
        )


class Planner:
    """Plans the jobs of one unit and collects its notes."""

    def __init__(
        self,
        position: int,
        rows: pd.DataFrame,
        checks: Sequence[str],
        published: bool,
        generators: dict[str, np.random.Generator],
    ) -> None:
        self.position, self.rows, self.checks, self.published, self.generators = (
            position,
            rows,
            checks,
            published,
            generators,
        )
        self.notes: list[str] = []
        self.jobs: list[Job] = []
        plain = rows[rows["z_state"].isna()]
        prompts = list(plain["prompt"].unique())
        self.prompts = sorted(prompts)
        self.reference = REFERENCE if REFERENCE in prompts or not prompts else prompts[0]
        self.states, self.unpaired = state_columns(rows), ""
        if self.states:
            theta = rows["theta"].dropna() if "theta" in rows.columns else pd.Series(dtype=object)
            self.states, self.unpaired = _ordered_states(self.states, theta)
        self.asked = plain[plain["prompt"] == self.reference]
        self.stated = self.asked.dropna(subset=self.states or ["p"])
        decided = asked_for_action(rows, self.reference)
        self.decided = rows[decided]
        self.choices = self.stated[decided[self.stated.index] & self._known(self.stated, "action")]
        self.judged = self.choices[self._known(self.choices, "theta")]
        self._note_left_out()
        self._note_state()

    @staticmethod
    def _known(rows: pd.DataFrame, name: str) -> pd.Series:
        return rows[name].notna() if name in rows.columns else pd.Series(False, index=rows.index)

    def _note_left_out(self) -> None:
        """Note the rows that the checks of belief against action cannot use, and the checks that cannot be run at all."""
        theta = bool(self._known(self.decided, "theta").any())
        asked, used, lacking, where = (
            self.decided,
            self.choices,
            "belief or action",
            " of the checks that need both",
        )
        if self.decided.empty:
            asked, used, lacking, where = self.asked, self.stated, "belief", ""
        if len(asked) < len(self.asked):
            spared = len(self.asked) - len(asked)
            self.notes.append(
                f"{spared} of {len(self.asked)} rows asked for no action: the checks of belief against action leave them out."
            )
        if len(used) < len(asked):
            self.notes.append(
                f"{len(asked) - len(used)} of {len(asked)} rows lack a readable {lacking} and were left out{where}."
            )
        if theta and 0 < len(self.judged) < len(self.choices):
            spared = len(self.choices) - len(self.judged)
            self.notes.append(
                f"{spared} of {len(self.choices)} rows with a readable belief and action lack the state and were left out of the checks that need it."
            )
        if self.decided.empty:
            absent = "no action column (--action NAME, if it has another name)"
            self._note_not_run(
                "no actions" if "action" in self.rows.columns else absent, NEED_ACTION
            )
            return
        if not theta:
            absent = "no theta column (--truth NAME, if it has another name)"
            self._note_not_run(
                "theta is empty" if "theta" in self.rows.columns else absent, NEED_THETA
            )
        elif self.judged.empty:
            self._note_not_run("no row has a readable belief, action and state", NEED_THETA)
        if self.choices.empty:
            self._note_not_run("no row has a readable belief and action", ("monotone_choice",))

    def _note_not_run(self, reason: str, checks: Sequence[str]) -> None:
        names = [check.replace("_", " ") for check in checks if check in self.checks]
        if names:
            self.notes.append(
                f"{reason}: {_listed(names)} {'were' if names[1:] else 'was'} not run."
            )

    def add(
        self,
        check: str,
        function: Callable[..., Any],
        *arguments: Any,
        n_dropped: int | None = None,
        draws: bool = True,
        **options: Any,
    ) -> None:
        """Plan one job, with a generator of its own if it draws anything."""
        if draws:
            (options["rng"],) = self.generators[check].spawn(1)
        self.jobs.append(Job(self.position, check, function, arguments, options, n_dropped))

    def plan(self) -> None:
        """Plan every check that was asked for and that the columns allow."""
        if len(self.judged):
            self._plan_choice_checks()
        if "monotone_choice" in self.checks and len(self.choices):
            self._plan_monotone()
        if "calibration" in self.checks:
            self._plan_calibration()
        if "prompt_consistency" in self.checks:
            self._plan_consistency()
        if "iterated_expectation" in self.checks:
            self._plan_iterated()

    def _note_state(self) -> None:
        """Read the realised state as 0 or 1, and note what follows if it cannot be."""
        known = self.stated[self._known(self.stated, "theta")]
        one_of_two = len(self.states) in (0, 2)
        self.single = one_of_two and not self.unpaired
        self.state, note = (
            _positive_state(known["theta"], self.states)
            if len(known) and self.single
            else (None, "")
        )
        if self.states and self.single and known.empty and len(self.stated):
            note = f"theta is not known: {_second(self.states)}"
        self.happened = known if self.state is not None else known.iloc[:0]
        if note:
            self.notes.append(note)
        if one_of_two and not self.single:
            self._note_unpaired()
        elif not one_of_two and {"monotone_choice", "calibration"} & set(self.checks):
            self.notes.append(
                f"beliefs over {len(self.states)} states: monotone choice and calibration need a belief in one of two."
            )

    def _note_unpaired(self) -> None:
        """Name the checks that must know which belief is in which state, and how to say it."""
        # Without choices it has been said already that the other two were not run.
        asked = [
            check
            for check in PAIR_STATES
            if check in self.checks and (check == "calibration" or len(self.choices))
        ]
        if asked:
            self._note_not_run(
                f"{self.unpaired}, so that it is not known which belief is in which state", asked
            )
            self.notes.append(
                "To have them run, name each column of beliefs p_<state> after a value of theta, or give theta the names in the columns."
            )

    def _plan_choice_checks(self) -> None:
        rows, dropped = self.judged, len(self.decided) - len(self.judged)
        belief, action, theta, context = (
            _belief(rows, self.states),
            rows["action"].astype(str),
            rows["theta"],
            rows["context"],
        )
        common: dict[str, Any] = {
            "context": context,
            "published": self.published,
            "n_dropped": dropped,
        }
        # With more than two states it makes no difference to this check which belief is in which.
        if (
            "residual_covariance" in self.checks
            and not self.published
            and (self.single or len(self.states) > 2)
        ):
            self.add(
                "residual_covariance",
                residual_covariance_test,
                belief,
                action,
                theta,
                context=context,
                n_dropped=dropped,
            )
        if "cmi" in self.checks:
            self.add("cmi", cmi_test, belief, action, theta, **common)
        if "predictive_gain" in self.checks:
            self.add("predictive_gain", predictive_gain_test, belief, action, theta, **common)
            features = [name for name in feature_columns(rows) if rows[name].notna().any()]
            if features:
                self.add(
                    "predictive_gain",
                    predictive_gain_test,
                    belief,
                    action,
                    theta,
                    features=rows[features],
                    **common,
                )
            else:
                self.notes.append("no x_ columns: the context-adjusted gain was not run.")

    def _plan_monotone(self) -> None:
        # Whichever state came true, choices must rise with the belief in one; with a theta of three
        # states it is not known in which.
        if not self.single or (self.state is None and self._known(self.stated, "theta").any()):
            return
        rows, dropped = self.choices, len(self.decided) - len(self.choices)
        belief, action, context = (
            _belief(rows, self.states),
            rows["action"].astype(str),
            rows["context"],
        )
        pairs, direction = _action_pairs(sorted(action.unique()))
        if direction == "either" and pairs:
            self.notes.append(
                "actions are not yes, no and defer: monotone choice was tested in either direction."
            )
        options: dict[str, Any] = {
            "direction": direction,
            "context": context,
            "published": self.published,
            "n_dropped": dropped,
        }
        for pair in pairs:
            self.add("monotone_choice", monotone_choice_test, belief, action, pair=pair, **options)
        if len(action.unique()) > 2 and not self.published:
            self._plan_direction(belief, action, context, dropped)
        if not pairs:
            self.notes.append(
                f"only the action {action.iloc[0]!r} was seen: monotone choice was not tested."
            )

    def _plan_calibration(self) -> None:
        """Compare beliefs with what happened and with the exact posterior, in one go where both are known of the same rows."""
        if not self.single:
            return
        stated, happened = self.stated, self.happened
        exact = stated[self._known(stated, "p_true")]
        if exact.empty and happened.empty:
            lack = (
                "no readable belief"
                if stated.empty
                else "no p_true"
                if self._known(stated, "theta").any()
                else "neither theta nor p_true"
            )
            self.notes.append(f"{lack}: calibration was not estimated.")
            return
        if exact.empty:
            self.notes.append(
                "no p_true: beliefs were compared with what happened, not with the exact posterior."
            )
        elif len(exact) < len(stated):
            self.notes.append(
                f"p_true is known in {len(exact)} of {len(stated)} rows: the distances to the exact posterior are those of these rows."
            )
        if happened.empty and not self._known(stated, "theta").any():
            self.notes.append(
                "no theta: beliefs were compared with the exact posterior, not with what happened."
            )
        together = exact.index.equals(happened.index)
        for rows, with_exact, with_state in ((exact, True, together), (happened, False, True)):
            if rows.empty or (together and not with_exact):
                continue
            options = {"p_true": rows["p_true"] if with_exact else None, "context": rows["context"]}
            self.add(
                "calibration", calibration_estimates, _belief(rows, self.states), self.state if with_state else None,
                n_dropped=len(self.asked) - len(rows), draws=False, **options,
            )  # fmt: skip

    def _plan_direction(
        self, belief: np.ndarray, action: pd.Series, context: pd.Series, dropped: int
    ) -> None:
        n_actions = action.nunique()
        if n_actions <= MAX_ACTIONS:
            self.add(
                "monotone_choice",
                monotone_direction_test,
                belief,
                action,
                context=context,
                n_dropped=dropped,
            )
        else:
            self.notes.append(
                f"{n_actions} actions are more than {MAX_ACTIONS}: monotone choice was tested by pairs only."
            )

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
                    self.notes.append(
                        f"no readable belief under {unread[0]!r}: prompt consistency was not estimated for {prompt!r}."
                    )
                elif prompt != self.reference:
                    self.add(
                        "prompt_consistency",
                        prompt_consistency,
                        runs,
                        reference=self.reference,
                        prompts=[prompt],
                        published=self.published,
                    )

    def _plan_iterated(self) -> None:
        if (
            not {"p", "z", "p_z"} <= set(self.rows.columns)
            or not self.rows["z_state"].notna().any()
        ):
            self.notes.append(
                "no z, z_state and p_z columns: the law of iterated expectation was not checked."
            )
            return
        runs = self.rows[["context", "rep", "prompt", "p", "z", "z_state", "p_z"]]
        self.add(
            "iterated_expectation",
            _iterated_results,
            runs,
            reference=self.reference,
            published=self.published,
        )
        features = [name for name in feature_columns(self.rows) if self.rows[name].notna().any()]
        if "p_true" in self.rows.columns and features:
            exact = [name for name in ("p_true", "p_z_true") if name in self.rows.columns]
            self.add(
                "iterated_expectation",
                random_forest_baseline,
                self.rows[[*runs.columns, *exact, *features]],
            )
        else:
            self.notes.append(
                "no p_true or no x_ columns: the gap of a fitted predictor was not computed beside that of the model."
            )

    def unit(
        self, task: str, model: str, assumed: Iterable[str], results: Sequence[CheckResult]
    ) -> Unit:
        """Assemble the finished unit."""
        rows = self.stated
        columns: dict[str, Any] = {"context": rows["context"].astype(str)}
        if self.single:
            columns["belief"] = _belief(rows, self.states)
            if len(self.choices):
                columns["action"] = self.choices["action"].astype(str)
            if self.state is not None:
                columns["truth"] = pd.Series(self.state, index=self.happened.index)
            if self._known(rows, "p_true").any():
                columns["p_true"] = rows["p_true"]
        return Unit(
            task=task,
            model=model,
            results=tuple(results),
            verdicts=tuple(verdict(result) for result in results),
            notes=(*assumed, *self.notes),
            statuses=count_statuses(self.rows, self.reference),
            bounds=worst_case_bounds(self.rows, self.reference),
            beliefs=pd.DataFrame(columns, index=rows.index).reset_index(drop=True),
            unreadable=_unreadable(self.rows),
        )
