"""Prompt consistency: the stated belief stays the same when only the prompt variant changes.

A belief belongs to the evidence, not to the scoring rule that a prompt mentions. Differences
between prompts are compared with the noise of repetitions: means of noisy answers always differ.
"""

import math
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from coherence.checks.check import ANY, Check, Interpretation, Plan, Question
from coherence.errors import closest
from coherence.inputs import MIN_CONTEXTS, Floats, few_contexts, probabilities_of, require
from coherence.public_names import rng_for_seed
from coherence.result import CheckResult, Family
from coherence.runs.columns import COMPUTED_KINDS
from coherence.runs.needs import NEEDS_PROMPT_VARIANTS
from coherence.runs.notes import not_run
from coherence.runs.read import with_columns
from coherence.runs.runs import Runs
from coherence.statistics import resample
from coherence.statistics.evaluation import EvaluationData
from coherence.statistics.mean_interval import mean_result
from coherence.statistics.report_noise import variances_within
from coherence.statistics.resample import Seed

NAME = "prompt_consistency"
TOO_FEW = (
    "noise can be removed only with two repetitions per context and prompt; "
    "details has the raw difference"
)


def over_repetitions(belief: Floats, context: "pd.Series[Any]") -> pd.DataFrame:
    """Return ``mean``, ``variance`` and number ``n`` of the beliefs of each context, by its id."""
    contexts = pd.Series(belief, index=context.index).groupby(context, observed=True)
    variance = variances_within(belief, np.asarray(contexts.ngroup(), dtype=np.int64))
    table = pd.DataFrame({"mean": contexts.mean(), "n": contexts.count()})
    return table.assign(variance=variance)


def _under(runs: pd.DataFrame, prompt: str) -> pd.DataFrame:
    """Mean, variance and number of repetitions of each context under one prompt."""
    rows = runs.loc[runs["prompt"] == prompt]
    table = over_repetitions(rows["p"].to_numpy(dtype=np.float64), rows["context"])
    if "belief_kind" in rows.columns:
        # What is computed is the expectation itself: one answer leaves no noise to be removed.
        computed = rows["belief_kind"].isin(COMPUTED_KINDS).groupby(rows["context"], observed=True)
        table["variance"] = table["variance"].mask(table["variance"].isna() & computed.all(), 0.0)
    return table


@rng_for_seed
def prompt_consistency(
    runs: pd.DataFrame,
    *,
    reference: str | None = None,
    prompts: Sequence[str] | None = None,
    n_bootstraps: int = 2000,
    published: bool = False,
    rng: Seed = None,
) -> CheckResult:
    """Estimate how far beliefs under other prompts lie from those under the reference prompt.

    Null: none is tested.

    Estimand: the root-mean-square difference between the expected beliefs under two prompt variants
    (a probability, from 0 to 1); cases count alike.

    Parameters
    ----------
    runs : DataFrame
        Columns ``context``, ``prompt`` and ``p``; rows without a belief, and rows conditional on a
        ``z_state``, are left out. Where there is a column ``group``, the same in all rows of a
        context, groups are the clusters of the interval, at least ten. Beliefs that
        ``belief_kind``, if there is one, calls computed or fixed (stated:exact, token, revealed;
        stated:fixed) have no noise, so that one repetition is enough.
    reference : str, optional
        Prompt that the others are compared with; None takes "standard", else the one with the most
        beliefs, and of several the first by name.
    prompts : sequence of str, optional
        Prompts to compare; None takes all others in the table and pools them.
    n_bootstraps : int
        Resamples of contexts for the published interval.
    published : bool
        Report the raw difference of repetition means, which contains the noise of both, instead of
        the corrected one, with a percentile interval.
    rng : Generator, int or None
        Source of the resamples of the published interval; nothing else is random.

    Returns
    -------
    CheckResult
        `statistic` is the noise-corrected root-mean-square difference: the mean square of
        differences between repetition means, less the variance that the repetitions imply, is
        unbiased for the mean squared difference of expected beliefs. Only contexts with two
        parsed repetitions under both prompts enter; with fewer than ten of them it is NaN with a
        reason. `details` has the raw difference of repetition means of each prompt.

    Raises
    ------
    InputError
        A column or a prompt is missing.

    Notes
    -----
    Assumes that contexts are independent and that repetitions within a context and prompt are
    independent and equally distributed. The interval is that of a mean of skewed squares
    (`coherence.statistics.mean_interval`), taken to the root; where the true difference is 0 it
    starts at 0 and covers more often than stated.

    Examples
    --------
    >>> import coherence
    >>> runs = coherence.simulate("wordbound", n_contexts=60, n_reps=3, rng=1)
    >>> round(prompt_consistency(runs, prompts=["bayes"], rng=1).statistic, 2)  # planted: .15
    0.14
    """
    runs = with_columns(runs, ("context", "prompt", "p"))
    runs = runs.assign(p=probabilities_of(runs["p"], "p"))
    plain = runs if "z_state" not in runs.columns else runs[runs["z_state"].isna()]
    plain = plain[plain["prompt"].notna()]
    # A table may number its prompts; they are names, and are compared as such.
    plain = plain.assign(prompt=plain["prompt"].astype(object).astype(str))
    parsed = plain[plain["p"].notna()]
    reference = Runs(parsed[["prompt"]]).reference(reference)
    others = sorted({*parsed["prompt"]} - {reference})
    require(
        not isinstance(prompts, str),
        f"prompts must be a list of names; received the text {prompts!r}. Write [{prompts!r}].",
    )
    compared = others if prompts is None else [str(prompt) for prompt in prompts]
    for prompt in compared:
        require(
            prompt in others,
            f"prompts must be other prompts of the table; received {prompt!r}. "
            f"{closest(prompt, sorted({*others, reference}))}",
        )
    require(bool(compared), f"runs must have a prompt besides {reference!r}; found only that one.")
    options: dict[str, Any] = {"published": published, "n_bootstraps": n_bootstraps, "rng": rng}
    return consistency_of(plain, reference, compared, **options)


def consistency_of(
    plain: pd.DataFrame,
    reference: str,
    compared: list[str],
    *,
    n_bootstraps: int = 2000,
    published: bool = False,
    rng: Seed = None,
) -> CheckResult:
    """Run `prompt_consistency` on validated rows, those with beliefs given z left out."""
    asked = plain[plain["prompt"].isin([reference, *compared])]
    used = asked[asked["p"].notna()]
    base = _under(used, reference).add_suffix("_reference")
    raw, corrected = {}, {}
    for prompt in compared:
        joined = base.join(_under(used, prompt), how="inner")
        # Two means of noisy answers differ by the variances of both means on average, whatever the
        # prompts do.
        noise = joined["variance_reference"] / joined["n_reference"]
        noise = noise + joined["variance"] / joined["n"]
        raw[prompt] = (joined["mean"] - joined["mean_reference"]) ** 2
        corrected[prompt] = raw[prompt] - noise
    # Contexts x prompts: a context counts once, with all its prompts. One with a single repetition
    # has no noise estimate: it leaves, and n_contexts says how many stayed.
    squares = pd.DataFrame(raw if published else corrected)
    of_context = squares.mean(axis="columns").dropna()
    clusters = resample.clusters_of(plain, of_context.index)
    each = {prompt: math.sqrt(square.mean()) for prompt, square in raw.items()}
    result = partial(
        CheckResult,
        check=f"{NAME}:{compared[0]}" if len(compared) == 1 else NAME,
        null="root-mean-square difference of expected beliefs between "
        f"{', '.join(compared)} and {reference}",
        unit="probability",
        n_rows=len(used),
        n_contexts=len(of_context),
        n_dropped=len(asked) - len(used),
        settings={
            "reference": reference,
            "prompts": compared,
            "published": published,
            "n_bootstraps": n_bootstraps,
            "cluster of resampling": clusters.name,
        },
        details=pd.DataFrame({"prompt": [*each], "rmse_means": [*each.values()]}),
        assumptions=(
            clusters.independent,
            "repetitions within a context and prompt are independent",
        ),
    )
    if few := few_contexts(len(squares), "with both prompts"):
        return result(reason=few)
    if len(of_context) < MIN_CONTEXTS:
        return result(reason=TOO_FEW)
    result = mean_result(result, of_context, clusters, "difference", root=True)
    if not published:
        return result()
    square = of_context.to_numpy(dtype=np.float64)
    counts = resample.bootstrap_counts(len(square), n_bootstraps, resample.check_stream(rng, NAME))
    draws = np.sqrt(counts @ square / len(square))
    interval = resample.percentile_interval(draws, "contexts").within(0.0, 1.0)
    return result(interval=interval, reason="")


def _plan(data: EvaluationData, published: bool) -> Plan:
    assert data.runs is not None
    further = [name for name in ("belief_kind", "group") if name in data.runs.names]
    plain = data.runs.table.loc[~data.runs.given_z, ["context", "rep", "prompt", "p", *further]]
    others = sorted(set(plain["prompt"]) - {data.prompt})
    parsed = set(plain.loc[plain["p"].notna(), "prompt"])
    for prompt in others:
        unparsed = [name for name in (data.prompt, prompt) if name not in parsed]
        if unparsed:
            why = f"no parsed belief under {unparsed[0]!r}"
            note = f"{why}: prompt consistency was not estimated for {prompt!r}."
            yield not_run(note, f"{NAME}:{prompt}")
            continue
        yield partial(consistency_of, plain, data.prompt, [prompt], published=published)


def _differ(under: str, kind: str) -> str:
    return f"Beliefs under {under} differ by {{value:.3f}} (root mean square) {kind}."


CHECK = Check(
    name=NAME,
    origin="Adapted from the difference between prompts of Yamin et al.",
    needs=NEEDS_PROMPT_VARIANTS,
    sentences={
        key: Interpretation(
            estimate=_differ(under, "beyond repetition noise"),
            published=_differ(under, "in repetition means"),
            words="prompt variants apart",
            row="prompt variants differ by, points",
        )
        for key, under in (("", "other prompts"), (ANY, "{variant!r}"))
    },
    family=Family.ESTIMATE,
    plan=_plan,
    every_prompt=True,
    question=Question.TOGETHER,
)
