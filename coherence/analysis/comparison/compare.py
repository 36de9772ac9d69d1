"""Several models on the same cases: which can be told apart, and by what.

Cases are the unit and shared by the models. Every effect is taken case by case
(`coherence.analysis.comparison.effects`), so that differences are paired, and ranks allow for what
models have in common (`coherence.statistics.rank_intervals`).
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from coherence.analysis.comparison.cases import Runs, Task, gather
from coherence.analysis.comparison.effect_ranks import Ranked, rank_effect
from coherence.analysis.comparison.effects import EFFECTS
from coherence.analysis.comparison.measured import Answers
from coherence.analysis.comparison.result import Comparison
from coherence.analysis.comparison.wording import DIFFERENCES, ESTIMATES
from coherence.analysis.states import positive_labels, states_of_tasks
from coherence.checks.catalogue import declaration
from coherence.errors import InputError, closest, listing
from coherence.inputs import MIN_CONTEXTS, as_codes, number_of_jobs, require
from coherence.statistics.multiplicity import benjamini_hochberg, holm
from coherence.statistics.parallel import run_calls
from coherence.statistics.rank_intervals import LEVEL
from coherence.statistics.resample import Seed, as_generator
from coherence.table.answering import answering
from coherence.table.prompts import reference_prompt
from coherence.table.schema import has_action, state_columns
from coherence.table.states import meant_by

Progress = Callable[[int, int, str], None]
# Of their declarations it follows whether it must be known which state beliefs are in.
_CHECKS = ("calibration", "rational_agent")


def compare(
    runs: Runs,
    *,
    effects: Sequence[str] | None = None,
    common: bool = False,
    positive: Any = None,
    reference: str | None = None,
    n_jobs: int = 1,
    rng: Seed = None,
    progress: Progress | None = None,
) -> Comparison:
    """Compare models that were asked about the same cases, in every effect that they allow.

    Parameters
    ----------
    runs : DataFrame or mapping of str to DataFrame
        A runs table with several models, or several tables by name; a table without a column
        ``model`` is the model of that name. Rows need a ``context``, by which cases are matched.
    effects : sequence of str, optional
        Names out of `coherence.analysis.comparison.effects.EFFECTS`; None takes all.
    common : bool
        Whether to keep what models have in common where some lack tasks or cases of others; else
        that is refused.
    positive, reference
        As for `coherence.analyze`; the reference prompt is the same for all models of a task.
    n_jobs : int
        Processes for joblib; -1 for all cores. Results do not depend on it.
    rng : Generator, int or None
        Source of randomness; every effect of every task gets a seed of its own.
    progress : callable, optional
        Called with (done, total, label) after each effect.

    Returns
    -------
    Comparison
        Estimates with rank intervals, differences of all pairs, and what was left out.

    Raises
    ------
    SchemaError
        A table breaks the schema.
    InputError
        Fewer than two models, no task with ten common cases and a common wording, cases that differ
        between models, an unknown effect, or nothing says which of two states beliefs are in.

    Notes
    -----
    Assumes independent cases. Within an effect the chance that any rank interval misses its rank is
    5%; over all pairs, effects and tasks of the result ``pvalue_bh`` bounds the share of false
    differences and ``pvalue_holm`` the chance of any.

    References
    ----------
    Mogstad, Romano, Shaikh and Wilhelm (2024), Review of Economic Studies 91(1), on ranks;
    Benjamini and Hochberg (1995), JRSS B 57(1).

    Examples
    --------
    >>> import pandas as pd
    >>> from coherence import simulate
    >>> size = {"n_contexts": 80, "n_reps": 3, "rng": 1}
    >>> asked = {name: simulate(name, **size) for name in ("rational", "noisy")}
    >>> found = compare(asked, effects=["calibration:brier", "report_noise"], rng=1)
    >>> found.estimates[["effect", "model", "rank_low", "rank_high"]]
                  effect     model  rank_low  rank_high
    0  calibration:brier  rational         1          1
    1  calibration:brier     noisy         2          2
    2       report_noise  rational         1          1
    3       report_noise     noisy         2          2
    """
    names = _checked_effects(effects)
    n_jobs = number_of_jobs(n_jobs)
    tasks, notes = gather(runs, common=common)
    tasks = _comparable(tasks, notes)
    answers = _answers(tasks, positive, reference, notes)
    notes += _unused(positive, answers, runs)
    jobs, labels = [], []
    seeds = as_generator(rng).integers(2**63, size=(len(tasks), len(EFFECTS)))
    for task, seeds_of_task in zip(tasks, seeds, strict=True):
        # A seed per effect, whether it is asked for or not.
        for name, seed in zip(EFFECTS, seeds_of_task, strict=True):
            if name in names:
                given = (task.name, answers[task.name], name, len(task.contexts), int(seed))
                jobs.append(given)
                labels.append(name)
    ranked: list[Ranked] = []
    for outcome in run_calls(_rank, jobs, n_jobs):
        ranked.append(outcome)
        if progress is not None:
            progress(len(ranked), len(jobs), labels[len(ranked) - 1])
    for task in tasks:
        notes += task.notes
    notes += [note for outcome in ranked for note in outcome.notes]
    settings = {
        "effects": list(names),
        "common": common,
        "positive": list(map(str, positive_labels(positive))),
        "reference": reference,
        "level": LEVEL,
        "seed": int(rng) if isinstance(rng, int | np.integer) else None,
        "n_contexts": {task.name: len(task.contexts) for task in tasks},
    }
    return Comparison(*_tables(ranked), tuple(notes), settings)


def _comparable(tasks: Sequence[Task], notes: list[str]) -> list[Task]:
    """Leave out tasks whose models have too few cases or no wording in common, with a note each."""
    kept, faults = [], []
    for task in tasks:
        fault = _fault(task)
        if fault:
            faults.append(f"task {task.name!r}: {fault}" if task.name else fault)
        else:
            kept.append(task)
    if not kept:
        raise InputError.all_at_once("", faults)
    notes += [f"not compared: {fault}" for fault in faults]
    return kept


def _fault(task: Task) -> str:
    if len(task.contexts) < MIN_CONTEXTS:
        return (
            f"runs must have at least {MIN_CONTEXTS} common contexts; received "
            f"{len(task.contexts)}. Ask about more cases."
        )
    wordings = _wordings(task)
    if set.intersection(*wordings.values()):
        return ""
    asked = "; ".join(f"{model!r}: {listing(sorted(own))}" for model, own in wordings.items())
    return (
        f"runs must have a wording (prompt) in common; received {asked}. Where they are one "
        "wording by several names, give it one name."
    )


def _wordings(task: Task) -> dict[str, set[Any]]:
    """Return what beliefs, and not those given z, were asked by."""
    return {
        model: set(rows.loc[rows["z_state"].isna(), "prompt"].dropna())
        for model, rows in task.rows.items()
    }


def _rank(
    task: str, answers: Mapping[str, Answers], effect: str, n_cases: int, seed: int
) -> Ranked:
    """Compare in another process, to which an effect goes by its name."""
    return rank_effect(task, answers, EFFECTS[effect], n_cases, seed)


def _checked_effects(effects: Sequence[str] | None) -> tuple[str, ...]:
    if effects is None:
        return tuple(EFFECTS)
    require(
        not isinstance(effects, str),
        f"effects must be a list of names; received the text {effects!r}. Write [{effects!r}].",
    )
    effects = tuple(effects)  # an array of names has no truth value
    for name in effects:
        if name not in EFFECTS:
            raise InputError(
                f"effects must be among {', '.join(EFFECTS)}; received {name!r}. "
                f"{closest(name, EFFECTS)}"
            )
    require(bool(effects), "effects must name at least one; received none. Leave it out for all.")
    return tuple(name for name in EFFECTS if name in effects)


def _tables(ranked: Sequence[Ranked]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Lay all rows out, and adjust the p-values of all pairs of all effects and tasks."""
    estimates = pd.DataFrame(
        [row for outcome in ranked for row in outcome.estimates], columns=list(ESTIMATES)
    )
    for name in ("rank_low", "rank_high"):
        estimates[name] = estimates[name].astype("Int64")
    differences = pd.DataFrame(
        [row for outcome in ranked for row in outcome.differences], columns=list(DIFFERENCES)
    )
    pvalues = differences["pvalue"].to_numpy(dtype=np.float64)
    adjusted = {"pvalue_bh": benjamini_hochberg(pvalues), "pvalue_holm": holm(pvalues)}
    return estimates, differences.assign(**adjusted)


def _answers(
    tasks: Sequence[Task], positive: Any, reference: str | None, notes: list[str]
) -> dict[str, dict[str, Answers]]:
    """Read what models can be compared in: states, a common reference, common wordings and z."""
    wanted = positive_labels(positive)
    checks = [declaration(name) for name in _CHECKS]
    answers: dict[str, dict[str, Answers]] = {}
    for task in tasks:
        prompts, variables, prompt = _asked_alike(task, reference, notes)
        of_task = {}
        for model, rows in task.rows.items():
            names = _state_names(rows)
            of_model = [word for word in wanted if meant_by(word, names)]
            states, meant = states_of_tasks(rows.assign(task=task.name), of_model or None, checks)[
                task.name
            ]
            of_task[model] = Answers(rows, prompt, prompts, variables, meant, states)
        answers[task.name] = of_task
        notes += _ways(task)
    return answers


def _state_names(rows: pd.DataFrame) -> list[Any]:
    """Return what states are called: by their columns, or else in theta."""
    theta = rows["theta"].dropna() if "theta" in rows.columns else pd.Series(dtype=object)
    columns = [name.removeprefix("p_") for name in state_columns(rows)]
    return columns or list(as_codes(theta, "theta")[1])


def _unused(
    positive: Any, answers: Mapping[str, Mapping[str, Answers]], runs: Runs
) -> Sequence[str]:
    """Note labels of what was not compared, as one command may compare what another analyses."""
    compared = [
        name
        for task in answers.values()
        for each in task.values()
        for name in _state_names(each.rows)
    ]
    unused = [word for word in positive_labels(positive) if not meant_by(word, compared)]
    if not unused:
        return ()
    tables = [runs] if isinstance(runs, pd.DataFrame) else list(runs.values())
    # Tasks may have states of different types, which `as_codes` would take for one column's.
    parts = [
        part
        for table in tables
        for _, part in (table.groupby("task") if "task" in table.columns else [("", table)])
    ]
    everywhere = [name for part in parts for name in _state_names(part)]
    unknown = [word for word in unused if not meant_by(word, everywhere)]
    if unknown:
        raise InputError(
            f"positive must be a label of theta; received {listing(map(repr, unknown))}. "
            f"{closest(str(unknown[0]), dict.fromkeys(map(str, everywhere)))}"
        )
    return [f"positive: nothing that is compared has the states of {listing(map(repr, unused))}."]


def _asked_alike(
    task: Task, reference: str | None, notes: list[str]
) -> tuple[tuple[str, ...], tuple[str, ...], str]:
    """Return other wordings, auxiliary variables and the reference prompt that all models share."""
    where = f"task {task.name!r}: " if task.name else ""
    wordings = _wordings(task)
    shared = set.intersection(*wordings.values())
    for what, every in (("wordings", wordings), ("variables z", _variables(task))):
        apart = sorted(set.union(*every.values()) - set.intersection(*every.values()))
        if apart:
            shown = listing(map(repr, apart))
            notes.append(f"{where}{what} that not every model was asked were left out: {shown}.")
    used = [rows[rows["prompt"].isin(shared)] for rows in task.rows.values()]
    prompt = _reference(used, reference, where)
    variables = tuple(sorted(set.intersection(*_variables(task).values())))
    return tuple(sorted(shared - {prompt})), variables, prompt


def _reference(used: Sequence[pd.DataFrame], named: str | None, where: str) -> str:
    """Find the reference prompt of all models together, by its actions and rows."""
    together = pd.concat(
        [
            pd.DataFrame(
                {
                    "prompt": rows["prompt"],
                    "z_state": rows["z_state"].astype(object),
                    "action": _acted(rows),
                }
            )
            for rows in used
        ],
        ignore_index=True,
    )
    return reference_prompt(together, named, where=f"{where}all models")


def _acted(rows: pd.DataFrame) -> pd.Series:
    asked = has_action(rows)
    if "raw_action" in rows.columns:  # what could not be read was asked for all the same
        asked |= rows["raw_action"].notna()
    return asked.astype(object).where(asked, None)


def _variables(task: Task) -> dict[str, set[str]]:
    return {
        model: set(rows["z"].dropna().astype(str)) if "z" in rows.columns else set()
        for model, rows in task.rows.items()
    }


def _ways(task: Task) -> list[str]:
    """Say where models answered in different ways."""
    ways = {}
    for model, rows in task.rows.items():
        way = answering(rows)
        kinds = listing(way.kinds) or "not said"
        ways[model] = f"{kinds}, actions as probabilities" if way.policies else kinds
    if len(set(ways.values())) < 2:
        return []
    where = f"task {task.name!r}: " if task.name else ""
    told = "; ".join(f"{model!r} {way}" for model, way in ways.items())
    return [f"{where}beliefs were got in different ways ({told}): differences may be theirs."]
