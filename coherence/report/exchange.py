"""Results in the shapes that other programs read: Every Eval Ever, and results on a model's page.

Every Eval Ever: the JSON schema 0.2.2 of https://github.com/evaleval/every_eval_ever; what is
written also keeps to 0.2.3 and 0.3.0. It needs a finite range of each score, so that only effects
in units of probability or as a share are written; nats and percentages of a loss have none. It
knows better and worse alone, so that a score is the distance of an effect from 0, which coherence
or calibration would have; what has no such zero (slopes, gates, probes) is left out.

Results on a model's page: ``.eval_results/*.yaml`` of the Hugging Face hub, as
https://huggingface.co/docs/hub/eval-results describes it (work in progress there).
"""

import math
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

from coherence.report.effects import Effect, Evaluation, Findings
from coherence.report.wording import format_pvalue

LIBRARY = "belief-coherence"
EVERY_EVAL_EVER = "0.2.2"
_UNKNOWN = {"deployment_type": "unknown", "model_availability": "unknown"}
_BOUNDED = ("probability", "share")
_ZERO_IS_BEST = {
    *("sufficiency", "sufficiency.hidden_share", "sufficiency.plain_average"),
    *("residual_covariance", "rational_agent", "evidence_leak", "matching:difference"),
    *("monotone_choice", "iterated_expectation", "prompt_consistency", "calibration"),
}
"""Names of effects, or of the checks that all of them are of."""


def every_eval_ever(
    found: Findings, *, organization: str, relationship: str, dataset: str, written: datetime
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield each model with its record; one without a score of finite range has none."""
    stamp = f"{written.timestamp():.0f}"
    for model, evaluations in found.models.items():
        results = [
            _score(effect, evaluation, found, dataset)
            for evaluation in evaluations
            for effect in evaluation.effects
            if effect.unit in _BOUNDED
            and _ZERO_IS_BEST & {effect.name, effect.name.partition(":")[0]}
            and abs(effect.estimate) <= 1
        ]
        if results:
            yield (
                model,
                {
                    "schema_version": EVERY_EVAL_EVER,
                    "evaluation_id": f"{LIBRARY}/{model}/{stamp}",
                    "retrieved_timestamp": stamp,
                    "source_metadata": {
                        "source_type": "evaluation_run",
                        "source_organization_name": organization,
                        "evaluator_relationship": relationship,
                    },
                    "eval_library": {
                        "name": LIBRARY,
                        "version": found.version,
                        "additional_details": {
                            "seed": found.seed or "none given",
                            "data_fingerprint": found.fingerprint,
                        },
                    },
                    "model_info": {"name": model, "id": model, "additional_details": _UNKNOWN},
                    "evaluation_results": results,
                },
            )


def _score(effect: Effect, evaluation: Evaluation, found: Findings, dataset: str) -> dict[str, Any]:
    source: dict[str, Any] = {"dataset_name": evaluation.task, "source_type": "other"}
    if dataset:
        source |= {"source_type": "hf_dataset", "hf_repo": dataset}
    metric = {
        "evaluation_description": effect.null,
        "metric_id": f"{LIBRARY}.{effect.name}",
        "metric_name": effect.name,
        "metric_unit": effect.unit,
        "lower_is_better": True,
        "score_type": "continuous",
        "min_score": 0.0,
        "max_score": 1.0,
        "additional_details": {
            "score": "distance of the effect from 0",
            "component": effect.component,
        },
    }
    uncertainty: dict[str, Any] = {"num_samples": effect.n_contexts}
    if math.isfinite(effect.low) and math.isfinite(effect.high):
        method = {"method": effect.interval_method} if effect.interval_method else {}
        ends = abs(effect.low), abs(effect.high)
        uncertainty["confidence_interval"] = {
            "lower": 0.0 if effect.low <= 0 <= effect.high else min(ends),
            "upper": max(ends),
            "confidence_level": effect.level,
            **method,
        }
    details = {
        "verdict": evaluation.verdict,
        "verdict_sentence": evaluation.sentence,
        "null" if math.isfinite(effect.pvalue) else "estimates": effect.null,
        "n_cases": str(effect.n_contexts),
        "signed_effect": repr(effect.estimate),
        "signed_interval": f"[{effect.low!r}, {effect.high!r}]",
    }
    if math.isfinite(effect.pvalue):
        details["pvalue"] = repr(effect.pvalue)
        details["pvalue_is_of"] = effect.tested or effect.component or effect.name
    return {
        "evaluation_result_id": f"{evaluation.task}/{effect.name}",
        "evaluation_name": evaluation.task,
        "source_data": source,
        "metric_config": metric,
        "score_details": {
            "score": abs(effect.estimate),
            "uncertainty": uncertainty,
            "details": details,
        },
    }


def eval_results(
    found: Findings, *, dataset: str, source: str, written: datetime
) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Yield each model with the entries of its page, one a task: the effect of the primary test."""
    for model, evaluations in found.models.items():
        entries = [
            {
                "dataset": {"id": dataset, "task_id": evaluation.task},
                "value": effect.estimate,
                "date": written.astimezone(UTC).date().isoformat(),
                **({"source": {"url": source}} if source else {}),
                "notes": _notes(effect, evaluation, found),
            }
            for evaluation in evaluations
            if (effect := evaluation.primary) is not None
        ]
        if entries:
            yield model, entries


def without_entry(found: Findings, written: Sequence[str]) -> list[str]:
    """Return the models of which nothing could be written."""
    return [model for model in found.models if model not in written]


def _notes(effect: Effect, evaluation: Evaluation, found: Findings) -> str:
    interval = ""
    if math.isfinite(effect.low):
        interval = f", {effect.level:.0%} interval [{effect.low:.4f}, {effect.high:.4f}]"
    p = format_pvalue(effect.pvalue)
    test = f"p {p}" if p.startswith("<") else f"p = {p}"
    test += f" of {effect.tested}" if effect.tested else ""
    seed = f", seed {found.seed}" if found.seed else ""
    return (
        f"{effect.name} ({effect.component or 'effect'}, {effect.unit}; 0 is coherence)"
        f"{interval}; {test}; null: {effect.null}; "
        f"verdict {evaluation.verdict}; {effect.n_contexts} cases; "
        f"{LIBRARY} {found.version}{seed}"
    )
