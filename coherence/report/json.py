"""A report as strict JSON: equal bytes for equal runs, numbers unrounded, null where undefined."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
import pandas as pd

from coherence.checks.catalogue import check_of
from coherence.report.evaluation import EvaluationReport
from coherence.report.scores import score_table
from coherence.report.wording import answering_notes, belief_noun
from coherence.runs.audit import audit_table

SCHEMA_VERSION = 4
# How the work was spread over processors changes no number, so it must not change the bytes either.
_NOT_RECORDED = frozenset({"n_jobs"})


def to_plain(value: Any) -> Any:
    """Turn a value into what JSON knows."""
    if value is None or isinstance(value, bool | int | str):
        # str() and int() also take subclasses such as numpy.str_ back to the plain types.
        return str(value) if isinstance(value, str) else value
    if isinstance(value, np.bool_):
        return bool(value)
    if isinstance(value, np.integer):
        return int(value)
    if isinstance(value, float | np.floating):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, pd.DataFrame):
        return [
            to_plain(dict(zip(value.columns, row, strict=True)))
            for row in value.itertuples(index=False, name=None)
        ]
    if isinstance(value, Mapping):
        return {str(key): to_plain(content) for key, content in value.items()}
    # A set has no order of its own, and equal runs must give equal bytes.
    if isinstance(value, set | frozenset):
        return sorted((to_plain(member) for member in value), key=str)
    if isinstance(value, np.ndarray | pd.Series | pd.Index | pd.api.extensions.ExtensionArray):
        return [to_plain(member) for member in value.tolist()]
    if isinstance(value, list | tuple):
        return [to_plain(member) for member in value]
    # What is left are scalars: missing ones of pandas, and dates, paths and the like.
    return None if pd.isna(value) else str(value)


def _recorded(settings: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in settings.items() if key not in _NOT_RECORDED}


def _evaluation_record(evaluation: EvaluationReport) -> dict[str, Any]:
    results = [
        {
            **result.to_row(),
            "verdict": verdict,
            "origin": check.origin if (check := check_of(result.check)) else "",
            "also": {name: asdict(estimate) for name, estimate in result.also.items()},
            "assumptions": result.assumptions,
            "settings": _recorded(result.settings),
            "details": result.details,
        }
        for result, verdict in zip(evaluation.results, evaluation.verdicts, strict=True)
    ]
    record = {
        "task": evaluation.task,
        "model": evaluation.model,
        "belief": belief_noun(evaluation.answering),
        "verdict": str(evaluation.headline),
        "primary_verdict": str(evaluation.verdict),
        "conclusion": evaluation.conclusion,
        "cautions": [note.record() for note in evaluation.cautions],
        "scatter": None if evaluation.scatter is None else asdict(evaluation.scatter),
        "results": results,
        "notes": [note.record() for note in evaluation.notes],
        "statuses": evaluation.statuses,
        "answers": audit_table(evaluation.statuses),
        "figures": evaluation.figures.tables,
        "figures_missing": evaluation.figures.missing,
    }
    # Only where the table tells, so that a report of one that does not is the same as ever.
    way = evaluation.answering
    if way is not None and way.known:
        record["answering"] = {
            "belief_kinds": way.kinds,
            "actions": "probabilities" if way.policies else "chosen",
            "answer_mass": [asdict(part) for part in way.masses],
            "notes": [note.record() for note in answering_notes(way)],
        }
    return record


def render_json(evaluations: Sequence[EvaluationReport], settings: Mapping[str, Any]) -> str:
    """Render a report as JSON."""
    scores = score_table(evaluations)
    record = {
        "schema_version": SCHEMA_VERSION,
        "settings": _recorded(settings),
        "evaluations": [_evaluation_record(evaluation) for evaluation in evaluations],
    }
    if len(scores):
        record["scores"] = scores
    # ASCII escapes keep even half a surrogate pair from a model's answer writable.
    return json.dumps(to_plain(record), sort_keys=True, indent=2, allow_nan=False) + "\n"
