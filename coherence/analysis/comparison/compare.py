"""Several models on the same cases: which can be told apart, and by what.

Models must be asked about the same cases (`cases`), and are compared by what all were asked
(`questions`), in the results of checks (`effects`), by what each case adds to them (`ranking`).
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from coherence.analysis.comparison.cases import Sources, by_task_and_model, gather
from coherence.analysis.comparison.effects import EFFECTS, Answers
from coherence.analysis.comparison.questions import asked_alike
from coherence.analysis.comparison.ranking import Ranked, rank_effect
from coherence.analysis.comparison.result import DIFFERENCES, ESTIMATES, VARIATION, Comparison
from coherence.analysis.evaluation import require_state
from coherence.analysis.reading import positive_labels
from coherence.errors import InputError, closest
from coherence.inputs import number_of_jobs, require
from coherence.statistics.multiplicity import benjamini_hochberg, holm
from coherence.statistics.parallel import Progress, run_calls
from coherence.statistics.rank_intervals import LEVEL
from coherence.statistics.resample import Seed, as_generator
from coherence.table.reading import Reading

OF_STATE = frozenset({"sufficiency"})
"""Effects that compare choices with the exact posterior where every model has it."""


def compare(
    runs: Sources,
    *,
    columns: Mapping[str, str] | None = None,
    effects: Sequence[str] | None = None,
    common: bool = False,
    positive: Any = None,
    reference: str | None = None,
    state: str = "auto",
    n_jobs: int = 1,
    rng: Seed = None,
    progress: Progress | None = None,
) -> Comparison:
    """Compare models that were asked about the same cases, in every effect that they allow.

    Parameters
    ----------
    runs : DataFrame, Runs or mapping of str to either
        A runs table with several models, or several tables by name; a table without a column
        ``model`` is the model of that name. Rows need a ``context``, by which cases are matched.
    columns : mapping of str to str, optional
        What your columns are called in all tables, as for `coherence.analyze`.
    effects : sequence of str, optional
        Names out of `coherence.analysis.comparison.effects.EFFECTS`; None takes all.
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
        Source of randomness; every effect of every task gets a seed of its own.
    progress : callable, optional
        Called with (done, total, label) before the first effect and after each; the label is that
        of the effect that is computed.

    Returns
    -------
    Comparison
        Estimates with rank intervals, differences of all pairs, and what was left out. A model
        whose beliefs or choices hardly vary is ranked in distance to the truth and unparsed
        answers.

    Raises
    ------
    SchemaError
        A table breaks the schema.
    InputError
        Fewer than two models, no task with ten common cases and a common prompt, cases that differ
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
    require_state(state)
    n_jobs = number_of_jobs(n_jobs)
    everything, notes = by_task_and_model(runs, Reading.of(columns))
    tasks, of_cases = gather(everything, common=common)
    answers, of_questions = asked_alike(tasks, positive, reference, everything, state)
    tasks = [task for task in tasks if task.name in answers]
    if OF_STATE & set(names):
        exact = [
            task
            for task in tasks
            if all(a.evaluation.exact_state for a in answers[task.name].values())
        ]
        of_questions += [f"{task.where}choices are compared with p_true." for task in exact]
    # A seed per effect, whether it is asked for or not.
    seeds = as_generator(rng).integers(2**63, size=(len(tasks), len(EFFECTS)))
    jobs = [
        (task.name, answers[task.name], effect, len(task.contexts), int(seed))
        for task, seeds_of_task in zip(tasks, seeds, strict=True)
        for effect, seed in zip(EFFECTS.values(), seeds_of_task, strict=True)
        if effect.name in names
    ]
    labels = [effect.name for _, _, effect, *_ in jobs]
    ranked = list(run_calls(rank_effect, jobs, n_jobs, progress=progress, labels=labels))
    notes += [*of_cases, *of_questions]
    notes += [note for task in tasks for note in task.notes]
    notes += [note for outcome in ranked for note in outcome.notes]
    settings = {
        "effects": list(names),
        "common": common,
        "positive": list(map(str, positive_labels(positive))),
        "reference": reference,
        "state": state,
        "level": LEVEL,
        "seed": int(rng) if isinstance(rng, int | np.integer) else None,
        "n_contexts": {task.name: len(task.contexts) for task in tasks},
    }
    return Comparison(*_tables(ranked), tuple(notes), settings, _variation(answers))


def _variation(answers: Mapping[str, Mapping[str, Answers]]) -> pd.DataFrame:
    """Return how far beliefs and choices of every model of every task vary."""
    rows = []
    for task, of_task in answers.items():
        for model, given in of_task.items():
            varies = given.variation
            action, share = next(iter(varies.actions.items()), ("", np.nan))
            moves = not (varies.narrow or varies.one_sided)
            rows.append((task, model, varies.sd, action, share, moves))
    return pd.DataFrame(rows, columns=list(VARIATION))


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
