"""Headline effects to an experiment tracker that is installed: MLflow or Weights & Biases.

A metric is ``coherence/MODEL/TASK/CHECK.QUANTITY``, QUANTITY one of estimate, low, high and pvalue,
in the unit of the check. What is undefined is left out. Names of models, tasks and actions come
from files: every character that a tracker may take for something else becomes "_".
"""

import importlib
import math
import re
from collections.abc import Iterable
from importlib.util import find_spec
from typing import Any

from coherence.errors import CoherenceError, InputError, closest
from coherence.report.effects import Findings

TRACKERS = ("mlflow", "wandb")
_QUANTITIES = ("estimate", "low", "high", "pvalue")
_LONGEST = 60  # of a name: trackers take 250 characters for a metric
PREFIX = "coherence"


def require_tracker(name: str) -> None:
    """Refuse a tracker that is not one of ours, or is not installed."""
    if name not in TRACKERS:
        raise InputError(
            f"the tracker must be one of {', '.join(TRACKERS)}; received {name!r}. "
            f"{closest(name, TRACKERS)}"
        )
    if find_spec(name) is None:
        raise InputError(
            f"results can only be logged to {name} where it is installed, and it is not. "
            f"Run: pip install {name}"
        )


def log_findings(found: Findings, tracker: str) -> str:
    """Log the headline effects of a report; return which run has them."""
    require_tracker(tracker)
    log = {"mlflow": _to_mlflow, "wandb": _to_wandb}[tracker]
    try:
        return log(importlib.import_module(tracker), found)
    except Exception as error:  # servers, keys, disks: whatever the tracker raises
        raise CoherenceError(
            f"{tracker} did not take the results ({type(error).__name__}: {error}). "
            f"They are as they were; see that {tracker} works by itself, and log them again."
        ) from error


def metrics(found: Findings) -> dict[str, float]:
    """Return the finite numbers of all headline effects by the name of their metric."""
    values = {}
    for at, evaluation in zip(_folders(found), found.evaluations, strict=True):
        names = _distinct(effect.name for effect in evaluation.effects)
        for name, effect in zip(names, evaluation.effects, strict=True):
            for quantity in _QUANTITIES:
                value = getattr(effect, quantity)
                if math.isfinite(value):
                    values[f"{at}/{name}.{quantity}"] = value
    return values


def _folders(found: Findings) -> list[str]:
    """Return what stands before the metrics of each evaluation."""
    labels = {}
    for column in ("model", "task"):
        texts = list(dict.fromkeys(getattr(each, column) for each in found.evaluations))
        labels[column] = dict(zip(texts, _distinct(texts), strict=True))
    return [
        f"{PREFIX}/{labels['model'][each.model]}/{labels['task'][each.task]}"
        for each in found.evaluations
    ]


def _distinct(texts: Iterable[str]) -> list[str]:
    """Return names that a tracker takes; of two that would be alike the later one has a number."""
    taken: list[str] = []
    for text in texts:
        plain = re.sub(r"[^A-Za-z0-9_.-]+", "_", text.replace(":", "."))[:_LONGEST].strip(".")
        name, n = plain or "_", 2
        while name in taken:
            name, n = f"{plain}-{n}", n + 1
        taken.append(name)
    return taken


def _about(found: Findings) -> dict[str, str]:
    about = {"version": found.version, "seed": found.seed, "data_fingerprint": found.fingerprint}
    verdicts = {
        f"{at}/verdict": evaluation.verdict
        for at, evaluation in zip(_folders(found), found.evaluations, strict=True)
    }
    return {f"{PREFIX}/{name}": text for name, text in about.items() if text} | verdicts


def _to_mlflow(mlflow: Any, found: Findings) -> str:
    run = mlflow.active_run()
    mine = run is None
    run = mlflow.start_run() if mine else run
    try:
        mlflow.log_metrics(metrics(found))
        mlflow.set_tags(_about(found))
    finally:
        if mine:
            mlflow.end_run()
    return f"mlflow, run {run.info.run_id}"


def _to_wandb(wandb: Any, found: Findings) -> str:
    run = wandb.run
    mine = run is None
    run = wandb.init(project=PREFIX) if mine else run
    try:
        run.log(metrics(found))
        run.summary.update(_about(found))
    finally:
        if mine:
            run.finish()
    return f"wandb, run {run.id}"
