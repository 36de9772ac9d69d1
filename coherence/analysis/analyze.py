"""From a runs table to a report: every check that the columns allow, for each (task, model).

What cannot be run is not passed over: each evaluation's notes say what was left out and why (see
`coherence.analysis.planning`).
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from coherence.analysis.evaluation import require_kind_of_state
from coherence.analysis.finishing import adjusted, measured, with_results
from coherence.analysis.planning import Job, plan_evaluation
from coherence.analysis.reading import (
    as_runs,
    positive_labels,
    read_evaluations,
    state_errors,
)
from coherence.checks import CHECKS
from coherence.checks.catalogue import declaration, declared_name
from coherence.checks.sufficiency import NAME as PRIMARY
from coherence.errors import InputError, closest
from coherence.inputs import number_of_jobs, require
from coherence.public_names import rng_for_seed
from coherence.report.evaluation import EvaluationReport
from coherence.report.margins import as_margin
from coherence.report.provenance import package_version, versions
from coherence.report.report import Report
from coherence.runs.columns import Reading
from coherence.runs.runs import Runs
from coherence.statistics.parallel import Progress, run_calls
from coherence.statistics.resample import Seed, as_seed


def _checked_names(checks: Sequence[str] | None) -> tuple[str, ...]:
    if checks is None:
        return tuple(CHECKS)
    require(
        isinstance(checks, Iterable) and not isinstance(checks, str),
        f"checks must be a list of names; received {checks!r}. Write "
        f"{[checks] if isinstance(checks, str) else ['cmi']}.",
    )
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


def _ran_by_themselves(names: Sequence[str], evaluations: Sequence[EvaluationReport]) -> list[str]:
    """Return the checks that run on any table, and those that did on this one."""
    ran = {
        declared_name(result.check) for evaluation in evaluations for result in evaluation.results
    }
    anything = Runs(pd.DataFrame())
    return [name for name in names if name in ran or declaration(name).by_itself(anything)]


@rng_for_seed
def analyze(
    runs: Runs | pd.DataFrame | str | os.PathLike[str],
    *,
    columns: Mapping[str, str | Sequence[str]] | None = None,
    checks: Sequence[str] | None = None,
    full: bool = False,
    published: bool = False,
    strict: bool = False,
    positive: Any = None,
    reference: str | None = None,
    state: str = "auto",
    prediction: str | None = None,
    gold: str | None = None,
    acts: str | None = None,
    margin: float | None = None,
    n_jobs: int = 1,
    rng: Seed = None,
    progress: Progress | None = None,
) -> Report:
    """Run every check that the columns allow, for each (task, model).

    Parameters
    ----------
    runs : DataFrame, path or Runs
        A runs table, or the file that `coherence.read_runs` reads it from; see
        `coherence.runs.columns.COLUMNS`. Beliefs ``p`` and something to check them against suffice,
        such as ``action`` or ``theta``. What `read_runs` returns is not validated again.
    columns : mapping of str to str or list of str, optional
        What your columns are called, as for `coherence.read_runs` and on the command line:
        ``{"belief": "confidence", "truth": "correct", "context": "question"}``. A file whose cells
        need more words is read with `coherence.read_runs`.
    checks : sequence of str, optional
        Names out of `coherence.checks.CHECKS`; None runs all, of which `evidence_leak`
        only where ``truth_kind`` says that states were drawn.
    full : bool
        With all checks also run the forests that the gaps of `iterated_expectation` are read
        against, which take long; where `checks` names it, they run without.
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
    state : {"auto", "exact", "realised"}
        The state that `sufficiency` compares actions with: the exact posterior ``p_true`` or the
        realised ``theta``. "auto" takes the posterior where every row with a belief and an action
        has it, in two states: actions can know of theta only what the evidence says, and the rest
        is the toss of a coin.
    prediction, gold : str, optional
        Columns with predicted and with right labels, where ``p`` is the confidence in the
        prediction: the state is then whether the two are the same.
    acts : str, optional
        The action that stakes the columns ``gain`` and ``loss``; the other one passes.
    margin : float, optional
        Largest difference that counts as none, such as 0.05. The conclusion then also says whether
        the plain average of `sufficiency` is shown to lie within it, by two one-sided tests at
        2.5%, that is, by 95% intervals of all actions that lie between minus and plus the margin.
    n_jobs : int
        Processes for joblib; -1 for all cores. Results do not depend on it.
    rng : Generator, int or None
        Source of randomness; every check has a stream of its own, of the seed and its name, the
        same in every evaluation and where it is called by itself.
    progress : callable, optional
        Called with (done, total, label) before the first check and after each; the label is that
        of the check that runs.

    Returns
    -------
    Report
        All results, what they say, and what was left out.

    Raises
    ------
    SchemaError
        The table breaks the schema.
    InputError
        Unknown check, nothing says which of two states `p` is the probability of, or `reference`
        was not asked.

    Notes
    -----
    P-values are those of a table that is looked at once: studies that are analysed again as
    contexts come in, and end at the first p of at most .05, reject a true null more often.

    Examples
    --------
    >>> from coherence import simulate
    >>> runs = simulate("leaky", n_contexts=100, n_reps=3, rng=1)
    >>> report = analyze(runs, checks=["sufficiency"], rng=1)
    >>> report.results[["model", "check", "pvalue"]].round(4)
       model        check  pvalue
    0  leaky  sufficiency  0.0001
    """
    names = _checked_names(checks)
    margin = None if margin is None else as_margin(margin)
    require(
        margin is None or not checks or any(declaration(name).takes_margin for name in names),
        f"margin is held against the effect of {PRIMARY}, which checks leave out; received "
        f"checks={list(names)}. Add {PRIMARY} to them.",
    )
    n_jobs = number_of_jobs(n_jobs)
    require_kind_of_state(state)
    reading = Reading(columns or {}, prediction=prediction, gold=gold, acts=acts)
    table = as_runs(runs, reading, partial(state_errors, positive=positive, checks=names))
    evaluations, assumed = read_evaluations(
        table, names, strict=strict, positive=positive, reference=reference, state=state
    )
    options: dict[str, Any] = {"named": checks is not None, "full": full, "published": published}
    base = as_seed(rng)
    plans = [plan_evaluation(each, names, seed=base, **options) for _, each in evaluations]
    jobs = [job for of_evaluation, _ in plans for job in of_evaluation]
    calls, labels = [(job,) for job in jobs], [job.check for job in jobs]
    outcomes = iter(run_calls(Job.run, calls, n_jobs, progress=progress, labels=labels))
    results = adjusted([[each for _ in of for each in next(outcomes)] for of, _ in plans])
    found = [
        with_results(measured(key, evaluation, assumed, notes), of, margin)
        for (key, evaluation), (_, notes), of in zip(evaluations, plans, results, strict=True)
    ]
    seed = int(rng) if isinstance(rng, int | np.integer) else None
    settings = {
        "version": package_version("belief-coherence"),
        "versions": versions(published=published),
        "data": {
            "rows": len(table),
            "columns": len(table.names),
            "fingerprint": table.fingerprint,
        },
        "checks": list(names) if checks is not None else _ran_by_themselves(names, found),
        "published": published,
        "strict": strict,
        "seed": seed,
        "positive": list(map(str, positive_labels(positive))),
        "reference": reference,
        "state": state,
        **({"reading": words} if (words := reading.words()) else {}),
        **({} if margin is None else {"margin": margin}),
    }
    return Report(tuple(found), settings)
